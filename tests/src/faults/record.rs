//! What really happened in a namespace, by the API server's own word: its audit log, and the objects
//! as they are.

mod backwards;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result};
use cartouche_crds::Runnable;
use kube::{
    ResourceExt,
    api::{ApiResource, DynamicObject, ListParams},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use backwards::{Written, backwards};

use super::{own_kind::none_without_kind, stage::Stage, strangers::is_strange};
use crate::{
    cluster::{AuditEvent, Cluster},
    evidence::Evidence,
};

/// A run, by what it was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Run {
    /// Its Runnable.
    pub runnable: String,
    /// Its number, 0 without one.
    pub sequence: i64,
    /// `spec.value`.
    pub value: Option<i64>,
    /// The hash of what was rendered.
    pub hash: Option<String>,
}

impl Run {
    /// The run that a request made, if it made one of these resources.
    #[must_use]
    pub fn made_by(event: &AuditEvent, resource: &str) -> Option<Self> {
        let effect = event.verb == "create" && event.resource() == resource;
        let object = event.response_object.as_ref()?;
        (effect && event.took_effect()).then(|| Self::of(object))
    }

    /// The run that an object is.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let tag = |group: &str, key: &str| {
            let tags = object.get("metadata")?.get(group)?;
            tags.get(key)?.as_str().map(str::to_owned)
        };
        Self {
            runnable: tag("labels", "carto.run/runnable-name").unwrap_or_default(),
            sequence: tag("labels", "carto.run/run-sequence")
                .and_then(|sequence| sequence.parse().ok())
                .unwrap_or_default(),
            value: object.pointer("/spec/value").and_then(Value::as_i64),
            hash: tag("annotations", "carto.run/input-hash"),
        }
    }
}

/// What is compared: everything that a fault could have made different, and nothing that differs
/// from one time to the next (uids, names, times, texts).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The runs that were made as the account, by whatever create took effect.
    pub made: Vec<Run>,
    /// How many runs were deleted as the account.
    pub deleted: usize,
    /// The runs that exist.
    pub exist: Vec<Run>,
    /// The present run: number, phase, result, hash, re-run request.
    pub current: Value,
    /// The earlier runs: number, result, hash.
    pub history: Vec<Value>,
    /// The outputs, and the number of the run that gave them.
    pub outputs: Value,
    /// The conditions: type, status, reason.
    pub conditions: Vec<(String, String, String)>,
    /// What the other Runnables of the scenario say; of their runs it is told above.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, End>,
}

/// Reads on in the audit log, and keeps what is about one namespace.
#[derive(Debug)]
pub struct Record {
    file: PathBuf,
    namespace: String,
    /// What the runs are, as the audit log names it.
    resource: String,
    read: Mutex<(u64, Vec<AuditEvent>)>,
    /// What is known of the runs.
    evidence: Mutex<Evidence>,
    /// The statuses that no controller wrote.
    edits: Mutex<Vec<Runnable>>,
}

impl Record {
    /// From now on, of runs of this kind.
    pub fn begin(cluster: &Cluster, namespace: &str, kind: &ApiResource) -> Result<Self> {
        let file = cluster.control_plane()?.audit_log();
        let file = file.context("there is an audit log")?;
        let resource = format!("{}.{}", kind.plural, kind.group);
        let runner = format!("system:serviceaccount:{namespace}:runner");
        Ok(Self {
            read: Mutex::new((std::fs::metadata(&file)?.len(), Vec::new())),
            file,
            namespace: namespace.to_owned(),
            evidence: Mutex::new(Evidence::of(resource.clone(), runner)),
            resource,
            edits: Mutex::default(),
        })
    }

    /// The run that a request made, if it made one.
    #[must_use]
    pub fn run_made_by(&self, event: &AuditEvent) -> Option<Run> {
        let runner = event.acting_as().ends_with(":runner");
        Run::made_by(event, &self.resource).filter(|_| runner)
    }

    /// The requests of controllers that were answered until now, as far as `wanted`.
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

    /// Those since the last call, which are not kept: for a record that goes on for hours.
    pub fn news(&self) -> Result<Vec<AuditEvent>> {
        let mut read = lock(&self.read);
        let mut news = self.after(&mut read.0)?;
        news.retain(AuditEvent::is_of_an_account);
        Ok(news)
    }

    fn after(&self, offset: &mut u64) -> Result<Vec<AuditEvent>> {
        let mut file = BufReader::new(File::open(&self.file)?);
        file.seek(SeekFrom::Start(*offset))?;
        let marker = format!("\"namespace\":\"{}\"", self.namespace);
        let (mut bytes, mut events) = (Vec::new(), Vec::new());
        loop {
            bytes.clear();
            let length = file.read_until(b'\n', &mut bytes)?;
            if !bytes.ends_with(b"\n") {
                return Ok(events);
            }
            *offset += u64::try_from(length)?;
            let line = String::from_utf8_lossy(&bytes);
            if line.contains(&marker)
                && let Ok(event) = serde_json::from_str::<AuditEvent>(&line)
                && event.namespace() == self.namespace
            {
                events.push(event);
            }
        }
    }

    /// Remembers runs that exist: whoever takes runs away shows them before, since one whose create was
    /// given up is known by its object only.
    pub fn see(&self, runs: &[DynamicObject]) -> Result<()> {
        let mut evidence = lock(&self.evidence);
        for object in runs {
            evidence.see(&serde_json::to_value(object)?);
        }
        Ok(())
    }

    /// Remembers that this status was written by somebody who is no controller.
    pub fn edited(&self, runnable: Runnable) {
        let mut edits = lock(&self.edits);
        edits.push(runnable);
    }

    /// The runs that were made, lowest number first.
    pub fn made(&self) -> Result<Vec<Run>> {
        self.events(|_| None::<()>)?;
        let mut made: Vec<Run> = lock(&self.evidence)
            .runs()
            .into_iter()
            .map(Run::of)
            .collect();
        made.sort();
        Ok(made)
    }

    /// How many runs were deleted, not counting collected ones.
    pub fn deleted(&self) -> Result<usize> {
        let deleted = self.events(|event| {
            let runner = event.acting_as().ends_with(":runner");
            let effect = event.verb == "delete" && event.resource() == self.resource;
            (runner && effect && event.took_effect()).then_some(())
        })?;
        Ok(deleted.len())
    }

    /// The statuses that controllers wrote for a Runnable, in the order in which they took effect.
    pub fn statuses(&self, runnable: &str) -> Result<Vec<Value>> {
        let mut written = self.written(runnable)?;
        written.sort_by_key(|written| written.version);
        Ok(written.into_iter().map(|written| written.status).collect())
    }

    fn written(&self, runnable: &str) -> Result<Vec<Written>> {
        self.events(|event| {
            let ours = event.resource() == "runnables.carto.run/status"
                && event.name() == runnable
                && event.took_effect();
            let object = event.response_object.as_ref().filter(|_| ours)?;
            let version = object.pointer("/metadata/resourceVersion")?.as_str()?;
            Some(Written {
                version: version.parse().ok()?,
                by_controller: true,
                status: object.get("status")?.clone(),
            })
        })
    }

    /// What the record shows that the protocol forbids, whatever else happened: a number twice, outputs that
    /// went back.
    pub fn breaches(&self) -> Result<Vec<String>> {
        self.breaches_beside(None)
    }

    /// Those beside the one that the protocol declares undecidable: that two runs have this number.
    pub fn breaches_beside(&self, twice: Option<i64>) -> Result<Vec<String>> {
        let mut breaches = Vec::new();
        let mut numbers = BTreeMap::<(String, i64), usize>::new();
        for run in self.made()? {
            *numbers.entry((run.runnable, run.sequence)).or_default() += 1;
        }
        let again = numbers.iter().filter(|((_, sequence), times)| {
            let allowed = if twice == Some(*sequence) { 2 } else { 1 };
            **times > allowed
        });
        breaches.extend(again.map(|((runnable, sequence), times)| {
            format!("run {sequence} of {runnable} was made {times} times")
        }));
        breaches.extend(self.backwards()?);
        Ok(breaches)
    }

    /// Creates that took effect without a ledger that named their run before. An API server that is
    /// killed takes with it what it had not written down yet, so this asks for one that lives.
    pub fn unannounced(&self) -> Result<Vec<String>> {
        let mut named = std::collections::BTreeSet::new();
        // The log is in the order of the answers, and an intent is answered before its create is sent.
        let unannounced = self.events(|event| {
            let kind = event.resource();
            let name = match (event.verb.as_str(), kind.as_str()) {
                ("update", "runnables.carto.run/status") => {
                    // A write whose sender died may be written down as given up and yet be
                    // carried out; one that was refused was not.
                    let refused = (400..500).contains(&event.code());
                    let sent = event.request_object.as_ref().filter(|_| !refused);
                    let name = sent.and_then(|o| o.pointer("/status/currentRun/name")?.as_str());
                    return name.map(|name| (false, name.to_owned()));
                }
                // Strangers announce nothing.
                ("create", _) if self.run_made_by(event).is_some() => event.name(),
                _ => return None,
            };
            Some((true, name.to_owned()))
        })?;
        Ok(unannounced
            .into_iter()
            .filter_map(|(made, name)| {
                if !made {
                    named.insert(name);
                    return None;
                }
                (!named.contains(&name))
                    .then(|| format!("{name} was made before any ledger named it"))
            })
            .collect())
    }

    fn backwards(&self) -> Result<Vec<String>> {
        let mut breaches = Vec::new();
        let mut runnables = self.events(|event| {
            (event.resource() == "runnables.carto.run/status").then(|| event.name().to_owned())
        })?;
        runnables.sort();
        runnables.dedup();
        for runnable in runnables {
            let mut written = self.written(&runnable)?;
            let edits = lock(&self.edits);
            for edit in edits.iter().filter(|edit| edit.name_any() == runnable) {
                written.push(Written {
                    version: edit.resource_version().unwrap_or_default().parse()?,
                    by_controller: false,
                    status: serde_json::to_value(&edit.status)?,
                });
            }
            breaches.extend(backwards(&runnable, written));
        }
        Ok(breaches)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// How a Runnable and its runs are now.
    pub async fn end(&self, name: &str) -> Result<End> {
        let runnable = self.runnables().get(name).await?;
        let of = ListParams::default().labels("carto.run/runnable-name");
        let mut runs = none_without_kind(self.trials().list(&of).await)?;
        runs.retain(|run| !is_strange(run));
        self.record.see(&runs)?;
        let mut beside = BTreeMap::new();
        for name in &self.beside {
            beside.insert(name.clone(), told(&self.runnables().get(name).await?)?);
        }
        self.comparable(End {
            beside,
            made: self.record.made()?,
            deleted: self.record.deleted()?,
            exist: exist(&runs)?,
            ..told(&runnable)?
        })
    }
}

fn exist(runs: &[DynamicObject]) -> Result<Vec<Run>> {
    let living = runs
        .iter()
        .filter(|run| run.metadata.deletion_timestamp.is_none());
    let mut exist = living
        .map(|run| Ok(Run::of(&serde_json::to_value(run)?)))
        .collect::<Result<Vec<Run>>>()?;
    exist.sort();
    Ok(exist)
}

/// What the status of a Runnable says.
fn told(runnable: &Runnable) -> Result<End> {
    let status = serde_json::to_value(&runnable.status)?;
    let pick = |from: &Value, keys: &[&str]| -> Value {
        let picked = keys.iter().filter_map(|key| {
            let value = from.get(*key).filter(|value| !value.is_null())?;
            Some(((*key).to_owned(), value.clone()))
        });
        Value::Object(picked.collect())
    };
    let keys = ["sequence", "phase", "result", "inputHash", "rerunToken"];
    let history = status.get("history").and_then(Value::as_array);
    let source = status.pointer("/outputsFrom/sequence").cloned();
    let conditions = runnable.status.iter().flat_map(|s| &s.conditions);
    let mut conditions: Vec<_> = conditions
        .map(|c| (c.type_.clone(), c.status.clone(), c.reason.clone()))
        .collect();
    conditions.sort();
    Ok(End {
        current: status
            .get("currentRun")
            .map(|current| pick(current, &keys))
            .unwrap_or_default(),
        history: history
            .into_iter()
            .flatten()
            .map(|entry| pick(entry, &keys))
            .collect(),
        outputs: serde_json::json!([status.get("outputs"), source]),
        conditions,
        ..End::default()
    })
}
