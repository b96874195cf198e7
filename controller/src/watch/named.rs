//! Watches of single Secrets, each as the account of the Runnables whose inputs come from it: the controller itself may
//! see none. All Runnables of an account share the watch of a Secret, which ends with the last of them.

mod follow;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use tokio::{
    sync::{Notify, Semaphore},
    task::AbortHandle,
};

use super::{Enqueuer, supervised};
use crate::{
    identity::Identity,
    lock::lock,
    memory::Memories,
    metrics::{Metrics, ObjectWatch},
    runnable_key::RunnableKey,
};

/// A Secret, and as whom it is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatchedSecret {
    /// Where both are.
    pub namespace: String,
    /// The account.
    pub account: String,
    /// Its name.
    pub name: String,
}

/// The watches of all Secrets that inputs come from.
pub struct SecretWatches {
    known: Mutex<Known>,
    /// Watches that may be open: names are chosen by those who write Runnables. Whoever waits longest gets the next place.
    places: Semaphore,
    identity: Arc<Identity>,
    memories: Arc<Memories>,
    enqueuer: Enqueuer,
    metrics: Metrics,
}

#[derive(Default)]
struct Known {
    watches: HashMap<WatchedSecret, SecretWatch>,
    /// What is watched for each Runnable; none of those for which nothing is.
    wanted: HashMap<RunnableKey, BTreeSet<WatchedSecret>>,
}

struct SecretWatch {
    users: HashSet<RunnableKey>,
    state: Arc<State>,
    task: AbortHandle,
}

impl Drop for SecretWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How one watch fares, as its task knows it.
struct State {
    now: Mutex<ObjectWatch>,
    /// Permissions have changed since it was refused.
    granted: Notify,
    metrics: Metrics,
}

impl State {
    fn new(metrics: Metrics) -> Self {
        let now = ObjectWatch::Starting;
        metrics.object_watch(Some(now), None);
        Self {
            now: Mutex::new(now),
            granted: Notify::new(),
            metrics,
        }
    }

    fn now(&self) -> ObjectWatch {
        *lock(&self.now)
    }

    /// It fares so from now on. What was before.
    fn turn(&self, now: ObjectWatch) -> ObjectWatch {
        let before = std::mem::replace(&mut *lock(&self.now), now);
        self.metrics.object_watch(Some(now), Some(before));
        before
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.metrics.object_watch(None, Some(self.now()));
    }
}

impl SecretWatches {
    /// No watch yet, and so many at most.
    #[must_use]
    pub fn new(
        most: usize,
        identity: Arc<Identity>,
        memories: Arc<Memories>,
        enqueuer: Enqueuer,
        metrics: Metrics,
    ) -> Self {
        Self {
            known: Mutex::default(),
            places: Semaphore::new(most.min(Semaphore::MAX_PERMITS)),
            identity,
            memories,
            enqueuer,
            metrics,
        }
    }

    /// Makes exactly these watches serve a Runnable. Those that did not before, of which nobody has told until now.
    pub fn want(
        self: &Arc<Self>,
        key: &RunnableKey,
        now: BTreeSet<WatchedSecret>,
    ) -> Vec<WatchedSecret> {
        let mut known = lock(&self.known);
        let before = known.wanted.remove(key).unwrap_or_default();
        for gone in before.difference(&now) {
            known.leave(gone, key);
        }
        let added: Vec<_> = now.difference(&before).cloned().collect();
        for secret in &added {
            let begin = || self.begin(secret);
            let watch = known.watches.entry(secret.clone()).or_insert_with(begin);
            watch.users.insert(key.clone());
        }
        if !now.is_empty() {
            known.wanted.insert(key.clone(), now);
        }
        added
    }

    /// A Runnable is gone: nothing is watched for it.
    pub fn forget(&self, key: &RunnableKey) {
        let mut known = lock(&self.known);
        for gone in known.wanted.remove(key).unwrap_or_default() {
            known.leave(&gone, key);
        }
    }

    /// Whether changes of a Secret are told.
    #[must_use]
    pub fn is_watched(&self, secret: &WatchedSecret) -> bool {
        let known = lock(&self.known);
        let watch = known.watches.get(secret);
        watch.is_some_and(|watch| watch.state.now() == ObjectWatch::Watched)
    }

    /// Permissions have changed, in a namespace or everywhere: what may not be watched is tried again.
    pub fn granted(&self, namespace: Option<&str>) {
        for (secret, watch) in &lock(&self.known).watches {
            let concerns = namespace.is_none_or(|namespace| namespace == secret.namespace);
            if concerns && watch.state.now() != ObjectWatch::Watched {
                watch.state.granted.notify_one();
            }
        }
    }

    /// What is watched for a Runnable.
    #[cfg(test)]
    pub(crate) fn wanted(&self, key: &RunnableKey) -> BTreeSet<WatchedSecret> {
        let known = lock(&self.known);
        known.wanted.get(key).cloned().unwrap_or_default()
    }

    fn begin(self: &Arc<Self>, secret: &WatchedSecret) -> SecretWatch {
        let state = Arc::new(State::new(self.metrics.clone()));
        let run = {
            let (watches, secret, state) = (self.clone(), secret.clone(), state.clone());
            move || follow::follow(watches.clone(), secret.clone(), state.clone())
        };
        let on_end = {
            let (watches, secret, state) = (self.clone(), secret.clone(), state.clone());
            move || watches.turn(&secret, &state, ObjectWatch::Failing)
        };
        let what = "the watch of a Secret".to_owned();
        let task = tokio::spawn(supervised(what, self.metrics.clone(), run, on_end));
        SecretWatch {
            users: HashSet::new(),
            state,
            task: task.abort_handle(),
        }
    }

    /// A watch fares otherwise: whoever relied on it goes by the clock from now on.
    fn turn(&self, secret: &WatchedSecret, state: &State, now: ObjectWatch) {
        if state.turn(now) == ObjectWatch::Watched && now != ObjectWatch::Watched {
            for key in self.users(secret) {
                self.enqueuer.enqueue(&key);
            }
        }
    }

    /// The Secret may have changed: exactly this one is read again, by those whom it concerns.
    fn changed(&self, secret: &WatchedSecret) {
        for key in self.users(secret) {
            if let Some(memory) = self.memories.known(&key) {
                let mut memory = lock(&memory);
                memory.secret_changed(&secret.name);
                memory.retry_now();
            }
            self.enqueuer.enqueue(&key);
        }
    }

    fn users(&self, secret: &WatchedSecret) -> Vec<RunnableKey> {
        let known = lock(&self.known);
        let users = known.watches.get(secret).map(|watch| &watch.users);
        users.into_iter().flatten().cloned().collect()
    }
}

impl Known {
    fn leave(&mut self, secret: &WatchedSecret, key: &RunnableKey) {
        if let Some(watch) = self.watches.get_mut(secret) {
            watch.users.remove(key);
            if watch.users.is_empty() {
                self.watches.remove(secret);
            }
        }
    }
}

#[cfg(test)]
mod tests;
