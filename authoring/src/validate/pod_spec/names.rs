//! Names of containers and volumes.

use std::collections::BTreeMap;

use cartouche_crds::is_dns_label;
use cartouche_engines::EACH_CONTAINER;

use super::{Part, Pod, PodFault};
use crate::source::Segment;

pub(super) fn check(pod: &Pod<'_>) -> Vec<PodFault> {
    let mut faults = Vec::new();
    let mut seen = BTreeMap::new();
    let help = match pod.spec {
        Some(_) => "give one of them another name: init containers count as well",
        None => "give one of them another name",
    };
    for container in &pod.containers {
        // Tekton and Argo give a name to those that have none, and Argo to the one that is no element of a list.
        let is_named = |name: &&str| {
            let is_element = matches!(container.at.last(), Some(Segment::Index(_)));
            *name != EACH_CONTAINER && (pod.spec.is_some() || is_element && !name.is_empty())
        };
        let Some(name) = container.name().filter(is_named) else {
            continue;
        };
        let list = pod
            .has_names_by_list
            .then(|| container.at.iter().rev().nth(1));
        faults.extend(not_allowed(container, "container", name));
        if let Some(first) = seen.insert((list, name), container) {
            let message = format!("the pod has two containers '{name}'");
            let place = container.or_self("name");
            let help = help.to_owned();
            let fault = PodFault::refused(&place, message, "it is there already", help);
            faults.push(fault.with(&first.or_self("name")));
        }
    }
    for volume in &pod.volumes {
        let name = volume.name();
        faults.extend(name.and_then(|name| not_allowed(volume, "volume", name)));
    }
    faults
}

fn not_allowed(part: &Part<'_>, what: &str, name: &str) -> Option<PodFault> {
    if is_dns_label(name) {
        return None;
    }
    let message = format!("'{name}' is not allowed as the name of a {what}");
    let allowed = "names have at most 63 lower-case letters, digits and -, and begin and end with a letter or digit";
    let lower = name.to_lowercase().replace(['_', '.', ' '], "-");
    let help = if is_dns_label(&lower) {
        format!("write {lower}: {allowed}")
    } else {
        allowed.to_owned()
    };
    let place = part.or_self("name");
    Some(PodFault::refused(&place, message, "no pod has this", help))
}
