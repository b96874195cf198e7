//! What becomes of runs that did not hear that they were told to stop.

use std::sync::{Arc, Mutex};

use cartouche_protocol::{
    decide::ToStop,
    facts::{RunName, StopOutcome},
};
use cartouche_templating::kinds::StopRequest;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::{ControllerContext, reconciliation::Reconciliation};
use super::{API_VERSION, KIND, kinds, runnable, serving};
use crate::{
    clock::{boot_time, moment},
    lock::lock,
};

/// A controller whose API server answers so to the first requests to change a run, and takes the rest.
fn refusing(answers: Vec<(u16, &'static str)>) -> Arc<ControllerContext> {
    let answers = Mutex::new(answers.into_iter());
    serving(move |request| {
        if *request.method() != Method::PATCH {
            return (StatusCode::OK, kinds(API_VERSION, KIND, "builds"));
        }
        let Some((code, reason)) = answers.lock().unwrap().next() else {
            return (StatusCode::OK, json!({}));
        };
        let refused = json!({ "kind": "Status", "code": code, "reason": reason, "message": "no" });
        (StatusCode::from_u16(code).unwrap(), refused)
    })
}

const CONFLICT: (u16, &str) = (409, "Conflict");

fn current_run() -> ToStop {
    let patch = json!({ "spec": { "paused": true } });
    let method = json!({ "mergePatch": patch });
    let method = serde_json::from_value(method).unwrap();
    ToStop {
        name: RunName {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            name: "app-2".to_owned(),
        },
        uid: "run-2".to_owned(),
        request: StopRequest::of_method(&method).unwrap(),
        version: None,
    }
}

/// A reconciliation of a Runnable both of whose runs are to stop.
fn stopping(ctx: &ControllerContext) -> Reconciliation<'_> {
    let mut runnable = runnable("r");
    let mut status: Value = serde_json::to_value(&runnable.status).unwrap();
    let stop = json!({ "reason": "TimedOut", "at": "2026-01-01T00:00:00Z" });
    status["unfinishedRuns"] = json!([{
        "sequence": 1, "inputHash": "v1:B", "apiVersion": API_VERSION, "kind": KIND, "name": "app-1", "uid": "run-1", "stop": stop.clone(),
    }]);
    status["currentRun"]["stop"] = stop;
    runnable.status = serde_json::from_value(status).unwrap();
    let mut begun = Reconciliation::begin(ctx, Arc::new(runnable), moment()).unwrap();
    begun.account = Some(ctx.identity.own().clone());
    assert_eq!(begun.facts.ledger.at_work().count(), 2);
    begun
}

/// What is known after each time that it was told, and whether this process remembers having told it.
async fn told(answers: Vec<(u16, &'static str)>) -> (Vec<Option<StopOutcome>>, bool) {
    let ctx = refusing(answers);
    let mut begun = stopping(&ctx);
    let mut known = Vec::new();
    for _ in 0..2 {
        begun.stop(current_run()).await;
        known.push(begun.facts.stops.get("run-2").cloned());
    }
    let mut memory = lock(&begun.memory);
    let lately = std::time::Duration::from_mins(5);
    let remembered = memory.asked_to_stop.lately(lately, boot_time());
    (known, remembered.contains("run-2"))
}

#[tokio::test]
async fn a_run_that_had_changed_has_heard_nothing_and_is_told_once_more() {
    let (known, remembered) = told(vec![CONFLICT]).await;
    assert_eq!(known, [None, Some(StopOutcome::Sent)]);
    assert!(remembered);
}

#[tokio::test]
async fn one_that_changes_again_is_not_taken_for_told() {
    let (known, remembered) = told(vec![CONFLICT; 2]).await;
    assert_eq!(known[0], None);
    let Some(StopOutcome::Failed(error)) = &known[1] else {
        panic!("{known:?}");
    };
    assert!(error.message.contains("stop the run"), "{error}");
    assert!(!remembered);
}

/// Whether it is known of the earlier run that it cannot be told either, in this pass and in the next one.
async fn puts_off_the_other(code: u16, reason: &'static str) -> (bool, bool) {
    let ctx = refusing(vec![(code, reason)]);
    let mut begun = stopping(&ctx);
    begun.stop(current_run()).await;
    let now = begun.facts.stops.contains_key("run-1");
    begun.take_in_stops();
    assert!(begun.facts.stops.contains_key("run-2"));
    (now, begun.facts.stops.contains_key("run-1"))
}

#[tokio::test]
async fn a_missing_right_puts_off_the_other_runs_of_the_kind_and_a_refusal_of_one_run_does_not() {
    assert_eq!(puts_off_the_other(403, "Forbidden").await, (true, true));
    assert_eq!(
        puts_off_the_other(405, "MethodNotAllowed").await,
        (true, true)
    );
    assert_eq!(puts_off_the_other(422, "Invalid").await, (false, false));
}
