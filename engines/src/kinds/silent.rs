//! Kinds of Kubernetes without any sign of success.

use super::find_kind;

/// Groups of Kubernetes itself. None of their kinds has a condition `Succeeded`.
const OF_KUBERNETES: [&str; 12] = [
    "",
    "apps",
    "autoscaling",
    "batch",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Returns true for a kind of Kubernetes without any sign of success.
pub(crate) fn is_silent(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    find_kind(api_version, kind).is_none() && OF_KUBERNETES.contains(&group)
}
