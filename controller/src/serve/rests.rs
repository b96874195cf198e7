//! Rests of namespaces after reconciliations that took much of the processor.
//!
//! All reconciliations share one thread. A Runnable near its bounds takes a tenth of a second of it, and a tenant may change such
//! Runnables as often as an API server takes it. Those of one namespace together get a small share of the time.

use std::{collections::HashMap, future::Future, pin::pin, sync::Mutex, time::Duration};

use crate::{clock::thread_time, lock::lock};

/// A reconciliation that takes more of the processor is a costly one. Usual ones take a tenth of it.
pub(super) const COSTLY: Duration = Duration::from_millis(20);
/// How many times as long as a costly reconciliation its namespace rests from costly ones.
const SHARE: u32 = 10;

/// The namespaces that rest from costly reconciliations, with the time at which each rest ends.
#[derive(Default)]
pub(super) struct Rests(Mutex<HashMap<String, Duration>>);

impl Rests {
    /// Begins a reconciliation that took this much of the processor the last time; or says how long it has to wait.
    pub(super) fn begin(&self, namespace: &str, cost: Duration, now: Duration) -> Option<Duration> {
        if cost < COSTLY {
            return None;
        }
        let mut rests = lock(&self.0);
        let left = rests.get(namespace).and_then(|end| end.checked_sub(now));
        let left = left.filter(|left| !left.is_zero());
        if left.is_none() {
            Self::rest(&mut rests, namespace, cost, now);
        }
        left
    }

    /// A reconciliation has taken this much of the processor.
    pub(super) fn end(&self, namespace: &str, cost: Duration, now: Duration) {
        if cost >= COSTLY {
            Self::rest(&mut lock(&self.0), namespace, cost, now);
        }
    }

    fn rest(rests: &mut HashMap<String, Duration>, namespace: &str, cost: Duration, now: Duration) {
        rests.retain(|_, end| *end > now);
        rests.insert(namespace.to_owned(), now + cost * SHARE);
    }
}

/// What a future gives, with the time of the processor that it took on the threads that polled it.
pub(super) async fn measured<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let mut future = pin!(future);
    let mut taken = Duration::ZERO;
    let output = std::future::poll_fn(|context| {
        let before = thread_time();
        let polled = future.as_mut().poll(context);
        taken += thread_time().saturating_sub(before);
        polled
    });
    let output = output.await;
    (output, taken)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{COSTLY, Rests, SHARE, measured};

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn costly_reconciliations_of_one_namespace_rest_ten_times_as_long_and_no_others_do() {
        let rests = Rests::default();
        assert_eq!(rests.begin("a", at(50), at(1000)), None);
        // Another one is due at once, and so that all of many do not begin together, the first has taken the turn already.
        assert_eq!(rests.begin("a", at(50), at(1000)), Some(at(500)));
        rests.end("a", at(80), at(1100));
        assert_eq!(rests.begin("a", COSTLY, at(1101)), Some(at(799)));
        assert_eq!(rests.begin("a", COSTLY - at(1), at(1101)), None);
        assert_eq!(rests.begin("b", at(50), at(1101)), None);
        assert_eq!(rests.begin("a", at(50), at(1900)), None);
    }

    #[test]
    fn a_reconciliation_without_cost_makes_no_namespace_rest() {
        let rests = Rests::default();
        rests.end("a", COSTLY - at(1), at(0));
        assert_eq!(rests.begin("a", at(50), at(0)), None);
    }

    #[test]
    fn a_tenant_with_many_costly_runnables_gets_an_eleventh_of_the_time() {
        let (rests, cost) = (Rests::default(), at(100));
        let (mut now, mut worked) = (Duration::ZERO, Duration::ZERO);
        while now < Duration::from_secs(60) {
            if rests.begin("a", cost, now).is_none() {
                now += cost;
                worked += cost;
                rests.end("a", cost, now);
            }
            now += at(5);
        }
        assert!(worked <= now / SHARE, "{worked:?} of {now:?}");
    }

    #[test]
    fn namespaces_that_have_rested_are_forgotten() {
        let rests = Rests::default();
        for index in 0..100 {
            rests.end(&format!("n{index}"), at(50), at(1000 * index));
        }
        assert_eq!(super::lock(&rests.0).len(), 1);
    }

    #[tokio::test]
    async fn only_the_time_of_the_processor_counts() {
        let (waited, cost) = measured(tokio::time::sleep(at(60))).await;
        assert!(cost < at(50), "{waited:?} {cost:?}");
        let work = async {
            let begin = Instant::now();
            let mut count = 0_u64;
            while begin.elapsed() < at(60) {
                tokio::task::yield_now().await;
                count = std::hint::black_box(count + 1);
            }
        };
        let ((), cost) = measured(work).await;
        assert!(!cost.is_zero());
    }
}
