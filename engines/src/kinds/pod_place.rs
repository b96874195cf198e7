//! Location of the pods in objects of each kind that has some.

use cartouche_language::object::group;

/// Location of the pods in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodPlace {
    /// The spec of one pod, below these steps.
    Spec(&'static [&'static str]),
    /// The steps and sidecars of a Tekton task.
    TaskRun,
    /// The steps and sidecars of all tasks of a Tekton pipeline.
    PipelineRun,
    /// The templates of an Argo workflow.
    Workflow,
}

const TEMPLATE: &[&str] = &["spec", "template", "spec"];
const SPECS: [(&str, &str, &[&str]); 8] = [
    ("v1", "Pod", &["spec"]),
    ("batch/v1", "Job", TEMPLATE),
    (
        "batch/v1",
        "CronJob",
        &["spec", "jobTemplate", "spec", "template", "spec"],
    ),
    ("apps/v1", "Deployment", TEMPLATE),
    ("apps/v1", "StatefulSet", TEMPLATE),
    ("apps/v1", "DaemonSet", TEMPLATE),
    ("apps/v1", "ReplicaSet", TEMPLATE),
    ("v1", "ReplicationController", TEMPLATE),
];
const TEKTON: &str = "tekton.dev";
const ARGO: &str = "argoproj.io";

/// Returns the location of the pods in objects of a kind, or `None` if it is unknown.
#[must_use]
pub fn pod_place(api_version: &str, kind: &str) -> Option<PodPlace> {
    let mut specs = SPECS.iter();
    let spec = specs.find(|(version, name, _)| (*version, *name) == (api_version, kind));
    if let Some((_, _, path)) = spec {
        return Some(PodPlace::Spec(path));
    }
    match (group(api_version), kind) {
        (TEKTON, "TaskRun") => Some(PodPlace::TaskRun),
        (TEKTON, "PipelineRun") => Some(PodPlace::PipelineRun),
        (ARGO, "Workflow") => Some(PodPlace::Workflow),
        _ => None,
    }
}

/// Returns true for a kind whose texts have tags of Tekton, which begin like those of Cartouche.
#[must_use]
pub fn has_tags_of_tekton(api_version: &str) -> bool {
    group(api_version) == TEKTON
}
