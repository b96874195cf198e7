//! Inputs that may be left out, and that the template cannot do without.

use cartouche_language::syntax;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    input_schema,
    objects::Objects,
    source::{Document, Segment},
    template_file,
};

const FIELD: &str = "inputsFrom";

pub(super) fn check(objects: &Objects, runnable: &Document) -> Vec<Finding> {
    let Some(template) = objects.template_of(runnable) else {
        return Vec::new();
    };
    let sources: Vec<Value> = runnable.field(FIELD).unwrap_or_default();
    let tags = template_file::tags(template).into_iter();
    let tags: Vec<_> = tags.chain(template_file::runner_tags(template)).collect();
    let mut findings = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let name = source
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_optional = source.get("optional") == Some(&Value::Bool(true));
        let reading = tags.iter().find(|tag| {
            let steps = syntax::steps(&tag.tag.path);
            let first = input_schema::below_inputs(&steps).and_then(<[_]>::first);
            first.and_then(|step| step.key()) == Some(name)
        });
        let Some(tag) = reading.filter(|_| is_optional && !may_be_missing(template, name)) else {
            continue;
        };
        let at = [
            Segment::keys(["spec", FIELD]).as_slice(),
            &[Segment::Index(index), "optional".into()],
        ]
        .concat();
        let message = format!(
            "Runnable {}: input {name} is optional, and the template reads it and has no default: where it is left out, nothing can be rendered",
            runnable.name()
        );
        let finding = Finding::warning(Rule::Source, message)
            .at(runnable.place_at(&at))
            .label("this lets it be left out")
            .with_related(tag.place_of(None), "read here");
        findings.push(finding.help(
            "remove optional, so that the run waits for the input; or give it a default in inputSchema of the template",
        ));
    }
    findings
}

/// Returns true if the template gives a default, or if its declaration is reported for the template itself.
fn may_be_missing(template: &Document, name: &str) -> bool {
    let Some(schema) = template.value.pointer("/spec/inputSchema") else {
        return false;
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|all| all.iter().any(|it| it == name));
    let property = schema.get("properties").and_then(|all| all.get(name));
    let has_default = property.and_then(|it| it.get("default")).is_some();
    has_default || schema.get("default").is_some() || !is_required
}
