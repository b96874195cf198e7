//! Reconciles Runnables: when they are enqueued or their time has come, in fair turns.
//!
//! kube's `Controller` does the same without turns, and makes each wait for the next tick of its timer: one or two of
//! the ten milliseconds that a change may take.

use std::{
    collections::{BTreeSet, HashMap},
    panic::AssertUnwindSafe,
    pin::pin,
    sync::Mutex,
    time::Duration,
};

use futures::{FutureExt, Stream, StreamExt, stream::FuturesUnordered};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};
use tokio_util::time::{DelayQueue, delay_queue};

use super::fair_queue::{FairQueue, Priority, Turn};
use crate::{
    backoff::STEPS, budget::HeavyPlace, lock::lock, metrics::Metrics, runnable_key::RunnableKey,
};

/// Longest wait: a needless reconciliation costs little, and a wait of years panics in the timer.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// Turns of Runnables; running reconciliations may use it.
pub(super) struct TurnQueue {
    fair: Mutex<FairQueue>,
    /// Origin of its time.
    began: Instant,
    heavy: HeavyPlace,
    metrics: Metrics,
}

/// A reconciliation that has ended: with the time until the next one, or in a panic.
struct FinishedTurn {
    key: RunnableKey,
    /// Duration without the wait for the place for heavy ones.
    took: Duration,
    end: std::thread::Result<Option<Duration>>,
}

impl TurnQueue {
    /// Creates a queue for this many concurrent reconciliations.
    pub(super) fn new(concurrency: u16, heavy: HeavyPlace, metrics: Metrics) -> Self {
        Self {
            fair: Mutex::new(FairQueue::new(concurrency)),
            began: Instant::now(),
            heavy,
            metrics,
        }
    }

    /// Reconciles enqueued Runnables from `ready` until `stop`, and then until running reconciliations have ended.
    /// `priority` returns `None` for a Runnable that is gone. One that `is_heavy` gets the place for these. `reconcile`
    /// returns the time until the next one.
    pub(super) async fn serve<L: Future<Output = Option<Duration>>>(
        &self,
        enqueued: impl Stream<Item = BTreeSet<RunnableKey>>,
        ready: impl Future<Output = ()>,
        stop: impl Future<Output = ()>,
        priority: impl Fn(&RunnableKey) -> Option<Priority>,
        is_heavy: impl Fn(&RunnableKey) -> bool,
        reconcile: impl Fn(RunnableKey, Option<OwnedSemaphorePermit>) -> L,
    ) {
        let (mut enqueued, mut ready, mut stop) = (pin!(enqueued), pin!(ready), pin!(stop));
        let (mut is_ready, mut stops) = (false, false);
        let mut running = FuturesUnordered::new();
        let mut delayed = DelayedQueue::default();
        while !(stops && running.is_empty()) {
            // While nothing may begin, the end of a rest must not wake the loop.
            let rest_ends = self.rest_ends().filter(|_| is_ready && !stops);
            let due = tokio::select! {
                Some(keys) = enqueued.next() => keys,
                Some(key) = delayed.next() => BTreeSet::from([key]),
                Some(ended) = running.next() => {
                    self.done(ended, &mut delayed);
                    BTreeSet::new()
                }
                () = sleep_until(rest_ends.unwrap_or(self.began)), if rest_ends.is_some() => BTreeSet::new(),
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
                && let Some(turn) = self.get(&is_heavy)
            {
                running.push(self.reconcile(turn, &reconcile));
            }
        }
    }

    /// Reconciles a Runnable; a heavy one once it has the place for these. Those that turn out to be heavy during a
    /// reconciliation wait for the place in the same order.
    async fn reconcile<L: Future<Output = Option<Duration>>>(
        &self,
        Turn { key, is_heavy }: Turn,
        reconcile: &impl Fn(RunnableKey, Option<OwnedSemaphorePermit>) -> L,
    ) -> FinishedTurn {
        let place = if is_heavy {
            self.heavy.wait().await
        } else {
            None
        };
        let began = Instant::now();
        // A panic ends only its own reconciliation: shared state is only locked for a moment, and may all be lost.
        let end = AssertUnwindSafe(reconcile(key.clone(), place)).catch_unwind();
        let end = end.await;
        let took = began.elapsed();
        FinishedTurn { key, took, end }
    }

    /// Ends a reconciliation, and schedules the next.
    fn done(&self, FinishedTurn { key, took, end }: FinishedTurn, delayed: &mut DelayedQueue) {
        let panics = &mut delayed.panics;
        let after = if let Ok(after) = end {
            panics.remove(&key);
            after
        } else {
            Some(self.count_panic(&key, panics))
        };
        let again = lock(&self.fair).finish(&key, self.began.elapsed(), took);
        if let Some(after) = after.filter(|_| !again) {
            delayed.set(key, after);
        }
    }

    /// Reports a panic, and returns the backoff until the next reconciliation.
    fn count_panic(&self, key: &RunnableKey, panics: &mut HashMap<RunnableKey, u32>) -> Duration {
        self.metrics.count_panic();
        tracing::error!(
            namespace = key.namespace,
            runnable = key.name,
            "a reconciliation of a Runnable ended in a panic, which is a bug in the controller: please report it"
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

    /// A function of its own, so that the lock is released before the loop over it locks again.
    fn get(&self, is_heavy: impl Fn(&RunnableKey) -> bool) -> Option<Turn> {
        let mut fair = lock(&self.fair);
        let next = fair.get(self.began.elapsed(), is_heavy);
        self.metrics.queue_length(fair.waiting());
        next
    }

    /// Returns the time at which a heavy Runnable may begin without any other event.
    fn rest_ends(&self) -> Option<Instant> {
        let end = lock(&self.fair).rest_ends()?;
        Some(self.began + end)
    }
}

/// Runnables that are reconciled after a time, unless they are enqueued before.
#[derive(Default)]
struct DelayedQueue {
    queue: DelayQueue<RunnableKey>,
    keys: HashMap<RunnableKey, delay_queue::Key>,
    /// Number of consecutive panics of each Runnable.
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
