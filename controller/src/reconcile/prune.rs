//! The end of a reconciliation: drops what is no longer needed, and schedules what depends on time.

use std::time::Duration;

use cartouche_crds::AGGREGATE_LABEL;
use cartouche_protocol::{
    facts::{NameRead, WatchState},
    process_state::is_needed,
};
use k8s_openapi::jiff::SignedDuration;

use super::reconciliation::{Reconciliation, SECOND};
use crate::{
    backoff::TENTH, clock::boot_time, events::WarningReason, lock::lock, watched_kind::Watched,
};

/// Interval of looks at the API server's clock while something waits for a time.
pub(super) const CLOCK_LOOK: Duration = Duration::from_mins(5);

impl Reconciliation<'_> {
    /// Returns the polling interval while a relevant kind may not be watched, or discovery fails for it. Publishes an
    /// event about it once.
    pub(super) fn polling(&self) -> Option<Duration> {
        let mut memory = lock(&self.memory);
        let watches = &self.ctx.watches;
        let is_polled = |watched: &&Watched| watches.state(watched) == WatchState::Polled;
        if self.unfound.is_empty() {
            memory.watched.iter().find(is_polled)?;
        }
        // A failing watch has a condition for as long as it fails.
        let barred = |watched: &&Watched| is_polled(watched) && watches.failing(watched).is_none();
        let barred = memory.watched.iter().find(barred).cloned();
        if let Some(polled) = barred
            && !std::mem::replace(&mut memory.reported_polling, true)
        {
            let message = format!(
                "the controller may not watch {} and polls it every {} s as the Runnable's ServiceAccount: let the controller list and \
                 watch it, by a ClusterRole with the label {AGGREGATE_LABEL}: \"true\"",
                polled.kind.resource(),
                self.ctx.poll.as_secs(),
            );
            self.publish_warning(WarningReason::KindNotWatched.as_str(), message);
        }
        // Spread, so that Runnables that begin together do not stay together.
        Some(TENTH.over(self.ctx.poll))
    }

    /// Returns true if the watch shows nothing of an unfinished run: it is gone, or the label that the watch selects by
    /// was removed, or its owner.
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

    /// Drops cached runs and memory that no longer matter, and reports unknown runs.
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

    /// Returns the polling interval if an earlier run could not be read for lack of a permission, which may be granted
    /// again.
    pub(super) fn poll_denied(&self) -> Option<Duration> {
        let mut reads = self.facts.reads.values();
        reads
            .any(|read| *read == NameRead::Denied)
            .then_some(self.ctx.poll)
    }

    /// Notes that the current run was found missing, and for how long another controller's report is awaited.
    pub(super) fn note_missing(&self) {
        // Another controller that polls too sees the run disappear with its next list.
        let list = match self.facts.watch {
            WatchState::Polled => self.ctx.poll,
            WatchState::Starting | WatchState::Synced => Duration::ZERO,
        };
        let mut memory = lock(&self.memory);
        memory
            .state
            .note_missing(&self.facts.ledger, list, boot_time());
    }

    /// Returns the time until the next attempt after a failure, or until the next look at the server's clock, which may
    /// be set meanwhile. An attempt that became due during an unsettled reconciliation needs none.
    pub(super) fn next_attempt(&self, settled: bool) -> Option<Duration> {
        let ahead = self.facts.policy.ahead(&self.facts.ledger)?;
        let Some(now) = self.facts.now else {
            return Some(CLOCK_LOOK);
        };
        let left = ahead.at.duration_since(now).max(SignedDuration::ZERO);
        let is_due = left.is_zero() && !settled;
        (!is_due).then(|| (left.unsigned_abs() + SECOND).min(CLOCK_LOOK))
    }

    /// Returns the time left to wait for another controller's report about the missing run, and for the watch to show
    /// the created run. Once that is over, this reconciliation has looked already.
    pub(super) fn waits(&self) -> [Option<Duration>; 2] {
        let (memory, now) = (lock(&self.memory), boot_time());
        let grace = memory.state.grace_left(&self.facts.ledger, now);
        let unobserved = memory.state.find_unobserved(now).map(|(_, left)| left);
        [grace.filter(|left| !left.is_zero()), unobserved]
    }
}
