//! Faults of `spec.inputsFrom` that do not depend on the objects, with their places.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{InputSource, is_dns_label, is_dns_subdomain};
use cartouche_protocol::{
    messages::diagnosis::Fault,
    references::{SourceKind, SourceObject},
    sourced_inputs,
};
use cartouche_templating::given_twice;
use serde_json::Value;

use super::{Entry, FIELD, finding};
use crate::{
    finding::Finding,
    source::{Document, Segment, SourceSpan},
};

/// Findings, and the indices of the elements that they are about.
pub(super) struct WrongElements {
    pub(super) findings: Vec<Finding>,
    pub(super) indices: BTreeSet<usize>,
}

/// Returns all faults that the controller reports, at the places that they are about.
pub(super) fn find(runnable: &Document, entries: &[Entry]) -> WrongElements {
    let inputs: Option<BTreeMap<String, Value>> = runnable.field("inputs");
    let sources: Vec<InputSource> = entries.iter().map(|it| it.source.clone()).collect();
    let (mut findings, mut indices, mut reported) = (Vec::new(), BTreeSet::new(), Vec::new());
    for entry in entries {
        for fault in faults(None, entry.slice()) {
            reported.push(fault.clone());
            indices.insert(entry.index);
            // The schema check reports a misspelt kind of source as an unknown field.
            if !has_unknown_field(runnable, entry) {
                findings.push(finding(runnable, fault).at(place(runnable, entry)));
            }
        }
    }
    for name in given_twice(inputs.as_ref(), &sources) {
        let of_name: Vec<&Entry> = entries.iter().filter(|it| it.name() == name).collect();
        let sources: Vec<InputSource> = of_name.iter().map(|it| it.source.clone()).collect();
        let mut faults = faults(inputs.as_ref(), &sources);
        faults.retain(|fault| !reported.contains(fault));
        indices.extend(of_name.iter().map(|it| it.index));
        for fault in faults {
            reported.push(fault.clone());
            findings.push(twice(runnable, &of_name, fault));
        }
    }
    let mut of_all = faults(inputs.as_ref(), &sources);
    of_all.retain(|fault| !reported.contains(fault));
    let at_list = runnable.place_of_key(&["spec", FIELD]);
    let of_all = of_all.into_iter().map(|it| finding(runnable, it));
    findings.extend(of_all.map(|finding| finding.at(at_list.clone())));
    WrongElements { findings, indices }
}

fn faults(inputs: Option<&BTreeMap<String, Value>>, sources: &[InputSource]) -> Vec<Fault> {
    let checked = sourced_inputs::check(inputs, sources);
    checked.err().map(|wrong| wrong.faults).unwrap_or_default()
}

fn has_unknown_field(runnable: &Document, entry: &Entry) -> bool {
    let known = serde_json::to_value(&entry.source).unwrap_or_default();
    let (node, _, _) = runnable.root.follow(&entry.steps(&[]));
    let mut fields = node.entries().iter();
    fields.any(|field| known.get(&field.key).is_none())
}

/// Returns the part of one that can name nothing.
fn place(runnable: &Document, entry: &Entry) -> SourceSpan {
    let part: &[&str] = match SourceObject::from_source(&entry.source) {
        None => &[],
        Some(SourceObject {
            namespace: Some(namespace),
            ..
        }) if !is_dns_label(&namespace) => &[entry.reference(), "namespace"],
        Some(object) if object.kind == SourceKind::Any => &[entry.reference()],
        Some(object) if is_dns_subdomain(&object.name) => &[entry.reference(), object.kind.part()],
        Some(_) => &[entry.reference(), "name"],
    };
    runnable.place_at(&entry.steps(part))
}

/// Returns the finding about a name that is given twice: at the last place, beside the one before it.
fn twice(runnable: &Document, of_name: &[&Entry], fault: Fault) -> Finding {
    let named = |entry: &&Entry| runnable.place_at(&entry.steps(&["name"]));
    let mut places: Vec<SourceSpan> = of_name.iter().map(named).collect();
    let name = of_name.first().map_or("", |entry| entry.name());
    let input = Segment::keys(["spec", "inputs", name]);
    let (_, key, taken) = runnable.root.follow(&input);
    if let Some(key) = key.filter(|_| taken == input.len()) {
        places.insert(0, runnable.place(key));
    }
    let finding = finding(runnable, fault);
    match (places.pop(), places.pop()) {
        (Some(last), Some(before)) => finding
            .at(last)
            .label("given here as well")
            .with_related(before, "given here"),
        (Some(only), None) => finding.at(only),
        (None, _) => finding,
    }
}
