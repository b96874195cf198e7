//! Mistakes in retries and stops of runs.

use anyhow::{Context, Result, ensure};
use cartouche_controller::mutants::Mutant;
use cartouche_crds::{CANCEL_REQUEST_ANNOTATION, RunResult, Runnable};
use cartouche_tests::{
    faults::{
        plan::quiet,
        scenario::{gives, made},
        stage::{APP, Stage},
    },
    fixture::{condition, current},
    lab::{self, TRIAL, fails, hangs, succeeds},
};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{Noticed, inputs, is_noticed, noticed};

/// Returns a spec that is retried once, after this pause, plus or minus a fifth.
fn retried(of: &Value, pause: &str) -> Value {
    let mut spec = inputs(of);
    spec["retry"] = json!({ "limit": 1, "backoff": { "initial": pause } });
    spec
}

/// Makes a Runnable whose run hangs, with this timeout.
async fn limited(stage: &Stage, timeout: &str) -> Result<()> {
    let rights = ["list", "create", "delete", "patch"];
    stage.allow(&rights).await?;
    let mut template = lab::template(TRIAL);
    template["stop"] = json!({ "mergePatch": { "spec": { "halt": true } } });
    stage.template(template).await?;
    let mut spec = inputs(&hangs(1));
    spec["timeout"] = json!(timeout);
    stage.runnable(APP, spec).await?;
    stage.until(APP, "a run", |r| made(r, 1)).await?;
    Ok(())
}

fn has_failed(runnable: &Runnable) -> bool {
    current(runnable).is_some_and(|run| run.result == Some(RunResult::Failed))
}

fn is_stopped(runnable: &Runnable) -> bool {
    current(runnable).is_some_and(|run| run.stop.is_some())
}

fn is_stalled(runnable: &Runnable) -> bool {
    condition(runnable, "Stalled").is_some_and(|stalled| stalled.status == "True")
}

fn is_ahead(runnable: &Runnable) -> bool {
    current(runnable).is_some_and(|run| run.retry_at.is_some())
}

/// Returns the start of its present run.
fn began(runnable: &Runnable) -> Result<Timestamp> {
    let at = current(runnable).and_then(|run| run.started_at.as_ref());
    Ok(at.context("it has a run")?.0)
}

fn if_so(is_noticed: bool, what: &str) -> Noticed {
    is_noticed.then(|| what.to_owned()).into_iter().collect()
}

#[tokio::test]
async fn an_attempt_that_is_not_counted_is_noticed() -> Result<()> {
    is_noticed(Mutant::RetryUncounted, |stage| async move {
        stage.runnable(APP, retried(&fails(1), "1s")).await?;
        let over = |r: &Runnable| made(r, 2) && is_stalled(r) || made(r, 3);
        let end = stage.until(APP, "the last attempt", over).await?;
        if made(&end, 3) {
            return Ok(if_so(true, "it was tried more often than it may be"));
        }
        noticed(&stage, &[1, 1]).await
    })
    .await
}

#[tokio::test]
async fn a_further_attempt_without_a_pause_is_noticed() -> Result<()> {
    is_noticed(Mutant::RetryAtOnce, |stage| async move {
        stage.runnable(APP, retried(&fails(1), "10s")).await?;
        let end = stage.until(APP, "another run", |r| made(r, 2)).await?;
        let mut history = end.status.iter().flat_map(|status| status.history.iter());
        let failed = history.find_map(|run| run.finished_at.as_ref());
        let failed = failed.context("the first run has ended")?;
        let pause = began(&end)?.duration_since(failed.0);
        Ok(if_so(
            pause < SignedDuration::from_secs(7),
            "there was no pause",
        ))
    })
    .await
}

#[tokio::test]
async fn another_attempt_at_what_somebody_has_cancelled_is_noticed() -> Result<()> {
    is_noticed(Mutant::CancelledRetried, |stage| async move {
        stage.runnable(APP, retried(&hangs(1), "1s")).await?;
        stage.until(APP, "a run", |r| made(r, 1)).await?;
        let run = stage.sees(1).await?;
        let mark = json!({ CANCEL_REQUEST_ANNOTATION: json!({ "by": "somebody" }).to_string() });
        let patch = Patch::Merge(json!({ "metadata": { "annotations": mark } }));
        let trials = stage.api(TRIAL);
        trials
            .patch(&run.name_any(), &PatchParams::default(), &patch)
            .await?;
        stage.finish(&run, false).await?;
        let over = |r: &Runnable| is_stalled(r) || is_ahead(r) || made(r, 2);
        let end = stage.until(APP, "the end of the run", over).await?;
        Ok(if_so(!is_stalled(&end), "it is tried again"))
    })
    .await
}

#[tokio::test]
async fn a_change_that_waits_for_the_next_attempt_is_noticed() -> Result<()> {
    is_noticed(Mutant::ChangeWaits, |stage| async move {
        stage.runnable(APP, retried(&fails(1), "20s")).await?;
        let failed = stage.until(APP, "an attempt ahead", is_ahead).await?;
        let ahead = current(&failed).and_then(|run| run.retry_at.as_ref());
        let ahead = ahead.context("an attempt is ahead")?;
        stage.change(APP, succeeds(2)).await?;
        let end = stage.until(APP, "an output", |r| gives(r, 2, 2)).await?;
        let waited = began(&end)? >= ahead.0;
        let mut noticed = noticed(&stage, &[1, 2]).await?;
        noticed.extend(if_so(waited, "the change has waited"));
        Ok(noticed)
    })
    .await
}

#[tokio::test]
async fn a_stop_that_is_sent_before_it_is_written_is_noticed() -> Result<()> {
    is_noticed(Mutant::StopUnwritten, |stage| async move {
        limited(&stage, "20s").await?;
        quiet(&stage).await?;
        // From now on the proxy records the requests, and breaks none.
        stage.proxy.begin(Box::new(|_, _| None));
        stage.until(APP, "a run to be stopped", is_stopped).await?;
        quiet(&stage).await?;
        let calls = stage.proxy.calls();
        let first = |call: &str| calls.iter().position(|it| it.call.to_string() == call);
        let asked = first("patch trials.lab.test");
        let written = first("update runnables.carto.run/status");
        ensure!(asked.is_some() && written.is_some(), "not told: {calls:?}");
        Ok(if_so(
            asked < written,
            "it was asked before that was written",
        ))
    })
    .await
}

#[tokio::test]
async fn a_stop_before_the_time_is_over_is_noticed() -> Result<()> {
    is_noticed(Mutant::StopEarly, |stage| async move {
        limited(&stage, "1h").await?;
        quiet(&stage).await?;
        let end = stage.until(APP, "a run", |r| made(r, 1)).await?;
        Ok(if_so(is_stopped(&end), "an hour is not over"))
    })
    .await
}

#[tokio::test]
async fn a_stopped_run_that_is_made_again_is_noticed() -> Result<()> {
    is_noticed(Mutant::StoppedMadeAgain, |stage| async move {
        limited(&stage, "2s").await?;
        stage.until(APP, "a run to be stopped", is_stopped).await?;
        quiet(&stage).await?;
        let run = stage.sees(1).await?;
        stage.remove_trial(&run.name_any()).await?;
        let over = |r: &Runnable| has_failed(r) || made(r, 2);
        let end = stage.until(APP, "the end of the run", over).await?;
        Ok(if_so(made(&end, 2), "it was made again"))
    })
    .await
}
