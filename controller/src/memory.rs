//! What this process remembers of a Runnable between reconciliations. All of it may be lost: a restart costs
//! some reads and some patience, never a run.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::{
    pace::{ContestedPace, StatusPace},
    process_state::ProcessState,
    reconcile_error::Requeue,
    references::{SourceKind, SourceObject},
};

use k8s_openapi::jiff::Timestamp;

use crate::{
    clock::boot_time, lock::lock, picked::Picked, runnable_key::RunnableKey, watched_kind::Watched,
};

/// How long a Runnable that has held much counts as one that does.
const HEAVY_FOR: Duration = Duration::from_mins(10);

/// What is remembered of one Runnable.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is remembered of things that have nothing to do with each other"
)]
pub struct Memory {
    /// The uid that all of this is about.
    pub uid: String,
    /// What decisions need of it.
    pub state: ProcessState,
    /// The selected object, until an event says that it may have changed.
    pub picked: Option<Picked>,
    /// What was read of the objects that inputs come from, the same.
    pub sources: KnownSources,
    /// What is told of what it waits for, and of what its run was made from.
    pub telling: Telling,
    /// What it remembers of its writes of the status.
    pub pace: StatusPace,
    /// What it remembers of hashes of another release that it wrote anew.
    pub rehashes: ContestedPace,
    /// The pace at which what is recorded of runs is written.
    pub records: ContestedPace,
    /// What was found of the objects that outputs are written to, the same.
    pub sinks: KnownSinks,
    /// How many events said that any of them may have changed.
    pub changes: u64,
    /// What failed, and until when it is not tried again: each step for itself, `MAX_BACKOFFS` at most.
    pub backoffs: Vec<Backoff>,
    /// The last request to try at once what failed; none before the first look at the Runnable.
    pub retry_asked: Option<Option<String>>,
    /// A digest of what was rendered last, and the generation that it was rendered from.
    pub rendered: Option<(u64, i64)>,
    /// The last reconciliation did not end with everything made that is due: a change of profiles may let it go on.
    pub is_unsettled: bool,
    /// The last reconciliation ended with a run that waits for a person, for an earlier run or for permissions.
    pub waits_beside_inputs: bool,
    /// When a reconciliation last held much of what others wrote: for a while another one waits until no other does.
    pub heavy_at: Option<Duration>,
    /// Its template has changed since it was reconciled.
    pub of_edited_template: bool,
    /// Its account may list its runs but not get them.
    pub only_list: bool,
    /// Earlier runs that were looked for because no watch shows them.
    pub looked_for: LookedFor,
    /// Runs that were told to stop.
    pub asked_to_stop: LookedFor,
    /// Runs, by uid, that work and do not say since when, with the time at which each was first seen so.
    pub seen_at_work: BTreeMap<String, Timestamp>,
    /// The runs, by uid, of which it was reported that they do not stop, and whether they had been told.
    pub reported_unstopped: BTreeSet<(String, bool)>,
    /// For how long a change is known, where that counts.
    pub changes_due: Changes,
    /// How long its spec has waited for a run, to be counted.
    pub changed: ChangedSpec,
    /// How often the API server was asked of late what it makes of what waits for a person.
    pub dry_runs: DryRuns,
    /// What the account may not do.
    pub missing_permissions: Option<MissingPermissions>,
    /// What the pods of its current run said.
    pub pods: PodsMemory,
    /// What is watched for it.
    pub watched: BTreeSet<Watched>,
    /// When it was last reported that another controller writes the status.
    pub reported_other: Option<Duration>,
    /// When it was last told that another release is needed, and a digest of why.
    pub told_release: Option<(u64, Duration)>,
    /// The unknown runs that were reported, by uid.
    pub reported: BTreeSet<String>,
    /// That the kind of its runs is polled was reported.
    pub reported_polling: bool,
    /// A digest of the lines of its history of which it was said that they cannot be read.
    pub reported_history: Option<u64>,
    /// A digest of the warnings of the API server that were told, and of the template that they are about.
    pub reported_warnings: Option<u64>,
    /// The resourceVersion of which it was said that lines of its history are not kept.
    pub reported_dropped: Option<String>,
    /// The resourceVersion of which it was said that its ledger may have been put back.
    pub reported_put_back: Option<String>,
}

impl Memory {
    /// Whether this is our own latest write coming back, see [`ProcessState::is_echo`].
    pub fn is_echo(&mut self, uid: &str, resource_version: &str) -> bool {
        self.uid == uid && self.state.is_echo(resource_version)
    }

    /// What is selected may have changed.
    pub fn selection_changed(&mut self) {
        self.picked = None;
        self.changes += 1;
    }

    /// What was read of these objects, which inputs come from or outputs go to, may be old. Whether that is news.
    pub fn sources_changed(&mut self, are: impl Fn(&SourceObject) -> bool) -> bool {
        let is_news = self.sinks.doubt_if(&are, boot_time()) || self.sources.name(&are);
        if is_news {
            self.sources.doubt(are);
            self.changes += 1;
        }
        is_news
    }

    /// True if it held much of late, although the last time it may have held little: its sources may change by turns.
    #[must_use]
    pub fn was_heavy(&self, now: Duration) -> bool {
        self.heavy_at.is_some_and(|at| now < at + HEAVY_FOR)
    }

    /// How long a change of a Runnable that is read is left alone: most such changes bring words, and it has just written some.
    #[must_use]
    pub fn inputs_after(&self, now: Duration) -> Option<Duration> {
        let left = self.pace.looks_after(now);
        left.filter(|_| self.waits_beside_inputs)
    }

    /// The Secret of this name that inputs come from may have changed.
    pub fn secret_changed(&mut self, name: &str) {
        self.sources_changed(|object| object.kind == SourceKind::Secret && object.name == name);
    }
}

/// The memories of all Runnables.
#[derive(Default)]
pub struct Memories {
    all: Mutex<HashMap<RunnableKey, Arc<Mutex<Memory>>>>,
    /// Those that are not there any more, the latest last. A Runnable that can be read no more leaves as
    /// well, and its runs go unseen: if it comes back with an old ledger, only the number tells.
    left: Mutex<VecDeque<Left>>,
}

impl Memories {
    /// The memory of a Runnable; a new one when the uid is another than before.
    #[must_use]
    pub fn of(&self, key: &RunnableKey, uid: &str) -> Arc<Mutex<Memory>> {
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

    /// The memory of a Runnable, if there is one.
    #[must_use]
    pub fn known(&self, key: &RunnableKey) -> Option<Arc<Mutex<Memory>>> {
        lock(&self.all).get(key).cloned()
    }

    /// Forgets the Runnables that are not there any more, and says which. Whether they were deleted
    /// nobody knows.
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

    /// Forgets one Runnable, and says which uid it had.
    #[must_use]
    pub fn remove(&self, key: &RunnableKey, how: Leaving) -> Option<String> {
        let memory = lock(&self.all).remove(key)?;
        Some(self.leave(&memory, how))
    }

    /// The Runnables that wait for what this event may have brought, freed to try at once.
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

/// What was told, to know it again. It never leaves the process.
#[must_use]
pub fn digest(told: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    told.hash(&mut hasher);
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
pub use backoffs::{Backoff, Operation};
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
