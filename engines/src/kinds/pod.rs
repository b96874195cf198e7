//! Pods, which can be runs without any engine.

use cartouche_language::object::{holding, text};
use serde_json::Value;

use super::{
    Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, Queue, RestartPolicy, Shows, Standing,
    Watch, Works, queue::any_success,
};

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
    // Fields are added with each release of Kubernetes, so none is reported as unknown.
    shows: Shows {
        conditions: Some(&[
            "AllContainersRestarting",
            "ContainersReady",
            "DisruptionTarget",
            "Initialized",
            "PodHasNetwork",
            "PodReadyToStartContainers",
            "PodResizeInProgress",
            "PodResizePending",
            "PodScheduled",
            "Ready",
        ]),
        phases: &["Pending", "Running", "Succeeded", "Failed", "Unknown"],
        ..Shows::UNKNOWN
    },
    outputs: OutputSource::RunAndItsMessage,
    cancel: Cancel::Deadline { seconds: 1 },
    queue: Some(&QUEUE),
    pods: PodsOf::Itself,
    pod_uid_labels: &[],
    pod_template: Some(""),
    pods_account: &["/spec/serviceAccountName"],
    restart_policy: Some(RestartPolicy {
        pod_spec: &["spec"],
        allowed: &["Always", "OnFailure", "Never"],
        // The default is Always.
        required: false,
        advice: "it is Always, OnFailure or Never; a run that is to end needs OnFailure or Never",
    }),
}];

const QUEUE: Queue = Queue {
    owned: Some("schedulingGates"),
    sign: "it has scheduling gates",
    standing,
    may_ignore_stop: true,
    no_success: any_success,
};

/// Returns the standing of a Pod. The kubelet enforces the deadline, so a Pod without a node has none.
fn standing(pod: &Value) -> Standing {
    let spec = pod.get("spec").unwrap_or_default();
    let gates = spec.get("schedulingGates").and_then(Value::as_array);
    let works = if gates.is_some_and(|gates| !gates.is_empty()) {
        Works::NotYet
    } else {
        let scheduled = holding(pod, "PodScheduled");
        let since = scheduled.and_then(|it| text(it, "lastTransitionTime").parse().ok());
        since.map_or(Works::Untimed, Works::Since)
    };
    Standing {
        works,
        heeds_stop: !text(spec, "nodeName").is_empty(),
    }
}
