//! Specs of runs that hang or end as an annotation of their pods demands.

use serde_json::{Value, json};

/// Returns the one container of their pods.
pub(crate) fn containers() -> Value {
    json!([{ "name": "work", "image": "busybox", "command": ["work"] }])
}

/// Returns the spec of a Job.
pub(crate) fn job(outcome: &str) -> Value {
    json!({ "template": {
        "metadata": { "annotations": { "play.carto.run/outcome": outcome } },
        "spec": { "restartPolicy": "Never", "containers": containers() },
    } })
}

/// Returns the spec of a `TaskRun`, whose pods have its own annotations.
pub(crate) fn task_run() -> Value {
    json!({ "taskSpec": { "steps": containers() } })
}

/// Returns the spec of a Workflow.
pub(crate) fn workflow(outcome: &str) -> Value {
    json!({
        "serviceAccountName": "pods", "entrypoint": "main",
        "podMetadata": { "annotations": { "play.carto.run/outcome": outcome } },
        "templates": [{ "name": "main", "container": containers()[0] }],
    })
}
