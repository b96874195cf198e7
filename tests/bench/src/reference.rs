//! UNSAFE reference controllers: the ceiling of the machine, never anything else.
//!
//! They keep everything in their own memory, ignore every unexpected answer, make a second run after any
//! hiccup and lose outputs after any other. They serve a twin of the Runnable in a group of its own, so that
//! a controller under test and a reference never meet.

mod blind;
pub(crate) mod ledger;
mod two_writes;
mod with_conditions;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use kube::{Client, Config};
use serde::Deserialize;
use serde_json::Value;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    api::{self, Happening, Item, Meta},
    kinds::{RUN_GROUP, RunKind, TWIN_GROUP},
    measure::Subject,
};

/// A Runnable as the references read it.
#[derive(Clone, Deserialize)]
struct Twin {
    metadata: Meta,
    spec: Value,
}

/// A run as the references read it.
#[derive(Clone, Deserialize)]
struct Run {
    metadata: Meta,
    #[serde(default)]
    status: Value,
}

impl Item for Twin {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl Item for Run {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl Run {
    fn has_succeeded(&self) -> bool {
        let first = self.status.pointer("/conditions/0/status");
        first.and_then(Value::as_str) == Some("True")
    }
}

/// Serves until it is killed.
pub(crate) fn serve(subject: Subject, concurrency: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut config = Config::infer().await.context("reading the kubeconfig")?;
        config.default_retry = false;
        watch(Client::try_from(config)?, subject, concurrency).await
    })
}

async fn watch(client: Client, subject: Subject, concurrency: usize) -> Result<()> {
    let work = Work {
        client: client.clone(),
        subject,
        room: Arc::new(Semaphore::new(concurrency)),
        ledgers: Arc::default(),
    };
    let runnables = format!("/apis/{TWIN_GROUP}/v1alpha1/runnables");
    let runs = format!("/apis/{RUN_GROUP}/v1/{}", RunKind::of_references().plural);
    let mut tasks = JoinSet::new();
    // Runs first: none may end unseen.
    let version = api::version(&client, &runs).await?;
    tasks.spawn(api::watch(
        client.clone(),
        runs,
        "",
        version,
        work.clone().ends(),
    ));
    let (there, version) = api::list::<Twin>(&client, &runnables).await?;
    let mut begin = work.begins();
    for twin in there {
        begin(Happening::There, twin);
    }
    tasks.spawn(api::watch(client, runnables, "", version, begin));
    match tasks.join_next().await {
        Some(ended) => ended?,
        None => bail!("nothing was watched"),
    }
}

/// State of a reference.
#[derive(Clone)]
struct Work {
    client: Client,
    subject: Subject,
    room: Arc<Semaphore>,
    ledgers: Arc<ledger::Ledgers>,
}

impl Work {
    /// Makes a run for every generation of a Runnable.
    fn begins(self) -> impl FnMut(Happening, Twin) {
        let mut served: HashMap<String, i64> = HashMap::new();
        move |happening, twin| {
            let (uid, generation) = (twin.metadata.uid.clone(), twin.metadata.generation);
            if happening == Happening::Gone {
                served.remove(&uid);
                return;
            }
            if served.insert(uid, generation) == Some(generation) {
                return;
            }
            let work = self.clone();
            tokio::spawn(async move {
                let _permit = work.room.acquire().await;
                complain(match work.subject {
                    Subject::Blind => blind::begin(&work.client, &work.ledgers, &twin).await,
                    Subject::WithConditions => {
                        with_conditions::begin(&work.client, &work.ledgers, &twin).await
                    }
                    _ => two_writes::begin(&work.client, &twin).await,
                });
            });
        }
    }

    /// Takes the outputs of every run that succeeds.
    fn ends(self) -> impl FnMut(Happening, Run) {
        let mut finished = HashSet::new();
        move |happening, run| {
            if happening == Happening::Gone {
                finished.remove(&run.metadata.uid);
                return;
            }
            if !run.has_succeeded() || !finished.insert(run.metadata.uid.clone()) {
                return;
            }
            let work = self.clone();
            tokio::spawn(async move {
                let _permit = work.room.acquire().await;
                complain(match work.subject {
                    Subject::Blind => blind::end(&work.client, &work.ledgers, &run).await,
                    Subject::WithConditions => {
                        with_conditions::end(&work.client, &work.ledgers, &run).await
                    }
                    _ => two_writes::end(&work.client, &run).await,
                });
            });
        }
    }
}

/// Prints an error and loses the work: that is what makes it a reference and no controller.
fn complain(outcome: Result<()>) {
    if let Err(error) = outcome {
        eprintln!("error: {error:#}");
    }
}

/// Returns the run of a Runnable, stamped as a controller would.
fn stamped(twin: &Twin, metadata: Value) -> Value {
    let kind = RunKind::of_references();
    let Meta { name, uid, .. } = &twin.metadata;
    let inputs = &twin.spec["inputs"];
    let mut run = serde_json::json!({
        "apiVersion": RunKind::api_version(),
        "kind": kind.kind,
        "metadata": {
            "labels": { "carto.run/runnable-name": name, "carto.run/run-template-name": twin.spec["runTemplateRef"]["name"] },
            "ownerReferences": [{
                "apiVersion": format!("{TWIN_GROUP}/v1alpha1"), "kind": "Runnable", "name": name, "uid": uid,
                "controller": true, "blockOwnerDeletion": false,
            }],
        },
        "spec": {
            "change": inputs["change"],
            "source": inputs["source"],
            "message": format!("change {} of {}", inputs["change"], inputs["repository"]),
            "mark": "reference",
        },
    });
    merge(&mut run["metadata"], metadata);
    run
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn runs_in(namespace: &str) -> String {
    RunKind::of_references().path(namespace)
}

fn status_path(namespace: &str, name: &str) -> String {
    format!("/apis/{TWIN_GROUP}/v1alpha1/namespaces/{namespace}/runnables/{name}/status")
}

fn outputs(run: &Run) -> Value {
    serde_json::json!({ "change": run.status["change"], "digest": run.status["digest"], "mark": run.status["mark"] })
}
