//! References of a Runnable, checked without the objects that they name.

use super::{knowledge::Knowledge, names, refused::Refused, run_kind};
use crate::{
    finding::{Finding, Rule},
    objects::TEMPLATE,
    source::{Document, Node, Segment},
};

/// Path to the kind that a Runnable selects.
const SELECTED: [&str; 3] = ["spec", "selector", "resource"];

pub(super) fn check(runnable: &Document, knowledge: &Knowledge) -> Vec<Finding> {
    let mut findings = labels(runnable);
    findings.extend(selected_kind(runnable, knowledge));
    findings.extend(kinds_of_inputs(runnable, knowledge));
    findings.extend(template_kind(runnable));
    findings
}

/// Finds a selected kind that no API server has.
fn selected_kind(runnable: &Document, knowledge: &Knowledge) -> Option<Finding> {
    let resource = runnable.root.at(&SELECTED)?;
    let text = |field| resource.get(field).and_then(Node::text);
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    let is_known = knowledge.catalog.get(api_version, kind).is_some();
    if is_known || api_version.is_empty() || kind.is_empty() {
        return None;
    }
    let name = (api_version, kind);
    let place = |field| runnable.place_of(&[&SELECTED[..], &[field]].concat());
    run_kind::unknown(place, &knowledge.catalog, name)
}

/// Finds kinds of inputs that no API server has.
fn kinds_of_inputs(runnable: &Document, knowledge: &Knowledge) -> Vec<Finding> {
    let sources = runnable.root.at(&["spec", "inputsFrom"]).map(Node::items);
    let sources = sources.unwrap_or_default().iter().enumerate();
    let finding = |(index, source): (usize, &Node)| {
        let text = |field| source.at(&["objectRef", field]).and_then(Node::text);
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let is_known = knowledge.catalog.get(api_version, kind).is_some();
        if is_known || api_version.is_empty() || kind.is_empty() {
            return None;
        }
        let place = |field| {
            let mut at = Segment::keys(["spec", "inputsFrom"]);
            at.push(Segment::Index(index));
            at.extend(Segment::keys(["objectRef", field]));
            runnable.place_at(&at)
        };
        run_kind::unknown(place, &knowledge.catalog, (api_version, kind))
    };
    sources.filter_map(finding).collect()
}

/// Finds labels of the selector that no object can have.
pub(super) fn labels(runnable: &Document) -> Vec<Finding> {
    let at = ["spec", "selector", "matchingLabels"];
    let labels = runnable.root.at(&at).map(Node::entries);
    let refused = labels.unwrap_or_default().iter().filter_map(|entry| {
        let at = Segment::keys([&at[..], &[&*entry.key]].concat());
        let of_key = names::label_key(at.clone(), &entry.key);
        of_key.or_else(|| names::label_value(at, &entry.key, entry.value.text()?))
    });
    let finding = |refused: Refused| {
        refused
            .finding(runnable, &runnable.root)
            .label("no object can have this")
    };
    refused.map(finding).collect()
}

/// Finds a reference to another kind of template than the only one: the field is ignored.
fn template_kind(runnable: &Document) -> Option<Finding> {
    let node = runnable.root.at(&["spec", "runTemplateRef", "kind"])?;
    let kind = node
        .text()
        .filter(|kind| !kind.is_empty() && *kind != TEMPLATE)?;
    let message = format!("the template of a Runnable is a {TEMPLATE}, and never a {kind}");
    let finding = Finding::warning(Rule::Surprise, message)
        .at(runnable.place(&node.span))
        .label("this is ignored")
        .help("remove this line");
    Some(finding)
}
