//! What really happened, by the audit log of the API server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use cartouche_tests::{
    cluster::{Account, AuditEvent, Cluster},
    controller::Controller,
    evidence::Evidence,
};
use futures::StreamExt;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, WatchEvent, WatchParams},
};
use serde_json::Value;
use tokio::{task::AbortHandle, time::sleep};

use crate::{engine::Kind, scene::Scene};

/// What runs are.
const KINDS: [Kind; 3] = [Kind::Trial, Kind::Recluse, Kind::Job];

/// A run that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub name: String,
    pub runnable: String,
    pub sequence: i64,
    /// `spec.value`, if it has one.
    pub value: Option<i64>,
}

impl Made {
    fn of(object: &Value) -> Option<Self> {
        let label = |name: &str| {
            let label = object.pointer("/metadata/labels")?.get(name)?;
            label.as_str().map(str::to_owned)
        };
        Some(Self {
            name: object.pointer("/metadata/name")?.as_str()?.to_owned(),
            runnable: label("carto.run/runnable-name").unwrap_or_default(),
            sequence: label("carto.run/run-sequence")
                .and_then(|sequence| sequence.parse().ok())
                .unwrap_or_default(),
            value: object.pointer("/spec/value").and_then(Value::as_i64),
        })
    }
}

/// Reads on in the audit log, and keeps the requests about one namespace.
#[derive(Debug)]
pub struct Chronicle {
    file: PathBuf,
    namespace: String,
    read: Mutex<(u64, Vec<AuditEvent>)>,
    /// What is known of the runs of each kind.
    evidence: [(Kind, Arc<Mutex<Evidence>>); 3],
    watches: Vec<AbortHandle>,
}

impl Drop for Chronicle {
    fn drop(&mut self) {
        for watch in &self.watches {
            watch.abort();
        }
    }
}

impl Chronicle {
    /// From now on. Runs are made as this account.
    pub fn begin(cluster: &Cluster, account: &Account) -> Result<Self> {
        let file = cluster.control_plane()?.audit_log();
        let file = file.context("there is an audit log")?;
        let namespace = account.namespace.as_str();
        let evidence = KINDS.map(|kind| {
            let none = Evidence::of(kind.audited(), account.user());
            (kind, Arc::new(Mutex::new(none)))
        });
        let watches = evidence.iter().map(|(kind, evidence)| {
            let objects = Api::namespaced_with(cluster.client(), namespace, &kind.resource());
            tokio::spawn(watch(objects, Arc::clone(evidence))).abort_handle()
        });
        Ok(Self {
            watches: watches.collect(),
            evidence,
            read: Mutex::new((std::fs::metadata(&file)?.len(), Vec::new())),
            file,
            namespace: namespace.to_owned(),
        })
    }

    /// The requests that were answered until now, other than those of the tests themselves, as far
    /// as `wanted`.
    pub fn events<T>(&self, wanted: impl Fn(&AuditEvent) -> Option<T>) -> Result<Vec<T>> {
        let mut read = lock(&self.read);
        let (offset, events) = &mut *read;
        let mut file = BufReader::new(File::open(&self.file)?);
        file.seek(SeekFrom::Start(*offset))?;
        let marker = format!("\"namespace\":\"{}\"", self.namespace);
        let mut line = String::new();
        loop {
            line.clear();
            let length = file.read_line(&mut line)?;
            if !line.ends_with('\n') {
                break;
            }
            *offset += u64::try_from(length)?;
            if line.contains(&marker)
                && let Ok(event) = serde_json::from_str::<AuditEvent>(&line)
                && event.namespace() == self.namespace
            {
                for (_, evidence) in &self.evidence {
                    lock(evidence).read(&event);
                }
                events.extend(Some(event).filter(AuditEvent::is_of_an_account));
            }
        }
        Ok(events.iter().filter_map(wanted).collect())
    }

    /// The runs of a kind that were made until now, oldest first.
    fn made(&self, kind: Kind) -> Result<Vec<Made>> {
        self.events(|_| None::<()>)?;
        let evidence = self.evidence.iter().find(|(known, _)| *known == kind);
        let (_, evidence) = evidence.context("the kind is watched")?;
        Ok(lock(evidence)
            .runs()
            .into_iter()
            .filter_map(Made::of)
            .collect())
    }
}

/// Sees all objects of a kind, for as long as it runs; begun anew where a server was killed.
async fn watch(objects: Api<DynamicObject>, evidence: Arc<Mutex<Evidence>>) {
    loop {
        // What goes wrong is tried again.
        let _ = watch_once(&objects, &evidence).await;
        sleep(Duration::from_millis(200)).await;
    }
}

async fn watch_once(objects: &Api<DynamicObject>, evidence: &Mutex<Evidence>) -> Result<()> {
    let list = objects.list(&ListParams::default()).await?;
    let see = |object: &DynamicObject| -> Result<()> {
        lock(evidence).see(&serde_json::to_value(object)?);
        Ok(())
    };
    for object in &list.items {
        see(object)?;
    }
    let version = list.metadata.resource_version.unwrap_or_default();
    let events = objects.watch(&WatchParams::default(), &version).await?;
    let mut events = pin!(events);
    while let Some(event) = events.next().await {
        match event? {
            WatchEvent::Added(it) | WatchEvent::Modified(it) | WatchEvent::Deleted(it) => see(&it)?,
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => break,
        }
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sequence on a run, 0 without one.
pub fn sequence(run: &DynamicObject) -> i64 {
    let label = run.labels().get("carto.run/run-sequence");
    label
        .and_then(|sequence| sequence.parse().ok())
        .unwrap_or_default()
}

impl Scene {
    fn effects<T>(
        &self,
        verb: &str,
        kind: Kind,
        read: impl Fn(&AuditEvent) -> Option<T>,
    ) -> Result<Vec<T>> {
        let (account, resource) = (self.account.user(), kind.audited());
        self.chronicle.events(|event| {
            let effect = event.verb == verb
                && event.resource() == resource
                && event.acting_as() == account
                && event.took_effect();
            effect.then(|| read(event)).flatten()
        })
    }

    /// The runs that were made as the scene's account, oldest first; not those of canaries.
    pub fn made_of(&self, kind: Kind) -> Result<Vec<Made>> {
        let mut made = self.chronicle.made(kind)?;
        made.retain(|run| !run.runnable.starts_with(crate::sight::CANARY));
        Ok(made)
    }

    /// The values of the Trials that were made, by Runnable, in the order of their sequences.
    pub fn all_made(&self) -> Result<BTreeMap<String, Vec<i64>>> {
        let mut made = self.made_of(Kind::Trial)?;
        made.sort_by_key(|run| run.sequence);
        let mut by_runnable = BTreeMap::<_, Vec<i64>>::new();
        for run in made {
            let values = by_runnable.entry(run.runnable).or_default();
            values.extend(run.value);
        }
        Ok(by_runnable)
    }

    /// The values of the Trials that were made for a Runnable, in the order of their sequences.
    pub fn made(&self, runnable: &str) -> Result<Vec<i64>> {
        Ok(self.all_made()?.remove(runnable).unwrap_or_default())
    }

    /// The options of the deletes of runs that took effect as the scene's account: by retention.
    pub fn retired(&self, kind: Kind) -> Result<Vec<Value>> {
        self.effects("delete", kind, |event| {
            Some(event.request_object.clone().unwrap_or_default())
        })
    }

    /// The statuses that were written for a Runnable, oldest first.
    pub fn statuses(&self, runnable: &str) -> Result<Vec<Value>> {
        let controller = Controller::account().user();
        let mut written = self.chronicle.events(|event| {
            let ours = event.resource() == "runnables.carto.run/status"
                && event.user() == controller
                && event.name() == runnable
                && event.took_effect();
            let object = event.response_object.as_ref().filter(|_| ours)?;
            let version = object.pointer("/metadata/resourceVersion")?.as_str()?;
            Some((version.parse::<u64>().ok()?, object.get("status")?.clone()))
        })?;
        written.sort_by_key(|(version, _)| *version);
        Ok(written.into_iter().map(|(_, status)| status).collect())
    }

    /// What controllers asked for in this namespace, in words; not that they watch it.
    pub fn requests(&self) -> Result<Vec<String>> {
        self.chronicle.events(|event| {
            let (who, verb, what) = (event.acting_as(), &event.verb, event.resource());
            let own = who == Controller::account().user();
            let watching = own && ["list", "watch"].contains(&&**verb);
            (!watching).then(|| format!("{who}: {verb} {what} {}", event.name()))
        })
    }

    /// Nothing was made twice: no sequence of a Runnable, and no name.
    pub fn nothing_twice(&self) -> Result<()> {
        let (mut numbers, mut names) = (BTreeSet::new(), BTreeSet::new());
        for kind in KINDS {
            for run in self.made_of(kind)? {
                ensure!(run.sequence > 0, "{run:?} has no sequence");
                let number = (run.runnable.clone(), run.sequence);
                let name = (kind.audited(), run.name.clone());
                ensure!(
                    numbers.insert(number) && names.insert(name),
                    "made twice: {run:?}"
                );
            }
        }
        Ok(())
    }

    /// The outputs of a Runnable were never lost and never older than before.
    pub fn outputs_only_went_forward(&self, runnable: &str) -> Result<()> {
        let mut last = 0;
        for status in self.statuses(runnable)? {
            let from = status.pointer("/outputsFrom/sequence");
            let from = from.and_then(Value::as_i64).unwrap_or_default();
            let there = status.pointer("/outputs/value").is_some();
            ensure!(
                from >= last && there == (from > 0),
                "outputs of sequence {last} gave way to {from}: {status:#}"
            );
            last = from;
        }
        Ok(())
    }
}
