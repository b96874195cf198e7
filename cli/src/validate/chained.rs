//! Runnables that select other Runnables, to read their outputs. Files do not hold outputs, but the template
//! of the other one says which there will be.

use cartouche_templating::{
    Diagnostic,
    syntax::{self, PathStep, To},
};
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    objects::{Objects, RUNNABLE},
    source::Document,
    suggestion, template_file,
};

/// Whether it is a Runnable out of a file, that no controller has looked at.
pub(super) fn is_unfinished(selected: &Document) -> bool {
    selected.is_ours(RUNNABLE) && selected.value.get("status").is_none_or(Value::is_null)
}

/// Whether it is only the status of the selected object that is missing.
pub(super) fn reads_status(problem: &Diagnostic) -> bool {
    let steps = problem.tag.as_deref().map(syntax::steps);
    steps.is_some_and(|steps| leads_to(&steps, &["selected", "status"]))
}

fn leads_to(steps: &[PathStep], keys: &[&str]) -> bool {
    keys.len() <= steps.len()
        && keys
            .iter()
            .zip(steps)
            .all(|(key, step)| matches!(&step.to, To::Key(name) if name == key))
}

/// Outputs that the selected Runnable will never have, and a note on what could not be checked.
pub(super) fn check(
    objects: &Objects,
    document: &Document,
    runnable: &Document,
    selected: &Document,
    problems: &[Diagnostic],
) -> Vec<Finding> {
    let outputs: Option<Vec<String>> = objects.template_of(selected).map(|template| {
        let outputs = template
            .value
            .pointer("/spec/outputs")
            .and_then(Value::as_object);
        outputs
            .into_iter()
            .flat_map(|outputs| outputs.keys().cloned())
            .collect()
    });
    let mut findings = Vec::new();
    for problem in problems.iter().filter(|problem| reads_status(problem)) {
        let tag = problem.tag.as_deref().unwrap_or_default();
        let steps = syntax::steps(tag);
        let output = match steps.get(3).map(|step| &step.to) {
            Some(To::Key(key)) if leads_to(&steps, &["selected", "status", "outputs"]) => key,
            _ => continue,
        };
        let known = outputs.as_ref().filter(|outputs| !outputs.contains(output));
        let Some(known) = known else { continue };
        let message = format!(
            "Runnable {}: the tag $({tag})$ reads the output '{output}', which the template of Runnable {} does not declare",
            runnable.name(),
            selected.name()
        );
        let place = selected
            .root
            .at(&["metadata", "name"])
            .unwrap_or(&selected.root);
        findings.push(
            Finding::error(Rule::Value, message)
                .at(template_file::place_of(document, problem))
                .label("no such output")
                .related(selected.place(&place.span), "selected here")
                .maybe_help(
                    suggestion::hint(output, "its outputs are", known.iter().map(String::as_str))
                        .or_else(|| Some("declare it under outputs of that template".to_owned())),
                ),
        );
    }
    if findings.is_empty() && problems.iter().any(reads_status) {
        let message = format!(
            "what the template makes of Runnable {} was not checked: it reads the status of Runnable {}, which only a cluster knows",
            runnable.name(),
            selected.name()
        );
        let node = runnable
            .root
            .at(&["spec", "selector"])
            .unwrap_or(&runnable.root);
        findings.push(
            Finding::note(Rule::Unchecked, message)
                .at(runnable.place(&node.span))
                .help("test it with a case that has the selected object with its status: cartouche test"),
        );
    }
    findings
}
