//! Objects that outputs go to and that can take none, in the words of the controller.

use std::collections::BTreeMap;

use cartouche_crds::{OutputSink, SINK_OF_ANNOTATION, SinkKind};
use cartouche_protocol::{
    messages::diagnosis::Fault, references::SourceObject, sinks, trace::SourceKey,
};

use crate::{
    finding::{Finding, Rule, Severity},
    inputs_from::object,
    objects::{Objects, namespace_of},
    source::{Document, Segment, SourceSpan},
    template_file,
};

const FIELD: &str = "writeOutputsTo";

pub(super) fn check(objects: &Objects, runnable: &Document) -> Vec<Finding> {
    let wanted: Vec<OutputSink> = runnable.field(FIELD).unwrap_or_default();
    let draft = objects.template_of(runnable).and_then(template_file::draft);
    let declared = draft
        .as_ref()
        .map(|draft| sinks::list_outputs(draft.template()));
    let mut reported: Vec<Fault> = Vec::new();
    let mut findings = Vec::new();
    for (index, sink) in wanted.iter().enumerate() {
        let mut at = Segment::keys(["spec", FIELD]);
        at.push(Segment::Index(index));
        for fault in sinks::faults(sink, &wanted, declared.as_ref()) {
            if !reported.contains(&fault) {
                reported.push(fault.clone());
                findings.push(finding(runnable, fault).at(runnable.place_at(&at)));
            }
        }
        at.push("name".into());
        findings.extend(made_by_others(
            objects,
            runnable,
            &sinks::identify(sink),
            &at,
        ));
    }
    findings.extend(nowhere(runnable, &wanted, declared.as_ref()));
    findings.extend(left_out(runnable, &wanted, declared.as_ref()));
    findings
}

/// Finds a sink that is among the files: the tool that applies it creates it, so the Runnable may not write it.
fn made_by_others(
    objects: &Objects,
    runnable: &Document,
    sink: &SourceObject,
    at: &[Segment],
) -> Option<Finding> {
    let found = object::find(&objects.others, namespace_of(runnable), sink);
    // An object as it is on a cluster names its Runnable.
    let is_marked = |it: &Document| {
        let annotations = it.value.pointer("/metadata/annotations");
        annotations.is_some_and(|all| all.get(SINK_OF_ANNOTATION).is_some())
    };
    let file = found.into_iter().find(|it| !is_marked(it))?;
    let message = format!(
        "Runnable {}: outputs go to {sink}, which is in these files, so this Runnable did not make it: no output is written",
        runnable.name()
    );
    Some(
        Finding::warning(Rule::Output, message)
            .at(runnable.place_at(at))
            .label("the Runnable has to make this itself")
            .beside(file, "it is in the files")
            .help("remove it from the files, or name another object"),
    )
}

/// Finds objects that several Runnables write to: the first one to write has it, and the others are refused.
pub(super) fn find_shared(objects: &Objects) -> Vec<Finding> {
    let mut writers: BTreeMap<SourceKey, (&Document, SourceSpan)> = BTreeMap::new();
    let mut findings = Vec::new();
    for runnable in &objects.runnables {
        let wanted: Vec<OutputSink> = runnable.field(FIELD).unwrap_or_default();
        for (index, sink) in wanted.iter().enumerate() {
            let object = sinks::identify(sink);
            let Some(key) = object.as_sink(namespace_of(runnable)) else {
                continue;
            };
            let mut at = Segment::keys(["spec", FIELD]);
            at.extend([Segment::Index(index), "name".into()]);
            let place = runnable.place_at(&at);
            match writers.get(&key) {
                // A Runnable that writes it twice, or is there twice, has a finding of its own.
                Some((first, _)) if first.name() == runnable.name() => {}
                Some((first, written)) => {
                    let what = format!(
                        "outputs go to {object}, and those of Runnable {} do as well: an object has the outputs of one Runnable only",
                        first.name()
                    );
                    let cure = "give the object of one of them another name";
                    let fault = Fault::new(what, Some(cure.to_owned()));
                    let mut finding = finding(runnable, fault).at(place);
                    if is_placed_elsewhere(first, runnable) {
                        finding.severity = Severity::Warning;
                    }
                    findings.push(finding.with_related(written.clone(), "written here"));
                }
                None => drop(writers.insert(key, (runnable, place))),
            }
        }
    }
    findings
}

/// Returns true for two Runnables of different files that name no namespace: the tool that applies them may put each in
/// its own.
fn is_placed_elsewhere(one: &Document, other: &Document) -> bool {
    let is_open = |it: &Document| it.namespace().is_empty();
    is_open(one) && is_open(other) && one.source.name != other.source.name
}

/// Finds sensitive outputs that the keys of no Secret name.
fn left_out(
    runnable: &Document,
    wanted: &[OutputSink],
    declared: Option<&BTreeMap<&str, bool>>,
) -> Option<Finding> {
    let secrets = wanted.iter().filter(|sink| sink.kind == SinkKind::Secret);
    let secrets: Vec<&OutputSink> = secrets.collect();
    let first = wanted.iter().position(|it| it.kind == SinkKind::Secret)?;
    let is_left_out = |name: &&str| secrets.iter().all(|it| sinks::key_of(it, name).is_none());
    let sensitive = declared?.iter().filter(|(_, sensitive)| **sensitive);
    let names = sensitive.map(|(name, _)| *name).filter(is_left_out);
    let names: Vec<&str> = names.collect();
    let name = names.first()?;
    let message = format!(
        "Runnable {}: the sensitive output {} is in no key of its Secret {}, and a ConfigMap takes no sensitive output: its value is written nowhere",
        runnable.name(),
        names.join(", "),
        wanted.get(first)?.name
    );
    let mut at = Segment::keys(["spec", FIELD]);
    at.extend([Segment::Index(first), "keys".into()]);
    let finding = Finding::warning(Rule::Output, message)
        .at(runnable.place_at(&at))
        .label("it is not among these");
    Some(finding.help(format!(
        "add it to the keys of the Secret, {name}: KEY; without keys a Secret has all outputs"
    )))
}

/// Finds sensitive outputs that no Secret takes.
fn nowhere(
    runnable: &Document,
    wanted: &[OutputSink],
    declared: Option<&BTreeMap<&str, bool>>,
) -> Vec<Finding> {
    let unplaced = declared.and_then(|declared| sinks::unplaced(wanted, declared));
    let faults = unplaced.map(sinks::SinkProblem::faults).unwrap_or_default();
    let keys: &[&str] = if wanted.is_empty() {
        &["spec"]
    } else {
        &["spec", FIELD]
    };
    let place = runnable.place_of_key(keys);
    let findings = faults.into_iter();
    findings
        .map(|fault| finding(runnable, fault).at(place.clone()))
        .collect()
}

fn finding(runnable: &Document, fault: Fault) -> Finding {
    let message = format!("Runnable {}: {}", runnable.name(), fault.what);
    Finding::error(Rule::Output, message)
        .label("this cannot be")
        .maybe_help(fault.cure)
}
