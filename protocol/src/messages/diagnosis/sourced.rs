//! Cures for an input with a wrong value that comes from another object. Pure.

use cartouche_crds::{InputSource, ReadAs};
use cartouche_language::{Diagnostic, DiagnosticKind, Root, Segment, explained, syntax};

use crate::references::{SourceKind, SourceObject, key};

/// The path of inputs in diagnostics.
const TO_INPUTS: [&str; 3] = ["runnable", "spec", "inputs"];

/// Returns the cure for a wrong value that one of these sources gives. No person writes that value,
/// so the usual cure does not apply.
pub(super) fn cure(diagnostic: &Diagnostic, sources: &[InputSource]) -> Option<String> {
    if explained::has_no_value(diagnostic) {
        return of_no_value(diagnostic.tag.as_deref()?, sources);
    }
    let is_of_value = matches!(
        diagnostic.kind,
        DiagnosticKind::Other { .. } | DiagnosticKind::NotAllowed { .. }
    );
    let input = input_of(diagnostic).filter(|_| is_of_value)?;
    let source = sources.iter().find(|source| source.name == input)?;
    let object = SourceObject::from_source(source)?;
    let (part, key) = (object.kind.part(), key(source));
    let from = format!("it comes from {part} {key} of {object}");
    let as_text = source
        .config_map_key_ref
        .as_ref()
        .is_some_and(|it| it.read_as.unwrap_or_default() == ReadAs::Text);
    Some(match object.kind {
        SourceKind::Runnable | SourceKind::Any => format!(
            "{from}: change that value, or let the inputSchema of this template accept it; \"$('')$$(runnable.spec.inputs.{input})$\" in the template makes a string of it"
        ),
        SourceKind::ConfigMap if as_text => {
            format!(
                "{from}: correct it there, or set as: JSON in that reference, which reads it as text now"
            )
        }
        SourceKind::ConfigMap => {
            format!("{from}: correct it there, or remove as: JSON to read it as text")
        }
        SourceKind::Secret => format!(
            "{from}, and the input is a reference to it (name and key): let the inputSchema of the template accept an object"
        ),
    })
}

/// Returns the cure for a tag without a value if one of these sources gives its input, or would.
fn of_no_value(tag: &str, sources: &[InputSource]) -> Option<String> {
    let steps = syntax::steps(tag);
    let (above, below) = steps.split_at_checked(TO_INPUTS.len())?;
    let (first, members) = below.split_first()?;
    let is_input = above.iter().map(|it| it.key()).eq(TO_INPUTS.map(Some));
    let input = first.key().filter(|_| is_input)?;
    let source = sources.iter().find(|source| source.name == input)?;
    let object = SourceObject::from_source(source)?;
    let (part, key) = (object.kind.part(), key(source));
    let from = format!("input {input} comes from {part} {key} of {object}");
    let map = source.config_map_key_ref.as_ref();
    let is_text = map.is_some_and(|it| it.read_as.unwrap_or_default() == ReadAs::Text);
    if !members.is_empty() && is_text {
        return Some(format!(
            "{from}, which is read as text, and text has no members: set as: JSON in that reference"
        ));
    }
    if !members.is_empty() && object.kind == SourceKind::Secret {
        return Some(format!(
            "{from}, and an input from a Secret is a reference, with the members name and key: `valueFrom: {{secretKeyRef: $(runnable.spec.inputs.{input})$}}` gives a container the value"
        ));
    }
    (members.is_empty() && source.optional == Some(true)).then(|| {
        format!(
            "{from}, which is optional and absent, so it has no value: create it, add a default for the input to the inputSchema of the template, or remove optional, so that the run waits for it"
        )
    })
}

/// Returns the input that a diagnostic is about.
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

    /// Returns the cure for a number that should be a string and comes from this source.
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
        assert!(cure_of(&of_map).contains("remove as: JSON"));
        let other =
            json!([{ "name": "other", "runnableRef": { "name": "build", "output": "bytes" } }]);
        assert_eq!(cure_of(&other), "put it in quotes");
    }

    #[test]
    fn of_a_tag_without_a_value_it_is_said_why_its_source_gives_none() {
        let text = json!({ "name": "conf", "configMapKeyRef": { "name": "m", "key": "k" } });
        let sources = |source: &Value| vec![serde_json::from_value(source.clone()).unwrap()];
        let said = |tag, source: &Value| of_no_value(tag, &sources(source));
        let member = said("runnable.spec.inputs.conf.a", &text).unwrap();
        assert!(
            member.ends_with("set as: JSON in that reference"),
            "{member}"
        );
        assert_eq!(said("runnable.spec.inputs.conf", &text), None);
        assert_eq!(said("runnable.spec.inputs.other.a", &text), None);
        let mut optional = text.clone();
        optional["optional"] = json!(true);
        let absent = said("runnable.spec.inputs.conf", &optional).unwrap();
        assert!(absent.contains("optional and absent"), "{absent}");
        let secret = json!({ "name": "conf", "secretKeyRef": { "name": "m", "key": "k" } });
        let reference = said("runnable.spec.inputs.conf.a", &secret).unwrap();
        assert!(reference.contains("secretKeyRef"), "{reference}");
    }
}
