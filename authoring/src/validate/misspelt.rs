//! Objects that were to be Runnables or templates, and are passed over as something else.

use cartouche_crds::{API_VERSION, GROUP};
use cartouche_language::suggestion;

use crate::{
    finding::{Finding, Rule},
    objects::{Objects, PROFILE, RUNNABLE, TEMPLATE},
    source::Document,
};

const OURS: [&str; 3] = [TEMPLATE, RUNNABLE, PROFILE];

/// Other kinds of Cartographer.
const OTHERS: [&str; 9] = [
    "ClusterConfigTemplate",
    "ClusterDelivery",
    "ClusterDeploymentTemplate",
    "ClusterImageTemplate",
    "ClusterSourceTemplate",
    "ClusterSupplyChain",
    "ClusterTemplate",
    "Deliverable",
    "Workload",
];

pub(super) fn check(objects: &Objects) -> Vec<Finding> {
    objects.others.iter().filter_map(passed_over).collect()
}

/// Returns true for a kind of Cartographer that has no counterpart in Cartouche.
pub(super) fn is_of_cartographer(document: &Document) -> bool {
    document.api_version().split('/').next() == Some(GROUP) && OTHERS.contains(&document.kind())
}

/// The cure of such a kind.
pub(super) const CARTOGRAPHER: &str = "write a ClusterRunTemplate for what it runs, and a Runnable for each use; `cartouche migrate check` shows how to migrate a Runnable and its template; for the rest, see docs/how-to/migrate-from-cartographer.md";

fn passed_over(document: &Document) -> Option<Finding> {
    let (api_version, kind) = (document.api_version(), document.kind());
    let is_of_group = api_version.split('/').next() == Some(GROUP);
    if is_of_group && !kind.is_empty() && !OTHERS.contains(&kind) {
        let message = format!("there is no kind {kind} in {api_version}");
        let finding = Finding::error(Rule::Kind, message)
            .at(document.place_of(&["kind"]))
            .label("this is not checked");
        return Some(finding.maybe_help(suggestion::of_kind(kind, &[], OURS)));
    }
    let is_of_another = !is_of_group && OURS.contains(&kind);
    is_of_another.then(|| {
        let message = format!("{kind} of {api_version} is not a kind of Cartouche");
        Finding::warning(Rule::Kind, message)
            .at(document.place_of(&["apiVersion"]))
            .label("this is not checked")
            .help(format!("write apiVersion: {API_VERSION}"))
    })
}
