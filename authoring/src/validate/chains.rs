//! Runnables that derive from each other in a cycle, by their outputs or by objects that these go to: none of them ever
//! runs.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::OutputSink;
use cartouche_protocol::{messages::diagnosis::Diagnosis, sinks, sources::graph, trace::SourceKey};

use crate::{
    finding::{Finding, Rule},
    inputs_from::{ReadReference, reads},
    objects::{Objects, namespace_of},
    source::{Document, Segment, SourceSpan},
};

/// Returns one finding for each cycle, at the member that is first by name.
pub(super) fn check(objects: &Objects) -> Vec<Finding> {
    let members: BTreeMap<SourceKey, ChainMember<'_>> = objects
        .runnables
        .iter()
        .map(|document| {
            let key = SourceKey::runnable(namespace_of(document), document.name());
            (key, ChainMember::from_document(document))
        })
        .collect();
    let mut writers: BTreeMap<&SourceKey, Vec<&SourceKey>> = BTreeMap::new();
    for (key, member) in &members {
        for object in member.writes.keys() {
            writers.entry(object).or_default().push(key);
        }
    }
    let mut reported: BTreeSet<&SourceKey> = BTreeSet::new();
    let mut findings = Vec::new();
    for key in members.keys() {
        let edges = |key: &&SourceKey| -> Vec<&SourceKey> {
            let member = members.get(*key);
            let reads = member.into_iter().flat_map(|it| &it.reads);
            let writers = writers.get(*key).into_iter().flatten().copied();
            reads.map(|read| &read.source).chain(writers).collect()
        };
        if reported.contains(key) {
            continue;
        }
        if let Some(way) = graph::way_round(&key, edges) {
            findings.extend(finding(&members, &way));
            reported.extend(way);
        }
    }
    findings
}

/// A Runnable of the files.
struct ChainMember<'a> {
    document: &'a Document,
    reads: Vec<ReadReference>,
    /// The objects that its outputs go to.
    writes: BTreeMap<SourceKey, Write>,
}

/// An object that outputs go to.
struct Write {
    /// Place of the reference.
    place: SourceSpan,
    /// Its name in the file.
    shown: SourceKey,
}

impl<'a> ChainMember<'a> {
    fn from_document(document: &'a Document) -> Self {
        let wanted: Vec<OutputSink> = document.field("writeOutputsTo").unwrap_or_default();
        let write = |(index, sink): (usize, &OutputSink)| {
            let mut at = Segment::keys(["spec", "writeOutputsTo"]);
            at.push(Segment::Index(index));
            at.extend(Segment::keys(["name"]));
            let object = sinks::identify(sink);
            let place = document.place_at(&at);
            let shown = object.as_sink(document.namespace())?;
            Some((
                object.as_sink(namespace_of(document))?,
                Write { place, shown },
            ))
        };
        Self {
            document,
            reads: reads(document),
            writes: wanted.iter().enumerate().filter_map(write).collect(),
        }
    }

    /// Returns its name in its file.
    fn source_key(&self) -> SourceKey {
        SourceKey::runnable(self.document.namespace(), self.document.name())
    }
}

fn finding(members: &BTreeMap<SourceKey, ChainMember<'_>>, way: &[&SourceKey]) -> Option<Finding> {
    let round = way.iter().zip(way.iter().cycle().skip(1));
    let (mut shown, mut steps) = (Vec::new(), Vec::new());
    for (key, next) in round {
        if let Some(member) = members.get(*key) {
            let read = member.reads.iter().find(|read| read.source == **next)?;
            shown.push(member.source_key());
            steps.push((member, "reads", read.place.clone()));
        } else {
            let writer = members.get(*next)?;
            let write = writer.writes.get(*key)?;
            shown.push(write.shown.clone());
            steps.push((writer, "writes to", write.place.clone()));
        }
    }
    let mut steps = steps.into_iter();
    let (first, _, place) = steps.next()?;
    let reported = Diagnosis::DependencyCycle(shown);
    let message = format!("Runnable {}: {reported}", first.document.name());
    let finding = Finding::error(Rule::Source, message)
        .at(place)
        .label("this is read")
        .help(reported.cure());
    Some(steps.fold(finding, |finding, (member, does, place)| {
        let label = format!("and Runnable {} {does} this", member.document.name());
        finding.with_related(place, label)
    }))
}
