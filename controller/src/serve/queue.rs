//! Reconciles Runnables: each when it is enqueued or its time has come, and when it is its turn.
//!
//! kube's `Controller` does the same but for the turns, and has each wait for the next tick of its timer:
//! one or two milliseconds of the ten that a change may take.

use std::{
    collections::{BTreeSet, HashMap},
    panic::AssertUnwindSafe,
    pin::pin,
    sync::Mutex,
    time::Duration,
};

use futures::{FutureExt, Stream, StreamExt, stream::FuturesUnordered};
use tokio_util::time::{DelayQueue, delay_queue};

use super::fair_queue::{FairQueue, Priority};
use crate::{backoff::STEPS, lock::lock, metrics::Metrics, runnable_key::RunnableKey};

/// The longest wait: a reconciliation too many costs little, and a wait of years ends the process.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// Whose turn it is; reconciliations that go on may ask.
pub(super) struct Queue {
    fair: Mutex<FairQueue>,
    metrics: Metrics,
}

impl Queue {
    /// For so many reconciliations at the same time.
    pub(super) fn new(concurrency: u16, metrics: Metrics) -> Self {
        Self {
            fair: Mutex::new(FairQueue::new(concurrency)),
            metrics,
        }
    }

    /// Reconciles whoever is enqueued, from when it is `ready` to when it has to `stop` and the reconciliations that go
    /// on have ended. There is no `priority` and no `reconcile` for a Runnable that is not there any more; a reconciliation
    /// says after which time the next one is due.
    pub(super) async fn serve<L: Future<Output = Option<Duration>>>(
        &self,
        enqueued: impl Stream<Item = BTreeSet<RunnableKey>>,
        ready: impl Future<Output = ()>,
        stop: impl Future<Output = ()>,
        priority: impl Fn(&RunnableKey) -> Option<Priority>,
        reconcile: impl Fn(&RunnableKey) -> Option<L>,
    ) {
        let (mut enqueued, mut ready, mut stop) = (pin!(enqueued), pin!(ready), pin!(stop));
        let (mut is_ready, mut stops) = (false, false);
        let mut running = FuturesUnordered::new();
        let mut delayed = DelayedQueue::default();
        while !(stops && running.is_empty()) {
            let due = tokio::select! {
                Some(keys) = enqueued.next() => keys,
                Some(key) = delayed.next() => BTreeSet::from([key]),
                Some((key, end)) = running.next() => {
                    self.done(key, &end, &mut delayed);
                    BTreeSet::new()
                }
                () = &mut ready, if !is_ready => { is_ready = true; BTreeSet::new() }
                () = &mut stop, if !stops => { stops = true; BTreeSet::new() }
            };
            // All are queued before one begins: the fair queue orders them.
            for key in due {
                delayed.cancel(&key);
                match priority(&key) {
                    Some(priority) => self.enqueue(&key, priority),
                    None => drop(delayed.panics.remove(&key)),
                }
            }
            while is_ready
                && !stops
                && let Some(key) = self.get()
            {
                if let Some(reconciliation) = reconcile(&key) {
                    // A mistake in one reconciliation ends that one: what it shares with others is only locked
                    // for a moment, and all of it may be lost.
                    let reconciliation = AssertUnwindSafe(reconciliation).catch_unwind();
                    running.push(async move { (key, reconciliation.await) });
                } else {
                    lock(&self.fair).done(&key);
                }
            }
        }
    }

    /// A reconciliation has ended, with the time after which the next one is due, or in a panic.
    fn done(
        &self,
        key: RunnableKey,
        end: &std::thread::Result<Option<Duration>>,
        delayed: &mut DelayedQueue,
    ) {
        let panics = &mut delayed.panics;
        let after = if let Ok(after) = end {
            panics.remove(&key);
            *after
        } else {
            Some(self.panicked(&key, panics))
        };
        let again = lock(&self.fair).done(&key);
        if let Some(after) = after.filter(|_| !again) {
            delayed.set(key, after);
        }
    }

    /// When the next reconciliation is due after one that ended in a panic: later each time.
    fn panicked(&self, key: &RunnableKey, panics: &mut HashMap<RunnableKey, u32>) -> Duration {
        self.metrics.panicked();
        tracing::error!(
            namespace = key.namespace,
            runnable = key.name,
            "a reconciliation of a Runnable ended in a panic, which is a mistake in the controller: please report it"
        );
        let attempts = panics.entry(key.clone()).or_default();
        *attempts += 1;
        STEPS.delay(*attempts)
    }

    fn enqueue(&self, key: &RunnableKey, priority: Priority) {
        let mut fair = lock(&self.fair);
        fair.enqueue(key, priority);
        self.metrics.queue_length(fair.waiting());
    }

    /// A function of its own, so that the lock is not held while the loop over it locks again.
    fn get(&self) -> Option<RunnableKey> {
        let mut fair = lock(&self.fair);
        let next = fair.get();
        self.metrics.queue_length(fair.waiting());
        next
    }
}

/// When Runnables are reconciled though nobody enqueues them.
#[derive(Default)]
struct DelayedQueue {
    queue: DelayQueue<RunnableKey>,
    keys: HashMap<RunnableKey, delay_queue::Key>,
    /// How many reconciliations of a Runnable have ended in a panic, one after the other.
    panics: HashMap<RunnableKey, u32>,
}

impl DelayedQueue {
    fn set(&mut self, key: RunnableKey, after: Duration) {
        self.cancel(&key);
        let entry = self.queue.insert(key.clone(), after.min(LONGEST_WAIT));
        self.keys.insert(key, entry);
    }

    fn cancel(&mut self, key: &RunnableKey) {
        if let Some(entry) = self.keys.remove(key) {
            self.queue.try_remove(&entry);
        }
    }

    async fn next(&mut self) -> Option<RunnableKey> {
        let key = self.queue.next().await?.into_inner();
        self.keys.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests;
