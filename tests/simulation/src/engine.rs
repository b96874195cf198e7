//! The engine that ends runs. It acts on the store itself.

use std::{collections::BTreeMap, time::Duration};

use cartouche_oracle::Run;
use serde_json::{Value, json};

use crate::{
    discovery::Resource,
    people::NAMESPACE,
    plan::Plan,
    store::{Happened, Key, Store},
};

/// Who ends runs.
const ENGINE: &str = "engine";

/// The engine.
pub struct Engine {
    failing: f64,
    longest_run: f64,
    /// When the runs that are under way end, by uid, and whether they succeed.
    ends: BTreeMap<String, (Duration, bool)>,
    /// Up to this version it has looked at what happened.
    looked: u64,
}

impl Engine {
    /// That of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            failing: plan.failing,
            longest_run: plan.longest_run,
            ends: BTreeMap::new(),
            looked: 0,
        }
    }

    /// Takes up the runs that are new, and ends those that are due.
    pub fn run(&mut self, store: &mut Store, random: &mut fastrand::Rng) {
        let new = store
            .log()
            .partition_point(|change| change.version <= self.looked);
        for change in &store.log()[new..] {
            self.looked = change.version;
            let uid = uid(&change.object);
            if let Some(uid) = uid
                && change.key.resource.is_run()
                && change.happened == Happened::Created
                && !has_ended(store, &change.key)
            {
                let time = 0.3 + random.f64() * self.longest_run;
                let end = store.elapsed + Duration::from_secs_f64(time);
                let fails = random.f64() < self.failing;
                self.ends.insert(uid.to_owned(), (end, !fails));
            }
        }
        let due: Vec<String> = self
            .ends
            .iter()
            .filter(|(_, (end, _))| *end <= store.elapsed)
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in due {
            if let Some((_, succeeds)) = self.ends.remove(&uid) {
                end_run(store, &uid, succeeds);
            }
        }
    }

    /// Whether a run is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.ends.is_empty()
    }
}

fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}

fn has_ended(store: &Store, run: &Key) -> bool {
    let run = store.get(run);
    run.is_some_and(|run| run.pointer("/status/conditions").is_some())
}

/// What a run with this uid gives if it succeeds.
#[must_use]
pub fn answer(uid: &str) -> String {
    format!("answer of {uid}")
}

/// A run ends.
pub(crate) fn end_run(store: &mut Store, uid: &str, succeeds: bool) {
    let runs = [Resource::Tasks, Resource::Builds];
    let found = runs
        .iter()
        .flat_map(|resource| store.all(*resource, NAMESPACE))
        .find(|(_, run)| self::uid(run) == Some(uid))
        .map(|(key, _)| key.clone());
    let Some(key) = found else { return };
    let is_cancelled = store.get(&key).is_some_and(|run| Run::of(&run).cancelled);
    let succeeds = succeeds && !is_cancelled;
    let status = json!({
        "answer": answer(uid),
        "conditions": [{
            "type": "Succeeded", "status": if succeeds { "True" } else { "False" }, "reason": "Ended", "message": "",
        }],
    });
    // It is there: it was just found.
    let _ = store.change(&key, ENGINE, |run| run["status"] = status);
}
