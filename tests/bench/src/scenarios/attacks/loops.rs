//! Possible endless loops: Runnables that wait and feed each other, and creates that are refused.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{AT_ONCE, ground::Ground};
use crate::{
    api,
    kinds::RunKind,
    load::{SeenRun, name},
};

const PATIENCE: Duration = Duration::from_mins(1);

/// Returns an input that changes with each write of a Runnable with this label.
fn version_of(label: &str) -> Value {
    json!([{ "name": "read", "objectRef": {
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "matchingLabels": { "is": label },
        "path": ".metadata.resourceVersion", "waitFor": "Nothing",
    } }])
}

/// Makes a template of runs that have all inputs.
async fn all_inputs(ground: &Ground<'_>) -> Result<()> {
    let template = json!({ "template": {
        "apiVersion": RunKind::api_version(), "kind": RunKind::number(0).kind,
        "metadata": { "generateName": "work-" },
        "spec": { "inputs": "$(runnable.spec.inputs)$" },
    } });
    ground.template("all", &template).await
}

fn other(index: usize) -> String {
    name(index ^ 1)
}

pub(super) async fn pairs_that_wait(ground: &Ground<'_>) -> Result<()> {
    all_inputs(ground).await?;
    let spec = |index| {
        json!({
            "runTemplateRef": { "name": "all" }, "approval": "Manual", "inputs": { "own": 1 },
            "inputsFrom": version_of(&other(index)),
        })
    };
    ground.many(2 * AT_ONCE, spec).await
}

/// Makes pairs in which each has a run at work before it reads the other.
pub(super) async fn pairs_at_work(ground: &Ground<'_>) -> Result<()> {
    all_inputs(ground).await?;
    let spec = json!({
        "runTemplateRef": { "name": "all" }, "concurrencyPolicy": "LatestOnly", "inputs": { "own": 1 },
    });
    ground.many(2 * AT_ONCE, |_| spec.clone()).await?;
    let begin = Instant::now();
    while api::list::<SeenRun>(&ground.client, &ground.runs())
        .await?
        .0
        .len()
        < 2 * AT_ONCE
    {
        if begin.elapsed() > PATIENCE {
            bail!("the first runs were not made");
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    for index in 0..2 * AT_ONCE {
        let path = format!("{}/{}", ground.runnables(), name(index));
        let body = json!({ "spec": { "inputsFrom": version_of(&other(index)) } });
        ground.patch(&path, body.to_string()).await?;
    }
    Ok(())
}

/// Makes runs that the account may not make. They show one of two keys of a `ConfigMap`: the one that
/// changes, or the other one.
pub(super) async fn refused(
    ground: &Ground<'_>,
    tasks: &mut JoinSet<Result<()>>,
    shown: &str,
) -> Result<()> {
    let template = json!({ "template": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "run-" },
        "data": { "shown": format!("$(runnable.spec.inputs.{shown})$") },
    } });
    ground.template("refused", &template).await?;
    ground.changing_map(tasks).await?;
    let from = ["fixed", "count"]
        .map(|key| json!({ "name": key, "configMapKeyRef": { "name": "it", "key": key } }));
    let spec = json!({ "runTemplateRef": { "name": "refused" }, "inputsFrom": from });
    ground.many(AT_ONCE, |_| spec.clone()).await
}
