//! Runnables in a namespace of their own, watched, with an engine that finishes their runs.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use futures::{StreamExt, stream};
use kube::Client;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use super::Board;
use crate::{
    api::{self, Happening, Item, Meta},
    kinds::RunKind,
};

/// Requests of the load generator that are under way at the same time.
pub(crate) const IN_FLIGHT: usize = 64;
/// Time without an answer after which none will come.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Composition of a field.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The group of its Runnables.
    pub(crate) group: &'static str,
    pub(crate) namespace: String,
    pub(crate) runnables: usize,
    /// Number of Runnables that change: the first ones.
    pub(crate) active: usize,
    /// The kinds of the runs, each with the name of its template; the Runnables take turns.
    pub(crate) kinds: Vec<(RunKind, String)>,
    /// Finished runs that each keeps.
    pub(crate) keep: usize,
    /// Duration of a run.
    pub(crate) lasts: Duration,
    /// Number of runs of each change but the first that fail before one succeeds.
    pub(crate) failures: usize,
}

impl Plan {
    pub(crate) fn path(&self) -> String {
        format!(
            "/apis/{}/v1alpha1/namespaces/{}/runnables",
            self.group, self.namespace
        )
    }

    /// Returns the n-th Runnable, as it is created.
    pub(crate) fn runnable(&self, index: usize) -> Value {
        let template = self
            .kinds
            .get(index % self.kinds.len().max(1))
            .map_or("", |(_, template)| template.as_str());
        json!({
            "apiVersion": format!("{}/v1alpha1", self.group),
            "kind": "Runnable",
            "metadata": { "name": name(index) },
            "spec": {
                "runTemplateRef": { "name": template },
                "inputs": inputs(0),
                "retentionPolicy": { "maxFailedRuns": self.keep, "maxSuccessfulRuns": self.keep },
            },
        })
    }
}

/// Returns the inputs of a Runnable at its n-th change.
fn inputs(change: u64) -> Value {
    json!({
        "change": change,
        "repository": "https://git.example.com/team/application",
        "source": { "url": "https://git.example.com/team/application", "revision": "main", "paths": ["cmd", "pkg"] },
    })
}

pub(crate) fn name(index: usize) -> String {
    format!("r{index:05}")
}

fn index_of(name: &str) -> Option<usize> {
    name.strip_prefix('r')?.parse().ok()
}

/// A Runnable, as far as it is read.
#[derive(Clone, Deserialize)]
pub(crate) struct SeenRunnable {
    metadata: Meta,
    spec: SeenSpec,
    #[serde(default)]
    status: SeenRunnableStatus,
}

#[derive(Clone, Default, Deserialize)]
struct SeenRunnableStatus {
    #[serde(default)]
    outputs: Option<SeenOutputs>,
}

#[derive(Clone, Deserialize)]
struct SeenSpec {
    #[serde(default)]
    inputs: SeenInputs,
    #[serde(default)]
    change: u64,
    #[serde(default)]
    mark: String,
}

#[derive(Clone, Default, Deserialize)]
struct SeenInputs {
    /// Missing in links of chains, which take theirs from a source.
    #[serde(default)]
    change: u64,
}

#[derive(Clone, Deserialize)]
struct SeenOutputs {
    #[serde(default)]
    change: Option<u64>,
    #[serde(default)]
    mark: String,
}

/// A run, as far as it is read.
#[derive(Clone, Deserialize)]
pub(crate) struct SeenRun {
    metadata: Meta,
    spec: SeenSpec,
    #[serde(default)]
    status: SeenRunStatus,
}

#[derive(Clone, Default, Deserialize)]
struct SeenRunStatus {
    #[serde(default)]
    conditions: Vec<IgnoredAny>,
}

impl SeenRunnable {
    /// Returns the index of the Runnable, and the mark in its outputs.
    pub(crate) fn marked(&self) -> Option<(usize, &str)> {
        let outputs = self.status.outputs.as_ref()?;
        Some((index_of(&self.metadata.name)?, &outputs.mark))
    }
}

impl SeenRun {
    /// Returns the index of its Runnable, and the mark in it.
    pub(crate) fn marked(&self) -> Option<(usize, &str)> {
        Some((self.owner()?, &self.spec.mark))
    }

    pub(crate) fn uid(&self) -> &str {
        &self.metadata.uid
    }

    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Returns the name of its Runnable.
    pub(crate) fn of(&self) -> &str {
        let labels = &self.metadata.labels;
        labels
            .get("carto.run/runnable-name")
            .map_or("", String::as_str)
    }

    pub(crate) fn has_ended(&self) -> bool {
        !self.status.conditions.is_empty()
    }

    fn owner(&self) -> Option<usize> {
        index_of(self.metadata.labels.get("carto.run/runnable-name")?)
    }
}

impl Item for SeenRunnable {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl Item for SeenRun {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

/// Runnables under load. Its watches and its engine end when it is dropped.
pub(crate) struct Field {
    pub(crate) client: Client,
    pub(crate) plan: Plan,
    pub(crate) board: Arc<Board>,
    pub(crate) answers: mpsc::UnboundedReceiver<usize>,
    tasks: JoinSet<Result<()>>,
}

impl Field {
    /// Watches a namespace and plays the engine there. [`Self::sow`] makes the Runnables.
    pub(crate) async fn new(client: Client, plan: Plan) -> Result<Self> {
        let (board, answers) = Board::new(plan.runnables);
        let board = Arc::new(board);
        let mut tasks = JoinSet::new();
        let room = Arc::new(Semaphore::new(IN_FLIGHT));
        for (kind, _) in &plan.kinds {
            let path = kind.path(&plan.namespace);
            let version = api::version(&client, &path).await?;
            let show = engine(
                client.clone(),
                path.clone(),
                (plan.lasts, plan.failures),
                board.clone(),
                room.clone(),
            );
            tasks.spawn(api::watch(client.clone(), path, "", version, show));
        }
        let version = api::version(&client, &plan.path()).await?;
        let shown = board.clone();
        let show = move |happening, runnable: SeenRunnable| {
            let Some(index) = index_of(&runnable.metadata.name) else {
                return;
            };
            if happening == Happening::There {
                let output = runnable.status.outputs.and_then(|outputs| outputs.change);
                shown.runnable_shown(index, runnable.spec.inputs.change, output);
            }
        };
        tasks.spawn(api::watch(client.clone(), plan.path(), "", version, show));
        Ok(Self {
            client,
            plan,
            board,
            answers,
            tasks,
        })
    }

    /// Makes the Runnables and waits until each has outputs.
    pub(crate) async fn sow(&mut self) -> Result<()> {
        let path = self.plan.path();
        let creates = stream::iter(0..self.plan.runnables).map(|index| {
            let (client, path, object) = (&self.client, &path, self.plan.runnable(index));
            async move { api::send::<IgnoredAny>(client, "POST", path, &object).await }
        });
        let mut creates = creates.buffer_unordered(IN_FLIGHT);
        while let Some(created) = creates.next().await {
            created.context("creating a Runnable")?;
        }
        drop(creates);
        self.all_answered().await
    }

    /// Takes the existing Runnables, each with the outputs of its change number 0.
    pub(crate) fn adopt(&self) {
        self.board.all_are_answered();
    }

    /// Waits until every Runnable's latest change has its outputs.
    pub(crate) async fn all_answered(&mut self) -> Result<()> {
        let mut last = Instant::now();
        loop {
            let unanswered = self.board.unanswered();
            if unanswered == 0 {
                while self.answers.try_recv().is_ok() {}
                return Ok(());
            }
            match tokio::time::timeout(Duration::from_millis(200), self.answers.recv()).await {
                Ok(Some(_)) => last = Instant::now(),
                Ok(None) => bail!("the watches have ended"),
                Err(_) => {}
            }
            self.watched()?;
            if last.elapsed() > PATIENCE {
                bail!(
                    "{unanswered} of {} Runnables in namespace {} have no outputs, and none came for {} s",
                    self.plan.runnables,
                    self.plan.namespace,
                    PATIENCE.as_secs()
                );
            }
        }
    }

    /// Sends the next change of a Runnable.
    pub(crate) async fn change(&self, index: usize) -> Result<()> {
        let number = self.board.change(index);
        send_change(&self.client, &self.plan, index, number).await
    }

    /// Fails if a watch has ended.
    pub(crate) fn watched(&mut self) -> Result<()> {
        match self.tasks.try_join_next() {
            None => Ok(()),
            Some(ended) => ended?.context("a watch of the load generator has ended"),
        }
    }

    /// Compares the state at the end with the required one. Returns the number of Runnables whose latest
    /// change does not have exactly one run, or whose outputs are not those of that run.
    pub(crate) async fn losses(&self) -> Result<u64> {
        let (runnables, _) = api::list::<SeenRunnable>(&self.client, &self.plan.path()).await?;
        let mut runs = HashSet::new();
        for (kind, _) in &self.plan.kinds {
            let path = kind.path(&self.plan.namespace);
            let (listed, _) = api::list::<SeenRun>(&self.client, &path).await?;
            runs.extend(listed.iter().map(|run| (run.owner(), run.spec.change)));
        }
        let kept = |runnable: &&SeenRunnable| {
            let index = index_of(&runnable.metadata.name);
            let change = index.map(|index| self.board.latest(index));
            let output = runnable
                .status
                .outputs
                .as_ref()
                .and_then(|outputs| outputs.change);
            change.is_some() && output == change && runs.contains(&(index, change.unwrap_or(0)))
        };
        let kept = runnables.iter().filter(kept).count();
        Ok(self.plan.runnables.saturating_sub(kept) as u64)
    }

    /// Deletes everything in the namespace that was made here.
    pub(crate) async fn clear(mut self) -> Result<()> {
        self.tasks.shutdown().await;
        let mut paths = vec![self.plan.path()];
        paths.extend(
            self.plan
                .kinds
                .iter()
                .map(|(kind, _)| kind.path(&self.plan.namespace)),
        );
        for path in paths {
            api::send::<IgnoredAny>(&self.client, "DELETE", &path, &Value::Null)
                .await
                .with_context(|| format!("deleting {path}"))?;
        }
        Ok(())
    }
}

/// Sends the n-th change of a Runnable.
pub(super) async fn send_change(
    client: &Client,
    plan: &Plan,
    index: usize,
    number: u64,
) -> Result<()> {
    let path = format!("{}/{}", plan.path(), name(index));
    let body = json!({ "spec": { "inputs": { "change": number } } });
    api::send::<IgnoredAny>(client, "PATCH", &path, &body)
        .await
        .with_context(|| format!("changing {path}"))?;
    Ok(())
}

/// Returns a handler that ends every run this long after its watch shows it: `failures` runs of each change
/// but the first fail, and then one succeeds.
fn engine(
    client: Client,
    path: String,
    (lasts, failures): (Duration, usize),
    board: Arc<Board>,
    room: Arc<Semaphore>,
) -> impl FnMut(Happening, SeenRun) {
    let mut begun: HashSet<String> = HashSet::new();
    let mut attempts: HashMap<(usize, u64), usize> = HashMap::new();
    move |happening, run| {
        let Some(index) = run.owner().filter(|_| happening == Happening::There) else {
            return;
        };
        let change = run.spec.change;
        if run.has_ended() {
            board.success_shown(index, change);
            return;
        }
        if !begun.insert(run.metadata.uid.clone()) {
            return;
        }
        board.run_shown(index, change);
        let mut status = success(change, &run.spec.mark);
        if failures > 0 && change > 0 {
            let attempt = attempts.entry((index, change)).or_default();
            *attempt += 1;
            if *attempt <= failures {
                status["status"]["conditions"][0]["status"] = "False".into();
            }
        }
        let (client, room) = (client.clone(), room.clone());
        let path = format!("{path}/{}/status", run.metadata.name);
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            let _permit = room.acquire_owned().await;
            let outcome = api::send::<IgnoredAny>(&client, "PATCH", &path, &status).await;
            if let Err(error) = outcome {
                eprintln!("warning: the engine could not finish {path}: {error}");
            }
        });
    }
}

/// Returns the status of a run that has succeeded.
fn success(change: u64, mark: &str) -> Value {
    json!({ "status": {
        "change": change,
        "mark": mark,
        "digest": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "conditions": [{
            "type": "Succeeded",
            "status": "True",
            "reason": "Succeeded",
            "message": "all steps have completed",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    } })
}
