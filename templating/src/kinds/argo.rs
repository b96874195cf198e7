//! Argo Workflows.

use super::{Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, Watch};

pub(super) const KINDS: &[KnownKind] = &[KnownKind {
    group: "argoproj.io",
    kind: Some("Workflow"),
    version: None,
    watch: Watch::ClusterRole {
        file: "kinds-argo.yaml",
        resource: "workflows",
    },
    health: HealthFrom::Phase {
        reason: "WorkflowPhase",
        failures: &["Failed", "Error"],
    },
    outputs: OutputSource::Run,
    cancel: Cancel::Word {
        field: "shutdown",
        words: &["Terminate", "Stop"],
    },
    pods: PodsOf::Labelled("workflows.argoproj.io/workflow"),
    pod_uid_labels: &[],
    pod_template: None,
    pods_account: &["/spec/serviceAccountName"],
    restart_policy: None,
}];
