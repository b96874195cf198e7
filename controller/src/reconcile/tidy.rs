//! The end of a pass: what is not needed any more goes, and what only time can tell gets a time.

use std::time::Duration;

use cartouche_protocol::facts::{NameRead, WatchState, is_needed};

use super::{WITNESSED_WITHIN, pass::Pass, watched::AWAITED_FOR};
use crate::{clock::boot_time, events::Occasion, memory::lock, watch::Watched};

impl Pass<'_> {
    /// The pause of polling, while a kind that matters may not be watched, or discovery fails for it; and
    /// a word about it, once.
    pub(super) fn polling(&self) -> Option<Duration> {
        let mut memory = lock(&self.memory);
        let watches = &self.own.watches;
        let is_polled = |watched: &&Watched| watches.state(watched) == WatchState::Polled;
        if self.unfound.is_empty() {
            memory.watched.iter().find(is_polled)?;
        }
        // Of one that fails a condition speaks, for as long as it does.
        let barred = |watched: &&Watched| is_polled(watched) && watches.failing(watched).is_none();
        let barred = memory.watched.iter().find(barred).cloned();
        if let Some(polled) = barred
            && !std::mem::replace(&mut memory.said_polling, true)
        {
            let message = format!(
                "{} cannot be watched by the controller and is looked at every {} s as the Runnable's ServiceAccount: let the controller list and \
                 watch it, by a ClusterRole with the label carto.run/aggregate-to-controller: \"true\"",
                polled.kind.resource(),
                self.own.poll.as_secs(),
            );
            let occasion = Occasion::Warning {
                reason: "KindNotWatched".to_owned(),
                message,
            };
            self.own
                .events
                .publish(&self.runnable, &occasion, self.facts.now);
        }
        // Those that begin together do not stay together.
        Some(self.own.poll.mul_f64(0.9 + 0.2 * fastrand::f64()))
    }

    /// The watch tells nothing of the current run: the label that it selects by was taken off it, or its owner.
    pub(super) fn is_out_of_sight(&self) -> bool {
        let current = self.facts.ledger.current.as_ref();
        let unfinished = current.filter(|current| current.result.is_none());
        let uid = unfinished.and_then(|current| current.uid.as_deref());
        uid.is_some_and(|uid| {
            let sighting = self.facts.sighting(uid);
            sighting.is_none_or(|sighting| sighting.deleted)
        })
    }

    /// Drops what does not matter any more.
    pub(super) fn tidy(&self) {
        let ledger = &self.facts.ledger;
        let Some(current) = &ledger.current else {
            return;
        };
        let uid = &self.facts.runnable.uid;
        let mut strangers = Vec::new();
        self.own.runs.retain(uid, |sighting| {
            let (run, deleted) = (&sighting.run, sighting.deleted);
            let needed = is_needed(ledger, self.facts.is_latest(), uid, run, deleted);
            if !needed && !deleted && !ledger.knows(&run.uid) {
                strangers.push(run.clone());
            }
            needed
        });
        self.tell_of_strangers(current, &strangers);
        let mut memory = lock(&self.memory);
        let over = |(awaited, since): &(String, Duration)| {
            current.uid.as_ref() != Some(awaited)
                || self.facts.sighting(awaited).is_some()
                || boot_time().saturating_sub(*since) >= AWAITED_FOR
        };
        if memory.awaited.as_ref().is_some_and(over) {
            memory.awaited = None;
        }
        let running = current.uid.as_deref().filter(|_| current.result.is_none());
        memory
            .missing
            .take_if(|(missing, _)| running != Some(missing));
    }

    /// An earlier run could not be read for want of a right, which may be given back.
    pub(super) fn denied(&self) -> Option<Duration> {
        let mut reads = self.facts.reads.values();
        reads
            .any(|read| *read == NameRead::Denied)
            .then_some(self.own.poll)
    }

    /// The current run was found missing: how long another's word is waited for is remembered.
    pub(super) fn miss(&self) {
        let mut memory = lock(&self.memory);
        let uid = self.current_uid();
        if let Some(uid) = uid
            && memory
                .missing
                .as_ref()
                .is_none_or(|(missing, _)| missing != uid)
        {
            // Another controller that polls too sees it go with its next list.
            let list = match self.facts.watch {
                WatchState::Polled => self.own.poll,
                WatchState::Starting | WatchState::Synced => Duration::ZERO,
            };
            let until = boot_time() + WITNESSED_WITHIN + list;
            memory.missing = Some((uid.to_owned(), until));
        }
    }

    /// How long whoever saw the missing current run go may still take to record that. `None` if it
    /// was not found missing.
    pub(super) fn witness(&self) -> Option<Duration> {
        let memory = lock(&self.memory);
        let (missing, until) = memory.missing.as_ref()?;
        (Some(missing.as_str()) == self.current_uid()).then(|| until.saturating_sub(boot_time()))
    }

    fn current_uid(&self) -> Option<&str> {
        self.facts.ledger.current.as_ref()?.uid.as_deref()
    }

    /// When a run that no watch has shown yet is looked for.
    pub(super) fn search(&self) -> Option<Duration> {
        let awaited = lock(&self.memory)
            .awaited
            .as_ref()
            .map(|(_, since)| *since)?;
        let left = (awaited + AWAITED_FOR).saturating_sub(boot_time());
        // When that is over, this pass has looked for it already.
        (!left.is_zero()).then_some(left)
    }
}
