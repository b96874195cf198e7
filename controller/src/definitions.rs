//! Installed definitions of the project's own kinds. Under those of an older release no run is intended: the API server
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
    messages::reconcile_error::{ReconcileError, Requeue},
    newer_release,
};
use kube::api::ObjectMeta;

use crate::{clock::boot_time, endpoints::ProcessReadiness, lock::lock, mutants::schema};

/// Name in `/readyz` of the watch of all definitions.
pub const DEFINITIONS: &str = "customresourcedefinitions";

/// Names of the definitions of the project's own kinds, and of their watches.
pub(crate) const RUNNABLES: &str = "runnables.carto.run";
pub(crate) const PROFILES: &str = "clusterrunprofiles.carto.run";
pub(crate) const TEMPLATES: &str = "clusterruntemplates.carto.run";

/// Name in `/readyz` of the wait for definitions that are not older than the process.
pub(crate) const OF_THIS_RELEASE: &str = "definitions of this release";
/// Advice to the user.
const INSTALL: &str =
    "install the definitions of this release (kubectl apply --server-side -k config/crd)";

/// Times for which no run is intended after the API server has dropped a field: the first one and the longest. A server
/// that has just got newer definitions uses the former ones for a moment.
const HELD_FOR: Duration = Duration::from_secs(5);
const HELD_AT_MOST: Duration = Duration::from_mins(5);
/// Time after that in which each write of a status is first tried as a dry run.
const DOUBTED_FOR: Duration = Duration::from_mins(10);

/// Definitions of the project's kinds, as the watch shows them.
pub struct Definitions {
    state: Mutex<State>,
    readiness: ProcessReadiness,
    /// True once their list has come.
    is_listed: AtomicBool,
    /// True once runs are made again, until the Runnables are reconciled for that.
    goes_on: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Schema number of each that is installed.
    schemas: BTreeMap<&'static str, u32>,
    dropped: Option<Dropped>,
    /// True if no run was intended at the last check.
    is_outdated: bool,
}

/// Fields of a status that the API server has dropped.
struct Dropped {
    fields: String,
    /// Number of times in a row.
    times: u32,
    /// End of the time in which no run is intended, on the clock that goes on while the machine sleeps.
    held_until: Duration,
    doubted_until: Duration,
}

impl State {
    /// Returns the first definition that is older than this release, and its schema number.
    fn older(&self) -> Option<(&'static str, u32)> {
        let mut schemas = self.schemas.iter().map(|(name, schema)| (*name, *schema));
        schemas.find(|(_, number)| *number < schema())
    }

    /// Returns why no run is intended, and for how long if that is known.
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
            "the API server drops what the controller writes, because the definitions do not have it: {}",
            dropped.fields
        );
        Some((why, Some(dropped.held_until.saturating_sub(now))))
    }
}

/// Returns the name and schema number of a definition, if it is one of the project's.
fn ours(definition: &ObjectMeta) -> Option<(&'static str, u32)> {
    let name = definition.name.as_deref()?;
    let ours = [RUNNABLES, TEMPLATES, PROFILES];
    let name = ours.into_iter().find(|ours| *ours == name)?;
    let number = definition.annotations.as_ref().map_or(0, schema_of);
    Some((name, number))
}

impl Definitions {
    /// Creates a state in which nothing is known yet.
    #[must_use]
    pub fn new(readiness: ProcessReadiness) -> Self {
        Self {
            state: Mutex::default(),
            readiness,
            is_listed: AtomicBool::new(false),
            goes_on: AtomicBool::new(false),
        }
    }

    /// Returns true once their list has come.
    #[must_use]
    pub fn are_listed(&self) -> bool {
        self.is_listed.load(Ordering::Acquire)
    }

    /// Returns true while their list has yet to come. A list that fails is retried; one that is forbidden does not
    /// come.
    #[must_use]
    pub fn are_awaited(&self) -> bool {
        !self.are_listed() && !self.readiness.may_not_watch(DEFINITIONS)
    }

    /// Records all definitions of the cluster. A missing one of the project's does not count: without it there are no
    /// objects of its kind.
    pub fn list<'a>(&self, all: impl IntoIterator<Item = &'a ObjectMeta>) {
        let schemas = all.into_iter().filter_map(ours).collect();
        self.change(|state| state.schemas = schemas);
        self.is_listed.store(true, Ordering::Release);
    }

    /// Records a definition that was created or changed.
    pub fn put(&self, definition: &ObjectMeta) {
        if let Some((name, number)) = ours(definition) {
            self.change(|state| {
                state.schemas.insert(name, number);
            });
        }
    }

    /// Records a definition that was deleted.
    pub fn remove(&self, definition: &ObjectMeta) {
        if let Some((name, _)) = ours(definition) {
            self.change(|state| {
                state.schemas.remove(name);
            });
        }
    }

    /// Applies a change of the definitions. The server may drop nothing any more after that, which the next writes try
    /// first.
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

    /// Records that the API server has dropped these fields of a status, or would have. Returns how long no run is
    /// intended.
    pub fn drop_fields(&self, fields: &[String], now: Duration) -> Duration {
        let mut state = lock(&self.state);
        let before = state.dropped.take();
        let still_held = before.as_ref().filter(|it| now < it.held_until);
        // Many reconciliations find it out at the same time.
        let times = still_held.map_or_else(
            || before.as_ref().map_or(0, |it| it.times + 1),
            |it| it.times,
        );
        let held = HELD_FOR.saturating_mul(1 << times.min(16));
        let held_until = still_held.map_or(now + held.min(HELD_AT_MOST), |it| it.held_until);
        state.dropped = Some(Dropped {
            fields: fields.join(", "),
            times,
            held_until,
            doubted_until: held_until + DOUBTED_FOR,
        });
        self.settle(state, now);
        held_until.saturating_sub(now)
    }

    /// Returns the error of outdated definitions, or `None` if runs may be intended.
    #[must_use]
    pub fn outdated_error(&self) -> Option<ReconcileError> {
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
        Some(newer_release::outdated_error(&why, INSTALL, requeue))
    }

    /// Returns true if a status is written only after a dry run: the definitions bear no number, as those of
    /// Cartographer, or have dropped fields lately.
    #[must_use]
    pub fn are_doubted(&self) -> bool {
        let state = lock(&self.state);
        let is_doubted = |it: &Dropped| boot_time() < it.doubted_until;
        state.schemas.values().any(|schema| *schema == 0)
            || state.dropped.as_ref().is_some_and(is_doubted)
    }

    /// Returns true if one of them is of a newer release, and with it perhaps an object that cannot be read.
    #[must_use]
    pub fn are_newer(&self) -> bool {
        let state = lock(&self.state);
        state.schemas.values().any(|number| *number > schema())
    }

    /// Returns true once after the definitions have recovered, and clears that mark: the caller has to enqueue all
    /// Runnables.
    pub(crate) fn take_recovery(&self) -> bool {
        self.goes_on.swap(false, Ordering::AcqRel)
    }

    /// Reports in the log and in `/readyz` if something is wrong with the definitions.
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
            None => self.readiness.mark(OF_THIS_RELEASE),
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
        let definitions = Definitions::new(ProcessReadiness::default());
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
            assert_eq!(definitions.outdated_error(), None, "{of:?}");
            assert!(!definitions.are_doubted(), "{of:?}");
            let is_newer = of.iter().any(|(_, schema)| *schema > NOW);
            assert_eq!(definitions.are_newer(), is_newer, "{of:?}");
            assert!(definitions.readiness.missing().is_empty());
        }
    }

    #[test]
    fn one_without_a_number_or_with_a_lower_one_holds_until_it_is_replaced() {
        let definitions = definitions(&[(RUNNABLES, NOW), (TEMPLATES, None)]);
        let outdated = definitions.outdated_error().unwrap();
        assert!(outdated.message.contains(TEMPLATES), "{outdated}");
        assert_eq!(outdated.requeue, Requeue::OnChange);
        assert!(definitions.are_doubted());
        let missing = definitions.readiness.missing();
        assert!(
            missing[0].contains(TEMPLATES) && missing[0].contains("kubectl apply"),
            "{missing:?}"
        );
        definitions.put(&definition(TEMPLATES, NOW));
        assert_eq!(definitions.outdated_error(), None);
        assert!(definitions.readiness.missing().is_empty());
        definitions.put(&definition(RUNNABLES, Some(SCHEMA - 1)));
        assert!(definitions.outdated_error().is_some());
        definitions.remove(&definition(RUNNABLES, None));
        assert_eq!(definitions.outdated_error(), None);
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
        // A change of definitions may have repaired it.
        definitions.put(&definition(TEMPLATES, NOW));
        assert_eq!(definitions.outdated_error(), None);
        assert!(definitions.are_doubted());
    }
}
