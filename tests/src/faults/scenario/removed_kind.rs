//! The kind of the runs is removed and comes back.

use anyhow::Result;

use super::{exceptions::lost, made};
use crate::{
    faults::stage::{APP, Stage},
    lab::succeeds,
};

async fn gone_and_back(stage: &Stage) -> Result<()> {
    stage.remove_kind().await?;
    stage.add_kind().await
}

/// Removes the kind of a finished run, which is done even if its object goes.
pub(super) async fn of_a_finished_run(stage: &Stage) -> Result<()> {
    gone_and_back(stage).await?;
    stage.change(APP, succeeds(2)).await
}

/// Removes the kind of an unfinished run: it is made again once its kind exists.
pub(super) async fn amid_a_run(stage: &Stage) -> Result<()> {
    gone_and_back(stage).await?;
    let what = "another run in the place of the one that was deleted";
    stage.until(APP, what, |r| made(r, 2) || lost(r)).await?;
    stage.change(APP, succeeds(2)).await
}
