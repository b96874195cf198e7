//! The API server's record of a namespace: its audit log, and the present objects.

use std::{collections::BTreeMap, ops::Deref};

use anyhow::Result;
use cartouche_crds::{RunResult, Runnable};
use cartouche_oracle::{Excuse, Sight, Verdict};
use kube::api::{ApiResource, DynamicObject, ListParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{own_kind::none_without_kind, stage::Stage, strangers::is_strange};
use crate::{
    chronicle::Chronicle,
    cluster::{Account, AuditEvent, Cluster},
    fixture::objects::text,
};

/// A run, by its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Run {
    /// Its Runnable.
    pub runnable: String,
    /// Its number, 0 without one.
    pub sequence: i64,
    /// `spec.value`.
    pub value: Option<i64>,
    /// The hash of the rendered object.
    pub hash: Option<String>,
}

impl Run {
    /// Returns the run that a request made, if it made one of these resources.
    #[must_use]
    pub fn made_by(event: &AuditEvent, resource: &str) -> Option<Self> {
        let effect = event.verb == "create" && event.resource() == resource;
        let object = event.response_object.as_ref()?;
        (effect && event.took_effect()).then(|| Self::of(object))
    }

    /// Reads the run from its object.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let label = |key: &str| text(&metadata["labels"][key]);
        let hash = metadata["annotations"]["carto.run/input-hash"].as_str();
        Self {
            runnable: label("carto.run/runnable-name").to_owned(),
            sequence: label("carto.run/run-sequence").parse().unwrap_or_default(),
            value: object["spec"]["value"].as_i64(),
            hash: hash.map(str::to_owned),
        }
    }
}

/// State that is compared: everything that a fault could have changed, and nothing that differs each time
/// (uids, names, times, texts).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The runs that were made as the account, by any create that took effect.
    pub made: Vec<Run>,
    /// Number of runs that were deleted as the account.
    pub deleted: usize,
    /// The existing runs.
    pub exist: Vec<Run>,
    /// The present run: number, phase, result, hash, re-run request.
    pub current: Value,
    /// The earlier runs: number, result, hash.
    pub history: Vec<Value>,
    /// The outputs, and the number of the run that gave them.
    pub outputs: Value,
    /// The conditions: type, status, reason.
    pub conditions: Vec<(String, String, String)>,
    /// States of the other Runnables of the scenario; their runs are above.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, End>,
    /// The objects that outputs were written to, with the number of the run that gave these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sinks: BTreeMap<String, Value>,
}

/// Record of the namespace of a stage.
#[derive(Debug)]
pub struct Record {
    chronicle: Chronicle,
    /// Resource of the runs, as the audit log names it.
    resource: String,
}

impl Deref for Record {
    type Target = Chronicle;

    fn deref(&self) -> &Chronicle {
        &self.chronicle
    }
}

impl Record {
    /// Begins a record of runs of this kind.
    pub fn begin(cluster: &Cluster, account: &Account, kind: &ApiResource) -> Result<Self> {
        Ok(Self {
            chronicle: Chronicle::begin(cluster, account, std::slice::from_ref(kind))?,
            resource: format!("{}.{}", kind.plural, kind.group),
        })
    }

    /// Returns the run that a request made, if it made one.
    #[must_use]
    pub fn run_made_by(&self, event: &AuditEvent) -> Option<Run> {
        let runner = event.acting_as().ends_with(":runner");
        Run::made_by(event, &self.resource).filter(|_| runner)
    }

    /// Returns the runs that were made, lowest number first.
    pub fn runs(&self) -> Result<Vec<Run>> {
        let mut made: Vec<Run> = self.made()?.iter().map(Run::of).collect();
        made.sort();
        Ok(made)
    }

    /// Returns the number of deleted runs, not counting collected ones.
    pub fn deleted(&self) -> Result<usize> {
        Ok(self.effects("delete", &self.resource)?.len())
    }

    /// Returns the breaches of the protocol in the record, whatever else happened.
    pub fn breaches(&self) -> Result<Vec<String>> {
        self.breaches_of(Sight::Record, None)
    }

    /// Returns the breaches without the one that the protocol declares undecidable for a scenario: two runs
    /// with the number `twice`. No other cause excuses it. Use `Sight::Torn` if API servers were killed.
    pub fn breaches_of(&self, sight: Sight, twice: Option<i64>) -> Result<Vec<String>> {
        let past = self.past(sight)?;
        let same = past
            .made()
            .filter(|run| twice.is_some() && run.number == twice);
        let is_twice = same.count() > 1;
        let Verdict {
            violations,
            excused,
        } = past.verdict();
        let mut breaches: Vec<String> = violations.into_iter().map(|it| it.what).collect();
        let known = is_twice && excused == BTreeMap::from([(Excuse::DeletedUnrecorded, 1)]);
        if !excused.is_empty() && !known {
            breaches.push(format!(
                "a scenario that may make {twice:?} twice has {excused:?}"
            ));
        }
        Ok(breaches)
    }
}

impl Stage {
    /// Returns the present state of a Runnable and its runs.
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
            sinks: self.sinks().await?,
            made: self.record.runs()?,
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

/// Reads the state from the status of a Runnable.
fn told(runnable: &Runnable) -> Result<End> {
    let status = serde_json::to_value(&runnable.status)?;
    let pick = |from: &Value, keys: &[&str]| -> Value {
        let picked = keys.iter().filter_map(|key| {
            let value = from.get(*key).filter(|value| !value.is_null())?;
            Some(((*key).to_owned(), value.clone()))
        });
        Value::Object(picked.collect())
    };
    let keys = [
        "sequence",
        "phase",
        "result",
        "inputHash",
        "rerunToken",
        "attempt",
    ];
    let earlier = runnable
        .status
        .iter()
        .flat_map(|status| status.history.iter());
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
        history: earlier
            .map(|run| {
                let result = run.result.map(RunResult::as_str);
                json!({ "sequence": run.sequence, "result": result, "inputHash": run.input_hash, "attempt": run.attempt })
            })
            .collect(),
        outputs: json!([status.get("outputs"), source]),
        conditions,
        ..End::default()
    })
}
