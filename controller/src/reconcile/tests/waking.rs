//! Tests of when a waiting Runnable reads its sources again.

use std::time::Duration;

use futures::FutureExt;

use super::*;
use crate::{
    clock::boot_time, lock::lock, memory::tests::write_words, watch::dependents::Concerned,
};

/// Returns true if a Runnable that has just written a message is reconciled at once when a source changes.
fn is_woken_at_once(outputs_changed: bool, waits_beside_inputs: bool) -> bool {
    let (enqueuer, waiting) = Enqueuer::new();
    let ctx = serving_with(enqueuer, |_| (StatusCode::NOT_FOUND, Value::Null));
    let memory = ctx.memories.get_or_create(&key(), "any");
    write_words(&mut lock(&memory), boot_time());
    lock(&memory).waits_beside_inputs = waits_beside_inputs;
    let other = RunnableKey {
        name: "other".to_owned(),
        ..key()
    };
    let concerned = Concerned {
        readers: [key()].into(),
        outputs_changed,
        further: Vec::new(),
    };
    ctx.wake(&other, &concerned);
    waiting.next().now_or_never().is_some()
}

#[tokio::test]
async fn a_reader_that_waits_is_woken_at_once_for_outputs_only() {
    assert!(!is_woken_at_once(false, true));
    assert!(is_woken_at_once(true, true));
    assert!(is_woken_at_once(false, false));
}

/// Returns true if a Runnable is reconciled at once after its wait. A source changes before the end of the wait, or
/// also meanwhile.
async fn is_woken_after_its_wait(changed_meanwhile: bool) -> bool {
    let (enqueuer, waiting) = Enqueuer::new();
    let (before, meanwhile) = (enqueuer.clone(), enqueuer.clone());
    let later = |enqueuer: &Enqueuer| enqueuer.enqueue_after(&key(), Duration::from_secs(20));
    let ctx = serving_with(enqueuer, move |_| {
        if changed_meanwhile {
            later(&meanwhile);
        }
        (StatusCode::NOT_FOUND, Value::Null)
    });
    later(&before);
    // The template does not exist, so it no longer waits for approval.
    look(&ctx, "first").await;
    waiting.next().now_or_never().is_some()
}

#[tokio::test]
async fn what_changed_while_a_wait_ended_is_looked_at_at_once_and_what_changed_before_is_not() {
    assert!(is_woken_after_its_wait(true).await);
    assert!(!is_woken_after_its_wait(false).await);
}
