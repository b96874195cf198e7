//! UNSAFE: the requests of the protocol that makes runs exactly once (docs/exactly-once.md), made
//! blindly: read the template, write the intent, create the run as the ServiceAccount, confirm it;
//! and at its end read it as the ServiceAccount and write its result. No history is carried along.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result};
use cartouche_templating::name_suffix;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Run, Twin, outputs, runs_in, stamped, status_path};
use crate::{
    api::{self, Meta},
    kinds::{RunKind, TWIN_GROUP},
};

const HASH: &str = "v1:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// What was written last of each Runnable, by its uid.
#[derive(Default)]
pub(super) struct Ledgers {
    inner: Mutex<HashMap<String, Ledger>>,
}

#[derive(Clone)]
struct Ledger {
    twin: Twin,
    version: String,
    sequence: i64,
    current: Value,
}

#[derive(Deserialize)]
struct Written {
    metadata: Meta,
}

impl Ledgers {
    fn get(&self, name: &str) -> Option<Ledger> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.get(name).cloned()
    }

    fn set(&self, name: String, ledger: Ledger) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.insert(name, ledger);
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

fn account(namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:default")
}

pub(super) async fn begin(client: &Client, ledgers: &Ledgers, twin: &Twin) -> Result<()> {
    let Meta {
        name,
        namespace,
        uid,
        ..
    } = &twin.metadata;
    let template = twin.spec["runTemplateRef"]["name"]
        .as_str()
        .unwrap_or_default();
    let path = format!("/apis/carto.run/v1alpha1/clusterruntemplates/{template}");
    api::send::<Value>(client, "GET", &path, &Value::Null)
        .await
        .context("reading the template")?;

    let key = key(namespace, name);
    let sequence = ledgers.get(&key).map_or(1, |ledger| ledger.sequence + 1);
    let run_name = format!("work-{}", name_suffix(uid, sequence));
    let mut current = json!({
        "sequence": sequence, "inputHash": HASH, "phase": "Pending", "attempted": true,
        "apiVersion": RunKind::api_version(), "kind": RunKind::of_references().kind, "name": run_name,
        "intentAt": "2026-01-01T00:00:00Z",
    });
    let status = status(twin, &current, "Unknown", None);
    let version = put(client, twin, &twin.metadata.resource_version, status).await?;

    let run = stamped(
        twin,
        json!({
            "name": run_name, "generateName": "work-",
            "labels": { "carto.run/runnable-uid": uid, "carto.run/run-sequence": sequence.to_string() },
            "annotations": { "carto.run/input-hash": HASH },
        }),
    );
    let path = format!("{}?timeout=10s", runs_in(namespace));
    let made: Written = api::send_as(client, "POST", &path, &run, Some(&account(namespace)))
        .await
        .context("creating a run")?;

    current["phase"] = "Created".into();
    current["uid"] = made.metadata.uid.into();
    current["startedAt"] = "2026-01-01T00:00:00Z".into();
    let status = self::status(twin, &current, "Unknown", None);
    let version = put(client, twin, &version, status).await?;
    let ledger = Ledger {
        twin: twin.clone(),
        version,
        sequence,
        current,
    };
    ledgers.set(key, ledger);
    Ok(())
}

pub(super) async fn end(client: &Client, ledgers: &Ledgers, run: &Run) -> Result<()> {
    let Meta {
        name,
        namespace,
        labels,
        ..
    } = &run.metadata;
    let owner = labels
        .get("carto.run/runnable-name")
        .map_or("", String::as_str);
    let key = key(namespace, owner);
    let path = format!("{}/{name}", runs_in(namespace));
    let run: Run = api::send_as(
        client,
        "GET",
        &path,
        &Value::Null,
        Some(&account(namespace)),
    )
    .await
    .context("reading a run")?;
    // The run may end before its own confirmation is answered.
    let ledger = loop {
        match ledgers.get(&key) {
            Some(ledger) if ledger.current["uid"] == run.metadata.uid.as_str() => break ledger,
            _ => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
        }
    };
    let mut current = ledger.current.clone();
    current["result"] = "Succeeded".into();
    current["finishedAt"] = "2026-01-01T00:00:00Z".into();
    let status = status(
        &ledger.twin,
        &current,
        "True",
        Some((&run, ledger.sequence)),
    );
    put(client, &ledger.twin, &ledger.version, status).await?;
    Ok(())
}

fn status(twin: &Twin, current: &Value, ready: &str, result: Option<(&Run, i64)>) -> Value {
    let generation = twin.metadata.generation;
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let reason = if ready == "True" { "Ready" } else { "Unknown" };
    let mut status = json!({
        "observedGeneration": generation,
        "conditions": [
            condition("RunTemplateReady", "True", "Ready", ""),
            condition("StampedObjectCondition", ready, "SucceededCondition", "all steps have completed"),
            condition("Ready", ready, reason, ""),
        ],
        "currentRun": current,
    });
    if let Some((run, sequence)) = result {
        status["outputs"] = outputs(run);
        status["outputsFrom"] = json!({
            "sequence": sequence, "name": run.metadata.name, "uid": run.metadata.uid,
            "inputHash": HASH, "rulesHash": HASH,
        });
    }
    status
}

async fn put(client: &Client, twin: &Twin, version: &str, status: Value) -> Result<String> {
    let Meta {
        name,
        namespace,
        uid,
        ..
    } = &twin.metadata;
    let body = json!({
        "apiVersion": format!("{TWIN_GROUP}/v1alpha1"),
        "kind": "Runnable",
        "metadata": { "name": name, "namespace": namespace, "uid": uid, "resourceVersion": version },
        "spec": { "runTemplateRef": twin.spec["runTemplateRef"] },
        "status": status,
    });
    let written: Written = api::send(client, "PUT", &status_path(namespace, name), &body)
        .await
        .context("writing the status")?;
    Ok(written.metadata.resource_version)
}
