//! Since when runs work, which is not when they were made where a queue holds them.

use std::collections::BTreeMap;

use cartouche_templating::kinds::{Standing, Works};
use k8s_openapi::jiff::Timestamp;

use super::Facts;
use crate::{decide::overlap::is_ahead, ledger::AtWork};

impl Facts {
    /// The standing of a run, as it was read, or else as a watch or its create showed it.
    #[must_use]
    pub fn standing(&self, uid: &str) -> Option<Standing> {
        let read = self.fetched_run(uid).map(|run| run.standing);
        let seen = || self.cached_run(uid).map(|run| run.standing);
        let made = || self.created_run(uid).map(|run| run.standing);
        read.or_else(seen).or_else(made)
    }

    /// The time from which a timeout counts for a run that works.
    #[must_use]
    pub fn works_since(&self, run: &AtWork<'_>) -> Option<Timestamp> {
        let standing = self.standing(run.uid).unwrap_or_default();
        let since = match standing.works {
            Works::SinceCreation => return run.started_at,
            Works::NotYet => return None,
            Works::Since(at) if !is_ahead(self, at) => at,
            Works::Since(_) | Works::Untimed => *self.seen_at_work.get(run.uid)?,
        };
        Some(run.started_at.map_or(since, |made| made.max(since)))
    }

    /// The runs, by uid, that work and do not say since when, with the time at which each was first seen so. `before`: those that
    /// were known.
    #[must_use]
    pub fn untimed(&self, before: &BTreeMap<String, Timestamp>) -> BTreeMap<String, Timestamp> {
        let (Some(now), Some(_)) = (self.now, self.policy.timeout) else {
            return BTreeMap::new();
        };
        let is_untimed = |uid: &str| match self.standing(uid).map(|it| it.works) {
            Some(Works::Untimed) => true,
            Some(Works::Since(at)) => is_ahead(self, at),
            Some(Works::SinceCreation | Works::NotYet) | None => false,
        };
        let at_work = self.ledger.at_work().filter(|run| is_untimed(run.uid));
        let first_seen = at_work.map(|run| {
            let known = before.get(run.uid).filter(|at| !is_ahead(self, **at));
            (run.uid.to_owned(), known.copied().unwrap_or(now))
        });
        first_seen.collect()
    }
}
