//! The engine that ends runs. It acts on the store itself.

use std::{collections::BTreeMap, time::Duration};

use cartouche_crds::RUNNABLE_NAME_LABEL;
use cartouche_oracle::Run;
use serde_json::{Value, json};

use crate::{
    chain::Chain,
    discovery::Resource,
    oracle::makes_a_run,
    people::NAMESPACE,
    plan::Plan,
    stops::{HANGS, Heed, is_going, is_told},
    store::{Change, Happened, Key, Store},
};

/// Actor that ends runs.
const ENGINE: &str = "engine";
/// Actor that removes objects that are deleted in the foreground, or with their owner.
pub(crate) const COLLECTOR: &str = "garbage collector";
/// Delay of the garbage collector at times.
const A_WHILE: Duration = Duration::from_secs(3);

/// A run that is under way.
struct Work {
    /// Time of its end.
    end: Duration,
    /// True if it succeeds.
    succeeds: bool,
    /// True if it works until it is stopped.
    hangs: bool,
    /// Its reaction to a stop; `None` after that.
    heed: Option<Heed>,
}

/// Source of the reactions to stops.
struct Hanging {
    random: fastrand::Rng,
    chance: f64,
}

/// The engine.
pub struct Engine {
    failing: f64,
    longest_run: f64,
    /// The runs that are under way, by uid.
    working: BTreeMap<String, Work>,
    hanging: Option<Hanging>,
    chain: Option<Chain>,
    /// Times at which runs go that are deleted in the foreground.
    going: BTreeMap<Key, Duration>,
    /// Version up to which it has handled changes.
    looked: u64,
}

impl Engine {
    /// Returns the engine of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            failing: plan.failing,
            longest_run: plan.longest_run,
            working: BTreeMap::new(),
            hanging: hanging(plan).map(|chance| Hanging {
                random: fastrand::Rng::with_seed(plan.seed ^ 0x68_616e_6769_6e67),
                chance,
            }),
            chain: plan.chain,
            going: BTreeMap::new(),
            looked: 0,
        }
    }

    /// Takes up the new runs, and ends those whose time has come.
    pub fn run(&mut self, store: &mut Store, random: &mut fastrand::Rng) {
        let new = store
            .log()
            .partition_point(|change| change.version <= self.looked);
        for change in &store.log()[new..] {
            self.looked = change.version;
            if !change.key.resource.is_run() {
                continue;
            }
            let uid = uid(&change.object);
            match change.happened {
                Happened::Created if !has_ended(store, &change.key) => {
                    self.begin(change, store.elapsed, random);
                }
                Happened::Changed if is_told(&change.object) => self.hear(change, store.elapsed),
                // The end of a run that hangs is not awaited.
                Happened::Deleted if self.hanging.is_some() => {
                    self.working.retain(|known, _| Some(known.as_str()) != uid);
                    self.going.remove(&change.key);
                }
                _ => {}
            }
        }
        let now = store.elapsed;
        let due = self.working.extract_if(.., |_, work| work.end <= now);
        for (uid, work) in due.collect::<Vec<_>>() {
            end_run(store, &uid, work.succeeds, self.chain);
        }
        for (key, _) in self.going.extract_if(.., |_, at| *at <= now) {
            // Another actor may have removed it meanwhile.
            let _ = store.delete(&key, COLLECTOR);
        }
    }

    fn begin(&mut self, change: &Change, now: Duration, random: &mut fastrand::Rng) {
        let Some(uid) = uid(&change.object) else {
            return;
        };
        let time = 0.3 + random.f64() * self.longest_run;
        let succeeds = random.f64() >= self.failing;
        let mut work = Work {
            end: now + Duration::from_secs_f64(time),
            succeeds,
            hangs: false,
            heed: None,
        };
        // Runs of strangers and of the original may never be stopped.
        if let Some(Hanging { random, chance }) = &mut self.hanging
            && makes_a_run(change)
        {
            work.heed = Some(Heed::draw(random));
            if random.f64() < *chance {
                // At times it ends by itself, just when it may be deleted.
                let end = if random.f64() < 0.3 {
                    Duration::from_secs_f64(60.0 + random.f64() * 60.0)
                } else {
                    HANGS
                };
                (work.end, work.hangs) = (now + end, true);
            }
        }
        self.working.insert(uid.to_owned(), work);
    }

    /// Stops a run.
    fn hear(&mut self, change: &Change, now: Duration) {
        let work = uid(&change.object).and_then(|uid| self.working.get_mut(uid));
        let heed = work.and_then(|work| {
            let heed = work.heed.take()?;
            let (end, succeeds) = match heed {
                Heed::AtOnce => (now, false),
                Heed::After(time) => (now + time, false),
                Heed::Never(time) => (now + time, work.succeeds),
                Heed::Succeeds(time) => (now + time, true),
            };
            // A run that hangs ends by nothing else.
            if end < work.end || work.hangs {
                (work.end, work.succeeds) = (end, succeeds);
            }
            Some((heed, work.end))
        });
        if is_going(&change.object) && !self.going.contains_key(&change.key) {
            let at = match heed {
                // It goes without a result.
                Some((Heed::AtOnce | Heed::After(_), end)) => {
                    self.working
                        .retain(|known, _| Some(known.as_str()) != uid(&change.object));
                    end
                }
                Some((Heed::Never(_), end)) => end,
                Some((Heed::Succeeds(_), end)) => end + A_WHILE,
                None => now + A_WHILE,
            };
            self.going.insert(change.key.clone(), at);
        }
    }

    /// Returns true if a run is under way, or on its way out.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.working.is_empty() || !self.going.is_empty()
    }
}

/// Returns the probability that a run works until it is stopped, where runs are stopped.
fn hanging(plan: &Plan) -> Option<f64> {
    let of_timeouts = plan.stops.as_ref().map(|stops| stops.hanging);
    of_timeouts.or(plan.overlap.map(|_| 0.0))
}

fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}

fn has_ended(store: &Store, run: &Key) -> bool {
    let run = store.get(run);
    run.is_some_and(|run| run.pointer("/status/conditions").is_some())
}

/// Returns the output of a run with this uid if it succeeds.
#[must_use]
pub fn answer(uid: &str) -> String {
    format!("answer of {uid}")
}

/// Ends a run.
pub(crate) fn end_run(store: &mut Store, uid: &str, succeeds: bool, chain: Option<Chain>) {
    let runs = [Resource::Tasks, Resource::Builds];
    let found = runs
        .iter()
        .flat_map(|resource| store.all(*resource, NAMESPACE))
        .find(|(_, run)| self::uid(run) == Some(uid))
        .map(|(key, _)| key.clone());
    let Some(key) = found else { return };
    let run = store.get(&key).unwrap_or_default();
    let succeeds = succeeds && !Run::of(&run).cancelled;
    let of_chain = chain.and_then(|chain| {
        let name = run["metadata"]["labels"]
            .get(RUNNABLE_NAME_LABEL)?
            .as_str()?;
        let value = run["spec"]["value"].as_str()?;
        Some(chain.gives(chain.role_of(name)?, value, uid))
    });
    let mut status = of_chain.unwrap_or_else(|| json!({ "answer": answer(uid) }));
    status["conditions"] = json!([{
        "type": "Succeeded", "status": if succeeds { "True" } else { "False" }, "reason": "Ended", "message": "",
    }]);
    // It exists: it was just found.
    let _ = store.change(&key, ENGINE, |run| run["status"] = status);
}
