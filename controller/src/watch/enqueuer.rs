//! Runnables that are enqueued, until all of them are taken at once.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use tokio::{sync::Notify, task::consume_budget};

use crate::{lock::lock, runnable_key::RunnableKey};

/// Each Runnable is in it once, however much it reads of what changes.
#[derive(Default)]
struct Waiting {
    keys: Mutex<BTreeSet<RunnableKey>>,
    came: Notify,
}

/// Enqueues Runnables.
#[derive(Clone)]
pub struct Enqueuer(Arc<Waiting>);

/// Takes those that were enqueued.
pub struct Enqueued(Arc<Waiting>);

impl Enqueuer {
    /// A way to enqueue, and the place where those are that were enqueued.
    #[must_use]
    pub fn new() -> (Self, Enqueued) {
        let waiting = Arc::<Waiting>::default();
        (Self(waiting.clone()), Enqueued(waiting))
    }

    /// Has the Runnable reconciled soon.
    pub fn enqueue(&self, key: &RunnableKey) {
        let mut keys = lock(&self.0.keys);
        if !keys.contains(key) {
            keys.insert(key.clone());
            self.0.came.notify_one();
        }
    }
}

impl Enqueued {
    /// All that wait, once there is one. No namespace waits behind the many of another.
    pub async fn next(&self) -> BTreeSet<RunnableKey> {
        self.0.came.notified().await;
        // Other tasks have their turn though one comes after the other.
        consume_budget().await;
        self.take()
    }

    /// All that wait. From now on each is enqueued anew, so that no event is lost on its reconciliation.
    pub(super) fn take(&self) -> BTreeSet<RunnableKey> {
        std::mem::take(&mut *lock(&self.0.keys))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::{Enqueuer, RunnableKey};

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

    #[tokio::test]
    async fn what_waits_for_a_runnable_is_woken() {
        let (enqueuer, waiting) = Enqueuer::new();
        let mut next = Box::pin(waiting.next());
        assert_eq!(next.as_mut().now_or_never(), None);
        enqueuer.enqueue(&key(1));
        assert_eq!(next.await, [key(1)].into());
    }
}
