//! The status of the references that keep a record of runs: with the conditions, the ledger and the earlier
//! runs that the controller writes.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result};
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Run, Twin, outputs, status_path};
use crate::{
    api::{self, Meta},
    kinds::{RunKind, TWIN_GROUP},
};

/// A hash in the protocol's format.
pub(crate) const HASH: &str = "v1:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const TIME: &str = "2026-01-01T00:00:00Z";
/// Maximum number of earlier runs in a status, as in the controller.
const MAX_HISTORY: usize = 200;

/// The last write of each Runnable, by namespace and name.
#[derive(Default)]
pub(super) struct Ledgers {
    inner: Mutex<HashMap<String, Ledger>>,
}

/// A reference's memory of a Runnable.
#[derive(Clone)]
pub(super) struct Ledger {
    pub(super) twin: Twin,
    /// The version that the next write must carry.
    pub(super) version: String,
    sequence: i64,
    current: Value,
    history: Vec<String>,
}

/// An answer, as far as it is read.
#[derive(Deserialize)]
pub(super) struct Written {
    pub(super) metadata: Meta,
}

impl Ledgers {
    fn get(&self, key: &str) -> Option<Ledger> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.get(key).cloned()
    }

    /// Keeps the last write.
    pub(super) fn set(&self, ledger: Ledger) {
        let key = key(&ledger.twin.metadata);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.insert(key, ledger);
    }

    /// Returns the ledger of a Runnable with its next run in it, intended and under this name.
    pub(super) fn next(&self, twin: &Twin, name: impl FnOnce(i64) -> String) -> Ledger {
        let before = self.get(&key(&twin.metadata));
        let sequence = before.as_ref().map_or(1, |ledger| ledger.sequence + 1);
        let mut history = before.map_or_else(Vec::new, |mut ledger| {
            ledger.history.push(line(&ledger.current));
            ledger.history
        });
        history.drain(..history.len().saturating_sub(MAX_HISTORY));
        Ledger {
            twin: twin.clone(),
            version: twin.metadata.resource_version.clone(),
            sequence,
            current: json!({
                "sequence": sequence, "inputHash": HASH, "phase": "Pending", "attempted": true,
                "apiVersion": RunKind::api_version(), "kind": RunKind::of_references().kind,
                "name": name(sequence), "intentAt": TIME,
            }),
            history,
        }
    }

    /// Returns the ledger that has this run as its present one, and waits for it: the run may end before it
    /// was recorded.
    pub(super) async fn of(&self, run: &Run) -> Ledger {
        let Meta {
            namespace, labels, ..
        } = &run.metadata;
        let owner = labels.get("carto.run/runnable-name");
        let key = format!("{namespace}/{}", owner.map_or("", String::as_str));
        loop {
            match self.get(&key) {
                Some(ledger) if ledger.current["uid"] == run.metadata.uid.as_str() => {
                    return ledger;
                }
                _ => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
            }
        }
    }
}

fn key(twin: &Meta) -> String {
    format!("{}/{}", twin.namespace, twin.name)
}

/// Returns a run as a line of the history.
pub(crate) fn line(current: &Value) -> String {
    let text = |field: &str| current[field].as_str().unwrap_or("-");
    format!(
        "{} Succeeded {}/{}/{} {} {TIME} {TIME} {HASH} : all steps have completed",
        current["sequence"],
        text("apiVersion"),
        text("kind"),
        text("name"),
        text("uid")
    )
}

impl Ledger {
    /// Returns its number.
    pub(super) fn sequence(&self) -> i64 {
        self.sequence
    }

    /// Returns the name of its run.
    pub(super) fn name(&self) -> &str {
        self.current["name"].as_str().unwrap_or_default()
    }

    /// Records that its run was made.
    pub(super) fn confirm(&mut self, made: Meta) {
        self.current["phase"] = "Created".into();
        self.current["name"] = made.name.into();
        self.current["uid"] = made.uid.into();
        self.current["startedAt"] = TIME.into();
    }

    /// Records that its run has succeeded.
    pub(super) fn finish(&mut self) {
        self.current["result"] = "Succeeded".into();
        self.current["finishedAt"] = TIME.into();
    }

    /// Writes the status; with the outputs of a run that has succeeded.
    pub(super) async fn put(&mut self, client: &Client, result: Option<&Run>) -> Result<()> {
        let Meta {
            name,
            namespace,
            uid,
            ..
        } = &self.twin.metadata;
        let body = json!({
            "apiVersion": format!("{TWIN_GROUP}/v1alpha1"),
            "kind": "Runnable",
            "metadata": { "name": name, "namespace": namespace, "uid": uid, "resourceVersion": self.version },
            "spec": { "runTemplateRef": self.twin.spec["runTemplateRef"] },
            "status": self.status(result),
        });
        let written: Written = api::send(client, "PUT", &status_path(namespace, name), &body)
            .await
            .context("writing the status")?;
        self.version = written.metadata.resource_version;
        Ok(())
    }

    fn status(&self, result: Option<&Run>) -> Value {
        let ready = if result.is_some() { "True" } else { "Unknown" };
        let mut status = status(self.twin.metadata.generation, ready, &self.history);
        status["currentRun"] = self.current.clone();
        if let Some(run) = result {
            status["outputs"] = outputs(run);
            status["outputsFrom"] = json!({
                "sequence": self.sequence, "name": run.metadata.name, "uid": run.metadata.uid, "rulesHash": HASH,
            });
        }
        status
    }
}

/// Returns conditions and earlier runs.
pub(crate) fn status(generation: i64, ready: &str, history: &[String]) -> Value {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "observedGeneration": generation, "lastTransitionTime": TIME,
        })
    };
    let reason = if ready == "True" { "Ready" } else { "Unknown" };
    json!({
        "observedGeneration": generation,
        "conditions": [
            condition("RunTemplateReady", "True", "Ready", ""),
            condition("StampedObjectCondition", ready, "SucceededCondition", "all steps have completed"),
            condition("Ready", ready, reason, ""),
        ],
        "history": history,
    })
}
