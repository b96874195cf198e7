//! Runs that were seen of one Runnable, and the limits of what is kept of them.

use std::collections::HashSet;

use cartouche_protocol::ledger::CachedRun;

use super::{Uid, short};
use crate::runnable_key::RunnableKey;

/// Maximum number of existing runs of one Runnable that are kept. Any user with access may create objects that look
/// like runs, and while a run is refused or waits they cannot be distinguished from those that matter.
pub(super) const MOST: usize = 1_000;
/// Number of further runs before some are dropped: the choice takes a walk over all.
pub(super) const SLACK: usize = MOST / 10;

/// A Runnable whose runs were seen.
pub(super) struct RunOwner {
    pub(super) key: RunnableKey,
    pub(super) cached_runs: Vec<CachedRun>,
    /// True once the log shows that some were dropped.
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

    /// Keeps a cached run. Returns true if it is news.
    pub(super) fn put(&mut self, cached_run: CachedRun) -> bool {
        let uid = &cached_run.run.uid;
        let known = self.cached_runs.iter_mut().find(|it| it.run.uid == *uid);
        match known {
            Some(known) if *known == cached_run => {
                // A read for this run must not be older than what was shown last, news or not.
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

    /// Drops what was seen of a run that the watch no longer shows; a deletion that was seen stays.
    pub(super) fn unsee(&mut self, run: Uid) {
        self.cached_runs
            .retain(|it| it.deleted || short(&it.run.uid) != run);
    }

    /// Records that runs are gone without an event. The result of a run that was seen to end stays known. An
    /// unfinished one may have ended since, so it is dropped.
    pub(super) fn record_loss(&mut self, runs: &HashSet<Uid>) {
        let is_gone = |it: &CachedRun| runs.contains(&short(&it.run.uid));
        self.cached_runs
            .retain(|it| it.deleted || it.is_finished() || !is_gone(it));
        for it in self.cached_runs.iter_mut().filter(|it| is_gone(it)) {
            it.deleted = true;
        }
    }

    /// Drops the surplus and returns its size.
    ///
    /// The numbers next to the current one stay: one that is ahead of the ledger has all runs listed, and is recognized
    /// as an unknown run when its number is given. Any other object that exists is also found by its name, by a read or
    /// by a create that finds the name taken, and its watch shows its deletion once more. A deletion that was seen has
    /// no other source; a run of which it is forgotten is `Lost`.
    pub(super) fn make_room(&mut self, current: i64) -> usize {
        let dropped = self.drop_farthest(false, current) + self.drop_farthest(true, current);
        if dropped > 0 && !std::mem::replace(&mut self.logged, true) {
            tracing::warn!(
                namespace = self.key.namespace,
                runnable = self.key.name,
                most = MOST,
                "more objects claim to be runs of a Runnable than the controller keeps in memory: it checks some only by their names"
            );
        }
        dropped
    }

    /// Drops the surplus of existing runs, or of those that were seen to be deleted. Returns its size.
    fn drop_farthest(&mut self, deleted: bool, current: i64) -> usize {
        let concerned = || self.cached_runs.iter().filter(|it| it.deleted == deleted);
        // The count is taken at each event, the ranking only once in a while.
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
        // Of those at the last distance that is dropped, some may stay.
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
