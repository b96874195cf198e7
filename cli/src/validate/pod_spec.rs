//! Pods of runs, and what profiles merge into them: faults that no schema has, and that the API server or the node refuses or no author means.
//!
//! Each file has the rules of one family. A rule looks at one [`Pod`] and knows nothing of files.

mod choices;
mod command;
mod env;
mod image;
mod message;
mod names;
mod part;
mod pods;
mod quantity;
mod references;
mod resources;
mod security;
mod volumes;

use serde_json::Value;

use super::shape;
use crate::{
    finding::{Finding, Rule, Severity},
    objects::Objects,
    source::{Document, Node, Segment, SourceSpan},
    template_file,
};
use part::Part;
use pods::Pod;

/// Something that is wrong with a pod.
struct Fault {
    at: Vec<Segment>,
    severity: Severity,
    message: String,
    label: String,
    help: String,
}

impl Fault {
    /// A fault that the API server or the node refuses.
    fn refused(part: &Part<'_>, message: String, label: &str, help: String) -> Self {
        Self {
            at: part.at.clone(),
            severity: Severity::Error,
            message,
            label: label.to_owned(),
            help,
        }
    }

    /// A fault that works, but hardly as its author expects.
    fn surprise(part: &Part<'_>, message: String, label: &str, help: String) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::refused(part, message, label, help)
        }
    }

    fn finding(self, place: SourceSpan) -> Finding {
        let finding = match self.severity {
            Severity::Error => Finding::error(Rule::Template, self.message),
            Severity::Warning | Severity::Note => Finding::warning(Rule::Surprise, self.message),
        };
        finding.at(place).label(self.label).help(self.help)
    }
}

/// The pods that a template writes down.
pub(super) fn in_template(objects: &Objects, document: &Document) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let run = body.to_value();
    let pods = pods::of_run(&run);
    let brought = volumes::Brought::of(objects, document);
    let mut faults: Vec<Fault> = pods.iter().flat_map(of_pod).collect();
    faults.extend(pods.iter().flat_map(|pod| volumes::mounts(pod, &brought)));
    faults.extend(references::check(objects, &pods));
    let place = |fault: Fault| placed(document, body, fault);
    faults.into_iter().map(place).collect()
}

/// The pods of a rendered run, where a tag gives what is wrong.
pub(super) fn in_run(
    document: &Document,
    run: &Value,
    from_a_tag: impl Fn(&[Segment]) -> bool,
) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let pods = pods::of_run(run);
    let faults = pods.iter().flat_map(of_pod);
    let faults = faults.filter(|fault| from_a_tag(&fault.at));
    faults.map(|fault| placed(document, body, fault)).collect()
}

/// The pod that a profile merges into those of runs.
pub(super) fn in_profile(objects: &Objects, profile: &Document) -> Vec<Finding> {
    let Some(pod) = pods::of_profile(&profile.value) else {
        return Vec::new();
    };
    let mut faults = of_pod(&pod);
    faults.extend(volumes::not_brought(objects, &pod));
    faults.extend(references::check(objects, std::slice::from_ref(&pod)));
    let place = |fault: Fault| placed(profile, &profile.root, fault);
    faults.into_iter().map(place).collect()
}

fn placed(document: &Document, root: &Node, fault: Fault) -> Finding {
    let place = shape::place(document, root, &fault.at, false);
    fault.finding(place)
}

/// The faults that need nothing but the pod.
fn of_pod(pod: &Pod<'_>) -> Vec<Fault> {
    const OF_PODS: [fn(&Pod<'_>) -> Vec<Fault>; 4] = [
        names::check,
        volumes::check,
        security::check,
        choices::of_pod,
    ];
    const OF_CONTAINERS: [fn(&Part<'_>) -> Vec<Fault>; 6] = [
        command::check,
        env::check,
        image::check,
        message::check,
        resources::check,
        choices::of_container,
    ];
    let mut faults: Vec<Fault> = OF_PODS.iter().flat_map(|rule| rule(pod)).collect();
    for container in &pod.containers {
        faults.extend(OF_CONTAINERS.iter().flat_map(|rule| rule(container)));
    }
    faults
}
