//! What was seen of the runs of one Runnable, and how much of it is kept.

use std::collections::HashSet;

use cartouche_protocol::ledger::CachedRun;

use super::{Uid, short};
use crate::runnable_key::RunnableKey;

/// Runs of one Runnable that are there and kept in mind at most. Anybody may put objects there that look like
/// some, and while a run is refused or waits none of them can be set apart from those that matter.
pub(super) const MOST: usize = 1_000;
/// So many more may come before some are dropped: to choose them takes a walk over all.
pub(super) const SLACK: usize = MOST / 10;

/// A Runnable whose runs were seen.
pub(super) struct RunOwner {
    pub(super) key: RunnableKey,
    pub(super) cached_runs: Vec<CachedRun>,
    /// That some were dropped is in the log.
    logged: bool,
}

impl RunOwner {
    pub(super) fn new(key: RunnableKey) -> Self {
        Self {
            key,
            cached_runs: Vec::new(),
            logged: false,
        }
    }

    /// Keeps a cached run. Whether it is news.
    pub(super) fn put(&mut self, cached_run: CachedRun) -> bool {
        let uid = &cached_run.run.uid;
        let known = self.cached_runs.iter_mut().find(|it| it.run.uid == *uid);
        match known {
            Some(known) if *known == cached_run => {
                // A read for its sake must not be older than what was shown last, news or not.
                known.version = cached_run.version;
                known.pods_tell = cached_run.pods_tell;
                known.standing = cached_run.standing;
                return false;
            }
            Some(known) => *known = cached_run,
            None => self.cached_runs.push(cached_run),
        }
        true
    }

    /// Drops what was seen of a run that is heard of no more; that it went stays.
    pub(super) fn unsee(&mut self, run: Uid) {
        self.cached_runs
            .retain(|it| it.deleted || short(&it.run.uid) != run);
    }

    /// Runs are not there any more, and nothing showed them go. How one ended that was seen to end stays known;
    /// one that was unfinished may have ended since, so of it nothing is.
    pub(super) fn vanished(&mut self, runs: &HashSet<Uid>) {
        let is_gone = |it: &CachedRun| runs.contains(&short(&it.run.uid));
        self.cached_runs
            .retain(|it| it.deleted || it.finished() || !is_gone(it));
        for it in self.cached_runs.iter_mut().filter(|it| is_gone(it)) {
            it.deleted = true;
        }
    }

    /// Drops what is too much, and says how much that was.
    ///
    /// The numbers next to the current one stay: one that is ahead of the ledger has all runs listed, and is
    /// known for an unknown run when its number is given. Whatever else hangs on an object that is there is found
    /// out by its name as well, by a read or by a create that finds the name taken, and when it goes its watch
    /// shows it once more. What was seen to go is all that says so; a run of which it is forgotten
    /// is `Lost`.
    pub(super) fn make_room(&mut self, current: i64) -> usize {
        let dropped = self.drop_farthest(false, current) + self.drop_farthest(true, current);
        if dropped > 0 && !std::mem::replace(&mut self.logged, true) {
            tracing::warn!(
                namespace = self.key.namespace,
                runnable = self.key.name,
                most = MOST,
                "more objects claim to be runs of a Runnable than are kept in mind: some are looked at only by their names"
            );
        }
        dropped
    }

    /// The same of those that are there, or of those that were seen to go.
    fn drop_farthest(&mut self, deleted: bool, current: i64) -> usize {
        let concerned = || self.cached_runs.iter().filter(|it| it.deleted == deleted);
        // It is counted at each event, and ranked once in a while.
        if concerned().count() < MOST + SLACK {
            return 0;
        }
        let distance = |it: &CachedRun| {
            let owner = it.run.owner_uid.as_deref().unwrap_or_default();
            let number = it.run.genuine_sequence(owner);
            number.map_or(u64::MAX, |number| number.abs_diff(current))
        };
        let mut distances: Vec<u64> = concerned().map(distance).collect();
        distances.sort_unstable_by_key(|distance| std::cmp::Reverse(*distance));
        let surplus = distances.len() - MOST;
        // Of those at the last distance that goes, some may stay.
        let last = distances[surplus - 1];
        let farther = distances.partition_point(|distance| *distance > last);
        let mut left = surplus - farther;
        self.cached_runs.retain(|it| {
            if it.deleted != deleted || distance(it) < last {
                return true;
            }
            let stays = distance(it) == last && left == 0;
            left -= usize::from(!stays && distance(it) == last);
            stays
        });
        surplus
    }
}
