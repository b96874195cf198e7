//! What a worker remembers, as the state that the controller keeps: its own functions change it.

use std::time::Duration;

use cartouche_protocol::{
    evaluate::fetched_run,
    ledger::{FetchedRun, Ledger},
    process_state::{CREATES_SETTLE_IN, ProcessState},
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time},
    jiff::SignedDuration,
};

use crate::{
    cast::{NOW, run_of, run_uid},
    decisions::Decisions,
    mutant::Mutant,
    world::{Memory, Shown, WithoutLedger},
};

/// The time on the clock of every worker. It stands still: what began long ago, began at zero.
pub(crate) const CLOCK: Duration = CREATES_SETTLE_IN;

/// Who has written the status, when others have so often. Each time is noted anew.
pub(crate) fn writers(count: u8) -> Vec<ManagedFieldsEntry> {
    let other = |count: u8| ManagedFieldsEntry {
        manager: Some("restore".to_owned()),
        subresource: Some("status".to_owned()),
        time: Some(Time(NOW - SignedDuration::from_mins(i64::from(count)))),
        ..ManagedFieldsEntry::default()
    };
    (count > 0).then(|| other(count)).into_iter().collect()
}

impl Decisions {
    /// Has one of the controller's functions change what a worker remembers.
    pub(crate) fn remember<T>(
        &self,
        mutant: Mutant,
        memory: &mut Memory,
        change: impl FnOnce(&mut ProcessState) -> T,
    ) -> T {
        let mut state = self.state(memory);
        let answer = change(&mut state);
        mutant.bend_state(&mut state);
        self.take_over(memory, &state);
        answer
    }

    /// The state that a memory stands for.
    fn state(&self, memory: &Memory) -> ProcessState {
        ProcessState {
            written: memory.written.map(u64::from),
            known_writers: writers(memory.known_writers),
            wrote_ledger: memory.wrote_ledger,
            last_written_sequence: memory.last_written_sequence,
            never_served: memory.never_served,
            last_reported: memory.last_reported.map(|status| self.pool.stored(status)),
            without_ledger: memory.without_ledger.map(|without| {
                let since = if without.settled {
                    Duration::ZERO
                } else {
                    CLOCK
                };
                (since, without.version.to_string())
            }),
            unobserved_run: memory.unobserved_run.map(|run| (run_uid(run), CLOCK)),
            unconfirmed: memory.unconfirmed.and_then(|shown| self.made(&shown)),
            ..ProcessState::default()
        }
    }

    fn take_over(&self, memory: &mut Memory, state: &ProcessState) {
        let version = |text: &String| text.parse().unwrap_or_default();
        memory.written = state.written.and_then(|written| u8::try_from(written).ok());
        memory.known_writers = (0..=u8::MAX)
            .find(|count| writers(*count) == state.known_writers)
            .unwrap_or_default();
        memory.wrote_ledger = state.wrote_ledger;
        memory.last_written_sequence = state.last_written_sequence;
        memory.never_served = state.never_served;
        memory.last_reported = state
            .last_reported
            .as_ref()
            .map(|status| self.pool.status(status));
        memory.without_ledger = state
            .without_ledger
            .as_ref()
            .map(|(since, seen)| WithoutLedger {
                settled: since.is_zero(),
                version: version(seen),
            });
        let unobserved = state.unobserved_run.as_ref();
        memory.unobserved_run = unobserved.and_then(|(uid, _)| run_of(uid));
        memory.unconfirmed = memory.unconfirmed.filter(|_| state.unconfirmed.is_some());
    }

    /// The answer to the create of a run.
    fn made(&self, shown: &Shown) -> Option<Box<FetchedRun>> {
        let (cast, make) = (&self.cast, &shown.make);
        let object = cast.object(&self.pool, shown.uid, make, shown.result);
        let compiled = &cast.document(make.document).compiled;
        fetched_run(compiled, &[], &object).map(Box::new)
    }

    /// The ledger of a status.
    pub(crate) fn ledger(&self, status: crate::pool::StatusId) -> Ledger {
        Ledger::of(&self.pool.stored(status))
    }
}
