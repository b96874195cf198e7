//! Tests of two controllers of which one has known a change for longer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cartouche_crds::RunnableStatus;
use cartouche_protocol::{
    category::Category,
    facts::Settling,
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
    pace::StatusChange,
};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::{
    ControllerContext,
    reconciliation::{End, Reconciliation},
};
use super::{runnable, serving};
use crate::{
    clock::{asleep::sleep, boot_time, moment},
    lock::lock,
};

const PAUSE: Duration = Duration::from_mins(1);

/// A controller whose API server accepts each status, with their number.
fn taking() -> (Arc<ControllerContext>, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    let ctx = serving(move |request| {
        if *request.method() != Method::PUT {
            return (StatusCode::NOT_FOUND, Value::Null);
        }
        let version = 10 * (counted.fetch_add(1, Ordering::SeqCst) + 1);
        let metadata = json!({ "resourceVersion": version.to_string() });
        (StatusCode::OK, json!({ "metadata": metadata }))
    });
    (ctx, taken)
}

/// Reconciles the Runnable as stored under this version, while its change is in debounce.
async fn look(ctx: &ControllerContext, resource_version: &str) -> Duration {
    let mut stored = runnable("r");
    stored.metadata.resource_version = Some(resource_version.to_owned());
    if let Some(status) = &mut stored.status {
        status.observed_generation = Some(0);
    }
    let begun = Reconciliation::begin(ctx, Arc::new(stored), moment()).unwrap();
    let settles = ReconcileError::from_diagnosis(
        Category::Debouncing,
        Requeue::After(PAUSE),
        Diagnosis::Debouncing {
            pause: PAUSE,
            longest: Settling::longest(PAUSE),
        },
        None,
    );
    begun.finish(End::Stuck(settles, None)).await.unwrap()
}

#[tokio::test]
async fn what_another_controller_says_of_a_change_that_settles_is_not_overwritten_at_once() {
    let (ctx, taken) = taking();
    look(&ctx, "1").await;
    assert_eq!(taken.load(Ordering::SeqCst), 1);
    for version in ["11", "12", "13"] {
        let again = look(&ctx, version).await;
        assert!(again <= Duration::from_secs(10), "{again:?}");
    }
    assert_eq!(taken.load(Ordering::SeqCst), 1);
    sleep(10);
    look(&ctx, "14").await;
    assert_eq!(taken.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_further_change_is_said_to_settle_after_anything_else_was_said_here() {
    let (ctx, taken) = taking();
    look(&ctx, "1").await;
    let key = super::key();
    let memory = ctx.memories.get_or_create(&key, "r");
    let status = RunnableStatus {
        observed_generation: Some(0),
        ..runnable("r").status.unwrap()
    };
    let change = StatusChange::of_runnable(&RunnableStatus::default(), &status);
    lock(&memory).pace.record_write(&change, boot_time());
    look(&ctx, "16").await;
    assert_eq!(taken.load(Ordering::SeqCst), 2);
}
