//! Memory of this process about a Runnable between reconciliations. All of it may be lost: a restart costs some reads
//! and some delay, never a run.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::{
    messages::reconcile_error::Requeue,
    pace::{ContestedPace, StatusPace},
    process_state::ProcessState,
    references::{SourceKind, SourceObject},
};

use k8s_openapi::jiff::Timestamp;

use crate::{
    clock::boot_time, lock::lock, picked::Picked, runnable_key::RunnableKey, watched_kind::Watched,
};

/// Time for which a Runnable that has held much counts as one that does.
const HEAVY_FOR: Duration = Duration::from_mins(10);

/// Memory of one Runnable.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is remembered of things that have nothing to do with each other"
)]
pub struct Memory {
    /// The uid that all of this is about.
    pub uid: String,
    /// State that decisions need.
    pub state: ProcessState,
    /// The selected object, until an event shows that it may have changed.
    pub picked: Option<Picked>,
    /// Reads of the objects that inputs come from, each kept until an event shows that it may have changed.
    pub sources: KnownSources,
    /// Times and pace of reports: on what it waits for, and on what its run was made from.
    pub telling: Telling,
    /// Pace of its writes of the status.
    pub pace: StatusPace,
    /// Pace at which hashes of another release are replaced.
    pub rehashes: ContestedPace,
    /// Pace of the writes that record runs.
    pub records: ContestedPace,
    /// State of the objects that outputs are written to, kept until an event shows that one may have changed.
    pub sinks: KnownSinks,
    /// Number of events that showed a possible change of any of them.
    pub changes: u64,
    /// Failures, each with the time of the next try: one per step, `MAX_BACKOFFS` at most.
    pub backoffs: Vec<FailureBackoff>,
    /// The last request of a user to retry at once; `None` before the first look at the Runnable.
    pub retry_asked: Option<Option<String>>,
    /// Digest of what was rendered last, and the generation that it was rendered from.
    pub rendered: Option<(u64, i64)>,
    /// True if the last reconciliation left a pending change: a change of profiles may let it go on.
    pub is_unsettled: bool,
    /// True if the last reconciliation ended with a run that waits for approval, for an earlier run or for permissions.
    pub waits_beside_inputs: bool,
    /// Time at which a reconciliation last held much of what others wrote. For a while after it the next one first
    /// waits until no other holds much.
    pub heavy_at: Option<Duration>,
    /// True if its template has changed since it was reconciled.
    pub of_edited_template: bool,
    /// True if its account may list its runs but not get them.
    pub only_list: bool,
    /// Earlier runs that were looked for because no watch shows them.
    pub looked_for: LookedFor,
    /// Runs that were asked to stop.
    pub asked_to_stop: LookedFor,
    /// Times at which runs without a start time were first seen to be at work, by uid.
    pub seen_at_work: BTreeMap<String, Timestamp>,
    /// Uids of the runs that were reported not to stop, each with true if it had been asked to.
    pub reported_unstopped: BTreeSet<(String, bool)>,
    /// Time for which the pending change has stayed the same.
    pub changes_due: Changes,
    /// Time at which its spec changed, until its run is made.
    pub changed: ChangedSpec,
    /// Recent dry runs of the run that waits for approval.
    pub dry_runs: DryRuns,
    /// Permissions that the account lacks.
    pub missing_permissions: Option<MissingPermissions>,
    /// Messages of the pods of its current run.
    pub pods: PodsMemory,
    /// Kinds that are watched for it.
    pub watched: BTreeSet<Watched>,
    /// Time of the last report that another controller writes the status.
    pub reported_other: Option<Duration>,
    /// Digest of the last report that another release is needed, and its time.
    pub reported_release: Option<(u64, Duration)>,
    /// Uids of the unknown runs that were reported.
    pub reported: BTreeSet<String>,
    /// True if it was reported that the kind of its runs is polled.
    pub reported_polling: bool,
    /// Digest of the unreadable lines of its history that were reported.
    pub reported_history: Option<u64>,
    /// Digest of the API server's warnings that were reported, and of the template that they are about.
    pub reported_warnings: Option<u64>,
    /// The resourceVersion for which it was reported that lines of its history are not kept.
    pub reported_dropped: Option<String>,
    /// The resourceVersion for which it was reported that its ledger may have been restored from a backup.
    pub reported_put_back: Option<String>,
}

impl Memory {
    /// Returns true if this is the event of the process's own latest write, see [`ProcessState::consume_echo`].
    pub fn consume_echo(&mut self, uid: &str, resource_version: &str) -> bool {
        self.uid == uid && self.state.consume_echo(resource_version)
    }

    /// Records that the selected object may have changed.
    pub fn selection_changed(&mut self) {
        self.picked = None;
        self.changes += 1;
    }

    /// Records that objects which inputs come from or outputs go to may have changed. Returns true if that is news.
    pub fn sources_changed(&mut self, are: impl Fn(&SourceObject) -> bool) -> bool {
        let is_news = self.sinks.doubt_if(&are, boot_time()) || self.sources.name(&are);
        if is_news {
            self.sources.doubt(are);
            self.changes += 1;
        }
        is_news
    }

    /// Returns true if it held much lately, even if it held little the last time: its sources may alternate.
    #[must_use]
    pub fn was_heavy(&self, now: Duration) -> bool {
        self.heavy_at.is_some_and(|at| now < at + HEAVY_FOR)
    }

    /// Returns the time for which a change of a Runnable that is read is left alone, if it waits and has just written
    /// other words: most such changes only bring words.
    #[must_use]
    pub fn inputs_after(&self, now: Duration) -> Option<Duration> {
        let left = self.pace.looks_after(now);
        left.filter(|_| self.waits_beside_inputs)
    }

    /// Records that the Secret of this name, which inputs come from, may have changed.
    pub fn secret_changed(&mut self, name: &str) {
        self.sources_changed(|object| object.kind == SourceKind::Secret && object.name == name);
    }
}

/// The memories of all Runnables.
#[derive(Default)]
pub struct Memories {
    all: Mutex<HashMap<RunnableKey, Arc<Mutex<Memory>>>>,
    /// Runnables that left, the latest last. A Runnable that can no longer be read leaves as well, and its runs are
    /// unseen: if it comes back with an old ledger, only the number shows that.
    left: Mutex<VecDeque<Left>>,
}

impl Memories {
    /// Returns the memory of a Runnable; a new one if the uid has changed.
    #[must_use]
    pub fn get_or_create(&self, key: &RunnableKey, uid: &str) -> Arc<Mutex<Memory>> {
        let memory = lock(&self.all).entry(key.clone()).or_default().clone();
        let mut held = lock(&memory);
        if held.uid != uid {
            *held = Memory {
                uid: uid.to_owned(),
                state: ProcessState {
                    reached_sequence: self.left_at(uid),
                    ..ProcessState::default()
                },
                watched: std::mem::take(&mut held.watched),
                ..Memory::default()
            };
        }
        drop(held);
        memory
    }

    /// Returns the memory of a Runnable, if there is one.
    #[must_use]
    pub fn get(&self, key: &RunnableKey) -> Option<Arc<Mutex<Memory>>> {
        lock(&self.all).get(key).cloned()
    }

    /// Forgets the Runnables that do not exist any more, and returns their keys and uids. It is unknown if they were
    /// deleted.
    pub fn sweep(&self, exists: impl Fn(&RunnableKey) -> bool) -> Vec<(RunnableKey, String)> {
        let mut gone = Vec::new();
        lock(&self.all).retain(|key, memory| {
            let keep = exists(key);
            if !keep {
                gone.push((key.clone(), self.leave(memory, Leaving::Unreadable)));
            }
            keep
        });
        gone
    }

    /// Forgets one Runnable, and returns its uid.
    #[must_use]
    pub fn remove(&self, key: &RunnableKey, how: Leaving) -> Option<String> {
        let memory = lock(&self.all).remove(key)?;
        Some(self.leave(&memory, how))
    }

    /// Returns the Runnables that wait for what this event may have brought, and frees their steps to be retried at
    /// once.
    #[must_use]
    pub fn waiting_for(&self, requeue: Requeue, namespace: Option<&str>) -> Vec<RunnableKey> {
        let mut enqueued = Vec::new();
        for (key, memory) in &*lock(&self.all) {
            let mut memory = lock(memory);
            let is_near = |namespace| {
                namespace == key.namespace
                    || memory.sources.are_in(namespace)
                    || memory.lacks_permissions_in(namespace)
            };
            if namespace.is_none_or(is_near) && memory.retry_where(|error| error.requeue == requeue)
            {
                enqueued.push(key.clone());
            }
        }
        enqueued
    }
}

/// Digest of something that was reported, to recognize it. It never leaves the process.
#[must_use]
pub fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

mod backoffs;
mod changes;
mod dry_runs;
mod event_pace;
mod known_sinks;
mod known_sources;
mod left;
mod looked_for;
mod permissions;
mod pods;
mod telling;
pub use backoffs::{FailureBackoff, Operation};
pub use changes::{ChangedSpec, Changes};
pub use dry_runs::{DryRuns, MOST_DRY_RUNS};
pub use event_pace::EventPace;
pub use known_sinks::{KnownSinks, LookedForSinks};
pub use known_sources::KnownSources;
pub use left::Leaving;
use left::Left;
pub use looked_for::LookedFor;
pub use permissions::{About, MissingPermissions};
pub use pods::PodsMemory;
pub use telling::{Hold, Telling};

#[cfg(test)]
pub(crate) mod tests;
