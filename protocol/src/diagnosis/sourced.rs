//! The cure of an input that is not as the template wants it, and that another object gives. Pure.

use cartouche_crds::{InputSource, ReadAs};
use cartouche_templating::{Diagnostic, DiagnosticKind, Root, Segment};

use crate::sourced_inputs::{SourceKind, SourceObject, key};

/// The place of inputs, as diagnostics have it.
const TO_INPUTS: [&str; 3] = ["runnable", "spec", "inputs"];

/// What to do about a value that does not fit, where one of these sources gives it: no person writes it, so that a cure of what is
/// written would be none.
pub(super) fn cure(diagnostic: &Diagnostic, sources: &[InputSource]) -> Option<String> {
    let is_of_value = matches!(
        diagnostic.kind,
        DiagnosticKind::Other { .. } | DiagnosticKind::NotAllowed { .. }
    );
    let input = input_of(diagnostic).filter(|_| is_of_value)?;
    let source = sources.iter().find(|source| source.name == input)?;
    let object = SourceObject::of(source)?;
    let (part, key) = (object.kind.part(), key(source));
    let from = format!("it comes from {part} {key} of {object}");
    let as_text = source
        .config_map_key_ref
        .as_ref()
        .is_some_and(|it| it.read_as.unwrap_or_default() == ReadAs::Text);
    Some(match object.kind {
        SourceKind::Runnable | SourceKind::Any => format!(
            "{from}: let that give another value, or let the inputSchema of this template take it; \"$('')$$(runnable.spec.inputs.{input})$\" in the template makes a string of it"
        ),
        SourceKind::ConfigMap if as_text => {
            format!(
                "{from}: correct it there, or give that reference as: JSON, as it is read as text"
            )
        }
        SourceKind::ConfigMap => {
            format!("{from}: correct it there, or take as: JSON away to read it as text")
        }
        SourceKind::Secret => format!(
            "{from}, of which the input is a reference (name and key): let the inputSchema of the template take an object"
        ),
    })
}

/// The input that it is about, if it is about one.
fn input_of(diagnostic: &Diagnostic) -> Option<&str> {
    let (above, below) = diagnostic.at.split_at_checked(TO_INPUTS.len())?;
    let is_input = diagnostic.root == Root::Context
        && above
            .iter()
            .zip(TO_INPUTS)
            .all(|(step, name)| matches!(step, Segment::Key(key) if key == name));
    match below.first() {
        Some(Segment::Key(input)) if is_input => Some(input),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use cartouche_templating::{Context, Template};
    use serde_json::{Value, json};

    use super::super::Fault;
    use super::*;

    /// What to do about a number that is to be a string, which comes from this source.
    fn cure_of(source: &Value) -> String {
        let spec = serde_json::from_value(json!({
            "template": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "a-" } },
            "inputSchema": { "type": "object", "properties": { "seed": { "type": "string" } } },
        }));
        let template = Template::compile(&spec.unwrap()).unwrap();
        let runnable = json!({ "metadata": { "name": "r" }, "spec": { "inputs": { "seed": 8 } } });
        let context = Context::new(&runnable, None).unwrap();
        let problems = template.render(&context).unwrap_err();
        let sources: Vec<InputSource> = serde_json::from_value(source.clone()).unwrap();
        let faults = Fault::all_with(&problems, &sources);
        assert!(faults[0].what.contains("has to be a string"), "{faults:?}");
        faults[0].cure.clone().unwrap()
    }

    #[test]
    fn of_a_value_that_no_person_writes_it_is_said_where_it_comes_from() {
        let output =
            json!([{ "name": "seed", "runnableRef": { "name": "build", "output": "bytes" } }]);
        let said = cure_of(&output);
        assert!(
            said.starts_with("it comes from output bytes of Runnable build: "),
            "{said}"
        );
        let of_map = json!([{ "name": "seed", "configMapKeyRef": { "name": "m", "key": "k", "as": "JSON" } }]);
        assert!(cure_of(&of_map).contains("take as: JSON away"));
        let other =
            json!([{ "name": "other", "runnableRef": { "name": "build", "output": "bytes" } }]);
        assert_eq!(cure_of(&other), "put it in quotes");
    }
}
