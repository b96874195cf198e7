//! Answers that equal requests share for some seconds.

use std::{
    collections::HashMap,
    convert::Infallible,
    hash::Hash,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{clock::boot_time, lock::lock};

/// Time for which an answer is shared, from its request on.
const SHARED_FOR: Duration = Duration::from_secs(5);
/// Maximum number of answers that are shared at the same time.
const MOST: usize = 128;

/// Shared answers, and the times of their requests. The caller that sends a request holds its place; the others wait
/// for the answer.
pub(super) struct Shared<K, V> {
    places: Mutex<HashMap<K, AnswerPlace<V>>>,
    shared_for: Duration,
}

type AnswerPlace<V> = Arc<tokio::sync::Mutex<Option<SharedAnswer<V>>>>;

struct SharedAnswer<V> {
    at: Duration,
    /// `None` if it failed, or is not to be shared.
    answer: Option<Arc<V>>,
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self {
            places: Mutex::default(),
            shared_for: SHARED_FOR,
        }
    }
}

impl<K: Hash + Eq, V> Shared<K, V> {
    /// Returns the answer, which is shared if it `is_small`.
    pub(super) async fn get(
        &self,
        key: K,
        is_small: impl Fn(&V) -> bool,
        ask: impl Future<Output = V>,
    ) -> Arc<V> {
        let ask = async { Ok::<_, Infallible>(ask.await) };
        match self.get_if(key, is_small, ask).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }

    /// Returns the answer to a request that may fail. A failure is not shared.
    pub(super) async fn try_get<E>(
        &self,
        key: K,
        ask: impl Future<Output = Result<V, E>>,
    ) -> Result<Arc<V>, E> {
        self.get_if(key, |_| true, ask).await
    }

    async fn get_if<E>(
        &self,
        key: K,
        is_small: impl Fn(&V) -> bool,
        ask: impl Future<Output = Result<V, E>>,
    ) -> Result<Arc<V>, E> {
        let came = boot_time();
        let place = self.place(key);
        let mut asked = place.lock().await;
        if let Some(known) = asked.as_ref().filter(|it| self.is_fresh(it, came)) {
            if let Some(answer) = &known.answer {
                return Ok(answer.clone());
            }
            // Each caller then sends its own request. If the place stayed locked, they would do that one after the
            // other.
            drop(asked);
            return ask.await.map(Arc::new);
        }
        let at = boot_time();
        let answer = ask.await.map(Arc::new);
        let to_share = answer.as_ref().ok().filter(|it| is_small(it));
        *asked = Some(SharedAnswer {
            at,
            answer: to_share.cloned(),
        });
        answer
    }

    /// Returns true if an answer was requested late enough for a caller that came at this time. The duration of the
    /// request does not count.
    fn is_fresh(&self, asked: &SharedAnswer<V>, came: Duration) -> bool {
        came.saturating_sub(asked.at) < self.shared_for
    }

    /// Returns the place of an answer; a private one if all are taken.
    fn place(&self, key: K) -> AnswerPlace<V> {
        let mut places = lock(&self.places);
        if places.len() >= MOST && !places.contains_key(&key) {
            places.retain(|_, place| {
                let asked = place.try_lock();
                // A locked place has a request in progress.
                asked.map_or(true, |asked| {
                    let is_fresh = |it: &SharedAnswer<V>| self.is_fresh(it, boot_time());
                    asked.as_ref().is_some_and(is_fresh)
                })
            });
            if places.len() >= MOST {
                return AnswerPlace::default();
            }
        }
        places.entry(key).or_default().clone()
    }

    /// Forgets old answers. Callers that wait already get the answer of their request.
    pub(super) fn forget(&self, are: impl Fn(&K) -> bool) {
        lock(&self.places).retain(|key, _| !are(key));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn what_is_asked_at_the_same_time_is_asked_once_and_what_is_forgotten_anew() {
        let (shared, asked) = (Shared::default(), Cell::new(0));
        let ask = |key: &'static str| {
            shared.get(key, |_| true, async {
                tokio::task::yield_now().await;
                asked.set(asked.get() + 1);
                asked.get()
            })
        };
        let (one, two, other) = tokio::join!(ask("a"), ask("a"), ask("b"));
        assert_eq!(one, two);
        assert_ne!(one, other);
        assert_eq!((ask("a").await, asked.get()), (one, 2));
        shared.forget(|key| *key == "a");
        ask("a").await;
        ask("b").await;
        assert_eq!(asked.get(), 3);
    }

    /// A request that takes longer than its answer is shared still has one answer for all callers that waited.
    #[tokio::test]
    async fn a_slow_answer_is_asked_for_once_and_one_that_fails_keeps_none_waiting_for_another() {
        let shared = Shared {
            shared_for: Duration::from_millis(10),
            ..Shared::default()
        };
        let (asked, at_once, most) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let ask = |fails: bool| {
            let (asked, at_once, most) = (&asked, &at_once, &most);
            shared.try_get(fails, async move {
                asked.set(asked.get() + 1);
                at_once.set(at_once.get() + 1);
                most.set(most.get().max(at_once.get()));
                tokio::time::sleep(Duration::from_millis(30)).await;
                at_once.set(at_once.get() - 1);
                if fails { Err(()) } else { Ok(()) }
            })
        };
        futures::future::join_all((0..10).map(|_| ask(false))).await;
        assert_eq!((asked.get(), most.get()), (1, 1));
        futures::future::join_all((0..10).map(|_| ask(true))).await;
        assert_eq!((asked.get(), most.get()), (11, 9));
    }

    #[tokio::test]
    async fn there_are_no_more_than_there_is_room_for_and_what_is_large_is_not_kept() {
        let shared = Shared::default();
        for key in 0..3 * MOST {
            shared.get(key, |_| true, async { key }).await;
        }
        assert!(lock(&shared.places).len() <= MOST);
        let large = Shared::default();
        for asked in 0..3 {
            let answer = large.get("a", |_| false, async { asked }).await;
            assert_eq!(*answer, asked);
        }
    }
}
