//! Runnables that read each other's outputs in a circle: none of them ever runs.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_protocol::{
    diagnosis::Diagnosis,
    sources::{SourceKey, graph},
};

use crate::{
    finding::{Finding, Rule},
    inputs_from::{Read, reads},
    objects::{Objects, namespace_of},
    source::Document,
};

/// Every cycle once, told of the member that is first by name.
pub(super) fn check(objects: &Objects) -> Vec<Finding> {
    let members: BTreeMap<SourceKey, Member<'_>> = objects
        .runnables
        .iter()
        .map(|document| {
            let key = SourceKey::runnable(namespace_of(document), document.name());
            let reads = reads(document);
            (key, Member { document, reads })
        })
        .collect();
    let mut told: BTreeSet<&SourceKey> = BTreeSet::new();
    let mut findings = Vec::new();
    for key in members.keys() {
        let edges = |key: &&SourceKey| -> Vec<&SourceKey> {
            let member = members.get(*key);
            let reads = member.into_iter().flat_map(|it| &it.reads);
            reads.map(|read| &read.source).collect()
        };
        if told.contains(key) {
            continue;
        }
        if let Some(way) = graph::way_round(&key, edges) {
            findings.extend(finding(&members, &way));
            told.extend(way);
        }
    }
    findings
}

/// A Runnable of the files.
struct Member<'a> {
    document: &'a Document,
    reads: Vec<Read>,
}

impl Member<'_> {
    /// Its name, as its file has it.
    fn shown(&self) -> SourceKey {
        SourceKey::runnable(self.document.namespace(), self.document.name())
    }
}

fn finding(members: &BTreeMap<SourceKey, Member<'_>>, way: &[&SourceKey]) -> Option<Finding> {
    let round = way.iter().zip(way.iter().cycle().skip(1));
    let mut steps = round.filter_map(|(key, next)| {
        let member = members.get(*key)?;
        let read = member.reads.iter().find(|read| read.source == **next)?;
        Some((member, read.place.clone()))
    });
    let (first, place) = steps.next()?;
    let shown = way.iter().filter_map(|key| members.get(*key));
    let told = Diagnosis::DependencyCycle(shown.map(Member::shown).collect());
    let message = format!("Runnable {}: {told}", first.document.name());
    let finding = Finding::error(Rule::Source, message)
        .at(place)
        .label("this is read")
        .help(told.cure());
    Some(steps.fold(finding, |finding, (member, place)| {
        let label = format!("and Runnable {} reads this", member.document.name());
        finding.related(place, label)
    }))
}
