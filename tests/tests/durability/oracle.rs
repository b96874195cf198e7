//! The events of a scene, by the audit log of the API server.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use cartouche_oracle::Excuse;
use cartouche_tests::{
    controller::Controller,
    fixture::objects::{name_of, text},
};
use serde_json::Value;

use crate::{
    engine::{JOB, Kind, RECLUSE, TRIAL},
    scene::Scene,
};

/// Kinds of runs.
pub const KINDS: [Kind; 3] = [TRIAL, RECLUSE, JOB];

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
    /// Reads the run from its object.
    pub fn of(object: &Value) -> Self {
        let labels = &object["metadata"]["labels"];
        let sequence = text(&labels["carto.run/run-sequence"]);
        Self {
            name: name_of(object).to_owned(),
            runnable: text(&labels["carto.run/runnable-name"]).to_owned(),
            sequence: sequence.parse().unwrap_or_default(),
            value: object["spec"]["value"].as_i64(),
        }
    }
}

impl Scene {
    /// Returns the runs that were made as the scene's account, oldest first; without those of canaries.
    pub fn made_of(&self, kind: Kind) -> Result<Vec<Made>> {
        let objects = self.chronicle.made()?.into_iter();
        let of_kind = objects.filter(|object| object["kind"] == kind.name);
        let made = of_kind.map(|object| Made::of(&object));
        let others = |run: &Made| !run.runnable.starts_with(crate::sight::CANARY);
        Ok(made.filter(others).collect())
    }

    /// Returns the values of the Trials that were made, by Runnable, in the order of their sequences.
    pub fn all_made(&self) -> Result<BTreeMap<String, Vec<i64>>> {
        let mut made = self.made_of(TRIAL)?;
        made.sort_by_key(|run| run.sequence);
        let mut by_runnable = BTreeMap::<_, Vec<i64>>::new();
        for run in made {
            let values = by_runnable.entry(run.runnable).or_default();
            values.extend(run.value);
        }
        Ok(by_runnable)
    }

    /// Returns the values of the Trials that were made for a Runnable, in the order of their sequences.
    pub fn made(&self, runnable: &str) -> Result<Vec<i64>> {
        Ok(self.all_made()?.remove(runnable).unwrap_or_default())
    }

    /// Returns the options of the deletes of runs that took effect as the scene's account: by retention.
    pub fn retired(&self, kind: Kind) -> Result<Vec<Value>> {
        self.chronicle.effects("delete", &kind.audited())
    }

    /// Returns the statuses that were written for a Runnable, oldest first.
    pub fn statuses(&self, runnable: &str) -> Result<Vec<Value>> {
        self.chronicle.statuses(runnable)
    }

    /// Returns the requests of controllers in this namespace, in words; without those of watches.
    pub fn requests(&self) -> Result<Vec<String>> {
        self.chronicle.events(|event| {
            let (who, verb, what) = (event.acting_as(), &event.verb, event.resource());
            let own = who == Controller::account().user();
            let watching = own && ["list", "watch"].contains(&&**verb);
            (!watching).then(|| format!("{who}: {verb} {what} {}", event.name()))
        })
    }

    /// Checks that nothing happened that the protocol forbids. No action here would excuse a number that is
    /// used twice.
    pub fn nothing_twice(&self) -> Result<()> {
        let found = self.chronicle.past(self.sight)?.verdict();
        ensure!(found.violations.is_empty(), "{:#?}", found.violations);
        let strangers = [Excuse::ForgedAndLost, Excuse::QuickerThanTheCreate];
        let excused = found.excused.keys().find(|it| !strangers.contains(it));
        ensure!(excused.is_none(), "{excused:?}");
        Ok(())
    }

    /// Checks that the outputs of a Runnable were never lost and never older than before.
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
