//! Annotations by which Argo CD and Helm treat an object as a hook: they delete and recreate it, which defeats the
//! purpose of Cartouche.

use crate::{
    finding::{Finding, Rule},
    source::{Document, Node, SourceSpan},
};

const ARGO_CD: &str = "argocd.argoproj.io/hook";
const HELM: &str = "helm.sh/hook";
/// The one value by which Argo CD leaves an object alone.
const SKIP: &str = "Skip";

/// Finds Runnables that are hooks.
pub(super) fn of_runnable(runnable: &Document) -> Vec<Finding> {
    let found = hooks(runnable, &["metadata", "annotations"]).into_iter();
    let finding = |(tool, place)| {
        let (who, when) = tool;
        let message = format!(
            "as a hook, {who} recreates this Runnable {when}: each time it runs once more, as run 1"
        );
        Finding::warning(Rule::Surprise, message)
            .at(place)
            .label("this makes it a hook")
            .help(
                "remove it: a Runnable that is applied runs when its inputs or its template change",
            )
    };
    found.map(finding).collect()
}

/// Finds templates whose runs have such annotations.
pub(super) fn of_template(template: &Document) -> Vec<Finding> {
    let found = hooks(template, &["spec", "template", "metadata", "annotations"]);
    let finding = |(tool, place)| {
        let (who, _) = tool;
        let message = format!(
            "a run is not a hook, because {who} does not apply it: this does nothing, or deletes the run"
        );
        Finding::warning(Rule::Surprise, message)
            .at(place)
            .label("this starts nothing")
            .help("remove it: the controller creates each run once")
    };
    found.into_iter().map(finding).collect()
}

/// Returns the tool of each such annotation, the time at which it recreates a hook, and the place of the annotation.
fn hooks(document: &Document, at: &[&str]) -> Vec<((&'static str, &'static str), SourceSpan)> {
    let annotations = document.root.at(at).map(Node::entries);
    let entries = annotations.unwrap_or_default().iter();
    let hook = |entry: &crate::source::MapEntry| {
        let tool = match (entry.key.as_str(), entry.value.text()) {
            (ARGO_CD, value) if value != Some(SKIP) => ("Argo CD", "at every sync"),
            (HELM, _) => ("Helm", "at every release"),
            _ => return None,
        };
        Some((tool, document.place(&entry.key_span)))
    };
    entries.filter_map(hook).collect()
}
