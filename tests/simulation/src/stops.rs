//! What works for too long is told to stop, and engines heed that in their own ways.

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

/// How all runs of a plan are stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stops {
    /// What the templates give as timeout, if they give one.
    pub of_templates: Option<&'static str>,
    /// What the Runnables give.
    pub of_runnables: Option<&'static str>,
    /// Whether the templates have runs deleted at first.
    pub by_deletion: bool,
    /// How likely a run works until it is told to stop.
    pub hanging: f64,
}

/// The timeouts that there are. They may be shorter or longer than what clocks may be apart.
const TIMEOUTS: [&str; 4] = ["2s", "10s", "30s", "1m"];
/// What hangs, and is not told to stop, ends by itself after so long.
pub const HANGS: Duration = Duration::from_mins(5);
/// What takes no notice for so much longer than [`HANGS`], the controller says that of, and tells once more.
const NOTICED: Duration = Duration::from_secs(40);
/// The field of a run's `spec` that tells it to stop.
const STOPPED: &str = "stopped";

impl Stops {
    /// Draws how.
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

    /// Writes it into the specs that have it.
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

/// Says how the runs of a template are stopped. Asked to, a run differs from what is rendered.
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

/// Somebody changes a timeout, or how runs are stopped.
pub(crate) fn change(store: &mut Store, random: &mut fastrand::Rng, deed: Deed) {
    let edit = |store: &mut Store, key: &Key, edit: &dyn Fn(&mut Value)| {
        // What was deleted stays as it is.
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

/// Whether a run is told to stop: by its spec, or since it is to go.
#[must_use]
pub fn is_told(run: &Value) -> bool {
    run["spec"][STOPPED] == true || is_going(run)
}

/// Whether it is deleted in the foreground.
#[must_use]
pub fn is_going(run: &Value) -> bool {
    run["metadata"]["deletionTimestamp"].is_string()
}

/// What a run was made of.
#[must_use]
pub fn as_made(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Value::Object(fields) = &mut spec {
        fields.remove(STOPPED);
    }
    spec
}

/// How many runs were told to stop, how many of them by their deletion, and how many more than once.
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

/// How an engine takes it that a run is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heed {
    /// It fails at once.
    AtOnce,
    /// It fails after this time.
    After(Duration),
    /// It goes on as if nothing were said, and ends this long after it was told at the latest.
    Never(Duration),
    /// It succeeds all the same, after this time.
    Succeeds(Duration),
}

impl Heed {
    /// Draws how. What takes no notice works for longer than the controller waits before it says so, or not.
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
