//! Queue of Runnables to reconcile, all of which are taken at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::Notify,
    task::consume_budget,
    time::{Instant, sleep_until},
};

use crate::{lock::lock, runnable_key::RunnableKey};

/// Runnables that wait. Each is in it once, however many of its sources change.
#[derive(Default)]
struct WaitingRunnables {
    keys: Mutex<Keys>,
    came: Notify,
}

#[derive(Default)]
struct Keys {
    now: BTreeSet<RunnableKey>,
    /// Runnables that are enqueued at a later time. None of them is in `now`.
    later: BTreeMap<RunnableKey, Instant>,
    /// The earliest of these times, or an earlier one.
    next: Option<Instant>,
}

impl Keys {
    /// Enqueues the Runnables whose time has come.
    fn advance(&mut self, now: Instant) {
        if self.next.is_some_and(|next| next <= now) {
            let ready = self.later.extract_if(.., |_, at| *at <= now);
            self.now.extend(ready.map(|(key, _)| key));
            self.next = self.later.values().min().copied();
        }
    }
}

/// Sender of the queue: enqueues Runnables.
#[derive(Clone)]
pub struct Enqueuer(Arc<WaitingRunnables>);

/// Receiver of the queue: takes the Runnables that were enqueued.
pub struct Enqueued(Arc<WaitingRunnables>);

impl Enqueuer {
    /// Creates both ends of an empty queue.
    #[must_use]
    pub fn new() -> (Self, Enqueued) {
        let waiting = Arc::<WaitingRunnables>::default();
        (Self(waiting.clone()), Enqueued(waiting))
    }

    /// Enqueues the Runnable to be reconciled soon.
    pub fn enqueue(&self, key: &RunnableKey) {
        let mut keys = lock(&self.0.keys);
        if !keys.now.contains(key) {
            keys.later.remove(key);
            keys.now.insert(key.clone());
            self.0.came.notify_one();
        }
    }

    /// Enqueues the Runnable after this time, or soon if there is none.
    pub fn enqueue_in(&self, key: &RunnableKey, wait: Option<Duration>) {
        match wait {
            Some(wait) => self.enqueue_after(key, wait),
            None => self.enqueue(key),
        }
    }

    /// Enqueues the Runnable after this time, unless it is enqueued already.
    pub fn enqueue_after(&self, key: &RunnableKey, wait: Duration) {
        let mut keys = lock(&self.0.keys);
        if !keys.now.contains(key) && !keys.later.contains_key(key) {
            let at = Instant::now() + wait;
            keys.later.insert(key.clone(), at);
            keys.next = Some(keys.next.map_or(at, |next| next.min(at)));
            self.0.came.notify_one();
        }
    }

    /// Drops the later time of a Runnable, whose reconciliation begins: it sees all that has changed until now.
    pub fn begins(&self, key: &RunnableKey) {
        lock(&self.0.keys).later.remove(key);
    }

    /// Enqueues the Runnable soon, if it is enqueued for a later time.
    pub fn hasten(&self, key: &RunnableKey) {
        let is_later = lock(&self.0.keys).later.contains_key(key);
        if is_later {
            self.enqueue(key);
        }
    }
}

impl Enqueued {
    /// Waits until a Runnable is enqueued and returns all that are. No namespace waits behind the many Runnables of
    /// another.
    pub async fn next(&self) -> BTreeSet<RunnableKey> {
        loop {
            // Lets other tasks run even if this loop never has to wait.
            consume_budget().await;
            let keys = self.take();
            if !keys.is_empty() {
                return keys;
            }
            let next = lock(&self.0.keys).next;
            let its_time = async {
                match next {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.0.came.notified() => {}
                () = its_time => {}
            }
        }
    }

    /// Takes all that wait. From now on each is enqueued anew, so that no event is lost on its reconciliation.
    pub(super) fn take(&self) -> BTreeSet<RunnableKey> {
        let mut keys = lock(&self.0.keys);
        keys.advance(Instant::now());
        std::mem::take(&mut keys.now)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::{Duration, Enqueuer, Instant, RunnableKey};

    fn key(number: usize) -> RunnableKey {
        RunnableKey {
            namespace: "ns".to_owned(),
            name: number.to_string(),
        }
    }

    #[tokio::test]
    async fn a_runnable_that_is_enqueued_again_and_again_waits_once_and_all_are_taken_at_once() {
        let (enqueuer, waiting) = Enqueuer::new();
        for number in (0..1000).flat_map(|_| 0..1000) {
            enqueuer.enqueue(&key(number));
        }
        assert_eq!(waiting.next().await, (0..1000).map(key).collect());
        assert_eq!(waiting.next().now_or_never(), None);
    }

    #[tokio::test]
    async fn a_runnable_that_is_enqueued_after_it_was_taken_waits_again() {
        let (enqueuer, waiting) = Enqueuer::new();
        for number in [1, 2, 1] {
            enqueuer.enqueue(&key(number));
            assert_eq!(waiting.next().await, [key(number)].into());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_runnable_that_is_enqueued_for_later_waits_until_then_and_is_reconciled_once() {
        let second = Duration::from_secs(1);
        let (enqueuer, waiting) = Enqueuer::new();
        enqueuer.enqueue_after(&key(1), 10 * second);
        enqueuer.enqueue_after(&key(1), 20 * second);
        enqueuer.enqueue_after(&key(2), 5 * second);
        let begin = Instant::now();
        assert_eq!(waiting.next().await, [key(2)].into());
        assert_eq!(begin.elapsed().as_secs(), 5);
        assert_eq!(waiting.next().await, [key(1)].into());
        assert_eq!(begin.elapsed().as_secs(), 10);
        // An event in the meantime brings the time forward.
        enqueuer.enqueue_after(&key(1), 10 * second);
        enqueuer.enqueue(&key(1));
        enqueuer.enqueue_after(&key(1), 10 * second);
        assert_eq!(waiting.next().await, [key(1)].into());
        assert_eq!(begin.elapsed().as_secs(), 10);
        enqueuer.enqueue_after(&key(2), 10 * second);
        enqueuer.hasten(&key(1));
        enqueuer.hasten(&key(2));
        assert_eq!(waiting.next().await, [key(2)].into());
        assert_eq!(begin.elapsed().as_secs(), 10);
        assert_eq!(
            tokio::time::timeout(100 * second, waiting.next())
                .await
                .ok(),
            None
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_enqueued_for_later_before_a_reconciliation_began_is_over() {
        let second = Duration::from_secs(1);
        let (enqueuer, waiting) = Enqueuer::new();
        let begin = Instant::now();
        enqueuer.enqueue_after(&key(1), 5 * second);
        enqueuer.enqueue_after(&key(2), 10 * second);
        enqueuer.begins(&key(1));
        enqueuer.enqueue_after(&key(1), 20 * second);
        for (number, at) in [(2, 10), (1, 20)] {
            assert_eq!(waiting.next().await, [key(number)].into());
            assert_eq!(begin.elapsed().as_secs(), at);
        }
        // A reconciliation that begins does not drop what is enqueued for soon.
        enqueuer.enqueue(&key(1));
        enqueuer.begins(&key(1));
        assert_eq!(waiting.next().await, [key(1)].into());
    }

    #[tokio::test]
    async fn what_waits_for_a_runnable_is_woken() {
        let (enqueuer, waiting) = Enqueuer::new();
        let mut next = Box::pin(waiting.next());
        assert_eq!(next.as_mut().now_or_never(), None);
        enqueuer.enqueue(&key(1));
        assert_eq!(next.await, [key(1)].into());
    }
}
