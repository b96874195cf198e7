//! Versions of cached runs that suffice for a read.

use cartouche_crds::CurrentRun;

use super::{CreateOutcome, Facts};
use crate::ledger::RunName;

impl Facts {
    /// Returns the version of the cached run that this read of its name must be at least as new as. It is known for
    /// the end of a run that the ledger knows or is about to know; any other read has to be consistent (`None`).
    #[must_use]
    pub fn seen_version(&self, name: &RunName) -> Option<u64> {
        let mut seen = self.cached_runs.iter();
        let seen =
            seen.find(|it| !it.deleted && it.is_finished() && RunName::of_run(&it.run) == *name)?;
        // The retry depends on its latest state.
        let is_retried =
            |it: &CurrentRun| it.retry_at.is_some() && RunName::from_current(it) == *name;
        if self.ledger.current.as_ref().is_some_and(is_retried) {
            return None;
        }
        // Another run may have that name; only a consistent read shows it.
        let is_unseen = |uid: &Option<String>, its: RunName| uid.is_none() && its == *name;
        let mut earlier = self.ledger.history.iter();
        if earlier.any(|entry| is_unseen(&entry.uid, RunName::from_history(entry))) {
            return None;
        }
        let is_made = match &self.created {
            None => false,
            Some(CreateOutcome::MadeBefore(made)) => made.run.uid == seen.run.uid,
            Some(_) => return None,
        };
        let current = self.ledger.current.as_ref();
        let is_awaited = current.is_some_and(|it| is_unseen(&it.uid, RunName::from_current(it)));
        let is_known = !is_awaited && self.ledger.knows(&seen.run.uid);
        seen.version.filter(|_| is_made || is_known)
    }
}
