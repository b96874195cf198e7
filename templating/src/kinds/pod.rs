//! Pods, which can be runs without any engine.

use super::{Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, RestartPolicy, Watch};

pub(super) const KINDS: &[KnownKind] = &[KnownKind {
    group: "",
    kind: Some("Pod"),
    version: Some("v1"),
    watch: Watch::ClusterRole {
        file: "kinds-kubernetes.yaml",
        resource: "pods",
    },
    health: HealthFrom::Phase {
        reason: "PodPhase",
        failures: &["Failed"],
    },
    outputs: OutputSource::RunAndItsMessage,
    cancel: Cancel::Deadline { seconds: 1 },
    pods: PodsOf::Itself,
    pod_uid_labels: &[],
    pod_template: Some(""),
    pods_account: &["/spec/serviceAccountName"],
    restart_policy: Some(RestartPolicy {
        pod_spec: &["spec"],
        allowed: &["Always", "OnFailure", "Never"],
        // It is then Always.
        required: false,
        advice: "it is Always, OnFailure or Never; a run that is to end needs OnFailure or Never",
    }),
}];
