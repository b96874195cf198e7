//! The end of a reconciliation: what is not needed any more goes, and what only time can tell gets a time.

use std::time::Duration;

use cartouche_protocol::{
    facts::{NameRead, WatchState},
    process_state::is_needed,
};
use k8s_openapi::jiff::SignedDuration;

use super::reconciliation::{Reconciliation, SECOND};
use crate::{backoff::TENTH, clock::boot_time, lock::lock, watched_kind::Watched};

/// How often the API server's clock is looked at while something waits for a time.
pub(super) const CLOCK_LOOK: Duration = Duration::from_mins(5);

impl Reconciliation<'_> {
    /// The pause of polling, while a kind that matters may not be watched, or discovery fails for it; and
    /// an event about it, once.
    pub(super) fn polling(&self) -> Option<Duration> {
        let mut memory = lock(&self.memory);
        let watches = &self.ctx.watches;
        let is_polled = |watched: &&Watched| watches.state(watched) == WatchState::Polled;
        if self.unfound.is_empty() {
            memory.watched.iter().find(is_polled)?;
        }
        // Of one that fails a condition speaks, for as long as it does.
        let barred = |watched: &&Watched| is_polled(watched) && watches.failing(watched).is_none();
        let barred = memory.watched.iter().find(barred).cloned();
        if let Some(polled) = barred
            && !std::mem::replace(&mut memory.reported_polling, true)
        {
            let message = format!(
                "{} cannot be watched by the controller and is looked at every {} s as the Runnable's ServiceAccount: let the controller list and \
                 watch it, by a ClusterRole with the label carto.run/aggregate-to-controller: \"true\"",
                polled.kind.resource(),
                self.ctx.poll.as_secs(),
            );
            self.publish_warning("KindNotWatched", message);
        }
        // Those that begin together do not stay together.
        Some(TENTH.over(self.ctx.poll))
    }

    /// The watch tells nothing of a run that has not ended: it is gone, or the label that the watch selects by was taken
    /// off it, or its owner.
    pub(super) fn is_out_of_sight(&self) -> bool {
        let mut unfinished = self
            .facts
            .ledger
            .runs()
            .filter(|(.., result)| result.is_none());
        unfinished.any(|(_, uid, _)| {
            uid.is_some_and(|uid| {
                let cached_run = self.facts.cached_run(uid);
                cached_run.is_none_or(|cached_run| cached_run.deleted)
            })
        })
    }

    /// Drops what does not matter any more.
    pub(super) fn prune(&self) {
        let ledger = &self.facts.ledger;
        let Some(current) = &ledger.current else {
            return;
        };
        let uid = &self.facts.runnable.uid;
        let mut unknown_runs = Vec::new();
        self.ctx.runs.retain(uid, |cached_run| {
            let (run, deleted) = (&cached_run.run, cached_run.deleted);
            let needed = is_needed(ledger, self.facts.is_latest(), uid, run, deleted);
            if !needed && !deleted && !ledger.knows(&run.uid) {
                unknown_runs.push(run.clone());
            }
            needed
        });
        self.report_unknown_runs(current, &unknown_runs);
        lock(&self.memory).state.prune(
            ledger,
            |uid| self.facts.cached_run(uid).is_some(),
            boot_time(),
        );
    }

    /// An earlier run could not be read for want of a permission, which may be granted again.
    pub(super) fn denied(&self) -> Option<Duration> {
        let mut reads = self.facts.reads.values();
        reads
            .any(|read| *read == NameRead::Denied)
            .then_some(self.ctx.poll)
    }

    /// The current run was found missing: how long another's report is waited for is remembered.
    pub(super) fn note_missing(&self) {
        // Another controller that polls too sees it go with its next list.
        let list = match self.facts.watch {
            WatchState::Polled => self.ctx.poll,
            WatchState::Starting | WatchState::Synced => Duration::ZERO,
        };
        let mut memory = lock(&self.memory);
        memory
            .state
            .note_missing(&self.facts.ledger, list, boot_time());
    }

    /// How long until the next attempt at what failed. The server's clock may be set meanwhile: it is looked at now and
    /// then. It goes on in a reconciliation, too: where nothing was left to do, the time had not come, but may have since.
    pub(super) fn next_attempt(&self, settled: bool) -> Option<Duration> {
        let ahead = self.facts.policy.ahead(&self.facts.ledger)?;
        let Some(now) = self.facts.now else {
            return Some(CLOCK_LOOK);
        };
        let left = ahead.at.duration_since(now).max(SignedDuration::ZERO);
        let is_due = left.is_zero() && !settled;
        (!is_due).then(|| (left.unsigned_abs() + SECOND).min(CLOCK_LOOK))
    }

    /// How long is waited for another's report about the missing run, and for the watch to show the one that
    /// was made. When that is over, this reconciliation has looked for it already.
    pub(super) fn waits(&self) -> [Option<Duration>; 2] {
        let (memory, now) = (lock(&self.memory), boot_time());
        let grace = memory.state.grace_left(&self.facts.ledger, now);
        let unobserved = memory.state.unobserved(now).map(|(_, left)| left);
        [grace.filter(|left| !left.is_zero()), unobserved]
    }
}
