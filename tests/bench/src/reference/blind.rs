//! UNSAFE: makes the requests of the protocol that makes runs exactly once (docs/concepts/exactly-once.md), but
//! blindly. It reads the template, writes the intent, creates the run as the ServiceAccount, and confirms it.
//! At the end of the run it reads the run as the ServiceAccount and writes its result.

use anyhow::{Context, Result};
use cartouche_language::name_suffix;
use kube::Client;
use serde_json::{Value, json};

use super::{
    Run, Twin,
    ledger::{HASH, Ledgers, Written},
    runs_in, stamped,
};
use crate::api::{self, Meta};

fn account(namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:default")
}

pub(super) async fn begin(client: &Client, ledgers: &Ledgers, twin: &Twin) -> Result<()> {
    let Meta { namespace, uid, .. } = &twin.metadata;
    let template = twin.spec["runTemplateRef"]["name"]
        .as_str()
        .unwrap_or_default();
    let path = format!("/apis/carto.run/v1alpha1/clusterruntemplates/{template}");
    api::send::<Value>(client, "GET", &path, &Value::Null)
        .await
        .context("reading the template")?;

    let mut ledger = ledgers.next(twin, |number| format!("work-{}", name_suffix(uid, number)));
    ledger.put(client, None).await?;

    let run = stamped(
        twin,
        json!({
            "name": ledger.name(), "generateName": "work-",
            "labels": { "carto.run/runnable-uid": uid, "carto.run/run-sequence": ledger.sequence().to_string() },
            "annotations": { "carto.run/input-hash": HASH },
        }),
    );
    let path = format!("{}?timeout=10s", runs_in(namespace));
    let made: Written = api::send_as(client, "POST", &path, &run, Some(&account(namespace)))
        .await
        .context("creating a run")?;

    ledger.confirm(made.metadata);
    ledger.put(client, None).await?;
    ledgers.set(ledger);
    Ok(())
}

pub(super) async fn end(client: &Client, ledgers: &Ledgers, run: &Run) -> Result<()> {
    let Meta {
        name, namespace, ..
    } = &run.metadata;
    let path = format!("{}/{name}", runs_in(namespace));
    let account = account(namespace);
    let run: Run = api::send_as(client, "GET", &path, &Value::Null, Some(&account))
        .await
        .context("reading a run")?;
    let mut ledger = ledgers.of(&run).await;
    ledger.finish();
    ledger.put(client, Some(&run)).await?;
    ledgers.set(ledger);
    Ok(())
}
