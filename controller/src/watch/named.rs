//! Watches of single Secrets, each as the account of the Runnables whose inputs come from it: the controller itself may
//! see none. All Runnables of an account share the watch of a Secret, which ends with the last of them.
//!
//! The authors of Runnables choose the names, so a name alone costs nothing: only Secrets that a read as the account
//! has found are kept here and watched. Both numbers have a bound, which the namespaces share. The other Secrets are
//! read now and then, and each such read asks for a place again.

mod follow;
mod known;
mod shares;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

use super::{Enqueuer, supervised};
use crate::{
    backoff::{HALF, REFUSED_WATCHES, WATCHES},
    identity::Identity,
    lock::lock,
    memory::Memories,
    metrics::{Metrics, ObjectWatch},
    runnable_key::RunnableKey,
};
use known::{KnownSecrets, WatchRefusal};

/// Mean delay before refused watches are tried again after permissions have changed: they do not come together, and the
/// authorizer may be behind.
const GRANTED: Duration = Duration::from_millis(500);

/// Maximum number of known Secrets in all namespaces, unless more may be watched.
const MOST_KNOWN: usize = 10_000;

/// A Secret and the account that watches it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatchedSecret {
    /// Namespace of both.
    pub namespace: String,
    /// Name of the account.
    pub account: String,
    /// Name of the Secret.
    pub name: String,
}

/// Watches of all Secrets that inputs come from.
pub struct SecretWatches {
    known: Mutex<KnownSecrets>,
    /// Maximum number of watches that are open at the same time.
    places: usize,
    identity: Arc<Identity>,
    memories: Arc<Memories>,
    enqueuer: Enqueuer,
    metrics: Metrics,
}

/// State of one watch, as its task knows it.
struct SecretWatchState {
    now: Mutex<ObjectWatch>,
    metrics: Metrics,
}

impl SecretWatchState {
    fn new(now: ObjectWatch, metrics: Metrics) -> Self {
        metrics.object_watch(Some(now), None);
        Self {
            now: Mutex::new(now),
            metrics,
        }
    }

    fn now(&self) -> ObjectWatch {
        *lock(&self.now)
    }

    /// Sets the state and returns the one before.
    fn turn(&self, now: ObjectWatch) -> ObjectWatch {
        let before = std::mem::replace(&mut *lock(&self.now), now);
        self.metrics.object_watch(Some(now), Some(before));
        before
    }
}

impl Drop for SecretWatchState {
    fn drop(&mut self) {
        self.metrics.object_watch(None, Some(self.now()));
    }
}

impl SecretWatches {
    /// Creates a registry without watches, for at most `most` of them.
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
            places: most,
            identity,
            memories,
            enqueuer,
            metrics,
        }
    }

    /// Makes a Runnable a user of exactly these Secrets, as far as they were found; all are of one namespace and
    /// account. Returns those of which it must not rely on an earlier read.
    pub fn want(&self, key: &RunnableKey, now: BTreeSet<WatchedSecret>) -> Vec<WatchedSecret> {
        lock(&self.known).want(key, now)
    }

    /// Records that a read for a Runnable has found this Secret, if it wants that: it is watched from now on, if there
    /// is room. Returns true if a watch already reported its changes, but not to this Runnable, so that its read may be
    /// old.
    pub fn record_found(self: &Arc<Self>, key: &RunnableKey, secret: &WatchedSecret) -> bool {
        let mut known = lock(&self.known);
        let Some(is_late) = known.join(key, secret) else {
            return false;
        };
        if !is_late && !known.has_task(secret) {
            let room = self.places.max(MOST_KNOWN);
            let state = || SecretWatchState::new(ObjectWatch::Starting, self.metrics.clone());
            if known.keep(key, secret, room, state) {
                self.begin(&mut known, secret);
            }
        }
        is_late
    }

    /// Removes a deleted Runnable: nothing is watched for it.
    pub fn forget(&self, key: &RunnableKey) {
        lock(&self.known).want(key, BTreeSet::new());
    }

    /// Returns true if a watch reports the changes of a Secret.
    #[must_use]
    pub fn is_watched(&self, secret: &WatchedSecret) -> bool {
        let known = lock(&self.known);
        let watch = known.watches.get(secret);
        watch.is_some_and(|watch| watch.state.now() == ObjectWatch::Watched)
    }

    /// Returns the interval at which a Runnable of this namespace reads Secrets that are not watched; never less than
    /// `usual`.
    #[must_use]
    pub fn poll(&self, namespace: &str, usual: Duration) -> Duration {
        lock(&self.known).shares.poll(namespace, usual)
    }

    /// Tries refused watches again after permissions have changed, in a namespace or everywhere.
    pub fn retry_refused(self: &Arc<Self>, namespace: Option<&str>) {
        let mut known = lock(&self.known);
        for secret in known.grant(namespace) {
            self.begin(&mut known, &secret);
        }
    }

    /// Returns the Secrets that were found for a Runnable.
    #[cfg(test)]
    pub(crate) fn list_found(&self, key: &RunnableKey) -> BTreeSet<WatchedSecret> {
        lock(&self.known).list_joined(key)
    }

    /// Begins the watch of a known Secret that has none, if it is time and there is a place.
    fn begin(self: &Arc<Self>, known: &mut KnownSecrets, secret: &WatchedSecret) {
        let Some((secret, watch)) = known.watches.get_key_value(secret) else {
            return;
        };
        let (secret, state) = (secret.clone(), watch.state.clone());
        let pause = match &watch.refusal {
            Some(refusal) if !refusal.is_over(Instant::now()) => return,
            Some(refusal) if refusal.is_granted => HALF.over(GRANTED),
            _ => Duration::ZERO,
        };
        if known.shares.sum().places >= self.places {
            let Some(users) = known.make_place(&secret.namespace) else {
                if state.turn(ObjectWatch::Full) == ObjectWatch::Starting {
                    let (namespace, name) = (&secret.namespace, &secret.name);
                    tracing::info!(
                        namespace,
                        secret = name,
                        "too many Secrets to watch: this one is polled"
                    );
                }
                return;
            };
            self.enqueue(users);
        }
        state.turn(ObjectWatch::Starting);
        let run = {
            let (watches, secret, state) = (self.clone(), secret.clone(), state.clone());
            move || follow::follow(watches.clone(), secret.clone(), state.clone(), pause)
        };
        let on_end = {
            let (watches, secret, state) = (self.clone(), secret.clone(), state);
            move || watches.turn(&secret, &state, ObjectWatch::Failing)
        };
        let what = "the watch of a Secret".to_owned();
        let task = tokio::spawn(supervised(what, self.metrics.clone(), run, on_end));
        known.store_task(&secret, task.abort_handle());
    }

    /// Sets the state of a watch. Runnables that relied on it are enqueued, to poll from now on.
    fn turn(&self, secret: &WatchedSecret, state: &Arc<SecretWatchState>, now: ObjectWatch) {
        let users = lock(&self.known).turn(secret, state, now);
        self.enqueue(users);
    }

    /// Ends a watch that the account may not open, and frees its place. `was_open` is true if the account was allowed
    /// to before.
    fn end_refused(&self, secret: &WatchedSecret, state: &Arc<SecretWatchState>, was_open: bool) {
        let users = lock(&self.known).end_refused(secret, state, |before| {
            let refusals = before.filter(|_| !was_open).map_or(0, |it| it.refusals + 1);
            let now = Instant::now();
            WatchRefusal {
                refusals,
                not_before: now + WATCHES.delay(refusals),
                again: now + REFUSED_WATCHES.delay(refusals),
                is_granted: false,
            }
        });
        self.enqueue(users);
    }

    /// Enqueues the Runnables that read a Secret that may have changed, to read exactly this one again.
    fn changed(&self, secret: &WatchedSecret) {
        let users = lock(&self.known).users(secret);
        for key in users {
            if let Some(memory) = self.memories.get(&key) {
                // The wait after a refusal of the rendered object goes on: this change may well leave that as it is.
                lock(&memory).secret_changed(&secret.name);
            }
            self.enqueuer.enqueue(&key);
        }
    }

    fn enqueue(&self, users: Vec<Arc<RunnableKey>>) {
        for key in users {
            self.enqueuer.enqueue(&key);
        }
    }
}

#[cfg(test)]
mod tests;
