//! Memory of a process about one Runnable, as decisions need it, and its changes. All of it may be lost: a
//! restart costs some reads and some patience, never a run.
//!
//! Times are durations on one clock that continues while the machine sleeps; resourceVersions are those of
//! the Runnable.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use cartouche_crds::{FIELD_MANAGER, RunPhase, RunnableStatus};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
    jiff::{SignedDuration, Timestamp},
};

use crate::{
    facts::{CreateOutcome, LedgerState, Remembered, served_before},
    ledger::{CREATES_SETTLE_IN, CachedRun, Change, FetchedRun, Ledger, RunIdentity},
};

/// Time for which a controller that did not see the current run go waits for one that did.
pub const GRACE_PERIOD: Duration = Duration::from_secs(10);
/// Time for which a new run may stay unseen by its watch before it is looked for: the watch may have
/// restarted in that very moment.
pub const UNOBSERVED_FOR: Duration = Duration::from_mins(1);
/// Age of the latest note about writers of a status within which the same note may be of another write:
/// notes have whole seconds.
const NOTED_WITHIN: SignedDuration = SignedDuration::from_secs(2);
/// Maximum number of unknown runs remembered for one Runnable, so that none is taken for the run whose name
/// it holds.
const MAX_UNKNOWN_RUNS: usize = 10_000;
/// Age at which an object is older than any later intent, whatever the clocks.
const YOUNG_FOR: SignedDuration = SignedDuration::from_mins(5);

/// Memory of a process about one Runnable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessState {
    /// `resourceVersion` of our latest write of the status.
    pub written: Option<u64>,
    /// True if a reconciliation ended because the cache was older than that write. The watch event with the
    /// write then has to enqueue the Runnable.
    pub waits_for_cache: bool,
    /// Other writers of the status, as they were noted when the ledger proved to be ours.
    pub known_writers: Vec<ManagedFieldsEntry>,
    /// True if we wrote a ledger.
    pub wrote_ledger: bool,
    /// Highest current number in the ledgers that we have read since our last write, or since the existing
    /// runs were last compared with the ledger; that ledger counts too. A write whose answer was lost is
    /// read, too, before anything is made of it.
    pub reached_sequence: i64,
    /// `Some(true)` if this process saw the Runnable before any controller had written its status, and
    /// since then only its own status, without a ledger: then no request for it can be on its way. `None`
    /// before the first reconciliation.
    pub never_served: Option<bool>,
    /// Our latest write of the status, if it had no ledger.
    pub last_reported: Option<Arc<RunnableStatus>>,
    /// Time since which there is no ledger, and the resourceVersion that was seen without it.
    pub without_ledger: Option<(Duration, String)>,
    /// Uid of the run that we made and no watch has shown yet, and the time of its confirmation.
    pub unobserved_run: Option<(String, Duration)>,
    /// Uid of the current run that was found missing, and the time until which another controller may
    /// report that it saw it go.
    pub missing: Option<(String, Duration)>,
    /// Run as the answer to its create showed it, until its watch shows it.
    pub made: Option<CachedRun>,
    /// Run whose create was answered and that is still to be confirmed in the ledger.
    pub unconfirmed: Option<Box<FetchedRun>>,
    /// Objects that claimed to be ahead of a ledger of ours, by uid.
    pub unknown_runs: BTreeMap<String, UnknownRun>,
    /// Uids of the old runs that retention has deleted, as long as the history has them. A run kept by a
    /// finalizer is not deleted or reported again.
    pub retired: BTreeSet<String>,
}

/// Object that claimed to be ahead of a ledger of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRun {
    /// Creation time.
    pub created: Option<Timestamp>,
    /// Number that it claims.
    pub sequence: i64,
}

/// Status of a Runnable at the start of a reconciliation.
#[derive(Clone, Copy, Debug)]
pub struct StoredStatus<'a> {
    /// Stored status.
    pub status: &'a RunnableStatus,
    /// `resourceVersion` of the Runnable that it was read in.
    pub resource_version: &'a str,
    /// Writers of the status, as far as the watch keeps them: for a status with a ledger only others than
    /// this controller.
    pub managed_fields: &'a [ManagedFieldsEntry],
}

impl ProcessState {
    /// Begins a reconciliation with a status that is not older than our latest write.
    pub fn begin(&mut self, stored: StoredStatus<'_>, now: Duration) -> Remembered {
        if let Some(current) = &stored.status.current_run {
            self.reached_sequence = self.reached_sequence.max(current.sequence);
        }
        Remembered {
            ledger_state: self.ledger_state(stored, now),
            created: self.made_before(stored.status),
            reached_sequence: self.reached_sequence,
            other_writer: self.is_written_by_others(stored.managed_fields),
            unknown_runs: self.unknown_runs.keys().cloned().collect(),
        }
    }

    /// Returns the state of the ledger, with the meaning of its absence.
    fn ledger_state(&mut self, stored: StoredStatus<'_>, now: Duration) -> LedgerState {
        let StoredStatus {
            status,
            resource_version,
            managed_fields,
        } = stored;
        if status.current_run.is_some() {
            self.without_ledger = None;
            self.never_served = Some(false);
            return LedgerState::Present;
        }
        // The cache may be older than a ledger that was written and lost since, and a status by another
        // writer may have had one.
        let is_own = self.last_reported.as_deref() == Some(status);
        let served = !managed_fields.is_empty() || served_before(status);
        let never_served = self.never_served.unwrap_or(true) && (is_own || !served);
        self.never_served = Some(never_served);
        if never_served && !self.wrote_ledger {
            return LedgerState::NeverServed;
        }
        let ours = self.wrote_ledger;
        let own_write = self.written.map(|written| written.to_string());
        let since = match &self.without_ledger {
            // A client that wrote since may write again: the wait starts again.
            Some((_, seen))
                if ours
                    && seen != resource_version
                    && own_write.as_deref() != Some(resource_version) =>
            {
                now
            }
            Some((since, _)) => *since,
            None => now,
        };
        self.without_ledger = Some((since, resource_version.to_owned()));
        LedgerState::Lost {
            ours,
            settled: now.saturating_sub(since) >= CREATES_SETTLE_IN,
        }
    }

    /// Returns the run of the pending entry, if an earlier reconciliation made it and left its confirmation
    /// for later. A run of any other entry, which another controller has written meanwhile, is dropped.
    fn made_before(&mut self, status: &RunnableStatus) -> Option<CreateOutcome> {
        self.unconfirmed
            .take_if(|made| !Ledger::from_status(status).awaits(&made.run));
        self.unconfirmed.clone().map(CreateOutcome::MadeBefore)
    }

    /// Returns true if the API server has noted another writer of the status since the last lookup.
    fn is_written_by_others(&self, entries: &[ManagedFieldsEntry]) -> bool {
        let mut managers = entries.iter().map(|entry| entry.manager.as_deref());
        managers.any(|manager| manager != Some(FIELD_MANAGER)) && self.known_writers != entries
    }

    /// Detects that the cached version is older than our latest write, and remembers that. Returns true if so.
    pub fn detect_stale_cache(&mut self, cached: Option<&str>) -> bool {
        let cached = cached.and_then(|version| version.parse::<u64>().ok());
        self.waits_for_cache = cached
            .zip(self.written)
            .is_some_and(|(cached, written)| cached < written);
        self.waits_for_cache
    }

    /// Returns true if this event is our own latest write coming back. The reconciliation that wrote it has
    /// continued from there, so it is no news, unless another reconciliation waits for it.
    pub fn consume_echo(&mut self, resource_version: &str) -> bool {
        self.is_own_latest(resource_version) && !std::mem::take(&mut self.waits_for_cache)
    }

    /// Returns true if the status of this resourceVersion is our latest write.
    #[must_use]
    pub fn is_own_latest(&self, resource_version: &str) -> bool {
        self.written.is_some() && self.written == resource_version.parse().ok()
    }

    /// Returns true if a watch shows no more of a run than the answer to its create did, and forgets that
    /// answer.
    pub fn consume_create_echo(&mut self, seen: &CachedRun) -> bool {
        let same = self.made.as_ref() == Some(seen);
        self.made.take_if(|made| made.run.uid == seen.run.uid);
        same
    }

    /// Records that the API server accepted a status of ours.
    pub fn wrote_status(&mut self, status: &Arc<RunnableStatus>, resource_version: &str) {
        self.written = resource_version.parse().ok();
        let has_ledger = status.current_run.is_some();
        self.last_reported = (!has_ledger).then(|| status.clone());
    }

    /// Records that the written status had this ledger.
    pub fn wrote_ledger(&mut self, ledger: &Ledger, change: Change, now: Duration) {
        self.wrote_ledger = true;
        let Some(current) = &ledger.current else {
            return;
        };
        self.reached_sequence = current.sequence;
        if change == Change::Confirm {
            self.unconfirmed = None;
            self.unobserved_run = current.uid.clone().map(|uid| (uid, now));
        }
    }

    /// Records that every existing run was compared with this ledger: none is ahead that it does not have
    /// now.
    pub fn record_comparison(&mut self, ledger: &Ledger) {
        let current = ledger.current.as_ref();
        self.reached_sequence = current.map_or(0, |current| current.sequence);
    }

    /// Records that the ledger proved to be ours, which holds until another client writes the status.
    pub fn looked_up(&mut self, entries: &[ManagedFieldsEntry], now: Option<Timestamp>) {
        let latest = entries.iter().filter_map(|entry| entry.time.as_ref()).max();
        let is_over = latest
            .zip(now)
            .is_some_and(|(latest, now)| now.duration_since(latest.0) > NOTED_WITHIN);
        if is_over {
            self.known_writers = entries.to_vec();
        }
    }

    /// Records objects that claim to be ahead of a ledger of ours as unknown runs. They stay unknown when
    /// their number is given.
    pub fn note_unknown_runs(&mut self, ahead: Vec<RunIdentity>, now: Option<Timestamp>) {
        // An object older than any future intent is recognised by its age.
        let is_young = |created: Option<Timestamp>| {
            let age = now
                .zip(created)
                .map(|(now, created)| now.duration_since(created));
            age.is_none_or(|age| age < YOUNG_FOR)
        };
        self.unknown_runs.retain(|_, it| is_young(it.created));
        for run in ahead.into_iter().filter(|run| is_young(run.created)) {
            let (created, sequence) = (run.created, run.sequence.unwrap_or(i64::MAX));
            self.unknown_runs
                .insert(run.uid, UnknownRun { created, sequence });
        }
        // The numbers of those that are far ahead are given last.
        let surplus = self.unknown_runs.len().saturating_sub(MAX_UNKNOWN_RUNS);
        if surplus > 0 {
            let mut numbers: Vec<i64> = self.unknown_runs.values().map(|it| it.sequence).collect();
            numbers.sort_unstable_by_key(|sequence| std::cmp::Reverse(*sequence));
            let last = numbers[surplus - 1];
            self.unknown_runs.retain(|_, it| it.sequence < last);
        }
    }

    /// Records that the current run was found missing, and until when the report of another controller is
    /// awaited. `list` is the time that another controller that polls may take to its next list.
    pub fn note_missing(&mut self, ledger: &Ledger, list: Duration, now: Duration) {
        let Some(uid) = current_uid(ledger) else {
            return;
        };
        let known = self.missing.as_ref();
        if known.is_none_or(|(missing, _)| missing != uid) {
            self.missing = Some((uid.to_owned(), now + GRACE_PERIOD + list));
        }
    }

    /// Returns the time left in which a controller that saw the missing current run go may record that.
    /// `None` if it was not found missing.
    #[must_use]
    pub fn grace_left(&self, ledger: &Ledger, now: Duration) -> Option<Duration> {
        let (missing, until) = self.missing.as_ref()?;
        (Some(missing.as_str()) == current_uid(ledger)).then(|| until.saturating_sub(now))
    }

    /// Returns the run that was made and that no watch has shown yet, and the time left before it is looked
    /// for.
    #[must_use]
    pub fn find_unobserved(&self, now: Duration) -> Option<(&str, Duration)> {
        let (uid, since) = self.unobserved_run.as_ref()?;
        let left = (*since + UNOBSERVED_FOR).saturating_sub(now);
        (!left.is_zero()).then_some((uid.as_str(), left))
    }

    /// Drops, at the end of a reconciliation, what this ledger and the watches have made superfluous.
    /// `is_seen` returns true if a watch shows the run with a uid.
    pub fn prune(&mut self, ledger: &Ledger, is_seen: impl Fn(&str) -> bool, now: Duration) {
        let Some(current) = &ledger.current else {
            return;
        };
        let is_over = self.find_unobserved(now).is_none();
        self.unobserved_run
            .take_if(|(uid, _)| is_over || current.uid.as_ref() != Some(uid) || is_seen(uid));
        let running = current.uid.as_deref().filter(|_| current.result.is_none());
        self.missing
            .take_if(|(missing, _)| running != Some(missing));
    }

    /// Drops the runs deleted by retention that are no longer in the history.
    pub fn prune_retired(&mut self, ledger: &Ledger) {
        let history = &ledger.history;
        let is_known = |uid: &String| history.iter().any(|entry| entry.uid.as_ref() == Some(uid));
        self.retired.retain(is_known);
    }
}

fn current_uid(ledger: &Ledger) -> Option<&str> {
    ledger.current.as_ref()?.uid.as_deref()
}

/// Returns true if what was seen of a run may still be needed for a decision, with this ledger. `is_latest`
/// is true if it was established that the ledger did not go back.
#[must_use]
pub fn is_needed(
    ledger: &Ledger,
    is_latest: bool,
    runnable_uid: &str,
    run: &RunIdentity,
    deleted: bool,
) -> bool {
    let Some(current) = &ledger.current else {
        return true;
    };
    let uid = Some(run.uid.as_str());
    if current.uid.as_deref() == uid {
        return !(deleted && current.result.is_some());
    }
    let mut history = ledger.history.iter();
    if let Some(entry) = history.find(|entry| entry.uid.as_deref() == uid) {
        return entry.result.is_none();
    }
    // A pending run may be shown before it is confirmed. One that claims to be ahead is evidence that the
    // ledger went back, until that is established, however many reconciliations fail before.
    current.phase != RunPhase::Created || !is_latest && ledger.is_behind(run, runnable_uid)
}

#[cfg(test)]
mod tests;
