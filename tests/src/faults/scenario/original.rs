//! Objects that the original controller leaves behind.

use anyhow::Result;
use serde_json::json;

use crate::{
    faults::stage::{APP, Stage},
    lab::succeeds,
};

/// Makes a Runnable with two runs, the newer for its present inputs, as the original leaves them.
pub(super) async fn original_left(stage: &Stage) -> Result<()> {
    let runnable = stage
        .runnable(APP, json!({ "inputs": succeeds(2) }))
        .await?;
    let uid = runnable.metadata.uid.unwrap_or_default();
    for (value, suffix) in [(1, "x7k2p"), (2, "b9q4z")] {
        if value > 1 {
            // Creation times have whole seconds.
            tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
        }
        stage
            .trial(json!({
                "apiVersion": "lab.test/v1", "kind": "Trial",
                "metadata": {
                    "name": format!("{APP}-{suffix}"), "generateName": format!("{APP}-"),
                    "labels": {
                        "carto.run/runnable-name": APP,
                        "carto.run/run-template-name": stage.namespace,
                    },
                    "ownerReferences": [{
                        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": APP,
                        "uid": uid, "controller": true, "blockOwnerDeletion": true,
                    }],
                },
                "spec": succeeds(value),
            }))
            .await?;
    }
    let generation = runnable.metadata.generation;
    let condition = |name: &str, reason: &str| {
        json!({
            "type": name, "status": "True", "reason": reason, "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    stage
        .edit_status(APP, |status| {
            *status = json!({
                "observedGeneration": generation,
                "outputs": { "value": 2 },
                "conditions": [
                    condition("RunTemplateReady", "Ready"),
                    condition("StampedObjectCondition", "SucceededCondition"),
                    condition("Ready", "Ready"),
                ],
            });
        })
        .await
}
