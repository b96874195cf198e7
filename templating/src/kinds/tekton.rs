//! Tekton Pipelines: its runs, and what selectors name.

use super::{Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, Watch};

pub(super) const KINDS: &[KnownKind] = &[
    KnownKind {
        kind: Some("TaskRun"),
        watch: watched("taskruns"),
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
        cancel: Cancel::Word {
            field: "status",
            words: &["Cancelled", "CancelledRunFinally", "StoppedRunFinally"],
        },
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
    outputs: OutputSource::Run,
    cancel: Cancel::Unknown,
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
