//! Tekton Pipelines: its runs, and the kinds that selectors name.

use cartouche_language::object::{SUCCEEDED, text};
use serde_json::Value;

use super::{
    Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, Queue, Shows, Standing, Watch, Works,
    queue::{any_success, since},
};

/// Returns true for the kinds of Tekton whose `spec.params` have values, in any version.
#[must_use]
pub fn has_params(api_version: &str, kind: &str) -> bool {
    api_version.starts_with("tekton.dev/")
        && ["CustomRun", "PipelineRun", "TaskRun"].contains(&kind)
}

pub(super) const KINDS: &[KnownKind] = &[
    KnownKind {
        kind: Some("TaskRun"),
        watch: watched("taskruns"),
        shows: Shows {
            fields: Some(&[
                "annotations",
                "artifacts",
                "cloudEvents",
                "completionTime",
                "conditions",
                "observedGeneration",
                "podName",
                "provenance",
                "resourcesResult",
                "results",
                "retriesStatus",
                "sidecars",
                "spanContext",
                "startTime",
                "steps",
                "taskResults",
                "taskSpec",
            ]),
            conditions: Some(&[
                SUCCEEDED,
                "SignedResultsVerified",
                "TrustedResourcesVerified",
            ]),
            only_true: &[],
            phases: &[],
        },
        cancel: Cancel::Word {
            field: "status",
            words: &["TaskRunCancelled"],
        },
        pods: PodsOf::Labelled("tekton.dev/taskRun"),
        pods_account: &["/spec/serviceAccountName"],
        ..ANY
    },
    KnownKind {
        kind: Some("PipelineRun"),
        watch: watched("pipelineruns"),
        shows: Shows {
            fields: Some(&[
                "annotations",
                "childReferences",
                "completionTime",
                "conditions",
                "finallyStartTime",
                "observedGeneration",
                "pipelineResults",
                "pipelineSpec",
                "provenance",
                "results",
                "runs",
                "skippedTasks",
                "spanContext",
                "startTime",
                "taskRuns",
            ]),
            conditions: Some(&[SUCCEEDED, "TrustedResourcesVerified"]),
            only_true: &[],
            phases: &[],
        },
        cancel: Cancel::Word {
            field: "status",
            words: &["Cancelled", "CancelledRunFinally", "StoppedRunFinally"],
        },
        queue: Some(&QUEUE),
        pods: PodsOf::Labelled("tekton.dev/pipelineRun"),
        // The second one is that of `v1beta1`, which no other version has.
        pods_account: &[
            "/spec/taskRunTemplate/serviceAccountName",
            "/spec/serviceAccountName",
        ],
        ..ANY
    },
    KnownKind {
        kind: Some("Task"),
        watch: watched("tasks"),
        cancel: Cancel::NeverAtWork,
        ..ANY
    },
    KnownKind {
        kind: Some("Pipeline"),
        watch: watched("pipelines"),
        cancel: Cancel::NeverAtWork,
        ..ANY
    },
    ANY,
];

/// Any other kind of Tekton, such as `CustomRun`: all that run have the condition.
const ANY: KnownKind = KnownKind {
    group: "tekton.dev",
    kind: None,
    version: None,
    watch: Watch::Nothing,
    health: HealthFrom::SucceededCondition,
    shows: Shows::UNKNOWN,
    outputs: OutputSource::Run,
    cancel: Cancel::Unknown,
    queue: None,
    pods: PodsOf::Unknown,
    pod_uid_labels: &[],
    pod_template: None,
    pods_account: &[],
    restart_policy: None,
};

const fn watched(resource: &'static str) -> Watch {
    Watch::ClusterRole {
        file: "kinds-tekton.yaml",
        resource,
    }
}

/// The queue of a `PipelineRun`: it waits until the word is removed.
const QUEUE: Queue = Queue {
    owned: Some("status"),
    sign: "spec.status is PipelineRunPending",
    standing,
    may_ignore_stop: false,
    no_success: any_success,
};

/// Returns the standing of a run. Tekton cancels a waiting one like any other.
fn standing(run: &Value) -> Standing {
    let spec = run.get("spec").unwrap_or_default();
    let works = match text(spec, "status") {
        "PipelineRunPending" => Works::NotYet,
        _ => since(run, "startTime"),
    };
    Standing {
        works,
        heeds_stop: true,
    }
}
