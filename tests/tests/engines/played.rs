//! Specs of runs that hang or end as an annotation of their pods says.

use serde_json::{Value, json};

/// The one container of their pods.
pub(crate) fn containers() -> Value {
    json!([{ "name": "work", "image": "busybox", "command": ["work"] }])
}

/// Of a Job.
pub(crate) fn job(outcome: &str) -> Value {
    json!({ "template": {
        "metadata": { "annotations": { "play.carto.run/outcome": outcome } },
        "spec": { "restartPolicy": "Never", "containers": containers() },
    } })
}

/// Of a `TaskRun`, whose pods have the annotations that it has itself.
pub(crate) fn task_run() -> Value {
    json!({ "taskSpec": { "steps": containers() } })
}

/// Of a Workflow.
pub(crate) fn workflow(outcome: &str) -> Value {
    json!({
        "serviceAccountName": "pods", "entrypoint": "main",
        "podMetadata": { "annotations": { "play.carto.run/outcome": outcome } },
        "templates": [{ "name": "main", "container": containers()[0] }],
    })
}
