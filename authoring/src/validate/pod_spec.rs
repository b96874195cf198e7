//! Pods of runs, and the parts that profiles merge into them: faults that no schema covers, and that the API server or
//! the node refuses or no author means.
//!
//! Each file has the rules of one subject. A rule checks one [`Pod`] and knows nothing of files.

mod choices;
mod command;
mod env;
mod image;
mod message;
mod mode;
mod names;
mod part;
mod pods;
mod quantity;
mod references;
mod resources;
mod security;
mod unknown_containers;
mod volumes;

use std::{collections::BTreeSet, slice};

use cartouche_engines::kinds;
use cartouche_language::bounds::{MAX_PROFILE_BYTES, MAX_RENDERED_BYTES, MAX_TEMPLATE_BYTES};
use serde_json::Value;

use super::shape;
use crate::{
    finding::{Finding, Rule},
    objects::{Objects, template_name},
    source::{Document, Node, Segment, SourceSpan},
    template_file,
};
pub(super) use command::{SHELLS, base};
use part::Part;
use pods::Pod;

/// Something that is wrong with a pod.
struct PodFault {
    at: Vec<Segment>,
    /// The other place that it takes to make it wrong.
    with: Option<Vec<Segment>>,
    is_error: bool,
    message: String,
    label: String,
    help: String,
}

impl PodFault {
    /// Creates a fault that the API server or the node refuses.
    fn refused(part: &Part<'_>, message: String, label: &str, help: String) -> Self {
        Self {
            at: part.at.clone(),
            with: None,
            is_error: true,
            message,
            label: label.to_owned(),
            help,
        }
    }

    /// Creates a fault that works, but hardly as its author expects.
    fn surprise(part: &Part<'_>, message: String, label: &str, help: String) -> Self {
        Self {
            is_error: false,
            ..Self::refused(part, message, label, help)
        }
    }

    /// Adds a second place, which makes the fault only together with the first.
    fn with(self, other: &Part<'_>) -> Self {
        let with = Some(other.at.clone());
        Self { with, ..self }
    }

    fn finding(self, place: SourceSpan) -> Finding {
        let finding = if self.is_error {
            Finding::error(Rule::Template, self.message)
        } else {
            Finding::warning(Rule::Surprise, self.message)
        };
        finding.at(place).label(self.label).help(self.help)
    }
}

/// Checks the pods that a template contains.
pub(super) fn in_template(objects: &Objects, document: &Document) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let run = body.to_value();
    if is_larger(&run, MAX_TEMPLATE_BYTES) {
        return Vec::new();
    }
    let pods = pods::of_run(&run);
    let runnables = objects.runnables.iter();
    let own = runnables.filter(|it| template_name(it) == document.name());
    let namespaces = own.map(Document::namespace).collect();
    let mut faults = of_pods(objects, document, &pods, &namespaces);
    // A profile may give others.
    if objects.profiles.is_empty() {
        faults.extend(pods.iter().flat_map(command::misspelt_variables));
    }
    let place = |fault: PodFault| placed(document, body, fault);
    faults.into_iter().map(place).collect()
}

/// Returns true for a run of a kind whose pods profiles are merged into.
fn is_merged(run: &Value) -> bool {
    kinds::known_fields_of(run).is_some_and(|known| known.pod_template.is_some())
}

/// Returns true if a value is larger. The rules skip values that are refused for their size.
fn is_larger(value: &Value, bytes: usize) -> bool {
    value.to_string().len() > bytes
}

/// Returns the faults of the pods of runs of a template, as they are before a profile is merged.
fn of_pods(
    objects: &Objects,
    template: &Document,
    pods: &[Pod<'_>],
    namespaces: &BTreeSet<&str>,
) -> Vec<PodFault> {
    let brought = volumes::Brought::collect(objects, template);
    let mut faults: Vec<PodFault> = pods.iter().flat_map(of_pod).collect();
    faults.extend(pods.iter().flat_map(|pod| volumes::mounts(pod, &brought)));
    faults.extend(references::check(objects, pods, namespaces));
    faults
}

/// Returns the findings about the pods of a rendered run, as far as a tag gives the faulty part.
pub(super) fn in_run(
    objects: &Objects,
    document: &Document,
    runnable: &Document,
    run: &Value,
    from_a_tag: impl Fn(&[Segment]) -> bool,
) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    if is_larger(run, MAX_RENDERED_BYTES) {
        return Vec::new();
    }
    let pods = pods::of_run(run);
    let namespaces = BTreeSet::from([runnable.namespace()]);
    let faults = of_pods(objects, document, &pods, &namespaces).into_iter();
    let is_tagged = |fault: &PodFault| {
        let mut places = [Some(&fault.at), fault.with.as_ref()].into_iter().flatten();
        places.any(|at| from_a_tag(at))
    };
    let faults = faults.filter(is_tagged);
    faults.map(|fault| placed(document, body, fault)).collect()
}

/// Checks the pod that a profile merges into those of runs.
pub(super) fn in_profile(objects: &Objects, profile: &Document) -> Vec<Finding> {
    if is_larger(&profile.value, 2 * MAX_PROFILE_BYTES) {
        return Vec::new();
    }
    let Some(pod) = pods::of_profile(&profile.value) else {
        return Vec::new();
    };
    let runnables = objects.runnables.iter();
    let namespaces = runnables.map(Document::namespace).collect();
    let mut faults = of_pod(&pod);
    faults.extend(volumes::not_brought(objects, profile, &pod));
    let bodies = objects.templates.iter();
    let bodies = bodies.filter_map(|it| it.value.pointer("/spec/template"));
    let bodies: Vec<&Value> = bodies.filter(|it| is_merged(it)).collect();
    let pods: Vec<Pod<'_>> = bodies.iter().flat_map(|it| pods::of_run(it)).collect();
    faults.extend(unknown_containers::check(&pods, &pod));
    faults.extend(references::check(
        objects,
        slice::from_ref(&pod),
        &namespaces,
    ));
    let place = |fault: PodFault| placed(profile, &profile.root, fault);
    faults.into_iter().map(place).collect()
}

fn placed(document: &Document, root: &Node, fault: PodFault) -> Finding {
    let place = shape::place(document, root, &fault.at, false);
    fault.finding(place)
}

/// Returns the faults that need nothing but the pod.
fn of_pod(pod: &Pod<'_>) -> Vec<PodFault> {
    const OF_PODS: [fn(&Pod<'_>) -> Vec<PodFault>; 5] = [
        names::check,
        volumes::check,
        security::check,
        choices::of_pod,
        mode::check,
    ];
    const OF_CONTAINERS: [fn(&Part<'_>) -> Vec<PodFault>; 5] = [
        env::check,
        image::check,
        message::check,
        resources::check,
        choices::of_container,
    ];
    let mut faults: Vec<PodFault> = OF_PODS.iter().flat_map(|rule| rule(pod)).collect();
    for container in &pod.containers {
        faults.extend(command::check(container));
        faults.extend(OF_CONTAINERS.iter().flat_map(|rule| rule(container)));
    }
    faults
}
