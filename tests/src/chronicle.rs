//! What happened in a namespace, by the API server's own record, as the judge of everybody is told it.
//!
//! A create that was answered made its run. One whose sender died or gave it up is written down as given
//! up, or not at all if its API server was killed, and may have been carried out all the same: its run
//! is known by its object, which a watch shows, or by the ledger that confirmed it
//! (`cartouche-oracle` says what follows). Objects are told apart by their uid: two under one name are two runs.
//! What somebody else is known to have made is no run, whatever it claims to be.

mod told;

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

use told::{Told, version};

use crate::{
    cluster::{Account, AuditEvent, Cluster},
    controller::Controller,
};

/// Where the statuses of Runnables are written.
const STATUSES: &str = "runnables.carto.run/status";

/// Reads on in the audit log, and keeps what is about one namespace.
#[derive(Debug)]
pub struct Chronicle {
    file: PathBuf,
    account: Account,
    /// Up to where the log is read, and the requests of accounts until there.
    read: Mutex<(u64, Vec<AuditEvent>)>,
    told: Arc<Mutex<Told>>,
    watches: Vec<AbortHandle>,
}

impl Drop for Chronicle {
    fn drop(&mut self) {
        self.watches.iter().for_each(AbortHandle::abort);
    }
}

impl Chronicle {
    /// From now on. Runs are of these kinds, and are made as this account.
    pub fn begin(cluster: &Cluster, account: &Account, kinds: &[ApiResource]) -> Result<Self> {
        let file = cluster.control_plane()?.audit_log();
        let file = file.context("there is an audit log")?;
        let audited = |kind: &ApiResource| format!("{}.{}", kind.plural, kind.group);
        let resources = kinds.iter().map(audited).collect();
        let told = Arc::new(Mutex::new(Told::new(resources, account.user())));
        let watches = kinds.iter().map(|kind| {
            let objects = Api::namespaced_with(cluster.client(), &account.namespace, kind);
            let watch = watch(objects, kind.kind.clone(), Arc::clone(&told));
            tokio::spawn(watch).abort_handle()
        });
        Ok(Self {
            watches: watches.collect(),
            read: Mutex::new((std::fs::metadata(&file)?.len(), Vec::new())),
            file,
            account: account.clone(),
            told,
        })
    }

    /// The requests that were answered until now, other than those of the tests themselves, as far
    /// as `wanted`.
    pub fn events<T>(&self, wanted: impl Fn(&AuditEvent) -> Option<T>) -> Result<Vec<T>> {
        let mut read = lock(&self.read);
        let (offset, events) = &mut *read;
        let mut told = lock(&self.told);
        for event in self.after(offset)? {
            told.read(&event);
            events.extend(Some(event).filter(AuditEvent::is_of_an_account));
        }
        Ok(events.iter().filter_map(wanted).collect())
    }

    /// Those since the last call, which nobody is told: for a record that goes on for hours.
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
            // A line that is being written is read the next time.
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

    /// Remembers objects that exist: whoever takes runs away shows them before, since one whose create was
    /// given up is known by its object only.
    pub fn see(&self, objects: &[DynamicObject]) -> Result<()> {
        let mut told = lock(&self.told);
        for object in objects {
            told.see(Verb::Changed, &serde_json::to_value(object)?);
        }
        Ok(())
    }

    /// What has happened until now, judged.
    pub fn past(&self, sight: Sight) -> Result<Past> {
        self.events(|_| None::<()>)?;
        Ok(lock(&self.told).past(sight))
    }

    /// The objects of the runs that were made until now, by whatever create took effect, oldest first.
    pub fn made(&self) -> Result<Vec<Value>> {
        let past = self.past(Sight::Record)?;
        let told = lock(&self.told);
        let object = |run: &Run| {
            let asked = || told.given_up.get(&run.name);
            told.objects.get(&run.uid).or_else(asked).cloned()
        };
        Ok(past.made().filter_map(object).collect())
    }

    /// The statuses that controllers wrote for a Runnable, in the order in which they took effect.
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

    /// What requests of a sort for runs, as the Runnables' account, that took effect sent.
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

/// Sees all objects of a kind, for as long as it runs; begun anew where a server was killed.
async fn watch(objects: Api<DynamicObject>, kind: String, told: Arc<Mutex<Told>>) {
    loop {
        // What goes wrong is tried again.
        let _ = watch_once(&objects, &kind, &told).await;
        sleep(Duration::from_millis(200)).await;
    }
}

async fn watch_once(objects: &Api<DynamicObject>, kind: &str, told: &Mutex<Told>) -> Result<()> {
    let list = objects.list(&ListParams::default()).await?;
    let see = |verb: Verb, object: &DynamicObject| -> Result<()> {
        let mut object = serde_json::to_value(object)?;
        // Lists of built-in kinds do not say it.
        object["kind"] = kind.into();
        lock(told).see(verb, &object);
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
