//! Many Runnables of one namespace change at once.

use anyhow::Result;
use futures::future::try_join_all;
use serde_json::json;

use super::gives;
use crate::{
    faults::stage::{APP, Stage},
    lab::succeeds,
};

/// Reconciles at the same time; a quarter of them is reserved for other namespaces.
const CONCURRENCY: &str = "4";
/// Runnables beside [`APP`].
const BESIDE: [&str; 4] = ["app-b", "app-c", "app-d", "app-e"];

/// Sets up more Runnables than reconciles: while some wait for theirs, their runs are not confirmed yet.
pub(super) fn crowd(stage: &mut Stage) {
    stage.arguments(&["--concurrency", CONCURRENCY]);
    stage.beside = BESIDE.map(str::to_owned).into();
}

fn all(stage: &Stage) -> impl Iterator<Item = &str> {
    let beside = stage.beside.iter().map(String::as_str);
    std::iter::once(APP).chain(beside)
}

pub(super) async fn settled(stage: &Stage) -> Result<()> {
    for name in all(stage) {
        let spec = json!({ "inputs": succeeds(1) });
        stage.runnable(name, spec).await?;
    }
    stage.start_controller().await?;
    all_give(stage, 1).await
}

pub(super) async fn change(stage: &Stage) -> Result<()> {
    try_join_all(all(stage).map(|name| stage.change(name, succeeds(2)))).await?;
    all_give(stage, 2).await
}

async fn all_give(stage: &Stage, value: i64) -> Result<()> {
    for name in all(stage) {
        stage
            .until(name, "its output", |r| gives(r, value, value))
            .await?;
    }
    Ok(())
}
