//! Times since which runs work, which differ from their creation if a queue held them.

use std::collections::BTreeMap;

use cartouche_engines::kinds::{Standing, Works};
use k8s_openapi::jiff::Timestamp;

use super::{Facts, PolicyFrom};
use crate::ledger::{AtWork, LANDED_BY};

impl Facts {
    /// Returns the standing of a run as read, or else as a watch or the answer to its create showed it.
    #[must_use]
    pub fn standing(&self, uid: &str) -> Option<Standing> {
        let read = self.fetched_run(uid).map(|run| run.standing);
        let seen = || self.cached_run(uid).map(|run| run.standing);
        let made = || self.created_run(uid).map(|run| run.standing);
        read.or_else(seen).or_else(made)
    }

    /// Returns the time from which a timeout counts for a run at work.
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

    /// Returns the runs at work that give no start time, by uid, with the time at which each was first seen so.
    /// `before` holds those known so far. The entry of a run that could not be looked at stays as it is.
    #[must_use]
    pub fn list_untimed(
        &self,
        before: &BTreeMap<String, Timestamp>,
    ) -> BTreeMap<String, Timestamp> {
        // Without a readable template it is unknown whether there is a timeout.
        if self.policy.timeout.is_none() && self.policy_from != PolicyFrom::Nowhere {
            return BTreeMap::new();
        }
        let at_work = self.ledger.at_work();
        let first_seen = at_work.filter_map(|run| {
            let known = before.get(run.uid).copied();
            let since = match self.is_untimed(run.uid) {
                Some(true) if self.now.is_some() => {
                    known.filter(|at| !is_ahead(self, *at)).or(self.now)
                }
                Some(true) | None => known,
                Some(false) => None,
            };
            Some((run.uid.to_owned(), since?))
        });
        first_seen.collect()
    }

    /// Returns true if a run works but gives no start time; `None` if that is unknown.
    fn is_untimed(&self, uid: &str) -> Option<bool> {
        Some(match self.standing(uid)?.works {
            Works::Untimed => true,
            // Without a clock it is unknown whether that time is ahead.
            Works::Since(_) if self.now.is_none() => return None,
            Works::Since(at) => is_ahead(self, at),
            Works::SinceCreation | Works::NotYet => false,
        })
    }
}

/// Returns true if a time is ahead of the API server's clock: it comes from a fast clock, or was made up.
pub(crate) fn is_ahead(facts: &Facts, at: Timestamp) -> bool {
    facts
        .now
        .is_some_and(|now| at.duration_since(now) > LANDED_BY)
}
