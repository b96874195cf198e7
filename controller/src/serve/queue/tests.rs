use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream;
use tokio::time::{Instant, sleep, timeout};

use super::*;

fn key(name: &str) -> RunnableKey {
    RunnableKey {
        namespace: "default".to_owned(),
        name: name.to_owned(),
    }
}

/// Enqueues by name, each this many milliseconds after the start.
fn enqueued(at: &[(u64, &'static str)]) -> impl Stream<Item = BTreeSet<RunnableKey>> {
    let began = Instant::now();
    let enqueued = at.to_vec();
    stream::iter(enqueued)
        .then(move |(after, name)| async move {
            tokio::time::sleep_until(began + Duration::from_millis(after)).await;
            BTreeSet::from([key(name)])
        })
        .chain(stream::pending())
}

fn is_heavy(key: &RunnableKey) -> bool {
    key.name.starts_with("heavy")
}

fn queue(concurrency: u16) -> TurnQueue {
    TurnQueue::new(concurrency, HeavyPlace::default(), Metrics::default())
}

/// Returns who was reconciled in a minute, and at which second. Each reconciliation takes a second.
async fn reconciling(
    concurrency: u16,
    enqueued: impl Stream<Item = BTreeSet<RunnableKey>>,
    ready: impl Future<Output = ()>,
    stop: impl Future<Output = ()>,
    after: impl Fn(&RunnableKey) -> Option<Duration>,
) -> Vec<(String, u64)> {
    reconciling_in(&queue(concurrency), enqueued, ready, stop, after).await
}

async fn reconciling_in(
    queue: &TurnQueue,
    enqueued: impl Stream<Item = BTreeSet<RunnableKey>>,
    ready: impl Future<Output = ()>,
    stop: impl Future<Output = ()>,
    after: impl Fn(&RunnableKey) -> Option<Duration>,
) -> Vec<(String, u64)> {
    let began = Instant::now();
    let seen = Mutex::new(Vec::new());
    let reconcile = |key: RunnableKey, place: Option<OwnedSemaphorePermit>| {
        assert_eq!(place.is_some(), is_heavy(&key));
        let after = after(&key);
        seen.lock()
            .unwrap()
            .push((key.name, began.elapsed().as_secs()));
        async move {
            let _place = place;
            sleep(Duration::from_secs(1)).await;
            after
        }
    };
    let serving = queue.serve(
        enqueued,
        ready,
        stop,
        |_| Some(Priority::Changed),
        is_heavy,
        reconcile,
    );
    let _ = timeout(Duration::from_mins(1), serving).await;
    seen.into_inner().unwrap()
}

fn running(of: &[(&str, u64)]) -> Vec<(String, u64)> {
    of.iter()
        .map(|(name, second)| ((*name).to_owned(), *second))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_look_comes_again_after_the_time_it_said_or_when_it_is_woken_before() {
    let enqueued = enqueued(&[(0, "a"), (15_000, "a")]);
    let delayed = AtomicUsize::new(0);
    let ten_seconds_three_times = |_: &RunnableKey| {
        (delayed.fetch_add(1, Ordering::Relaxed) < 3).then_some(Duration::from_secs(10))
    };
    let seen = reconciling(
        1,
        enqueued,
        async {},
        std::future::pending(),
        ten_seconds_three_times,
    )
    .await;
    assert_eq!(seen, running(&[("a", 0), ("a", 11), ("a", 15), ("a", 26)]));
}

#[tokio::test(start_paused = true)]
async fn who_is_woken_while_it_is_looked_at_does_not_wait_for_the_time_that_look_says() {
    let enqueued = enqueued(&[(0, "a"), (300, "a"), (600, "a")]);
    let delayed = AtomicUsize::new(0);
    let once = |_: &RunnableKey| {
        (delayed.fetch_add(1, Ordering::Relaxed) == 0).then_some(Duration::from_secs(30))
    };
    let seen = reconciling(4, enqueued, async {}, std::future::pending(), once).await;
    assert_eq!(seen, running(&[("a", 0), ("a", 1)]));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_looked_at_before_all_is_ready_and_what_was_woken_is_not_forgotten() {
    let enqueued = enqueued(&[(0, "a"), (0, "b")]);
    let ready = sleep(Duration::from_secs(5));
    let seen = reconciling(4, enqueued, ready, std::future::pending(), |_| None).await;
    assert_eq!(seen, running(&[("a", 5), ("b", 5)]));
}

#[tokio::test(start_paused = true)]
async fn nobody_begins_before_all_who_came_together_wait_for_their_turn() {
    let of = |namespace: &str, name: &str| RunnableKey {
        namespace: namespace.to_owned(),
        ..key(name)
    };
    let together = BTreeSet::from([of("a", "1"), of("a", "2"), of("b", "3")]);
    let enqueued = stream::iter([together]).chain(stream::pending());
    let seen = reconciling(1, enqueued, async {}, std::future::pending(), |_| None).await;
    assert_eq!(seen, running(&[("1", 0), ("3", 1), ("2", 2)]));
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_looks_end_and_begins_none() {
    let enqueued = enqueued(&[(0, "a"), (0, "b"), (3_000, "c")]);
    let stop = sleep(Duration::from_millis(500));
    let began = Instant::now();
    let seen = reconciling(1, enqueued, async {}, stop, |_| Some(Duration::ZERO)).await;
    assert_eq!(seen, running(&[("a", 0)]));
    assert_eq!(began.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_there_any_more_takes_no_turn() {
    let queue = queue(1);
    let enqueued = enqueued(&[(0, "gone"), (0, "a")]);
    let seen = Mutex::new(Vec::new());
    let serving = queue.serve(
        enqueued,
        async {},
        std::future::pending(),
        |key| (key.name != "gone").then_some(Priority::Other),
        |_| false,
        |key, _| {
            seen.lock().unwrap().push(key.name);
            std::future::ready(None)
        },
    );
    let _ = timeout(Duration::from_secs(10), serving).await;
    assert_eq!(seen.into_inner().unwrap(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_years_is_an_hour() {
    let queue = queue(1);
    let began = Instant::now();
    let running = Mutex::new(Vec::new());
    let serving = queue.serve(
        enqueued(&[(0, "a")]),
        async {},
        std::future::pending(),
        |_| Some(Priority::Other),
        |_| false,
        |_, _| {
            running.lock().unwrap().push(began.elapsed().as_secs());
            std::future::ready(Some(Duration::MAX))
        },
    );
    let _ = timeout(Duration::from_mins(90), serving).await;
    assert_eq!(running.into_inner().unwrap(), [0, 3600]);
}

#[tokio::test(start_paused = true)]
async fn a_look_that_panics_ends_no_other_and_comes_again_later_each_time() {
    let metrics = Metrics::default();
    let queue = TurnQueue::new(1, HeavyPlace::default(), metrics.clone());
    let began = Instant::now();
    let seen = Mutex::new(Vec::new());
    let serving = queue.serve(
        enqueued(&[(0, "bad"), (0, "good")]),
        async {},
        std::future::pending(),
        |_| Some(Priority::Other),
        |_| false,
        |RunnableKey { name, .. }, _| {
            seen.lock()
                .unwrap()
                .push((name.clone(), began.elapsed().as_secs()));
            async move {
                assert!(name != "bad", "a mistake");
                None
            }
        },
    );
    let _ = timeout(Duration::from_mins(10), serving).await;
    let seen = seen.into_inner().unwrap();
    let bad: Vec<u64> = seen
        .iter()
        .filter(|it| it.0 == "bad")
        .map(|it| it.1)
        .collect();
    assert_eq!(seen.len() - bad.len(), 1, "{seen:?}");
    assert!((4..=9).contains(&bad.len()), "{bad:?}");
    assert!(
        bad.windows(3).all(|at| at[2] - at[1] > at[1] - at[0]),
        "{bad:?}"
    );
    let told = format!("cartouche_panics_total {}", bad.len());
    assert!(metrics.text().contains(&told), "{}", metrics.text());
}

#[tokio::test(start_paused = true)]
async fn a_heavy_one_begins_when_the_rest_after_another_is_over_though_nothing_happens() {
    let enqueued = enqueued(&[(0, "heavy 1"), (0, "heavy 2"), (0, "a"), (2_000, "b")]);
    let seen = reconciling(4, enqueued, async {}, std::future::pending(), |_| None).await;
    let expected = [("heavy 1", 0), ("a", 0), ("b", 2), ("heavy 2", 20)];
    let sorted = |mut seen: Vec<(String, u64)>| {
        seen.sort_by_key(|it| (it.1, it.0 == "a"));
        seen
    };
    assert_eq!(sorted(seen), running(&expected));
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_the_place_of_heavy_ones_makes_no_rest_longer() {
    let queue = queue(4);
    let place = queue.heavy.wait().await;
    let enqueued = enqueued(&[(0, "heavy 1"), (0, "heavy 2"), (1_000, "a")]);
    let free = async move {
        sleep(Duration::from_secs(10)).await;
        drop(place);
    };
    let serving = reconciling_in(&queue, enqueued, async {}, std::future::pending(), |_| None);
    let (seen, ()) = tokio::join!(serving, free);
    assert_eq!(seen, running(&[("a", 1), ("heavy 1", 10), ("heavy 2", 30)]));
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_no_rest() {
    let enqueued = enqueued(&[(0, "heavy 1"), (0, "heavy 2")]);
    let (stop, began) = (sleep(Duration::from_secs(3)), Instant::now());
    let seen = reconciling(4, enqueued, async {}, stop, |_| None).await;
    assert_eq!(seen, running(&[("heavy 1", 0)]));
    assert_eq!(began.elapsed().as_secs(), 3);
}
