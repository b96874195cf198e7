//! UNSAFE: one create and one status patch for a run, and nothing else.

use anyhow::{Context, Result};
use kube::Client;
use serde::de::IgnoredAny;
use serde_json::json;

use super::{Run, Twin, outputs, runs_in, stamped, status_path};
use crate::api;

pub(super) async fn begin(client: &Client, twin: &Twin) -> Result<()> {
    let run = stamped(twin, json!({ "generateName": "work-" }));
    let path = runs_in(&twin.metadata.namespace);
    api::send::<IgnoredAny>(client, "POST", &path, &run)
        .await
        .context("creating a run")?;
    Ok(())
}

pub(super) async fn end(client: &Client, run: &Run) -> Result<()> {
    let owner = run.metadata.labels.get("carto.run/runnable-name");
    let path = status_path(&run.metadata.namespace, owner.map_or("", String::as_str));
    let body = json!({ "status": { "outputs": outputs(run) } });
    api::send::<IgnoredAny>(client, "PATCH", &path, &body)
        .await
        .context("writing outputs")?;
    Ok(())
}
