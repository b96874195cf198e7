//! Containers that a profile names and that no template of the files has.

use std::collections::BTreeSet;

use cartouche_engines::{CONTAINER_LISTS, EACH_CONTAINER};
use cartouche_language::suggestion;

use super::{Part, Pod, PodFault};
use crate::source::Segment;

/// Returns the list of a pod's spec that a container is in.
fn list_of<'a>(container: &'a Part<'_>) -> Option<&'a str> {
    match container.at.iter().rev().nth(1)? {
        Segment::Key(list) => Some(list),
        Segment::Index(_) => None,
    }
}

/// Returns the faults of the pod of a profile, by the pods of the templates that it may be merged into.
pub(super) fn check(pods: &[Pod<'_>], profile: &Pod<'_>) -> Vec<PodFault> {
    let mut faults = Vec::new();
    for list in CONTAINER_LISTS {
        let in_list = |it: &&Part<'_>| list_of(it) == Some(list);
        let all = pods.iter().flat_map(|pod| &pod.containers);
        // A tag may name any.
        let known: Option<BTreeSet<&str>> = all.filter(in_list).map(Part::name).collect();
        let Some(known) = known.filter(|_| !pods.is_empty()) else {
            continue;
        };
        for container in profile.containers.iter().filter(in_list) {
            let name = container.name().filter(|it| *it != EACH_CONTAINER);
            let Some(name) = name.filter(|it| !known.contains(it)) else {
                continue;
            };
            let message =
                format!("no template among these files has a container '{name}' in {list}");
            let hint = suggestion::hint(name, "they have", known.iter().copied());
            let label = "runs without it cannot be made";
            let place = container.or_self("name");
            faults.push(PodFault::surprise(
                &place,
                message,
                label,
                hint.unwrap_or_default(),
            ));
        }
    }
    faults
}
