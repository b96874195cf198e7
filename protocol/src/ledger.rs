//! Ledger of a Runnable: its runs so far, and the current one. Pure.
//!
//! Every change of the ledger is one of the transitions in this module. Each takes the ledger that was read
//! and returns the ledger to write, under the resourceVersion of what was read. Nothing here reads a clock
//! or talks to a server, so that the model in `tests/` drives this very code. `docs/concepts/exactly-once.md`
//! explains the protocol as a whole.

mod age;
mod breaker;
mod cached_run;
mod change;
pub(crate) mod contested;
mod due;
pub mod explanation;
mod intent;
mod rebuild;
mod record;
mod run;
mod run_name;
mod stop;
mod unseen;

use std::{collections::BTreeMap, sync::Arc};

use cartouche_crds::{
    Breaker, CurrentRun, HistoryEntry, OutputsFrom, PinnedProfile, RunFailure, RunPhase, RunResult,
    RunnableStatus, UnknownFields, short_message,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde_json::Value;

pub(crate) use age::remaining;
pub use age::{CREATES_SETTLE_IN, MINIMUM_AGE, old_enough};
pub(crate) use breaker::SLOW_INTERVAL;
pub use breaker::{BreakerLimits, Cause, Pace};
pub use cached_run::{CachedRun, OutputsDigest, digest, keep_certain};
pub use change::Change;
pub(crate) use due::ANOTHER;
pub use due::{Due, is_of_another_document};
pub use intent::{Fate, Intent};
pub use rebuild::{ListedRun, UNKNOWN_HASH, rebuild};
pub use record::result_of_gone;
pub(crate) use record::to_history;
pub(crate) use run::LANDED_BY;
pub use run::{FetchedRun, OutputsRead, PodsSaid, RunIdentity, RunProfile, result_of};
pub use run_name::RunName;
pub use stop::{Asked, AtWork, is_ours, is_withdrawn};
pub(crate) use unseen::{may_come, past_may_come};

/// Maximum number of history entries. etcd refuses a status of about 1.7 MB, which would jam the ledger for
/// good.
pub const MAX_HISTORY: usize = 200;
/// Greatest distance of a run of ours ahead of the ledger. A number further ahead cannot have been counted
/// up to: it belongs to an unknown run, and would leave no room for later numbers.
pub(crate) const MAX_JUMP: i64 = 1 << 30;
/// Least factor by which each number's distance from the last run made grows, while unknown runs hold the
/// names.
const STRIDE: i64 = 8;

/// Part of a Runnable's status that decides about runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Run for what the template renders now.
    pub current: Option<CurrentRun>,
    /// Last re-run request that a run before the current one answered.
    pub answered_token: Option<String>,
    /// Earlier runs, oldest first.
    pub history: Arc<Vec<HistoryEntry>>,
    /// Outputs of the newest run that gave any.
    pub outputs: Option<BTreeMap<String, Value>>,
    /// Run that gave these outputs.
    pub outputs_from: Option<OutputsFrom>,
    /// Message and outputs of the newest failed run that gave any, until a later one succeeds.
    pub failure: Option<Box<RunFailure>>,
    /// Profile that runs are made with.
    pub profile: Option<Box<PinnedProfile>>,
    /// Count of runs, to slow feedback loops.
    pub breaker: Option<Breaker>,
}

impl Ledger {
    /// Returns the ledger in a status.
    #[must_use]
    pub fn from_status(status: &RunnableStatus) -> Self {
        Self {
            current: status.current_run.clone(),
            answered_token: status.answered_token.clone(),
            history: status.history.clone(),
            outputs: status.outputs.clone(),
            outputs_from: status.outputs_from.clone(),
            failure: status.failure.clone(),
            profile: status.profile.clone(),
            breaker: status.breaker.clone(),
        }
    }

    /// Returns the number of the next run, above all numbers in the ledger. The run that the outputs came
    /// from counts even if nothing else is left of a ledger: lower runs could never give outputs.
    #[must_use]
    pub fn next_sequence(&self) -> i64 {
        let source = self.outputs_from.iter().map(|from| from.sequence);
        let runs = self.runs().map(|(sequence, ..)| sequence);
        runs.chain(source).max().unwrap_or(0).saturating_add(1)
    }

    /// Returns number, uid and result of each run in the ledger.
    pub fn runs(&self) -> impl Iterator<Item = (i64, Option<&str>, Option<RunResult>)> {
        let current = self.current.iter();
        let current = current.map(|run| (run.sequence, run.uid.as_deref(), run.result));
        let history = self.history.iter();
        current.chain(history.map(|run| (run.sequence, run.uid.as_deref(), run.result)))
    }

    /// Returns true if a run has not ended, or may still be made.
    #[must_use]
    pub fn has_unfinished(&self) -> bool {
        self.runs().any(|(.., result)| result.is_none())
    }

    /// Returns the same, without the current entry while it has no run.
    #[must_use]
    pub fn has_unfinished_runs(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|it| it.uid.is_some() && it.result.is_none())
            || self.history.iter().any(|it| it.result.is_none())
    }

    /// INTENT: moves the current entry to the history and makes the next sequence current, with its name
    /// fixed before any request to create it is sent.
    ///
    /// An entry whose create may still land stays, without a uid until its run shows up. An entry is
    /// dropped if it was definitely refused so long ago that no controller's create can land (see
    /// [`may_land`]). The new entry takes over no unknown field: the field may be untrue of the new run.
    #[must_use]
    pub fn intend(
        mut self,
        intent: Intent,
        name: impl FnOnce(i64) -> String,
        fate: &Fate,
        message: &str,
        at: Option<Timestamp>,
    ) -> Self {
        let sequence = self.next_sequence();
        if let Some(current) = self.current.take() {
            // The request of a run that was never seen passes to the next one.
            if current.phase == RunPhase::Created || matches!(fate, Fate::Found(_)) {
                self.answered_token = current.rerun_token.clone().or(self.answered_token);
            }
            self.supersede(current, fate, message, at);
        }
        self.profile = intent.profile.map(Box::new);
        let asked = intent.rerun_token;
        self.current = Some(CurrentRun {
            sequence,
            name: name(sequence),
            input_hash: intent.input_hash,
            approved: intent.approved,
            attempt: intent.attempt,
            rerun_token: asked.filter(|token| self.answered_token.as_ref() != Some(token)),
            phase: RunPhase::Pending,
            attempted: true,
            api_version: intent.api_version,
            kind: intent.kind,
            uid: None,
            intent_at: at.map(Time),
            started_at: None,
            finished_at: None,
            result: None,
            rules_hash: Some(intent.rules_hash),
            retry_at: None,
            stop: None,
            sources: None,
            unknown_fields: UnknownFields::default(),
        });
        self.cap_history();
        self
    }

    /// REFRESH: sets another profile for the runs that follow, on a request to choose again.
    #[must_use]
    pub fn with_profile(mut self, profile: Option<PinnedProfile>) -> Self {
        self.profile = profile.map(Box::new);
        self
    }

    fn supersede(
        &mut self,
        current: CurrentRun,
        fate: &Fate,
        message: &str,
        at: Option<Timestamp>,
    ) {
        if current.phase != RunPhase::Created && !may_land(&current, at) {
            return;
        }
        let intent_at = match fate {
            Fate::Unread => current.intent_at.clone(),
            Fate::Known | Fate::Absent | Fate::Found(_) | Fate::Taken(_) => None,
        };
        let mut entry = HistoryEntry {
            intent_at,
            message: short_message(message),
            ..to_history(current, at)
        };
        match fate {
            Fate::Found(run) => {
                entry.uid = Some(run.uid.clone());
                entry.started_at = run.created.map(Time).or(entry.started_at);
            }
            Fate::Taken(by) => entry.taken_by = Some(by.clone()),
            Fate::Known | Fate::Absent | Fate::Unread => {}
        }
        self.insert_history(entry);
    }

    /// Records a further attempt after a definite refusal, before it is sent, so that a create with an
    /// unknown outcome is never forgotten.
    #[must_use]
    pub fn attempt(mut self) -> Self {
        if let Some(current) = &mut self.current {
            current.attempted = true;
        }
        self
    }

    /// Records that the API server refused the create. `only_attempt` is true if this very reconciliation
    /// wrote the intent and no other create was ever sent for it.
    #[must_use]
    pub fn reject(mut self, only_attempt: bool) -> Self {
        if let Some(current) = &mut self.current {
            current.phase = RunPhase::Rejected;
            current.attempted = !only_attempt;
        }
        self
    }

    /// CONFIRM: records that the object of the current entry exists. `None` unless the object's sequence
    /// *and* hash are the ledger's.
    #[must_use]
    pub fn confirm(&self, run: &RunIdentity) -> Option<Self> {
        let current = self.current.as_ref()?;
        if !run.answers(current) {
            return None;
        }
        let mut next = self.clone();
        let entry = next.current.as_mut()?;
        entry.phase = RunPhase::Created;
        entry.attempted = true;
        entry.uid = Some(run.uid.clone());
        entry.name.clone_from(&run.name);
        // The entry may have been withdrawn before its run was seen.
        entry.stop = None;
        started(entry, run);
        Some(next)
    }

    /// Returns true if the current entry is pending and this object is what a create for it makes.
    #[must_use]
    pub fn awaits(&self, run: &RunIdentity) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| current.phase == RunPhase::Pending && run.answers(current))
    }

    /// Gives up the number of the current entry, whose name is held by an object that no create for it
    /// made. The same input gets a later number. Unknown runs may hold the following names as well. Each
    /// further number is therefore eight to sixteen times as far from the last run made, and many names
    /// taken in advance cost a few numbers only.
    ///
    /// `chance` picks the number in that range. If it were predictable, one object for each number would be
    /// enough to block the run for ever.
    ///
    /// `holder` is the uid of that object. If the object is deleted within half a minute, a create for the
    /// old number may still land: an earlier one, or one of another controller that has read the same
    /// intent. The entry of the old number stays, so that this run is known. It gives no outputs, since the
    /// holder's owner may put another object there. A controller that has not met the first object does not
    /// take that one for the run.
    #[must_use]
    pub fn renumber(
        mut self,
        name: impl FnOnce(i64) -> String,
        holder: String,
        chance: u64,
        at: Option<Timestamp>,
    ) -> Self {
        let Some(given_up) = self.current.take() else {
            return self;
        };
        let made = self.last_made();
        let distance = STRIDE * (given_up.sequence - made).clamp(1, MAX_JUMP / STRIDE / 2);
        let further = i64::try_from(chance % distance.unsigned_abs()).unwrap_or_default();
        let sequence = (made + distance + further).max(given_up.sequence + 1);
        let next = CurrentRun {
            sequence,
            name: name(sequence),
            phase: RunPhase::Pending,
            attempted: true,
            intent_at: at.map(Time),
            ..given_up.clone()
        };
        self.supersede(given_up, &Fate::Taken(holder), "", at);
        self.current = Some(next);
        self.cap_history();
        self
    }

    /// Returns the highest number of an earlier run that was seen, or of the one that gave the outputs; 0
    /// without any.
    fn last_made(&self) -> i64 {
        let source = self.outputs_from.iter().map(|from| from.sequence);
        let earlier = self.history.iter().filter(|entry| entry.uid.is_some());
        let earlier = earlier.map(|entry| entry.sequence);
        earlier.chain(source).max().unwrap_or(0)
    }

    /// Replaces the hash of the current entry, made by another version, with this version's hash of the
    /// same document.
    #[must_use]
    pub fn migrate_hash(mut self, input_hash: &str) -> Self {
        if let Some(current) = &mut self.current {
            input_hash.clone_into(&mut current.input_hash);
        }
        self
    }

    /// Returns true if a run claims to be ahead of this ledger: it has a higher sequence, or the current
    /// one with other content, and the ledger does not know it. A status restored from a backup looks like
    /// that, and so does a forged run. Since an intent is written before its create, no run of ours is
    /// ahead of the latest ledger.
    #[must_use]
    pub fn is_behind(&self, run: &RunIdentity, runnable_uid: &str) -> bool {
        let Some(current) = &self.current else {
            return false;
        };
        let Some(sequence) = run.genuine_sequence(runnable_uid) else {
            return false;
        };
        if sequence > current.sequence {
            return sequence - current.sequence <= MAX_JUMP;
        }
        sequence == current.sequence
            && !self.knows(&run.uid)
            && run.input_hash.as_ref() != Some(&current.input_hash)
    }

    /// Returns true if the ledger has an entry for the object with this uid.
    #[must_use]
    pub fn knows(&self, uid: &str) -> bool {
        self.sequence_of(uid).is_some()
    }

    /// Returns true if the object with this uid held the name of a number that was given up.
    #[must_use]
    pub fn has_taken_a_name(&self, uid: &str) -> bool {
        let mut history = self.history.iter();
        history.any(|entry| entry.taken_by.as_deref() == Some(uid))
    }

    /// Returns the uids and numbers of the runs whose objects are known.
    pub fn numbers(&self) -> impl Iterator<Item = (String, i64)> {
        let numbers = self.runs();
        numbers.filter_map(|(sequence, uid, _)| Some((uid?.to_owned(), sequence)))
    }

    /// Returns the number of the run with this uid.
    #[must_use]
    pub fn sequence_of(&self, uid: &str) -> Option<i64> {
        let mut runs = self.runs();
        runs.find_map(|(sequence, known, _)| (known == Some(uid)).then_some(sequence))
    }

    /// Returns the history for changes. Other holders of the shared history keep it as it was.
    pub fn history_mut(&mut self) -> &mut Vec<HistoryEntry> {
        Arc::make_mut(&mut self.history)
    }

    pub(crate) fn insert_history(&mut self, entry: HistoryEntry) {
        let at = self
            .history
            .partition_point(|other| other.sequence <= entry.sequence);
        self.history_mut().insert(at, entry);
    }

    /// Drops the oldest finished entries above the cap, but never an unfinished one or the one that gave
    /// the outputs. Retention never deletes the runs of dropped entries.
    pub(crate) fn cap_history(&mut self) {
        while self.history.len() > MAX_HISTORY {
            let source = self.outputs_from.as_ref().map(|from| from.sequence);
            let Some(at) = self
                .history
                .iter()
                .position(|entry| entry.result.is_some() && Some(entry.sequence) != source)
            else {
                break;
            };
            self.history_mut().remove(at);
        }
    }
}

/// Returns true if a create for this entry, whose run was not seen, may still make it. A refusal of the
/// only attempt of one controller proves nothing at first: another controller may have read the same intent
/// and have a create on its way. This is over once the intent is older than any create can be.
#[must_use]
pub fn may_land(current: &CurrentRun, now: Option<Timestamp>) -> bool {
    current.attempted || !old_enough(current.intent_at.as_ref(), now)
}

/// Records the times of a known object: its creation replaces the time of the intent.
fn started(current: &mut CurrentRun, run: &RunIdentity) {
    current.started_at = run.created.map(Time);
    current.intent_at = current.intent_at.take().filter(|_| run.created.is_none());
}

/// Returns true for every result but success.
#[must_use]
pub fn counts_as_failed(result: RunResult) -> bool {
    result != RunResult::Succeeded
}

#[cfg(test)]
pub(crate) mod tests;
