//! Tests of runs that missed the request to stop.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_engines::kinds::StopRequest;
use cartouche_protocol::{
    decide::ToStop,
    facts::{PolicyFrom, StopOutcome},
    ledger::RunName,
    policy::{Asks, Policy},
};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::{
    ControllerContext,
    reconciliation::{End, Reconciliation},
};
use super::{API_VERSION, KIND, kinds, runnable, serving};
use crate::{
    clock::{boot_time, moment},
    lock::lock,
};

/// A controller whose API server answers this many changes or deletions of a run with a conflict, and accepts the rest.
fn conflicting(conflicts: usize) -> Arc<ControllerContext> {
    let left = Mutex::new(conflicts);
    serving(move |request| {
        if request.uri().path().ends_with("/app-2") && *request.method() == Method::GET {
            return (StatusCode::NOT_FOUND, Value::Null);
        }
        if ![Method::PATCH, Method::DELETE].contains(request.method()) {
            return (StatusCode::OK, kinds(API_VERSION, KIND, "builds"));
        }
        let mut left = left.lock().unwrap();
        let Some(fewer) = left.checked_sub(1) else {
            return (StatusCode::OK, json!({}));
        };
        *left = fewer;
        let conflict = json!({ "kind": "Status", "code": 409, "reason": "Conflict", "message": "it has changed" });
        (StatusCode::CONFLICT, conflict)
    })
}

/// A stop request by patch.
fn told_by_patch() -> StopRequest {
    let patch = json!({ "spec": { "paused": true } });
    let method = json!({ "mergePatch": patch });
    let method = serde_json::from_value(method).unwrap();
    StopRequest::of_method(&method).unwrap()
}

fn to_stop(request: StopRequest) -> ToStop {
    ToStop {
        name: RunName {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            name: "app-2".to_owned(),
        },
        uid: "run-2".to_owned(),
        version: (request == StopRequest::Delete).then_some(7),
        request,
    }
}

/// A reconciliation of a Runnable whose run is to stop.
fn stopping(ctx: &ControllerContext) -> Box<Reconciliation<'_>> {
    let mut runnable = runnable("r");
    let mut status: Value = serde_json::to_value(&runnable.status).unwrap();
    status["currentRun"]["stop"] = json!({ "reason": "TimedOut", "at": "2026-01-01T00:00:00Z" });
    runnable.status = serde_json::from_value(status).unwrap();
    let mut begun = Reconciliation::begin(ctx, Arc::new(runnable), moment()).unwrap();
    begun.account = Some(ctx.identity.own().clone());
    // The write of the stop request counts as just done.
    begun.has_written = true;
    begun
}

/// Asks the run twice to stop. Returns the known outcome after each, and whether this process remembers a request.
async fn told(request: StopRequest, conflicts: usize) -> (Vec<Option<StopOutcome>>, bool) {
    let ctx = conflicting(conflicts);
    let mut begun = stopping(&ctx);
    let mut known = Vec::new();
    for _ in 0..2 {
        begun.stop(to_stop(request.clone())).await.unwrap();
        known.push(begun.facts.stops.get("run-2").cloned());
    }
    let asked = begun.facts.reads.keys().map(|name| &*name.name);
    assert_eq!(
        asked.collect::<Vec<_>>(),
        ["app-2"],
        "it was looked at once more"
    );
    let mut memory = lock(&begun.memory);
    let lately = Duration::from_mins(5);
    let remembered = memory.asked_to_stop.lately(lately, boot_time());
    (known, remembered.contains("run-2"))
}

#[tokio::test]
async fn a_run_that_had_changed_has_heard_nothing_and_is_told_once_more() {
    // A run held by a queue is deleted as it was read.
    for request in [told_by_patch(), StopRequest::Delete] {
        let (known, remembered) = told(request, 1).await;
        assert_eq!(known, [None, Some(StopOutcome::Sent)]);
        assert!(remembered);
    }
}

#[tokio::test]
async fn one_that_changes_again_is_not_taken_for_told() {
    let (known, remembered) = told(told_by_patch(), 2).await;
    assert_eq!(known[0], None);
    let Some(StopOutcome::Failed(error)) = &known[1] else {
        panic!("{known:?}");
    };
    assert!(error.message.contains("stop the run"), "{error}");
    assert!(!remembered);
}

/// Returns the known outcome of a request that was answered with 404 and this message.
async fn told_of_nothing(message: &'static str) -> Option<StopOutcome> {
    let ctx = serving(move |request| match *request.method() {
        Method::PATCH => {
            let missing =
                json!({ "kind": "Status", "code": 404, "reason": "NotFound", "message": message });
            (StatusCode::NOT_FOUND, missing)
        }
        _ => (StatusCode::OK, kinds(API_VERSION, KIND, "builds")),
    });
    let mut begun = stopping(&ctx);
    begun.stop(to_stop(told_by_patch())).await.unwrap();
    begun.facts.stops.get("run-2").cloned()
}

#[tokio::test]
async fn a_version_that_is_served_no_more_is_not_taken_for_a_run_that_is_gone() {
    let gone = told_of_nothing("builds.example.dev \"app-2\" not found").await;
    assert_eq!(gone, Some(StopOutcome::Sent));
    let unserved = told_of_nothing("the server could not find the requested resource").await;
    assert!(
        matches!(unserved, Some(StopOutcome::Failed(_))),
        "{unserved:?}"
    );
}

/// A controller whose API server accepts every status, and no longer gives the time.
fn without_time() -> Arc<ControllerContext> {
    serving(|request| match *request.method() {
        Method::PUT => (
            StatusCode::OK,
            json!({ "metadata": { "resourceVersion": "2" } }),
        ),
        _ => (StatusCode::OK, kinds(API_VERSION, KIND, "builds")),
    })
}

#[tokio::test]
async fn a_time_that_is_over_while_the_status_is_written_is_looked_at_at_once() {
    let ctx = without_time();
    let mut runnable = runnable("r");
    let mut status: Value = serde_json::to_value(&runnable.status).unwrap();
    status["currentRun"]["startedAt"] = "2026-01-01T00:00:00Z".into();
    runnable.status = serde_json::from_value(status).unwrap();
    let mut begun = Reconciliation::begin(&ctx, Arc::new(runnable), moment()).unwrap();
    let asks = Asks {
        timeout: Some("10s".to_owned()),
        ..Asks::default()
    };
    begun.facts.policy = Policy::merge(&asks, &Asks::default()).unwrap();
    begun.facts.policy_from = PolicyFrom::Read;
    begun.facts.now = "2026-01-01T00:00:09Z".parse().ok();
    let again = begun.finish(End::Settled).await.unwrap();
    assert!(again <= Duration::from_secs(2), "{again:?}");
}

#[tokio::test]
async fn none_is_told_to_stop_for_a_ledger_that_has_moved_on() {
    let told = Arc::new(Mutex::new(false));
    let heard = Arc::clone(&told);
    let ctx = serving(move |request| {
        *heard.lock().unwrap() |= *request.method() == Method::PATCH;
        let newer = json!({ "metadata": { "resourceVersion": "99" } });
        (StatusCode::OK, newer)
    });
    let mut begun = stopping(&ctx);
    begun.has_written = false;
    let end = begun.stop(to_stop(told_by_patch())).await;
    assert!(matches!(end, Err(End::Conflict)));
    assert!(!*told.lock().unwrap());
}
