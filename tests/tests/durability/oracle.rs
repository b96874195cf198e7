//! What really happened, by the audit log of the API server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result, ensure};
use cartouche_tests::{
    cluster::{AuditEvent, Cluster},
    controller::Controller,
};
use kube::{ResourceExt, api::DynamicObject};
use serde_json::Value;

use crate::{engine::Kind, scene::Scene};

/// A run whose create took effect.
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
}

impl Chronicle {
    /// From now on.
    pub fn begin(cluster: &Cluster, namespace: &str) -> Result<Self> {
        let file = cluster.control_plane()?.audit_log();
        let file = file.context("there is an audit log")?;
        Ok(Self {
            read: Mutex::new((std::fs::metadata(&file)?.len(), Vec::new())),
            file,
            namespace: namespace.to_owned(),
        })
    }

    /// The requests that were answered until now, other than those of the tests themselves, as far
    /// as `wanted`.
    pub fn events<T>(&self, wanted: impl Fn(&AuditEvent) -> Option<T>) -> Result<Vec<T>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
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
                && line.contains("\"system:serviceaccount:")
                && let Ok(event) = serde_json::from_str::<AuditEvent>(&line)
                && event.namespace() == self.namespace
            {
                events.push(event);
            }
        }
        Ok(events.iter().filter_map(wanted).collect())
    }
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
        let mut made = self.effects("create", kind, |event| {
            Made::of(event.response_object.as_ref()?)
        })?;
        made.extend(self.made_unanswered(kind, &made)?);
        made.retain(|run| !run.runnable.starts_with(crate::sight::CANARY));
        Ok(made)
    }

    /// Creates whose sender died are written down as given up, and may have been carried out: the
    /// ledger that confirms their run tells.
    fn made_unanswered(&self, kind: Kind, known: &[Made]) -> Result<Vec<Made>> {
        let (account, resource) = (self.account.user(), kind.audited());
        let sent = self.chronicle.events(|event| {
            let given_up = event.verb == "create"
                && event.resource() == resource
                && event.acting_as() == account
                && !(200..500).contains(&event.code());
            Made::of(event.request_object.as_ref().filter(|_| given_up)?)
        })?;
        let confirmed: BTreeSet<String> = self
            .chronicle
            .events(|event| {
                let written =
                    event.resource() == "runnables.carto.run/status" && event.took_effect();
                let object = event.response_object.as_ref().filter(|_| written)?;
                let run = object.pointer("/status/currentRun")?;
                run.get("uid")?;
                Some(run.get("name")?.as_str()?.to_owned())
            })?
            .into_iter()
            .collect();
        let mut names: BTreeSet<String> = known.iter().map(|run| run.name.clone()).collect();
        let unanswered = sent.into_iter().filter(|run| confirmed.contains(&run.name));
        Ok(unanswered
            .filter(|run| names.insert(run.name.clone()))
            .collect())
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
        for kind in [Kind::Trial, Kind::Recluse, Kind::Job] {
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
