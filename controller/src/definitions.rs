//! The definitions of our own kinds that are installed. Under those of an older release nothing is intended: the API server
//! drops fields that they do not know, of the ledger and of what users ask for.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use cartouche_crds::schema_of;
use cartouche_protocol::{
    newer_release,
    reconcile_error::{ReconcileError, Requeue},
};
use kube::api::ObjectMeta;

use crate::{clock::boot_time, endpoints::Readiness, lock::lock, mutants::schema};

/// The watch of all definitions, as `/readyz` names it.
pub const DEFINITIONS: &str = "customresourcedefinitions";

/// The definitions of our own kinds, and the watches of these.
pub(crate) const RUNNABLES: &str = "runnables.carto.run";
pub(crate) const PROFILES: &str = "clusterrunprofiles.carto.run";
pub(crate) const TEMPLATES: &str = "clusterruntemplates.carto.run";

/// The name in `/readyz` of the wait for definitions that are not older than the process.
pub(crate) const OF_THIS_RELEASE: &str = "definitions of this release";
/// The cure.
const INSTALL: &str =
    "install the definitions of this release (kubectl apply --server-side -k config/crd)";

/// Time for which nothing is intended after the API server has dropped a field, the first time and at most. One that has just got
/// newer definitions goes on with the former ones for a moment.
const HELD_FOR: Duration = Duration::from_secs(5);
const HELD_AT_MOST: Duration = Duration::from_mins(5);
/// Time after that in which each write of a status is first tried without effect.
const DOUBTED_FOR: Duration = Duration::from_mins(10);

/// The definitions of our kinds, as the watch shows them.
pub struct Definitions {
    state: Mutex<State>,
    readiness: Readiness,
    /// Their list has come.
    is_listed: AtomicBool,
    /// Runs are made again, and the Runnables have yet to be reconciled for that.
    goes_on: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The number of each that is installed.
    schemas: BTreeMap<&'static str, u32>,
    dropped: Option<Dropped>,
    /// True if nothing is intended, as it was found last.
    is_outdated: bool,
}

/// The API server has dropped fields of a status.
struct Dropped {
    fields: String,
    /// Times in a row.
    times: u32,
    /// Nothing is intended until then, on the clock that goes on while the machine sleeps.
    held_until: Duration,
    doubted_until: Duration,
}

impl State {
    /// The first of them that is older than this release.
    fn older(&self) -> Option<(&'static str, u32)> {
        let mut schemas = self.schemas.iter().map(|(name, schema)| (*name, *schema));
        schemas.find(|(_, number)| *number < schema())
    }

    /// Why nothing is intended, and for how long if that is known.
    fn why(&self, now: Duration) -> Option<(String, Option<Duration>)> {
        if let Some((name, number)) = self.older() {
            let why = format!(
                "the definition {name} is of schema {number}, and this controller needs {}",
                schema()
            );
            return Some((why, None));
        }
        let dropped = self.dropped.as_ref().filter(|it| now < it.held_until)?;
        let why = format!(
            "the API server drops what the controller writes, as the definitions do not know it: {}",
            dropped.fields
        );
        Some((why, Some(dropped.held_until.saturating_sub(now))))
    }
}

/// The number of a definition, if it is one of ours.
fn ours(definition: &ObjectMeta) -> Option<(&'static str, u32)> {
    let name = definition.name.as_deref()?;
    let ours = [RUNNABLES, TEMPLATES, PROFILES];
    let name = ours.into_iter().find(|ours| *ours == name)?;
    let number = definition.annotations.as_ref().map_or(0, schema_of);
    Some((name, number))
}

impl Definitions {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(readiness: Readiness) -> Self {
        Self {
            state: Mutex::default(),
            readiness,
            is_listed: AtomicBool::new(false),
            goes_on: AtomicBool::new(false),
        }
    }

    /// True once their list has come.
    #[must_use]
    pub fn are_listed(&self) -> bool {
        self.is_listed.load(Ordering::Acquire)
    }

    /// True while their list has yet to come. One that fails is tried on; one that is forbidden does not come.
    #[must_use]
    pub fn are_awaited(&self) -> bool {
        !self.are_listed() && !self.readiness.may_not_watch(DEFINITIONS)
    }

    /// These are all definitions of the cluster. One of ours that is not there does not count: nothing of its kind can be
    /// asked for.
    pub fn list<'a>(&self, all: impl IntoIterator<Item = &'a ObjectMeta>) {
        let schemas = all.into_iter().filter_map(ours).collect();
        self.change(|state| state.schemas = schemas);
        self.is_listed.store(true, Ordering::Release);
    }

    /// One came or changed.
    pub fn put(&self, definition: &ObjectMeta) {
        if let Some((name, number)) = ours(definition) {
            self.change(|state| {
                state.schemas.insert(name, number);
            });
        }
    }

    /// One is gone.
    pub fn remove(&self, definition: &ObjectMeta) {
        if let Some((name, _)) = ours(definition) {
            self.change(|state| {
                state.schemas.remove(name);
            });
        }
    }

    /// Applies a change of them. The server may drop nothing any more after that, which the next writes try first.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let now = boot_time();
        let mut state = lock(&self.state);
        change(&mut state);
        if let Some(dropped) = &mut state.dropped {
            (dropped.times, dropped.held_until) = (0, now);
            dropped.doubted_until = now + DOUBTED_FOR;
        }
        self.settle(state, now);
    }

    /// The API server has dropped these fields of a status, or would have: for how long nothing is intended.
    pub fn drop_fields(&self, fields: &[String], now: Duration) -> Duration {
        let mut state = lock(&self.state);
        let before = state.dropped.take();
        let is_told = before.as_ref().filter(|it| now < it.held_until);
        // Many find it out at the same time.
        let times = is_told.map_or_else(
            || before.as_ref().map_or(0, |it| it.times + 1),
            |it| it.times,
        );
        let held = HELD_FOR.saturating_mul(1 << times.min(16));
        let held_until = is_told.map_or(now + held.min(HELD_AT_MOST), |it| it.held_until);
        state.dropped = Some(Dropped {
            fields: fields.join(", "),
            times,
            held_until,
            doubted_until: held_until + DOUBTED_FOR,
        });
        self.settle(state, now);
        held_until.saturating_sub(now)
    }

    /// Why nothing is intended, if nothing is.
    #[must_use]
    pub fn outdated(&self) -> Option<ReconcileError> {
        self.outdated_at(boot_time())
    }

    fn outdated_at(&self, now: Duration) -> Option<ReconcileError> {
        let state = lock(&self.state);
        let why = state.why(now);
        if why.is_some() != state.is_outdated {
            self.settle(state, now);
        }
        let (why, left) = why?;
        let requeue = left.map_or(Requeue::OnChange, Requeue::After);
        Some(newer_release::outdated(&why, INSTALL, requeue))
    }

    /// True if a status is written only after it was tried without effect: the definitions bear no number, as those of
    /// Cartographer, or have dropped fields of late.
    #[must_use]
    pub fn are_doubted(&self) -> bool {
        let state = lock(&self.state);
        let is_doubted = |it: &Dropped| boot_time() < it.doubted_until;
        state.schemas.values().any(|schema| *schema == 0)
            || state.dropped.as_ref().is_some_and(is_doubted)
    }

    /// True if one of them is of a newer release: what cannot be read may be of that.
    #[must_use]
    pub fn are_newer(&self) -> bool {
        let state = lock(&self.state);
        state.schemas.values().any(|number| *number > schema())
    }

    /// True once after runs are made again: the Runnables have yet to be reconciled for that.
    pub(crate) fn take_recovery(&self) -> bool {
        self.goes_on.swap(false, Ordering::AcqRel)
    }

    /// Says to strangers whether something is wrong with them.
    fn settle(&self, mut state: MutexGuard<'_, State>, now: Duration) {
        let why = state.why(now).map(|(why, _)| why);
        let turns = why.is_some() != state.is_outdated;
        state.is_outdated = why.is_some();
        if turns && why.is_none() {
            self.goes_on.store(true, Ordering::Release);
        }
        match why {
            Some(why) => {
                if turns {
                    tracing::error!("no run is made: {why}; {INSTALL}");
                }
                self.readiness
                    .misses(OF_THIS_RELEASE, format!("{why}: {INSTALL}"));
            }
            None => self.readiness.reached(OF_THIS_RELEASE),
        }
    }
}

#[cfg(test)]
mod tests {
    use cartouche_crds::{SCHEMA, SCHEMA_ANNOTATION};

    use super::*;

    fn definition(name: &str, schema: Option<u32>) -> ObjectMeta {
        let annotation = |schema: u32| [(SCHEMA_ANNOTATION.to_owned(), schema.to_string())].into();
        ObjectMeta {
            name: Some(name.to_owned()),
            annotations: schema.map(annotation),
            ..ObjectMeta::default()
        }
    }

    fn definitions(of: &[(&str, Option<u32>)]) -> Definitions {
        let definitions = Definitions::new(Readiness::default());
        let all: Vec<ObjectMeta> = of.iter().map(|(name, at)| definition(name, *at)).collect();
        assert!(!definitions.are_listed());
        definitions.list(&all);
        assert!(definitions.are_listed());
        definitions
    }

    const NOW: Option<u32> = Some(SCHEMA);

    #[test]
    fn definitions_of_this_release_or_a_later_one_or_none_hold_nothing() {
        for of in [
            &[(RUNNABLES, NOW), (TEMPLATES, NOW), (PROFILES, NOW)][..],
            &[(RUNNABLES, Some(SCHEMA + 1)), (TEMPLATES, NOW)],
            &[("jobs.example.dev", None), (RUNNABLES, NOW)],
            &[],
        ] {
            let definitions = definitions(of);
            assert_eq!(definitions.outdated(), None, "{of:?}");
            assert!(!definitions.are_doubted(), "{of:?}");
            let is_newer = of.iter().any(|(_, schema)| *schema > NOW);
            assert_eq!(definitions.are_newer(), is_newer, "{of:?}");
            assert!(definitions.readiness.missing().is_empty());
        }
    }

    #[test]
    fn one_without_a_number_or_with_a_lower_one_holds_until_it_is_replaced() {
        let definitions = definitions(&[(RUNNABLES, NOW), (TEMPLATES, None)]);
        let outdated = definitions.outdated().unwrap();
        assert!(outdated.message.contains(TEMPLATES), "{outdated}");
        assert_eq!(outdated.requeue, Requeue::OnChange);
        assert!(definitions.are_doubted());
        let missing = definitions.readiness.missing();
        assert!(
            missing[0].contains(TEMPLATES) && missing[0].contains("kubectl apply"),
            "{missing:?}"
        );
        definitions.put(&definition(TEMPLATES, NOW));
        assert_eq!(definitions.outdated(), None);
        assert!(definitions.readiness.missing().is_empty());
        definitions.put(&definition(RUNNABLES, Some(SCHEMA - 1)));
        assert!(definitions.outdated().is_some());
        definitions.remove(&definition(RUNNABLES, None));
        assert_eq!(definitions.outdated(), None);
    }

    #[test]
    fn after_fields_were_dropped_nothing_is_intended_for_a_while_and_then_tried_first() {
        let second = Duration::from_secs(1);
        let definitions = definitions(&[(RUNNABLES, NOW)]);
        let fields = ["status.currentRun".to_owned()];
        let now = boot_time();
        assert_eq!(definitions.drop_fields(&fields, now), HELD_FOR);
        assert_eq!(
            definitions.drop_fields(&fields, now + second),
            HELD_FOR.saturating_sub(second)
        );
        let outdated = definitions.outdated_at(now + second).unwrap();
        assert!(outdated.message.contains("status.currentRun"), "{outdated}");
        assert_eq!(
            outdated.requeue,
            Requeue::After(HELD_FOR.saturating_sub(second))
        );
        assert!(!definitions.readiness.missing().is_empty());
        let later = now + HELD_FOR;
        assert_eq!(definitions.outdated_at(later), None);
        assert!(definitions.readiness.missing().is_empty());
        assert!(definitions.are_doubted());
        assert_eq!(definitions.drop_fields(&fields, later), 2 * HELD_FOR);
        // What changes of definitions may have mended it.
        definitions.put(&definition(TEMPLATES, NOW));
        assert_eq!(definitions.outdated(), None);
        assert!(definitions.are_doubted());
    }
}
