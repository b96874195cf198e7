//! UNSAFE: one create for a run, and one write of a status with the required content of a controller of
//! Runnables: conditions, a record of runs, outputs.

use anyhow::{Context, Result};
use kube::Client;
use serde_json::json;

use super::{
    Run, Twin,
    ledger::{Ledgers, Written},
    runs_in, stamped,
};
use crate::api;

pub(super) async fn begin(client: &Client, ledgers: &Ledgers, twin: &Twin) -> Result<()> {
    let run = stamped(twin, json!({ "generateName": "work-" }));
    let path = runs_in(&twin.metadata.namespace);
    let made: Written = api::send(client, "POST", &path, &run)
        .await
        .context("creating a run")?;
    let mut ledger = ledgers.next(twin, |_| String::new());
    ledger.confirm(made.metadata);
    ledgers.set(ledger);
    Ok(())
}

pub(super) async fn end(client: &Client, ledgers: &Ledgers, run: &Run) -> Result<()> {
    let mut ledger = ledgers.of(run).await;
    ledger.finish();
    ledger.put(client, Some(run)).await?;
    ledgers.set(ledger);
    Ok(())
}
