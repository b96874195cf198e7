//! Since when runs work, which is not when they were made where a queue holds them.

use std::collections::BTreeMap;

use cartouche_templating::kinds::{Standing, Works};
use k8s_openapi::jiff::Timestamp;

use super::{Facts, PolicyFrom};
use crate::ledger::{AtWork, LANDED_BY};

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
    /// were known. What could not be looked at is as it was.
    #[must_use]
    pub fn untimed(&self, before: &BTreeMap<String, Timestamp>) -> BTreeMap<String, Timestamp> {
        // Without a template that can be read nothing tells whether there is a timeout.
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

    /// Whether a run works and does not say since when; `None` where nothing tells.
    fn is_untimed(&self, uid: &str) -> Option<bool> {
        Some(match self.standing(uid)?.works {
            Works::Untimed => true,
            // Without a clock nothing tells whether it is ahead.
            Works::Since(_) if self.now.is_none() => return None,
            Works::Since(at) => is_ahead(self, at),
            Works::SinceCreation | Works::NotYet => false,
        })
    }
}

/// Whether a time has not come yet: it is of a clock that was fast, or of nobody.
pub(crate) fn is_ahead(facts: &Facts, at: Timestamp) -> bool {
    facts
        .now
        .is_some_and(|now| at.duration_since(now) > LANDED_BY)
}
