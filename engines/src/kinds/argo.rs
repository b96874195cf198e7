//! Argo Workflows.

use cartouche_language::object::text;
use serde_json::Value;

use super::{
    Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, Queue, Shows, Standing, Watch, Works,
    queue::since,
};

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
    shows: Shows {
        fields: Some(&[
            "artifactGCStatus",
            "artifactRepositoryRef",
            "compressedNodes",
            "conditions",
            "estimatedDuration",
            "finishedAt",
            "message",
            "nodes",
            "offloadNodeStatusVersion",
            "outputs",
            "persistentVolumeClaims",
            "phase",
            "progress",
            "resourcesDuration",
            "startedAt",
            "storedTemplates",
            "storedWorkflowTemplateSpec",
            "synchronization",
            "taskResultsCompletionStatus",
        ]),
        conditions: Some(&[
            "ArtifactGCError",
            "Completed",
            "MetricsError",
            "PodRunning",
            "SpecError",
            "SpecWarning",
            "SubmissionError",
        ]),
        only_true: &[],
        phases: &["Pending", "Running", "Succeeded", "Failed", "Error"],
    },
    outputs: OutputSource::Run,
    cancel: Cancel::Word {
        field: "shutdown",
        words: &["Terminate", "Stop"],
    },
    queue: Some(&QUEUE),
    pods: PodsOf::Labelled("workflows.argoproj.io/workflow"),
    pod_uid_labels: &[],
    pod_template: None,
    pods_account: &["/spec/serviceAccountName"],
    restart_policy: None,
}];

/// The queue of a Workflow that waits for a lock, or for its turn.
const QUEUE: Queue = Queue {
    owned: None,
    sign: "its phase is Pending",
    standing,
    may_ignore_stop: true,
    no_success: stopped_before_it_began,
};

fn standing(workflow: &Value) -> Standing {
    let status = workflow.get("status").unwrap_or_default();
    let works = match since(workflow, "startedAt") {
        Works::Untimed if text(status, "phase") == "Pending" => Works::NotYet,
        works => works,
    };
    Standing {
        works,
        heeds_stop: works != Works::NotYet,
    }
}

/// Returns the reason if a Workflow was shut down before its entry node had succeeded. Argo marks it as Succeeded
/// while it waits for a lock (argo-workflows#16776). The entry node has the name of the Workflow. Compressed or
/// offloaded nodes belong to a Workflow that has begun.
fn stopped_before_it_began(workflow: &Value) -> Option<&'static str> {
    let part = |field: &str| workflow.get(field).unwrap_or_default();
    let (metadata, spec, status) = (part("metadata"), part("spec"), part("status"));
    let is_elsewhere = ["compressedNodes", "offloadNodeStatusVersion"]
        .iter()
        .any(|field| !text(status, field).is_empty());
    let nodes = status.get("nodes").unwrap_or_default();
    let first = nodes.get(text(metadata, "name")).unwrap_or_default();
    let has_succeeded = is_elsewhere || text(first, "phase") == "Succeeded";
    (!text(spec, "shutdown").is_empty() && !has_succeeded)
        .then_some("it was shut down before its entry node had succeeded")
}
