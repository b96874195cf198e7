//! Cases that no protocol can decide alone (`docs/concepts/exactly-once.md`, "Where it ends"), and similar ones.

use anyhow::{Context, Result, ensure};
use cartouche_crds::{RunResult, Runnable};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{gives, made, rejected};
use crate::{
    cluster::{Seen, eventually},
    faults::{
        held::{confirmations, creates},
        plan::quiet,
        stage::{APP, PATIENCE, Stage},
    },
    fixture::current,
    lab::{hangs, succeeds},
};

/// Returns true if the end of the present run is unknown.
pub(super) fn lost(runnable: &Runnable) -> bool {
    current(runnable).is_some_and(|run| run.result == Some(RunResult::Lost))
}

/// Fails if more than `count` runs are made before the inputs change.
async fn at_most(stage: &Stage, count: usize) -> Result<()> {
    quiet(stage).await?;
    let what = "the runs to be listed";
    let end = eventually(what, PATIENCE, || async {
        Ok(Seen::Done(stage.end(APP).await?))
    })
    .await?;
    ensure!(
        end.made.len() <= count,
        "a run was made for inputs that had one: {:?}",
        end.made
    );
    Ok(())
}

/// Revokes the right to create after the intent was written, before its create arrives.
pub(super) async fn revoked_amid_create(stage: &Stage) -> Result<()> {
    stage.proxy.hold(creates());
    let inputs = json!({ "inputs": succeeds(1) });
    stage.runnable(APP, inputs).await?;
    stage.holds().await?;
    stage.revoke().await?;
    stage.proxy.release();
    stage.until(APP, "a refusal", rejected).await?;
    stage.grant(true).await
}

/// Plays I1: a user deletes the run while its confirmation is on its way. A controller that saw the deletion
/// makes the run again under the next number. A later one can only assume that the create never arrived.
pub(super) async fn deleted_unconfirmed(stage: &Stage) -> Result<()> {
    stage.proxy.hold(confirmations());
    stage.runnable(APP, json!({ "inputs": hangs(1) })).await?;
    let run = stage.sees(1).await?;
    stage.holds().await?;
    stage.remove_trial(&run.name_any()).await?;
    stage.proxy.release();
    let again =
        |r: &Runnable| made(r, 1) && current(r).is_some_and(|current| current.uid != run.uid());
    let what = "another run in the place of the one that was deleted";
    stage
        .until(APP, what, |r| made(r, 2) || again(r) || lost(r))
        .await?;
    stage.change(APP, succeeds(2)).await
}

/// Plays I2: the end of the run cannot be known. Nothing is made until the inputs change, and the outputs of
/// the previous run stay.
pub(super) async fn ended_unseen(stage: &Stage) -> Result<()> {
    let run = stage.sees(2).await?;
    stage.finish(&run, true).await?;
    stage.remove_trial(&run.name_any()).await?;
    stage.start_controller().await?;
    let kept = |r: &Runnable| {
        let status = r.status.as_ref();
        let outputs = status.and_then(|status| status.outputs.as_ref());
        lost(r) && outputs.and_then(|outputs| outputs.get("value")) == Some(&json!(1))
    };
    let what = "the run to be given up as lost, and the outputs to stay";
    stage.until(APP, what, kept).await?;
    at_most(stage, 2).await?;
    stage.change(APP, succeeds(3)).await
}

/// Plays I3: the runs that the restored status does not know still exist. They are taken over, and the next
/// run has a higher number.
pub(super) async fn restored_status(stage: &Stage) -> Result<()> {
    let of_the_first = |status: &Value| {
        status.pointer("/currentRun/sequence") == Some(&json!(1))
            && status.pointer("/outputs/value") == Some(&json!(1))
    };
    let written = stage.record.statuses(APP)?;
    let backup = written.into_iter().rfind(of_the_first);
    let backup = backup.context("the status of the first run was recorded")?;
    stage
        .edit_status(APP, |status| status.clone_from(&backup))
        .await?;
    stage.start_controller().await?;
    let what = "the newest run to be found again";
    stage.until(APP, what, |r| gives(r, 3, 3)).await?;
    at_most(stage, 3).await?;
    stage.change(APP, succeeds(4)).await
}
