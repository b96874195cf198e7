//! Kinds that do no work: they have succeeded once they exist.

use super::{Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, Shows, Watch};

pub(super) const KINDS: &[KnownKind] = &[
    KnownKind {
        group: "",
        kind: Some("ConfigMap"),
        watch: Watch::ClusterRole {
            file: "kinds-kubernetes.yaml",
            resource: "configmaps",
        },
        ..PASSIVE
    },
    // The controller cannot read Secrets.
    KnownKind {
        group: "",
        kind: Some("Secret"),
        outputs: OutputSource::Refused,
        ..PASSIVE
    },
    KnownKind {
        group: "rbac.authorization.k8s.io",
        kind: None,
        ..PASSIVE
    },
];

const PASSIVE: KnownKind = KnownKind {
    group: "",
    kind: None,
    version: Some("v1"),
    watch: Watch::Nothing,
    health: HealthFrom::Existence,
    shows: Shows::NOTHING,
    outputs: OutputSource::Run,
    cancel: Cancel::NeverAtWork,
    queue: None,
    pods: PodsOf::Unknown,
    pod_uid_labels: &[],
    pod_template: None,
    pods_account: &[],
    restart_policy: None,
};
