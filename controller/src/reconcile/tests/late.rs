//! Tests of late answers, and of a process that slept.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use cartouche_protocol::ledger::Change;
use http::{Method, StatusCode};
use serde_json::json;

use super::super::{
    ControllerContext,
    reconciliation::{End, Reconciliation},
    write::RunnableVersion,
};
use super::{runnable, serving};
use crate::{
    clock::{asleep::sleep, boot_time, moment},
    lock::lock,
    memory::Operation,
};

/// A controller whose API server accepts each status and answers a read after this many seconds, with the number of
/// accepted statuses.
fn answering_after(seconds: &Arc<AtomicU64>) -> (Arc<ControllerContext>, Arc<AtomicUsize>) {
    answering(seconds, 0)
}

fn answering(
    seconds: &Arc<AtomicU64>,
    after_write: u64,
) -> (Arc<ControllerContext>, Arc<AtomicUsize>) {
    let (taken, seconds) = (Arc::new(AtomicUsize::new(0)), seconds.clone());
    let counted = taken.clone();
    let ctx = serving(move |request| {
        if *request.method() == Method::PUT {
            counted.fetch_add(1, Ordering::SeqCst);
            sleep(after_write);
        } else {
            sleep(seconds.load(Ordering::SeqCst));
        }
        let metadata = json!({ "resourceVersion": "1", "name": "app" });
        (StatusCode::OK, json!({ "metadata": metadata }))
    });
    (ctx, taken)
}

async fn read(begun: &Reconciliation<'_>) -> Result<RunnableVersion, End> {
    begun
        .read_again(|found: &RunnableVersion| found.metadata.resource_version.as_str())
        .await
}

#[tokio::test]
async fn what_says_from_when_on_no_create_is_sent_is_not_written_by_a_time_from_before_a_sleep() {
    for change in [Change::MakeWay, Change::Intent, Change::Renumber] {
        let (ctx, taken) = answering_after(&Arc::default());
        let mut begun = Reconciliation::begin(&ctx, Arc::new(runnable("r")), moment()).unwrap();
        read(&begun).await.unwrap();
        begun.look_at_the_clock();
        let before = begun.facts.now.unwrap();
        sleep(70);
        let ledger = begun.facts.ledger.clone();
        begun.write(ledger.clone(), change).await.unwrap();
        assert_eq!(taken.load(Ordering::SeqCst), 0, "{change:?}");
        let passed = begun.facts.now.unwrap().duration_since(before);
        assert!(passed.as_secs() >= 70, "{passed}");
        begun.write(ledger, change).await.unwrap();
        assert_eq!(taken.load(Ordering::SeqCst), 1, "{change:?}");
    }
}

#[tokio::test]
async fn a_time_that_an_answer_told_before_a_sleep_is_not_taken_for_the_present_one() {
    let seconds = Arc::new(AtomicU64::new(0));
    let (ctx, _) = answering_after(&seconds);
    let mut begun = Reconciliation::begin(&ctx, Arc::new(runnable("r")), moment()).unwrap();
    read(&begun).await.unwrap();
    begun.look_at_the_clock();
    let before = begun.facts.now.unwrap();
    seconds.store(9, Ordering::SeqCst);
    read(&begun).await.unwrap();
    begun.look_at_the_clock();
    let passed = begun.facts.now.unwrap().duration_since(before);
    assert!(passed.as_secs() >= 9, "{passed}");
}

#[tokio::test]
async fn a_ledger_that_is_always_read_too_late_is_read_less_and_less_often() {
    let (ctx, _) = answering_after(&Arc::new(AtomicU64::new(11)));
    let begun = Reconciliation::begin(&ctx, Arc::new(runnable("r")), moment()).unwrap();
    for attempt in 1..=4 {
        let refused = read(&begun).await;
        assert!(matches!(refused, Err(End::Refused(_))), "{attempt}");
        let memory = lock(&begun.memory);
        let failed = memory.last_failure(&Operation::Ledger).unwrap();
        assert_eq!(failed.attempts, attempt);
        let left = failed.until.saturating_sub(boot_time());
        drop(memory);
        sleep(left.as_secs() + 1);
    }
}

#[tokio::test]
async fn a_ledger_is_as_old_as_the_request_that_wrote_it() {
    let (ctx, taken) = answering(&Arc::default(), 5);
    let mut begun = Reconciliation::begin(&ctx, Arc::new(runnable("r")), moment()).unwrap();
    let ledger = begun.facts.ledger.clone();
    begun.write(ledger, Change::Record).await.unwrap();
    assert_eq!(taken.load(Ordering::SeqCst), 1);
    assert!(begun.is_ledger_fresh());
    sleep(6);
    assert!(!begun.is_ledger_fresh());
}
