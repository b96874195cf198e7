//! Mistakes in the concurrency of runs.

use anyhow::Result;
use cartouche_controller::mutants::Mutant;
use cartouche_crds::{Runnable, StopReason};
use cartouche_tests::{
    faults::{
        plan::quiet,
        scenario::made,
        stage::{APP, Stage},
    },
    fixture::{condition, current},
    lab::{self, TRIAL, hangs},
};
use serde_json::json;

use super::{Noticed, inputs, is_noticed};

/// Makes a Runnable whose run hangs, and then changes it.
async fn changed(stage: &Stage, policy: &str) -> Result<()> {
    let rights = ["list", "create", "delete", "patch"];
    stage.allow(&rights).await?;
    let mut template = lab::template(TRIAL);
    // It ignores that.
    template["stop"] = json!({ "mergePatch": { "spec": { "note": "stop" } } });
    stage.template(template).await?;
    let mut spec = inputs(&hangs(1));
    spec["concurrencyPolicy"] = json!(policy);
    stage.runnable(APP, spec).await?;
    stage.until(APP, "a run", |r| made(r, 1)).await?;
    stage.change(APP, hangs(2)).await
}

fn waits(runnable: &Runnable) -> bool {
    condition(runnable, "Ready").is_some_and(|ready| ready.reason == "RunAtWork")
}

fn is_replaced(runnable: &Runnable) -> bool {
    let stop = current(runnable).and_then(|run| run.stop.as_ref());
    stop.is_some_and(|stop| stop.reason == StopReason::Replaced)
}

async fn second_run(stage: &Stage) -> Result<Noticed> {
    quiet(stage).await?;
    let made = stage.end(APP).await?.made.len();
    let noticed = (made > 1).then(|| format!("{made} runs are at work"));
    Ok(noticed.into_iter().collect())
}

#[tokio::test]
async fn a_run_beside_one_that_is_waited_for_is_noticed() -> Result<()> {
    is_noticed(Mutant::RunsBeside, |stage| async move {
        changed(&stage, "LatestOnly").await?;
        let over = |r: &Runnable| waits(r) || made(r, 2);
        stage.until(APP, "a word, or another run", over).await?;
        second_run(&stage).await
    })
    .await
}

#[tokio::test]
async fn a_run_beside_one_that_was_only_told_to_stop_is_noticed() -> Result<()> {
    is_noticed(Mutant::AskedIsOver, |stage| async move {
        changed(&stage, "Replace").await?;
        let over = |r: &Runnable| is_replaced(r) && waits(r) || made(r, 2);
        stage.until(APP, "a stop, or another run", over).await?;
        second_run(&stage).await
    })
    .await
}
