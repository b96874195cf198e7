//! Jobs of Kubernetes.

use cartouche_language::object::{holding, text};
use serde_json::Value;

use super::{
    Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, Queue, RestartPolicy, Shows, Standing,
    Watch, Works,
    queue::{any_success, since},
};
use crate::verdict::Verdict;

/// Labels by which a Job finds its pods. The last part of each names its value.
pub const JOB_LABELS: [&str; 4] = [
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
];

/// Returns true for Jobs in the known version.
#[must_use]
pub fn is_job(api_version: &str, kind: &str) -> bool {
    (api_version, kind) == ("batch/v1", "Job")
}

/// The built-in Job controller of Kubernetes.
const JOB_CONTROLLER: &str = "kubernetes.io/job-controller";

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
        // The last two come before the end: with the first two the Job controller ends a Job.
        decisive: &[
            ("Failed", Verdict::Failed),
            ("Complete", Verdict::Succeeded),
            ("FailureTarget", Verdict::Unknown),
            ("Suspended", Verdict::Unknown),
        ],
    },
    shows: Shows {
        fields: Some(&[
            "active",
            "completedIndexes",
            "completionTime",
            "conditions",
            "failed",
            "failedIndexes",
            "ready",
            "startTime",
            "succeeded",
            "terminating",
            "uncountedTerminatedPods",
        ]),
        conditions: Some(&[
            "Complete",
            "Failed",
            "FailureTarget",
            "SuccessCriteriaMet",
            "Suspended",
        ]),
        only_true: &["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"],
        phases: &[],
    },
    outputs: OutputSource::RunAndMessageOfPods,
    cancel: Cancel::Deadline { seconds: 1 },
    queue: Some(&QUEUE),
    pods: PodsOf::Labelled("batch.kubernetes.io/job-name"),
    // The second one is from before Kubernetes 1.27, which still sets it.
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

const QUEUE: Queue = Queue {
    owned: Some("suspend"),
    sign: "spec.suspend is true",
    standing,
    may_ignore_stop: true,
    no_success: any_success,
};

/// Returns the standing of a Job. Its deadline counts from `status.startTime`, except while the Job is suspended.
fn standing(job: &Value) -> Standing {
    let spec = job.get("spec").unwrap_or_default();
    let is_suspended = spec.get("suspend") == Some(&Value::Bool(true));
    let works = if is_suspended {
        Works::NotYet
    } else if holding(job, "Suspended").is_some() {
        // Its controller has yet to see that it was resumed, and to record the new start.
        Works::Untimed
    } else {
        since(job, "startTime")
    };
    let manager = text(spec, "managedBy");
    Standing {
        works,
        heeds_stop: !is_suspended && matches!(manager, "" | JOB_CONTROLLER),
    }
}
