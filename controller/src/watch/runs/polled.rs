//! What lists show of runs whose kind may not be watched.

use std::collections::HashSet;

use cartouche_protocol::ledger::CachedRun;
use k8s_openapi::jiff::Timestamp;

use super::{Runs, Uid, short};
use crate::{lock::lock, runnable_key::RunnableKey, watched_kind::Watched};

/// A complete list of the runs of one kind and one Runnable.
pub struct Poll<'a> {
    /// The kind.
    pub watched: &'a Watched,
    /// The Runnable.
    pub owner: (&'a RunnableKey, &'a str),
    /// The runs that it controls: all that there are.
    pub found: &'a [CachedRun],
    /// The number of its current run.
    pub current: i64,
    /// The API server's time.
    pub at: Option<Timestamp>,
}

impl Runs {
    /// Takes a complete list in. What it has exists and what it lacks does not, as after the first list
    /// of a watch; of the runs that it has, those are remembered that are to be kept. A run that was
    /// unfinished in the list before may have ended since and been removed after that: unlike a watch, a
    /// list never shows a run go unfinished.
    pub fn polled(&self, poll: &Poll<'_>, keep: impl Fn(&CachedRun) -> bool) {
        let (key, owner) = (poll.owner.0, short(poll.owner.1));
        let mut inner = lock(&self.inner);
        let live = inner.live.entry(poll.watched.clone()).or_default();
        // Whoever may create the kind decides how many there are.
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
            owner.vanished(&gone);
        }
        for seen in poll.found.iter().filter(|seen| keep(seen)) {
            self.put(&mut inner, owner, key, seen.clone(), poll.current);
        }
    }

    /// When the runs of a Runnable were last listed completely.
    #[must_use]
    pub fn polled_at(&self, watched: &Watched, runnable_uid: &str) -> Option<Timestamp> {
        let inner = lock(&self.inner);
        let polled = inner.polled.get(watched)?;
        polled.get(&short(runnable_uid)).copied()
    }

    /// Nobody follows this kind any more: what is known of its runs is forgotten. Were one kept as being there, no
    /// list of a later watch would say that it went.
    pub fn close(&self, watched: &Watched) {
        let mut inner = lock(&self.inner);
        inner.polled.remove(watched);
        let live = inner.live.remove(watched).unwrap_or_default();
        inner.vanished(live.into_iter());
    }
}
