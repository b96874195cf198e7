//! Stops of runs that work for too long, and the reactions of engines.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use cartouche_crds::{DeleteRun, StopMethod};
use serde_json::{Value, json};

use crate::{
    faults::Counts,
    people::{SOMEBODY, runnable, template},
    plan::{Deed, TEMPLATES},
    store::{Key, Store, Told},
};

/// The stops of all runs of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Stops {
    /// Timeout in the templates, if there is one.
    pub of_templates: Option<&'static str>,
    /// Timeout in the Runnables, if there is one.
    pub of_runnables: Option<&'static str>,
    /// True if the templates delete runs at first.
    pub by_deletion: bool,
    /// Probability that a run works until it is stopped.
    pub hanging: f64,
}

/// The possible timeouts. They may be shorter or longer than the clock skew.
const TIMEOUTS: [&str; 4] = ["2s", "10s", "30s", "1m"];
/// Time after which a run that hangs, and is not stopped, ends by itself.
pub const HANGS: Duration = Duration::from_mins(5);
/// Time in addition to [`HANGS`] after which the controller reports that a run ignores its stop, and stops it
/// once more.
const NOTICED: Duration = Duration::from_secs(40);
/// The field of a run's `spec` that stops it.
const STOPPED: &str = "stopped";

impl Stops {
    /// Draws stops.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        let mut timeout = || TIMEOUTS[random.usize(..TIMEOUTS.len())];
        let (one, other) = (timeout(), timeout());
        let (of_templates, of_runnables) = match random.usize(..3) {
            0 => (Some(one), None),
            1 => (None, Some(one)),
            _ => (Some(one), Some(other)),
        };
        Self {
            of_templates,
            of_runnables,
            by_deletion: random.bool(),
            hanging: [0.2, 0.5, 0.8][random.usize(..3)],
        }
    }

    /// Writes them into the specs that have them.
    pub fn ask(&self, object: &mut Value, is_template: bool) {
        let timeout = if is_template {
            give_way(&mut object["spec"], self.by_deletion);
            self.of_templates
        } else {
            self.of_runnables
        };
        if let Some(timeout) = timeout {
            object["spec"]["timeout"] = json!(timeout);
        }
    }
}

/// Writes the way to stop runs into a template. A stopped run differs from the rendering.
pub(crate) fn give_way(template: &mut Value, by_deletion: bool) {
    template["stop"] = way(by_deletion);
    template["template"]["spec"][STOPPED] = json!(false);
}

fn way(by_deletion: bool) -> Value {
    let patch = json!({ "spec": { STOPPED: true } });
    json!(StopMethod {
        merge_patch: (!by_deletion).then_some(patch),
        delete: by_deletion.then_some(DeleteRun {}),
    })
}

/// Changes a timeout, or the way to stop runs.
pub(crate) fn change(store: &mut Store, random: &mut fastrand::Rng, deed: Deed) {
    let edit = |store: &mut Store, key: &Key, edit: &dyn Fn(&mut Value)| {
        // A deleted object stays deleted.
        let _ = store.change(key, SOMEBODY, |object| edit(&mut object["spec"]));
    };
    match deed {
        Deed::Timeout(number) => {
            let timeout = TIMEOUTS[random.usize(..TIMEOUTS.len())];
            let places = [runnable(number), template(number % TEMPLATES)];
            let has_one = |key: &&Key| {
                let object = store.get(key);
                object.is_some_and(|object| object["spec"]["timeout"].is_string())
            };
            let places: Vec<&Key> = places.iter().filter(has_one).collect();
            if let Some(place) = random.choice(places) {
                edit(store, place, &|spec| spec["timeout"] = json!(timeout));
            }
        }
        Deed::WayToStop(number) => edit(store, &template(number), &|spec| {
            spec["stop"] = way(spec["stop"]["delete"].is_null());
        }),
        _ => {}
    }
}

/// Returns true if a run was stopped: by its spec, or by a deletion.
#[must_use]
pub fn is_told(run: &Value) -> bool {
    run["spec"][STOPPED] == true || is_going(run)
}

/// Returns true if it is being deleted in the foreground.
#[must_use]
pub fn is_going(run: &Value) -> bool {
    run["metadata"]["deletionTimestamp"].is_string()
}

/// Returns the spec that a run was made of.
#[must_use]
pub fn as_made(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Value::Object(fields) = &mut spec {
        fields.remove(STOPPED);
    }
    spec
}

/// Returns the number of runs that were stopped, of those stopped by their deletion, and of those stopped
/// more than once.
#[must_use]
pub fn counts(told: &[Told]) -> Counts {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for told in told {
        *times.entry(&told.uid).or_default() += 1;
    }
    let is_deleted = |told: &&Told| told.is_delete;
    let deleted: BTreeSet<&str> = told.iter().filter(is_deleted).map(|it| &*it.uid).collect();
    let again = times.values().filter(|times| **times > 1);
    let counts = [
        ("Stopped", times.len()),
        ("StoppedByDeletion", deleted.len()),
        ("StoppedAgain", again.count()),
    ];
    let named = counts.map(|(name, count)| (name.to_owned(), count));
    named.into()
}

/// Reaction of an engine to the stop of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heed {
    /// It fails at once.
    AtOnce,
    /// It fails after this time.
    After(Duration),
    /// It ignores the stop, and ends this long after it at the latest.
    Never(Duration),
    /// It still succeeds, after this time.
    Succeeds(Duration),
}

impl Heed {
    /// Draws a reaction. A run that ignores its stop works for longer than the controller waits before it
    /// reports that, or not.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        let mut within = |seconds: f64| Duration::from_secs_f64(random.f64() * seconds);
        let (short, long, deaf) = (within(5.0), within(50.0), within(120.0));
        match random.u8(..10) {
            0..=2 => Self::AtOnce,
            3..=5 => Self::After(long),
            6 => Self::Never(if deaf < NOTICED { HANGS + deaf } else { deaf }),
            _ => Self::Succeeds(short),
        }
    }
}
