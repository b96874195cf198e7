//! The events of a namespace for the oracle, from the API server's audit log.
//!
//! A create that was answered made its run. A create whose sender died or gave it up is logged as given up,
//! or not at all if its API server was killed. It may still have taken effect: then its object, which a watch
//! shows, or the ledger that confirmed it reveals the run (`cartouche-oracle` says what follows). The uid
//! identifies an object: two objects under one name are two runs. An object that is known to be made by
//! another account is no run, whatever it claims to be.

mod evidence;

use std::{
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use cartouche_oracle::{Past, Run, Sight, Verb};
use futures::StreamExt;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams},
};
use serde_json::Value;
use tokio::{task::AbortHandle, time::sleep};

use evidence::{Evidence, version};

use crate::{
    cluster::{Account, AuditEvent, Cluster},
    controller::Controller,
};

/// The resource that statuses of Runnables are written to.
const STATUSES: &str = "runnables.carto.run/status";

/// Reads new events of the audit log and keeps those of one namespace.
#[derive(Debug)]
pub struct Chronicle {
    file: PathBuf,
    account: Account,
    /// Offset up to which the log is read, and the requests of accounts until there.
    read: Mutex<(u64, Vec<AuditEvent>)>,
    evidence: Arc<Mutex<Evidence>>,
    watches: Vec<AbortHandle>,
}

impl Drop for Chronicle {
    fn drop(&mut self) {
        self.watches.iter().for_each(AbortHandle::abort);
    }
}

impl Chronicle {
    /// Begins with the present end of the log. Runs are objects of these kinds and are made as this account.
    pub fn begin(cluster: &Cluster, account: &Account, kinds: &[ApiResource]) -> Result<Self> {
        let file = cluster.control_plane()?.audit_log();
        let file = file.context("there is an audit log")?;
        let audited = |kind: &ApiResource| format!("{}.{}", kind.plural, kind.group);
        let resources = kinds.iter().map(audited).collect();
        let evidence = Arc::new(Mutex::new(Evidence::new(resources, account.user())));
        let watches = kinds.iter().map(|kind| {
            let objects = Api::namespaced_with(cluster.client(), &account.namespace, kind);
            let watch = watch(objects, kind.kind.clone(), Arc::clone(&evidence));
            tokio::spawn(watch).abort_handle()
        });
        Ok(Self {
            watches: watches.collect(),
            read: Mutex::new((std::fs::metadata(&file)?.len(), Vec::new())),
            file,
            account: account.clone(),
            evidence,
        })
    }

    /// Returns the requests answered until now, other than those of the tests themselves, as far as `wanted`
    /// returns a value for them.
    pub fn events<T>(&self, wanted: impl Fn(&AuditEvent) -> Option<T>) -> Result<Vec<T>> {
        let mut read = lock(&self.read);
        let (offset, events) = &mut *read;
        let mut evidence = lock(&self.evidence);
        for event in self.after(offset)? {
            evidence.read(&event);
            events.extend(Some(event).filter(AuditEvent::is_of_an_account));
        }
        Ok(events.iter().filter_map(wanted).collect())
    }

    /// Returns the requests since the last call without passing them to the oracle, and ends the watches. For
    /// a record that goes on for hours.
    pub fn news(&self) -> Result<Vec<AuditEvent>> {
        self.watches.iter().for_each(AbortHandle::abort);
        let mut read = lock(&self.read);
        let mut news = self.after(&mut read.0)?;
        news.retain(AuditEvent::is_of_an_account);
        Ok(news)
    }

    fn after(&self, offset: &mut u64) -> Result<Vec<AuditEvent>> {
        let mut file = BufReader::new(File::open(&self.file)?);
        file.seek(SeekFrom::Start(*offset))?;
        let namespace = &self.account.namespace;
        let marker = format!("\"namespace\":\"{namespace}\"");
        let (mut bytes, mut events) = (Vec::new(), Vec::new());
        loop {
            bytes.clear();
            let length = file.read_until(b'\n', &mut bytes)?;
            // The next read gets a line that is still being written.
            if !bytes.ends_with(b"\n") {
                return Ok(events);
            }
            *offset += u64::try_from(length)?;
            let line = String::from_utf8_lossy(&bytes);
            if line.contains(&marker)
                && let Ok(event) = serde_json::from_str::<AuditEvent>(&line)
                && event.namespace() == namespace
            {
                events.push(event);
            }
        }
    }

    /// Records existing objects. Callers that take runs away show them before: if its create was given up,
    /// only its object reveals a run.
    pub fn see(&self, objects: &[DynamicObject]) -> Result<()> {
        let mut evidence = lock(&self.evidence);
        for object in objects {
            evidence.see(Verb::Changed, &serde_json::to_value(object)?);
        }
        Ok(())
    }

    /// Returns everything that has happened until now, for judgement.
    pub fn past(&self, sight: Sight) -> Result<Past> {
        self.events(|_| None::<()>)?;
        Ok(lock(&self.evidence).past(sight))
    }

    /// Returns the objects of the runs made until now, by any create that took effect, oldest first.
    pub fn made(&self) -> Result<Vec<Value>> {
        let past = self.past(Sight::Record)?;
        let evidence = lock(&self.evidence);
        let object = |run: &Run| {
            let asked = || evidence.given_up.get(&run.name);
            evidence.objects.get(&run.uid).or_else(asked).cloned()
        };
        Ok(past.made().filter_map(object).collect())
    }

    /// Returns the statuses that controllers wrote for a Runnable, in the order in which they took effect.
    pub fn statuses(&self, runnable: &str) -> Result<Vec<Value>> {
        let controller = Controller::account().user();
        let mut written = self.events(|event| {
            let ours = event.resource() == STATUSES
                && event.user() == controller
                && event.name() == runnable
                && event.took_effect();
            let object = event.response_object.as_ref().filter(|_| ours)?;
            Some((version(object)?, object.get("status")?.clone()))
        })?;
        written.sort_by_key(|(version, _)| *version);
        Ok(written.into_iter().map(|(_, status)| status).collect())
    }

    /// Returns the bodies of the requests with this verb and resource that were made as the Runnables'
    /// account and took effect.
    pub fn effects(&self, verb: &str, resource: &str) -> Result<Vec<Value>> {
        let account = self.account.user();
        self.events(|event| {
            let effect = event.verb == verb
                && event.resource() == resource
                && event.acting_as() == account
                && event.took_effect();
            effect.then(|| event.request_object.clone().unwrap_or_default())
        })
    }
}

/// Watches all objects of a kind until it is aborted, and begins anew where a server was killed.
async fn watch(objects: Api<DynamicObject>, kind: String, evidence: Arc<Mutex<Evidence>>) {
    loop {
        // Failures are retried.
        let _ = watch_once(&objects, &kind, &evidence).await;
        sleep(Duration::from_millis(200)).await;
    }
}

async fn watch_once(
    objects: &Api<DynamicObject>,
    kind: &str,
    evidence: &Mutex<Evidence>,
) -> Result<()> {
    let list = objects.list(&ListParams::default()).await?;
    let see = |verb: Verb, object: &DynamicObject| -> Result<()> {
        let mut object = serde_json::to_value(object)?;
        // Lists of built-in kinds leave out the kind of their items.
        object["kind"] = kind.into();
        lock(evidence).see(verb, &object);
        Ok(())
    };
    for object in &list.items {
        see(Verb::Changed, object)?;
    }
    let version = list.metadata.resource_version.unwrap_or_default();
    let events = objects.watch(&WatchParams::default(), &version).await?;
    let mut events = pin!(events);
    while let Some(event) = events.next().await {
        match event? {
            WatchEvent::Added(it) | WatchEvent::Modified(it) => see(Verb::Changed, &it)?,
            WatchEvent::Deleted(it) => see(Verb::Deleted, &it)?,
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => break,
        }
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
