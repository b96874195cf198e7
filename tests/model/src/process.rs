//! A worker's memory, as the controller's state, changed by the controller's own functions.

use std::time::Duration;

use cartouche_protocol::{
    evaluate::{digest_run, fetched_run},
    ledger::{CachedRun, FetchedRun, Ledger, RunIdentity},
    process_state::{ProcessState, UNOBSERVED_FOR, UnknownRun},
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time},
    jiff::{SignedDuration, Timestamp},
};

use crate::{
    cast::{NOW, YOUNG, run_of, run_uid},
    decisions::Decisions,
    mutant::Mutant,
    pool::StatusId,
    world::{Cached, Shown, Uid},
};

/// The time on the clock of every worker. It stands still: anything that began long ago began at zero.
pub(crate) const CLOCK: Duration = UNOBSERVED_FOR;

/// A worker's memory from one pass to the next, lost in a crash: the compact form of the controller's
/// `ProcessState`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Memory {
    /// The incarnation of the Runnable that this memory is about.
    pub owner: u8,
    /// See `ProcessState`.
    pub written: Option<u8>,
    /// See `ProcessState`.
    pub waits_for_cache: bool,
    /// The note of other writers at the time when the ledger proved to be ours.
    pub known_writers: u8,
    /// See `ProcessState`.
    pub wrote_ledger: bool,
    /// See `ProcessState`.
    pub reached_sequence: i64,
    /// See `ProcessState`.
    pub never_served: Option<bool>,
    /// See `ProcessState`.
    pub last_reported: Option<StatusId>,
    /// See `ProcessState`.
    pub without_ledger: Option<WithoutLedger>,
    /// See `ProcessState`.
    pub unobserved_run: Option<Awaited>,
    /// See `ProcessState`. Only where it takes time until a run counts as lost.
    pub missing: Option<Awaited>,
    /// See `ProcessState`.
    pub made: Option<Shown>,
    /// See `ProcessState`.
    pub unconfirmed: Option<Shown>,
    /// See `ProcessState`.
    pub unknown_runs: Vec<Unknown>,
    /// Watched kinds, as bits.
    pub kinds: u8,
    /// Runs that were stopped.
    pub told: Vec<Uid>,
    /// The pending change, as document and re-run request, and true if it has stayed the same for long
    /// enough. Only where that counts.
    pub due: Option<(u8, u8, bool)>,
}

/// Absence of the ledger, as a worker has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WithoutLedger {
    /// True if creates have settled.
    pub settled: bool,
    /// The resourceVersion that was seen without a ledger.
    pub version: u8,
}

/// A run that the worker waits to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Awaited {
    /// The run.
    pub run: Uid,
    /// True if the worker has waited for long enough.
    pub over: bool,
}

/// An object that claimed to be ahead of a ledger of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unknown {
    /// The object.
    pub run: Uid,
    /// The number that it claims.
    pub number: i64,
    /// True if it is older than any future intent.
    pub old: bool,
}

/// Returns the API server's notes of other writers of the status.
pub(crate) fn noted(cached: &Cached) -> Vec<ManagedFieldsEntry> {
    writers(if cached.noted { cached.writers } else { 0 })
}

/// Returns the note of the latest write by others.
fn writers(seconds: u8) -> Vec<ManagedFieldsEntry> {
    let other = ManagedFieldsEntry {
        manager: Some("restore".to_owned()),
        subresource: Some("status".to_owned()),
        time: Some(Time(noted_at(seconds))),
        ..ManagedFieldsEntry::default()
    };
    (seconds > 0).then_some(other).into_iter().collect()
}

/// Returns the time of a note. Each noted second is another.
pub(crate) fn noted_at(seconds: u8) -> Timestamp {
    NOW - SignedDuration::from_hours(1) + SignedDuration::from_mins(i64::from(seconds))
}

impl Decisions {
    /// Lets one of the controller's functions change a worker's memory.
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

    /// Returns the state that a memory stands for.
    fn state(&self, memory: &Memory) -> ProcessState {
        ProcessState {
            written: memory.written.map(u64::from),
            waits_for_cache: memory.waits_for_cache,
            known_writers: writers(memory.known_writers),
            wrote_ledger: memory.wrote_ledger,
            reached_sequence: memory.reached_sequence,
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
            unobserved_run: memory.unobserved_run.map(|awaited| {
                let since = if awaited.over { Duration::ZERO } else { CLOCK };
                (run_uid(awaited.run), since)
            }),
            missing: memory.missing.map(|awaited| {
                let until = if awaited.over { CLOCK } else { CLOCK * 2 };
                (run_uid(awaited.run), until)
            }),
            made: memory.made.and_then(|shown| self.as_made(&shown)),
            unconfirmed: memory.unconfirmed.and_then(|shown| self.made(&shown)),
            unknown_runs: memory.unknown_runs.iter().map(unknown_run).collect(),
            ..ProcessState::default()
        }
    }

    fn take_over(&self, memory: &mut Memory, state: &ProcessState) {
        let version = |text: &String| text.parse().unwrap_or_default();
        memory.written = state.written.and_then(|written| u8::try_from(written).ok());
        memory.waits_for_cache = state.waits_for_cache;
        memory.known_writers = (0..=u8::MAX)
            .find(|count| writers(*count) == state.known_writers)
            .unwrap_or_default();
        memory.wrote_ledger = state.wrote_ledger;
        memory.reached_sequence = state.reached_sequence;
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
        let awaited = |uid: &String, over| run_of(uid).map(|run| Awaited { run, over });
        let unobserved = state.unobserved_run.as_ref();
        memory.unobserved_run = unobserved.and_then(|(uid, since)| awaited(uid, since.is_zero()));
        let missing = state.missing.as_ref();
        memory.missing = missing.and_then(|(uid, until)| awaited(uid, *until <= CLOCK));
        memory.made = memory.made.filter(|_| state.made.is_some());
        let unknown = state.unknown_runs.iter();
        memory.unknown_runs = unknown.filter_map(remembered_unknown).collect();
        memory.unknown_runs.sort_unstable();
        memory.unconfirmed = memory.unconfirmed.filter(|_| state.unconfirmed.is_some());
    }

    /// Returns the answer to the create of a run.
    fn made(&self, shown: &Shown) -> Option<Box<FetchedRun>> {
        let (cast, make) = (&self.cast, &shown.make);
        let object = cast.object(&self.pool, shown.uid, make, shown.result);
        let compiled = &cast.document(make.document).compiled;
        fetched_run(compiled, &[], &object).map(Box::new)
    }

    fn as_made(&self, shown: &Shown) -> Option<CachedRun> {
        self.made(shown).map(|made| CachedRun::from_fetched(&made))
    }

    /// Returns the identity of a run.
    pub(crate) fn identity(&self, shown: &Shown) -> Option<RunIdentity> {
        let object = self
            .cast
            .object(&self.pool, shown.uid, &shown.make, shown.result);
        RunIdentity::from_object(&object)
    }

    /// Returns a run as a watch keeps it, beside this status.
    pub(crate) fn seen(&self, status: StatusId, shown: &Shown, deleted: bool) -> Option<CachedRun> {
        let object = self
            .cast
            .object(&self.pool, shown.uid, &shown.make, shown.result);
        let compiled = &self.cast.document(shown.make.document).compiled;
        let history = &self.pool.stored(status).history;
        let run = RunIdentity::from_object(&object)?;
        Some(digest_run(Some(compiled), history, run, &object, deleted))
    }

    /// Returns the ledger of a status.
    pub(crate) fn ledger(&self, status: StatusId) -> Ledger {
        Ledger::from_status(&self.pool.stored(status))
    }
}

fn unknown_run(unknown: &Unknown) -> (String, UnknownRun) {
    let created = if unknown.old { NOW - YOUNG } else { NOW };
    let (created, sequence) = (Some(created), unknown.number);
    (run_uid(unknown.run), UnknownRun { created, sequence })
}

fn remembered_unknown((uid, known): (&String, &UnknownRun)) -> Option<Unknown> {
    let age = known.created.map(|created| NOW.duration_since(created));
    Some(Unknown {
        run: run_of(uid)?,
        number: known.sequence,
        old: age.is_some_and(|age| age >= YOUNG),
    })
}
