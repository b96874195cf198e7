//! The ledger: which runs a Runnable has had, and which one is current. Pure.
//!
//! Every change of the ledger is one of the transitions in this module; each takes the ledger that
//! was read and gives the ledger to write (with the resourceVersion of what was read). Nothing here
//! reads a clock or talks to a server, so that the model in `tests/` drives this very code.
//! `docs/exactly-once.md` explains the protocol as a whole.

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
mod state;
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
pub use cached_run::{CachedRun, OutputsDigest, digest, doubted};
pub use change::Change;
pub(crate) use due::ANOTHER;
pub use due::{Due, is_of_another_document};
pub use intent::{Fate, Intent};
pub use rebuild::{ListedRun, UNKNOWN_HASH, rebuild};
pub(crate) use record::past;
pub use record::result_of_gone;
pub(crate) use run::LANDED_BY;
pub use run::{FetchedRun, OutputsRead, PodsSaid, RunIdentity, RunProfile, result_of};
pub use run_name::RunName;
pub use state::RunState;
pub use stop::{Asked, AtWork, is_ours, is_withdrawn};
pub(crate) use unseen::{may_come, past_may_come};

/// History entries that are kept at most. A status of about 1.7 MB is refused by etcd, which would
/// jam the ledger for good.
pub const MAX_HISTORY: usize = 200;
/// How far a run may be ahead of what the ledger knows. A number that nothing can have counted up to is
/// an unknown run's, and would leave no room for those that follow.
pub(crate) const MAX_JUMP: i64 = 1 << 30;
/// How much further each number is at least from the last run that was made, while unknown runs hold
/// the names.
const STRIDE: i64 = 8;

/// The part of a Runnable's status that decides about runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// The run for what the template renders now.
    pub current: Option<CurrentRun>,
    /// The last re-run request that a run before the current one answered.
    pub answered_token: Option<String>,
    /// Earlier runs, oldest first.
    pub history: Arc<Vec<HistoryEntry>>,
    /// The outputs of the newest run that gave any.
    pub outputs: Option<BTreeMap<String, Value>>,
    /// That run.
    pub outputs_from: Option<OutputsFrom>,
    /// What the newest run that failed gave, until a later one succeeds.
    pub failure: Option<Box<RunFailure>>,
    /// The profile that runs are made with.
    pub profile: Option<Box<PinnedProfile>>,
    /// Counts runs, to slow feedback loops.
    pub breaker: Option<Breaker>,
}

impl Ledger {
    /// The ledger in a status.
    #[must_use]
    pub fn of(status: &RunnableStatus) -> Self {
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

    /// The number of the next run: above all that the ledger knows. The run that the outputs came
    /// from counts even where only it is left of a ledger: lower runs could never give outputs.
    #[must_use]
    pub fn next_sequence(&self) -> i64 {
        let source = self.outputs_from.iter().map(|from| from.sequence);
        let runs = self.runs().map(|(sequence, ..)| sequence);
        runs.chain(source).max().unwrap_or(0).saturating_add(1)
    }

    /// Number, uid and result of each run that it knows.
    pub fn runs(&self) -> impl Iterator<Item = (i64, Option<&str>, Option<RunResult>)> {
        let current = self.current.iter();
        let current = current.map(|run| (run.sequence, run.uid.as_deref(), run.result));
        let history = self.history.iter();
        current.chain(history.map(|run| (run.sequence, run.uid.as_deref(), run.result)))
    }

    /// Whether a run of it has not ended, or may still come to be.
    #[must_use]
    pub fn has_unfinished(&self) -> bool {
        self.runs().any(|(.., result)| result.is_none())
    }

    /// The same without the present entry while it has no run.
    #[must_use]
    pub fn has_unfinished_runs(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|it| it.uid.is_some() && it.result.is_none())
            || self.history.iter().any(|it| it.result.is_none())
    }

    /// INTENT: the present entry goes to the history and the next sequence becomes current, with
    /// its name fixed before any request to create it is sent.
    ///
    /// An entry whose create may still land stays, without a uid until it shows up; one that was
    /// definitely refused so long ago that nobody's can is dropped (see [`may_land`]). The new entry takes over no unknown field: it
    /// may say of the run before it what is not true of this one.
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
            // A request that a run was to answer which nobody has seen is the next one's.
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

    /// REFRESH: the runs that follow are made with another profile, since somebody asked to choose anew.
    #[must_use]
    pub fn pinned(mut self, profile: Option<PinnedProfile>) -> Self {
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
            ..past(current, at)
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

    /// A further attempt after a definite refusal is recorded before it is sent, so that a create
    /// with an unknown outcome is never forgotten.
    #[must_use]
    pub fn attempt(mut self) -> Self {
        if let Some(current) = &mut self.current {
            current.attempted = true;
        }
        self
    }

    /// The API server refused the create. `only_attempt`: this very reconciliation wrote the intent, and
    /// nothing else was ever sent for it.
    #[must_use]
    pub fn reject(mut self, only_attempt: bool) -> Self {
        if let Some(current) = &mut self.current {
            current.phase = RunPhase::Rejected;
            current.attempted = !only_attempt;
        }
        self
    }

    /// CONFIRM: the object of the current entry exists. `None` unless the object's sequence *and*
    /// hash are the ledger's.
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
        // It may have been given up, when nobody knew of it.
        entry.stop = None;
        started(entry, run);
        Some(next)
    }

    /// Whether the current entry is pending and this object is what a create for it makes.
    #[must_use]
    pub fn awaits(&self, run: &RunIdentity) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| current.phase == RunPhase::Pending && run.answers(current))
    }

    /// The name of the current entry is held by an object that no create for it made: its number is given
    /// up, and the same input gets a later one. Unknown runs may hold the names after it as well, so each
    /// further number is eight to sixteen times as far from the last run that was made, and many names
    /// that were taken in advance cost a few numbers.
    ///
    /// `chance` says where in that range: were it known in advance, one object for each number would do to
    /// keep the run from being made for ever.
    ///
    /// `holder` is the uid of that object. An earlier create for the old number, or one of another controller that
    /// has read the same intent, may still land, if the object is deleted within the half minute in which that can
    /// be: the entry of the old number stays, so that such a run is known. It gives no outputs, since whoever held
    /// the name may put another object there; and a controller that has not met the first one does not take that
    /// for the run.
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

    /// The highest number that a run is known to have been made for.
    fn last_made(&self) -> i64 {
        let source = self.outputs_from.iter().map(|from| from.sequence);
        let earlier = self.history.iter().filter(|entry| entry.uid.is_some());
        let earlier = earlier.map(|entry| entry.sequence);
        earlier.chain(source).max().unwrap_or(0)
    }

    /// A ledger whose hash was made by another version of the hash is told what this version says
    /// of the same document.
    #[must_use]
    pub fn migrate_hash(mut self, input_hash: &str) -> Self {
        if let Some(current) = &mut self.current {
            input_hash.clone_into(&mut current.input_hash);
        }
        self
    }

    /// Whether a run claims to be ahead of this ledger: of a higher sequence, or of the current one with
    /// other content, and not known to the ledger. A status restored from a backup looks like that, and
    /// so does a forged run: since an intent is written before its create, no run of ours is ahead of
    /// the latest ledger.
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

    /// Whether an entry of the ledger speaks of the object with this uid.
    #[must_use]
    pub fn knows(&self, uid: &str) -> bool {
        self.sequence_of(uid).is_some()
    }

    /// Whether the object with this uid held the name of a number that was given up.
    #[must_use]
    pub fn has_taken_a_name(&self, uid: &str) -> bool {
        let mut history = self.history.iter();
        history.any(|entry| entry.taken_by.as_deref() == Some(uid))
    }

    /// The uids of the runs that it knows, and their numbers.
    pub fn numbers(&self) -> impl Iterator<Item = (String, i64)> {
        let numbers = self.runs();
        numbers.filter_map(|(sequence, uid, _)| Some((uid?.to_owned(), sequence)))
    }

    /// The number of the run with this uid.
    #[must_use]
    pub fn sequence_of(&self, uid: &str) -> Option<i64> {
        let mut runs = self.runs();
        runs.find_map(|(sequence, known, _)| (known == Some(uid)).then_some(sequence))
    }

    /// The history, to be changed: who shares it keeps it as it was.
    pub fn history_mut(&mut self) -> &mut Vec<HistoryEntry> {
        Arc::make_mut(&mut self.history)
    }

    pub(crate) fn insert_history(&mut self, entry: HistoryEntry) {
        let at = self
            .history
            .partition_point(|other| other.sequence <= entry.sequence);
        self.history_mut().insert(at, entry);
    }

    /// Drops the oldest finished entries above the cap; never an unfinished one, nor the one that
    /// the outputs came from. What is dropped is never deleted by retention.
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

/// Whether a create for this entry, which was not seen to exist, may still make its run. A refusal of
/// the only attempt of one controller proves nothing while another, which read the same intent, may
/// have a create on its way; that is over once the intent is older than any create can be.
#[must_use]
pub fn may_land(current: &CurrentRun, now: Option<Timestamp>) -> bool {
    current.attempted || !old_enough(current.intent_at.as_ref(), now)
}

/// The object of this entry is known. When it was created stands for when it was decided on.
fn started(current: &mut CurrentRun, run: &RunIdentity) {
    current.started_at = run.created.map(Time);
    current.intent_at = current.intent_at.take().filter(|_| run.created.is_none());
}

/// Failed, for everything that is not a success.
#[must_use]
pub fn counts_as_failed(result: RunResult) -> bool {
    result != RunResult::Succeeded
}

#[cfg(test)]
pub(crate) mod tests;
