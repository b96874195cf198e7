//! What a process remembers of one Runnable because decisions need it, and how that changes. All of it may
//! be lost: a restart costs some reads and some patience, never a run.
//!
//! Times are durations on one clock that goes on while the machine sleeps; resourceVersions are those of
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

/// How long a controller that did not see the current run go waits for one that did.
pub const GRACE_PERIOD: Duration = Duration::from_secs(10);
/// How long a run that was just made may stay unseen by its watch before it is looked for: the watch
/// may have begun anew in that very moment.
pub const UNOBSERVED_FOR: Duration = Duration::from_mins(1);
/// Writers of a status are noted in whole seconds: within so long of the latest, the same note may be of
/// another write.
const NOTED_WITHIN: SignedDuration = SignedDuration::from_secs(2);
/// Unknown runs of one Runnable that are remembered, so that none is taken for the run whose name it holds.
const MAX_UNKNOWN_RUNS: usize = 10_000;
/// So old an object is older than any intent after it, whatever the clocks.
const YOUNG_FOR: SignedDuration = SignedDuration::from_mins(5);

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessState {
    /// The resourceVersion of our latest write of the status.
    pub written: Option<u64>,
    /// A reconciliation found the cache older than that write and left it at that: the watch event that
    /// brings the write has to enqueue the Runnable.
    pub waits_for_cache: bool,
    /// Who else has written the status, as it was noted when the ledger proved to be ours.
    pub known_writers: Vec<ManagedFieldsEntry>,
    /// We wrote a ledger.
    pub wrote_ledger: bool,
    /// The highest number that was current in a ledger that we wrote or read, until the runs that exist were compared
    /// with another. A write whose answer was lost is read, too, before anything is made of it.
    pub reached_sequence: i64,
    /// Whether this process saw the Runnable before any controller had written its status, and since
    /// then no status but its own, without a ledger: then nothing of it can be on its way. `None`
    /// before the first reconciliation.
    pub never_served: Option<bool>,
    /// The latest status without a ledger that we wrote.
    pub last_reported: Option<Arc<RunnableStatus>>,
    /// Since when there is no ledger, and the resourceVersion that was seen without it.
    pub without_ledger: Option<(Duration, String)>,
    /// The run that we made and no watch has shown yet, by uid, and when that was.
    pub unobserved_run: Option<(String, Duration)>,
    /// The current run that was found missing, by uid, and until when another controller may say that it
    /// saw it go.
    pub missing: Option<(String, Duration)>,
    /// A run as the answer to its create showed it, until its watch shows it.
    pub made: Option<CachedRun>,
    /// A run whose create was answered and that is still to be confirmed in the ledger.
    pub unconfirmed: Option<Box<FetchedRun>>,
    /// Objects that claimed to be ahead of a ledger of ours, by uid.
    pub unknown_runs: BTreeMap<String, UnknownRun>,
    /// The old runs that retention has deleted, by uid, while the history knows them: one that a finalizer
    /// keeps is neither deleted nor reported again.
    pub retired: BTreeSet<String>,
}

/// An object that claimed to be ahead of a ledger of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRun {
    /// When it was created.
    pub created: Option<Timestamp>,
    /// The number that it claims.
    pub sequence: i64,
}

/// A Runnable's status as a reconciliation begins with it.
#[derive(Clone, Copy, Debug)]
pub struct StoredStatus<'a> {
    /// The status.
    pub status: &'a RunnableStatus,
    /// The resourceVersion of the Runnable that it was read in.
    pub resource_version: &'a str,
    /// Who wrote the status, as far as the watch keeps that: of a status with a ledger only others than
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

    /// What the absence of a ledger means.
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
        // The cache may be older than a ledger that was written and lost since, and a status that
        // somebody else wrote may have had one.
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
            // Whoever wrote since may write again: the wait begins anew.
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

    /// The run of the pending entry, if an earlier reconciliation made it and left it to be confirmed. Of
    /// any other entry, which somebody else will have written meanwhile, it says nothing.
    fn made_before(&mut self, status: &RunnableStatus) -> Option<CreateOutcome> {
        self.unconfirmed
            .take_if(|made| !Ledger::of(status).awaits(&made.run));
        self.unconfirmed.clone().map(CreateOutcome::MadeBefore)
    }

    /// Whether the API server has noted anybody else as a writer of the status, since that was looked up
    /// last.
    fn is_written_by_others(&self, entries: &[ManagedFieldsEntry]) -> bool {
        let mut managers = entries.iter().map(|entry| entry.manager.as_deref());
        managers.any(|manager| manager != Some(FIELD_MANAGER)) && self.known_writers != entries
    }

    /// Whether what the cache has is older than our own latest write.
    pub fn is_behind(&mut self, cached: Option<&str>) -> bool {
        let cached = cached.and_then(|version| version.parse::<u64>().ok());
        self.waits_for_cache = cached
            .zip(self.written)
            .is_some_and(|(cached, written)| cached < written);
        self.waits_for_cache
    }

    /// Whether this is our own latest write coming back. The reconciliation that wrote it has gone on from
    /// there, so it is no news, unless another waits for it.
    pub fn is_echo(&mut self, resource_version: &str) -> bool {
        self.is_own_latest(resource_version) && !std::mem::take(&mut self.waits_for_cache)
    }

    /// Whether we have written no status since the one of this resourceVersion.
    #[must_use]
    pub fn is_own_latest(&self, resource_version: &str) -> bool {
        self.written.is_some() && self.written == resource_version.parse().ok()
    }

    /// Whether a watch shows no more of a run than the answer to its create did.
    pub fn is_as_made(&mut self, seen: &CachedRun) -> bool {
        let same = self.made.as_ref() == Some(seen);
        self.made.take_if(|made| made.run.uid == seen.run.uid);
        same
    }

    /// The API server took a status of ours.
    pub fn wrote_status(&mut self, status: &Arc<RunnableStatus>, resource_version: &str) {
        self.written = resource_version.parse().ok();
        let has_ledger = status.current_run.is_some();
        self.last_reported = (!has_ledger).then(|| status.clone());
    }

    /// It had this ledger in it.
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

    /// Every run that exists was compared with this ledger: nothing is ahead that is not in it now.
    pub fn compared(&mut self, ledger: &Ledger) {
        let current = ledger.current.as_ref();
        self.reached_sequence = current.map_or(0, |current| current.sequence);
    }

    /// The ledger proved to be ours: until anybody else writes the status again, it stays that.
    pub fn looked_up(&mut self, entries: &[ManagedFieldsEntry], now: Option<Timestamp>) {
        let latest = entries.iter().filter_map(|entry| entry.time.as_ref()).max();
        let is_over = latest
            .zip(now)
            .is_some_and(|(latest, now)| now.duration_since(latest.0) > NOTED_WITHIN);
        if is_over {
            self.known_writers = entries.to_vec();
        }
    }

    /// What claims to be ahead of a ledger of ours is an unknown run, and stays that when the number that it
    /// bears is given.
    pub fn note_unknown_runs(&mut self, ahead: Vec<RunIdentity>, now: Option<Timestamp>) {
        // What is older than any intent that is still to come is told by its age.
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
        // Those that are far ahead are the last whose numbers are given.
        let surplus = self.unknown_runs.len().saturating_sub(MAX_UNKNOWN_RUNS);
        if surplus > 0 {
            let mut numbers: Vec<i64> = self.unknown_runs.values().map(|it| it.sequence).collect();
            numbers.sort_unstable_by_key(|sequence| std::cmp::Reverse(*sequence));
            let last = numbers[surplus - 1];
            self.unknown_runs.retain(|_, it| it.sequence < last);
        }
    }

    /// The current run was found missing: how long another's report is waited for is remembered. `list`:
    /// how long another controller that polls may take to its next list.
    pub fn note_missing(&mut self, ledger: &Ledger, list: Duration, now: Duration) {
        let Some(uid) = current_uid(ledger) else {
            return;
        };
        let known = self.missing.as_ref();
        if known.is_none_or(|(missing, _)| missing != uid) {
            self.missing = Some((uid.to_owned(), now + GRACE_PERIOD + list));
        }
    }

    /// How long whoever saw the missing current run go may still take to record that. `None` if it
    /// was not found missing.
    #[must_use]
    pub fn grace_left(&self, ledger: &Ledger, now: Duration) -> Option<Duration> {
        let (missing, until) = self.missing.as_ref()?;
        (Some(missing.as_str()) == current_uid(ledger)).then(|| until.saturating_sub(now))
    }

    /// The run that was made and that no watch has shown yet, while that is no reason to look for it.
    #[must_use]
    pub fn unobserved(&self, now: Duration) -> Option<(&str, Duration)> {
        let (uid, since) = self.unobserved_run.as_ref()?;
        let left = (*since + UNOBSERVED_FOR).saturating_sub(now);
        (!left.is_zero()).then_some((uid.as_str(), left))
    }

    /// The end of a reconciliation: what this ledger and what was seen have made superfluous goes. `is_seen`:
    /// whether a watch shows a run, by its uid.
    pub fn prune(&mut self, ledger: &Ledger, is_seen: impl Fn(&str) -> bool, now: Duration) {
        let Some(current) = &ledger.current else {
            return;
        };
        let is_over = self.unobserved(now).is_none();
        self.unobserved_run
            .take_if(|(uid, _)| is_over || current.uid.as_ref() != Some(uid) || is_seen(uid));
        let running = current.uid.as_deref().filter(|_| current.result.is_none());
        self.missing
            .take_if(|(missing, _)| running != Some(missing));
    }

    /// Runs that retention has deleted leave when the history knows them no more.
    pub fn prune_retired(&mut self, ledger: &Ledger) {
        let history = &ledger.history;
        let is_known = |uid: &String| history.iter().any(|entry| entry.uid.as_ref() == Some(uid));
        self.retired.retain(is_known);
    }
}

fn current_uid(ledger: &Ledger) -> Option<&str> {
    ledger.current.as_ref()?.uid.as_deref()
}

/// Whether what was seen of a run may still be needed for a decision, with this ledger. `is_latest`: it was found
/// out that the ledger did not go back.
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
    // A pending run may be shown before it is confirmed. One that claims to be ahead tells that the ledger
    // went back, until that was found out: however many reconciliations fail before.
    current.phase != RunPhase::Created || !is_latest && ledger.is_behind(run, runnable_uid)
}

#[cfg(test)]
mod tests;
