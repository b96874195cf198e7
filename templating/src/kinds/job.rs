//! Jobs of Kubernetes.

use super::{Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, RestartPolicy, Watch};
use crate::health::Verdict;

pub(super) const KINDS: &[KnownKind] = &[KnownKind {
    group: "batch",
    kind: Some("Job"),
    version: Some("v1"),
    watch: Watch::ClusterRole {
        file: "kinds-kubernetes.yaml",
        resource: "jobs",
    },
    health: HealthFrom::Conditions {
        reason: "JobCondition",
        // The last two come before the end: the first two are what the Job controller ends a Job with.
        decisive: &[
            ("Failed", Verdict::Failed),
            ("Complete", Verdict::Succeeded),
            ("FailureTarget", Verdict::Unknown),
            ("Suspended", Verdict::Unknown),
        ],
    },
    outputs: OutputSource::RunAndMessageOfPods,
    cancel: Cancel::Deadline { seconds: 1 },
    pods: PodsOf::Labelled("batch.kubernetes.io/job-name"),
    // The second one is what Kubernetes had before 1.27, and sets to this day.
    pod_uid_labels: &["batch.kubernetes.io/controller-uid", "controller-uid"],
    pod_template: Some("/spec/template"),
    pods_account: &["/spec/template/spec/serviceAccountName"],
    restart_policy: Some(RestartPolicy {
        pod_spec: &["spec", "template", "spec"],
        allowed: &["OnFailure", "Never"],
        required: true,
        advice: "it is OnFailure or Never; with Never every failed pod counts against backoffLimit",
    }),
}];
