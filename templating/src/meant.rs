//! Advice for a tag that leads to no value of the Runnable: the value that was probably meant.
//!
//! It contains names of the Runnable alone: everyone who can read its status may see those. Names of the selected
//! object may be for fewer people.

use cartouche_language::{Diagnostic, explained, roots::RUNNABLE, suggestion, syntax};
use serde_json::Value;

use crate::context::Context;

/// Maximum number of names that are compared: others write them, as many as fit.
const COMPARED: usize = 256;
/// Maximum number of inputs that are listed if none is similar to the missing one.
const LISTED: usize = 12;
const INPUTS: [&str; 3] = [RUNNABLE, "spec", "inputs"];
/// Maximum length of a name in the advice, in bytes.
const LONGEST: usize = 64;
/// The optional fields of a Runnable.
const FIELDS: [(&[&str], &[&str]); 2] = [
    (&[RUNNABLE, "metadata"], &["labels", "annotations"]),
    (&[RUNNABLE, "spec"], &["inputs", "selector"]),
];

/// Returns the advice for a tag that leads to no value, if its Runnable yields some.
pub(crate) fn hint(problem: &Diagnostic, context: &Context) -> Option<String> {
    if !explained::has_no_value(problem) {
        return None;
    }
    let tag = problem.tag.as_deref()?;
    let steps = syntax::steps(tag);
    let (first, below) = steps.split_first()?;
    let mut above = vec![first.key().filter(|key| *key == RUNNABLE)?];
    let mut value = context.at(&[RUNNABLE.into()])?;
    for step in below {
        let key = step.key()?;
        match value.get(key) {
            Some(next) => value = next,
            // A name with dots in it is one name, so its first part is similar to none.
            None if explained::unescaped_dots(tag, Some(step)).is_some() => return None,
            None => return nearest(&above, key, value),
        }
        above.push(key);
    }
    None
}

fn nearest(above: &[&str], key: &str, parent: &Value) -> Option<String> {
    let lacked = FIELDS.iter().filter(|(at, _)| *at == above);
    let lacked = lacked.flat_map(|(_, fields)| fields.iter().copied());
    let there = parent.as_object().into_iter().flatten();
    let there = there.map(|(name, _)| name.as_str());
    let short = there.filter(|name| name.len() <= LONGEST).take(COMPARED);
    let known: Vec<&str> = lacked.chain(short).collect();
    if known.contains(&key) {
        return None;
    }
    match above {
        [RUNNABLE] if key == "inputs" => Some("inputs are at runnable.spec.inputs".to_owned()),
        _ if above == INPUTS && read_by_yaml(key, &known).is_some() => {
            let read = read_by_yaml(key, &known).unwrap_or_default();
            Some(format!(
                "put the key in quotes in the Runnable: YAML reads a key such as {key} as {read}, and that one is there"
            ))
        }
        _ if above == INPUTS
            && let Some(list) = list_of_argo(parent, key) =>
        {
            Some(list.to_owned())
        }
        _ => match suggestion::nearest(key, known.iter().copied()) {
            // Only the author knows which of both names is wrong.
            Some(meant) if above == INPUTS => Some(format!(
                "give the input '{key}', or correct its name: the Runnable gives '{meant}'"
            )),
            Some(meant) => Some(format!("did you mean '{meant}'?")),
            None if above.starts_with(&INPUTS) && (1..=LISTED).contains(&known.len()) => {
                Some(format!(
                    "give it a value, or correct the name: there are {}",
                    known.join(", ")
                ))
            }
            None => None,
        },
    }
}

/// Returns the advice for an input that Argo would find in a list of names and values.
#[must_use]
pub fn list_of_argo(inputs: &Value, key: &str) -> Option<&'static str> {
    let mut list = inputs.get("parameters")?.as_array()?.iter();
    let is_it = |it: &Value| it.get("name").and_then(Value::as_str) == Some(key);
    list.any(is_it).then_some(
        "inputs of a Runnable are a map, and inputs.parameters is the list of Argo: write each as `NAME: VALUE` below inputs",
    )
}

/// Returns the value that YAML 1.1 makes of a key without quotes, if an input of that name exists instead.
fn read_by_yaml(key: &str, known: &[&str]) -> Option<&'static str> {
    let read = match key.to_ascii_lowercase().as_str() {
        "n" | "no" | "off" => "false",
        "y" | "yes" | "on" => "true",
        _ => return None,
    };
    known.contains(&read).then_some(read)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Template;

    /// Returns the advice for a tag with that path, for a Runnable with these inputs.
    fn cure(path: &str, inputs: &Value) -> String {
        let spec = serde_json::from_value(json!({ "template": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "a-" },
            "data": { "a": format!("x $({path})$") },
        } }));
        let template = Template::compile(&spec.unwrap()).unwrap();
        let labels = json!({ "app": "shop", "app.kubernetes.io/name": "shop" });
        let runnable = json!({
            "metadata": { "name": "r", "labels": labels },
            "spec": { "inputs": inputs },
        });
        let selected = json!({ "metadata": { "name": "s" }, "data": { "pasword": "x" } });
        let context = Context::new(&runnable, Some(&selected)).unwrap();
        let problems = template.render(&context).unwrap_err();
        explained::explain(&problems[0]).help.unwrap()
    }

    #[test]
    fn the_list_of_argo_is_no_map_of_inputs() {
        let inputs = json!({ "parameters": [{ "name": "version", "value": "1" }] });
        let said = cure("runnable.spec.inputs.version", &inputs);
        assert!(said.contains("the list of Argo"), "{said}");
        let said = cure("runnable.spec.inputs.parameter", &inputs);
        assert!(said.contains("the Runnable gives 'parameters'"), "{said}");
        let other = json!({ "parameters": ["version"] });
        let said = cure("runnable.spec.inputs.version", &other);
        assert!(said.contains("there are parameters"), "{said}");
    }

    #[test]
    fn the_name_that_was_meant_is_told_of_every_step() {
        let inputs = json!({ "version": "1" });
        for (path, meant) in [
            ("runnable.spec.input.version", "inputs"),
            ("runnable.metadata.lables.app", "labels"),
            ("runnable.metadata.labels.ap", "app"),
        ] {
            assert_eq!(cure(path, &inputs), format!("did you mean '{meant}'?"));
        }
        assert_eq!(
            cure("runnable.spec.inputs.Version", &inputs),
            "give the input 'Version', or correct its name: the Runnable gives 'version'"
        );
        assert_eq!(
            cure("runnable.inputs.version", &inputs),
            "inputs are at runnable.spec.inputs"
        );
    }

    #[test]
    fn the_inputs_that_there_are_are_told_where_none_is_like_it() {
        assert_eq!(
            cure(
                "runnable.spec.inputs.colour",
                &json!({ "size": "2", "version": "1" })
            ),
            "give it a value, or correct the name: there are size, version"
        );
        assert_eq!(
            cure("runnable.spec.inputs.n", &json!({ "false": "2" })),
            "put the key in quotes in the Runnable: YAML reads a key such as n as false, and that one is there"
        );
    }

    #[test]
    fn a_field_that_a_runnable_may_leave_out_is_known_as_well() {
        assert_eq!(
            cure("runnable.spec.input.a", &Value::Null),
            "did you mean 'inputs'?"
        );
    }

    #[test]
    fn names_in_the_selected_object_are_not_told() {
        let said = cure("selected.data.password", &json!({}));
        assert!(!said.contains("pasword"), "{said}");
    }

    #[test]
    fn names_of_any_length_and_number_cost_nothing() {
        let long = "a".repeat(30_000);
        let many = (0..5_000).map(|n| (format!("{long}{n}"), Value::Null));
        let inputs = Value::Object(many.take(20).collect());
        let said = cure("runnable.spec.inputs.aaa", &inputs);
        assert!(said.len() < 200, "{}", said.len());
    }
}
