//! A small kind of runs for tests, and its engine. A run succeeds or fails as its `spec.play` demands, or
//! hangs until the test ends it. KWOK plays it ([`stages`]); without KWOK, [`start`] does.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

pub use crate::kind::{JOB, Kind};

/// Interval between two looks for work.
const INTERVAL: Duration = Duration::from_millis(50);
/// Maximum time of one look at the runs.
const LOOK: Duration = Duration::from_secs(5);

/// A kind that the controller watches.
pub const TRIAL: Kind = Kind::new("lab.test", "v1", "Trial", "trials");
/// A kind that the controller has no right to watch.
pub const RECLUSE: Kind = Kind::new("lab.test", "v1", "Recluse", "recluses");
/// A kind that the controller watches. It has no status subresource, as Argo's Workflow: a client that
/// creates one may set its status at once. It has no engine.
pub const OMEN: Kind = Kind::new("lab.test", "v1", "Omen", "omens");

/// The definitions of the kinds, and the right to watch Trials and Omens, as YAML.
pub const KINDS: &str = include_str!("../lab/kinds.yaml");

/// Returns the file that defines how KWOK plays the engine.
#[must_use]
pub fn stages() -> PathBuf {
    crate::repository().join("tests/lab/stages.yaml")
}

/// Returns inputs for which a run succeeds and gives `value`.
#[must_use]
pub fn succeeds(value: i64) -> Value {
    json!({ "value": value, "play": "succeed" })
}

/// Returns inputs for which a run fails.
#[must_use]
pub fn fails(value: i64) -> Value {
    json!({ "value": value, "play": "fail" })
}

/// Returns inputs for which a run goes on until the test ends it with [`end`].
#[must_use]
pub fn hangs(value: i64) -> Value {
    json!({ "value": value, "play": "hang" })
}

/// Returns the template that passes these inputs on.
#[must_use]
pub fn template(kind: Kind) -> Value {
    json!({
        "template": {
            "apiVersion": "lab.test/v1",
            "kind": kind.name,
            "metadata": { "generateName": "$(runnable.metadata.name)$-" },
            "spec": {
                "value": "$(runnable.spec.inputs.value)$",
                "play": "$(runnable.spec.inputs.play)$",
            },
        },
        "outputs": { "value": ".status.value" },
    })
}

/// Returns the status of a run that ended.
#[must_use]
pub fn ended(succeeded: bool, value: &Value) -> Value {
    let (status, reason) = if succeeded {
        ("True", "Done")
    } else {
        ("False", "Broken")
    };
    json!({
        "phase": "Done",
        "value": value,
        "conditions": [{
            "type": "Succeeded",
            "status": status,
            "reason": reason,
            "message": format!("the engine says {reason}"),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    })
}

/// Plays the engine of these Trials until the handle is aborted.
#[must_use]
pub fn start(trials: Api<DynamicObject>) -> AbortHandle {
    let play = async move {
        loop {
            // Tests kill servers meanwhile: the next look sees what this one missed, even if its answer never
            // came.
            let _ = tokio::time::timeout(LOOK, end_all(&trials)).await;
            tokio::time::sleep(INTERVAL).await;
        }
    };
    tokio::spawn(play).abort_handle()
}

async fn end_all(api: &Api<DynamicObject>) -> Result<()> {
    let unfinished = ListParams::default().fields("status.phase!=Done");
    for run in api.list(&unfinished).await? {
        let succeeded = match run.data.pointer("/spec/play").and_then(Value::as_str) {
            Some("succeed") => true,
            Some("fail") => false,
            _ => continue,
        };
        end(api, &run, succeeded).await?;
    }
    Ok(())
}

/// Ends a run.
pub async fn end(api: &Api<DynamicObject>, run: &DynamicObject, succeeded: bool) -> Result<()> {
    let value = run.data.pointer("/spec/value").unwrap_or(&Value::Null);
    let patch = Patch::Merge(json!({ "status": ended(succeeded, value) }));
    api.patch_status(&run.name_any(), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}
