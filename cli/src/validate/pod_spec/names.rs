//! Names of containers and volumes.

use std::collections::BTreeSet;

use cartouche_crds::is_dns_label;

use super::{Fault, Part, Pod};

/// Stands for each container of a run, in a profile.
const EACH: &str = "*";

pub(super) fn check(pod: &Pod<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for container in &pod.containers {
        let Some(name) = container.name().filter(|name| *name != EACH) else {
            continue;
        };
        faults.extend(not_allowed(container, "container", name));
        if !seen.insert(name) {
            let message = format!("the pod has two containers '{name}'");
            let help = "give one of them another name: init containers count as well".to_owned();
            let place = container.or_self("name");
            faults.push(Fault::refused(&place, message, "it is there already", help));
        }
    }
    for volume in &pod.volumes {
        let name = volume.name();
        faults.extend(name.and_then(|name| not_allowed(volume, "volume", name)));
    }
    faults
}

fn not_allowed(part: &Part<'_>, what: &str, name: &str) -> Option<Fault> {
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
    Some(Fault::refused(
        &place,
        message,
        "the API server refuses this",
        help,
    ))
}
