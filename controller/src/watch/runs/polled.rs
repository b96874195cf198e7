//! Runs of kinds that may not be watched, as lists show them.

use std::collections::HashSet;

use cartouche_protocol::ledger::CachedRun;
use k8s_openapi::jiff::Timestamp;

use super::{Runs, Uid, short};
use crate::{lock::lock, runnable_key::RunnableKey, watched_kind::Watched};

/// A complete list of the runs of one kind and one Runnable.
pub struct Poll<'a> {
    /// Kind of the runs.
    pub watched: &'a Watched,
    /// Key and uid of the Runnable.
    pub owner: (&'a RunnableKey, &'a str),
    /// All runs that it controls.
    pub found: &'a [CachedRun],
    /// Number of its current run.
    pub current: i64,
    /// Time of the API server.
    pub at: Option<Timestamp>,
}

impl Runs {
    /// Records a complete list. What it has exists and what it lacks does not, as after the first list of a watch; the
    /// runs that `keep` accepts are kept. A run that was unfinished in the list before may have ended since and been
    /// removed after that: unlike a watch, a list never shows the deletion of an unfinished run.
    pub fn record_poll(&self, poll: &Poll<'_>, keep: impl Fn(&CachedRun) -> bool) {
        let (key, owner) = (poll.owner.0, short(poll.owner.1));
        let mut inner = lock(&self.inner);
        let live = inner.live.entry(poll.watched.clone()).or_default();
        // A set, since users who may create the kind decide how many there are.
        let found: HashSet<Uid> = poll.found.iter().map(|it| short(&it.run.uid)).collect();
        let mut gone: HashSet<Uid> = HashSet::new();
        live.retain(|run, of| {
            let stays = *of != owner || found.contains(run);
            if !stays {
                gone.insert(*run);
            }
            stays
        });
        live.extend(found.into_iter().map(|run| (run, owner)));
        let polled = inner.polled.entry(poll.watched.clone()).or_default();
        match poll.at {
            Some(at) => polled.insert(owner, at),
            None => polled.remove(&owner),
        };
        if let Some(owner) = inner.owners.get_mut(&owner) {
            owner.record_loss(&gone);
        }
        for seen in poll.found.iter().filter(|seen| keep(seen)) {
            self.put(&mut inner, owner, key, seen.clone(), poll.current);
        }
    }

    /// Returns the time at which the runs of a Runnable were last listed completely.
    #[must_use]
    pub fn polled_at(&self, watched: &Watched, runnable_uid: &str) -> Option<Timestamp> {
        let inner = lock(&self.inner);
        let polled = inner.polled.get(watched)?;
        polled.get(&short(runnable_uid)).copied()
    }

    /// Forgets the runs of a kind that is not followed any more. If one were kept as existing, no list of a later watch
    /// would show its deletion.
    pub fn close(&self, watched: &Watched) {
        let mut inner = lock(&self.inner);
        inner.polled.remove(watched);
        let live = inner.live.remove(watched).unwrap_or_default();
        inner.vanished(live.into_iter());
    }
}
