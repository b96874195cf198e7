//! What this process remembers of a Runnable between reconciliations. All of it may be lost: a restart costs
//! some reads and some patience, never a run.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::{
    diagnosis::Diagnosis,
    process_state::ProcessState,
    reconcile_error::{Category, ReconcileError, Requeue},
    sourced_inputs::{SourceKind, SourceObject},
    told,
};
use k8s_openapi::jiff::Timestamp;

use crate::{
    backoff::STEPS, clock::boot_time, lock::lock, picked::Picked, runnable_key::RunnableKey,
    watch::Watched,
};

/// Steps of one Runnable that are held back at the same time; of more the first that may be tried again is
/// forgotten.
const MAX_BACKOFFS: usize = 16;

/// What the pods of a run may do is asked no more often than this while anything of it is missing.
const ROUNDS_OF_PERMISSIONS: Duration = Duration::from_secs(10);

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
    /// What was found of the objects that outputs are written to, the same.
    pub sinks: KnownSinks,
    /// How many events said that any of them may have changed.
    pub changes: u64,
    /// What failed, and until when it is not tried again: each step for itself, `MAX_BACKOFFS` at most.
    pub backoffs: Vec<Backoff>,
    /// The last reconciliation did not end with everything made that is due: a change of profiles may let it go on.
    pub is_unsettled: bool,
    /// The last reconciliation held much of what others wrote: another one waits until no other does.
    pub was_heavy: bool,
    /// Its template has changed since it was reconciled.
    pub of_edited_template: bool,
    /// Its account may list its runs but not get them.
    pub only_list: bool,
    /// Earlier runs that were looked for because no watch shows them.
    pub looked_for: LookedFor,
    /// Runs that were told to stop.
    pub asked_to_stop: LookedFor,
    /// The runs, by uid, of which it was reported that they do not stop, and whether they had been told.
    pub reported_unstopped: BTreeSet<(String, bool)>,
    /// For how long a change is known, where that counts.
    pub changes_due: Changes,
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
    /// When it was last written that a change has to settle, and the resourceVersion of that.
    pub reported_settling: Option<(Duration, String)>,
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

/// Something that failed.
#[derive(Clone, Debug)]
pub struct Backoff {
    /// What it was.
    pub what: Operation,
    /// What was wrong.
    pub error: ReconcileError,
    /// How often it has failed in a row.
    pub attempts: u32,
    /// When it failed first in that row, by the API server's clock.
    pub since: Option<Timestamp>,
    /// When it is tried again, on the clock that goes on while the machine sleeps.
    pub until: Duration,
    /// When it is tried again at the earliest, whatever changes meanwhile.
    pub not_before: Duration,
}

/// What can be held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Anything before the template is rendered, at this generation.
    Render(i64),
    /// Giving an intended run another number.
    Renumber,
    /// Listing runs.
    List,
    /// Reading a run.
    Read(String),
    /// Creating the run of a sequence.
    Create(i64),
    /// Asking whether the pods of a run may do this: the digest of what is asked.
    AskPermissions(u64),
    /// Deleting runs.
    Delete,
    /// Writing outputs to other objects.
    Sinks,
    /// Telling runs of this kind to stop.
    Stop(String),
    /// Writing the status, at this generation.
    Status(i64),
    /// Reading the ledger once more before a create, or who wrote it.
    Ledger,
}

impl Memory {
    /// Puts a failure down, and says how long to wait. The same failure waits longer each time.
    pub fn failed(&mut self, what: Operation, error: &ReconcileError, now: Duration) -> Duration {
        // What has not failed again long after it could have been tried is over.
        self.backoffs
            .retain(|backoff| backoff.until + 2 * STEPS.longest > now || backoff.what == what);
        let known = self
            .backoffs
            .iter()
            .position(|backoff| backoff.what == what);
        let known = known.map(|at| self.backoffs.swap_remove(at));
        let (attempts, since) = known.map_or((0, None), |known| (known.attempts, known.since));
        let delay = match error.requeue {
            Requeue::After(wait) => wait.max(Duration::from_millis(100)),
            _ => STEPS.delay(attempts),
        };
        // However often roles change.
        let least = match what {
            Operation::AskPermissions(_) => ROUNDS_OF_PERMISSIONS,
            _ => Duration::ZERO,
        };
        let delay = delay.max(least);
        if self.backoffs.len() >= MAX_BACKOFFS
            && let Some(first) = (0..self.backoffs.len()).min_by_key(|at| self.backoffs[*at].until)
        {
            self.backoffs.swap_remove(first);
        }
        // Whoever waits has not failed, and whatever fails in the end is tried again as soon as ever; nor does anybody try
        // again sooner or later for what has its own time.
        let is_hold = error.category.is_hold();
        let (attempts, failures) = match error.requeue {
            _ if is_hold => (0, 0),
            Requeue::After(_) => (attempts, 0),
            _ => (attempts, 1),
        };
        self.backoffs.push(Backoff {
            what,
            error: error.clone(),
            attempts: attempts + failures,
            since,
            until: now + delay,
            not_before: now + least,
        });
        delay
    }

    /// A step failed, of which is told how often it was tried. The error that says so.
    pub fn failed_again(
        &mut self,
        what: &Operation,
        error: ReconcileError,
        times: (Option<Timestamp>, Duration),
    ) -> ReconcileError {
        let (clock, now) = times;
        self.failed(what.clone(), &error, now);
        let Some(backoff) = self
            .backoffs
            .iter_mut()
            .find(|backoff| backoff.what == *what)
        else {
            return error;
        };
        backoff.since = backoff.since.or(clock);
        let again = (error.requeue != Requeue::OnChange).then(|| STEPS.latest());
        let message = told::with_tries(&error.message, backoff.attempts, backoff.since, again);
        // The one that is found while it is held back is the one that was told.
        backoff.error = ReconcileError { message, ..error };
        backoff.error.clone()
    }

    /// The failure that still holds this back, and for how long.
    #[must_use]
    pub fn in_backoff(
        &self,
        what: &Operation,
        now: Duration,
    ) -> Option<(&ReconcileError, Duration)> {
        let backoff = self
            .last_failure(what)
            .filter(|backoff| backoff.until > now)?;
        Some((&backoff.error, backoff.until.saturating_sub(now)))
    }

    /// The failure of a step that has not gone well since.
    #[must_use]
    pub fn last_failure(&self, what: &Operation) -> Option<&Backoff> {
        self.backoffs.iter().find(|backoff| backoff.what == *what)
    }

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

    /// The Secret of this name that inputs come from may have changed.
    pub fn secret_changed(&mut self, name: &str) {
        self.sources_changed(|object| object.kind == SourceKind::Secret && object.name == name);
    }

    /// All that could be done is done: what was wrong before a step could be taken is over.
    pub fn is_well(&mut self) {
        self.backoffs
            .retain(|backoff| !matches!(backoff.what, Operation::Render(_)));
    }

    /// It went well.
    pub fn succeeded(&mut self, what: &Operation) {
        self.backoffs.retain(|backoff| backoff.what != *what);
    }

    /// Whether the pods of its run need permissions in this namespace that they do not have.
    fn lacks_permissions_in(&self, namespace: &str) -> bool {
        let mut diagnoses = self
            .backoffs
            .iter()
            .filter_map(|it| it.error.diagnosis.as_deref());
        diagnoses.any(|diagnosis| match diagnosis {
            Diagnosis::PermissionMissing(_, _, missing) => missing
                .iter()
                .any(|it| it.namespace.as_deref() == Some(namespace)),
            _ => false,
        })
    }

    /// Profiles have changed: what failed for them is tried at once, and whatever did where a run is made with one.
    pub fn profiles_changed(&mut self, is_pinned: bool) {
        self.retry_where(|error| {
            is_pinned
                || error.category.is_of_profiles()
                || error.category == Category::PermissionMissing
        });
    }

    /// Something that may cure it has changed: it is tried at once, but waits as long as before if
    /// it fails again.
    pub fn retry_now(&mut self) {
        self.retry_where(|_| true);
    }

    /// The same for what failed in a certain way. Whether anything did.
    fn retry_where(&mut self, failed: impl Fn(&ReconcileError) -> bool) -> bool {
        let mut any = false;
        for backoff in self
            .backoffs
            .iter_mut()
            .filter(|backoff| failed(&backoff.error))
        {
            // Not zero: what is over and what may be tried at once are not the same.
            backoff.until = backoff.until.min(boot_time().max(backoff.not_before));
            any = true;
        }
        // What was granted is asked anew, where anybody waits for it.
        if any && let Some(kept) = &mut self.missing_permissions {
            kept.ask_again();
        }
        any
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

mod changes;
mod dry_runs;
mod known_sinks;
mod known_sources;
mod left;
mod looked_for;
mod permissions;
mod pods;
mod telling;
pub use changes::Changes;
pub use dry_runs::{DryRuns, MOST_DRY_RUNS};
pub use known_sinks::{KnownSinks, LookedForSinks};
pub use known_sources::KnownSources;
pub use left::Leaving;
use left::Left;
pub use looked_for::LookedFor;
pub use permissions::{About, MissingPermissions};
pub use pods::PodsMemory;
pub use telling::{Hold, Telling};

#[cfg(test)]
mod tests;
