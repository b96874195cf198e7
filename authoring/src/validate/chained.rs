//! Runnables that select other Runnables, to read their outputs. Files do not hold outputs, but the template of the
//! other one declares them.

use cartouche_language::{
    Diagnostic, suggestion,
    syntax::{self, PathStep, To},
};
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    objects::{Objects, RUNNABLE},
    source::Document,
    template_file,
};

/// Returns true for a Runnable of a file that no controller has reconciled.
pub(super) fn is_unfinished(selected: &Document) -> bool {
    selected.is_ours(RUNNABLE) && selected.value.get("status").is_none_or(Value::is_null)
}

/// Returns true if only the status of the selected object is missing.
pub(super) fn reads_status(problem: &Diagnostic) -> bool {
    reads(problem, &["selected", "status"])
}

/// Returns true if the problem is about a tag that reads at these keys, or below.
pub(super) fn reads(problem: &Diagnostic, keys: &[&str]) -> bool {
    let steps = problem.tag.as_deref().map(syntax::steps);
    steps.is_some_and(|steps| syntax::below(&steps, keys).is_some())
}

/// Finds outputs that the selected Runnable will never have, and notes what could not be checked.
pub(super) fn check(
    objects: &Objects,
    document: &Document,
    runnable: &Document,
    selected: &Document,
    problems: &[Diagnostic],
) -> Vec<Finding> {
    let problems: Vec<_> = problems.iter().filter(|it| reads_status(it)).collect();
    let outputs = objects
        .template_of(selected)
        .map(template_file::declared_outputs);
    let undeclared = |problem: &&Diagnostic| {
        let place = template_file::place_of(document, problem);
        Some(undeclared(runnable, selected, problem, outputs.as_deref()?)?.at(place))
    };
    let findings: Vec<Finding> = problems.iter().filter_map(undeclared).collect();
    if findings.is_empty() && !problems.is_empty() {
        return vec![unchecked(runnable, selected)];
    }
    findings
}

/// Finds an output that is read from the selected Runnable, and that its template does not declare.
fn undeclared(
    runnable: &Document,
    selected: &Document,
    problem: &Diagnostic,
    declared: &[&str],
) -> Option<Finding> {
    let tag = problem.tag.as_deref()?;
    let steps = syntax::steps(tag);
    let output = match syntax::below(&steps, &["selected", "status", "outputs"])? {
        [
            PathStep {
                to: To::Key(key), ..
            },
            ..,
        ] => key.as_str(),
        _ => return None,
    };
    if declared.contains(&output) {
        return None;
    }
    let message = format!(
        "Runnable {}: the tag $({tag})$ reads the output '{output}', which the template of Runnable {} does not declare",
        runnable.name(),
        selected.name()
    );
    let help = suggestion::hint(output, "its outputs are", declared.iter().copied())
        .unwrap_or_else(|| "declare it under outputs of that template".to_owned());
    let finding = Finding::error(Rule::Value, message).label("no such output");
    let place = selected.place_of(&["metadata", "name"]);
    Some(finding.with_related(place, "selected here").help(help))
}

fn unchecked(runnable: &Document, selected: &Document) -> Finding {
    let message = format!(
        "what the template makes of Runnable {} was not checked: it reads the status of Runnable {}, which only a cluster knows",
        runnable.name(),
        selected.name()
    );
    Finding::note(Rule::Unchecked, message)
        .at(runnable.place_of(&["spec", "selector"]))
        .help("test it with a case that has the selected object with its status: cartouche test")
}
