//! Tests of messages from the events of a run, and of places in refused objects.

use std::{sync::Arc, time::Duration};

use cartouche_protocol::facts::Hindrance;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Asked, ControllerContext, entry, failed, job, reconciling, serving};
use crate::{api::ResourcePath, clock::boot_time};

/// A controller whose API server gives this answer to lists of events, with the lists.
fn with_events(answer: (StatusCode, Value)) -> (Arc<ControllerContext>, Asked) {
    let asked = Asked::default();
    let heard = asked.clone();
    let ctx = serving(move |request| {
        let uri = request.uri();
        if uri.path() != "/api/v1/namespaces/ns/events" {
            return failed(request);
        }
        let query = uri.query().unwrap_or_default().to_owned();
        heard.lock().unwrap().push(query);
        answer.clone()
    });
    (ctx, asked)
}

/// Returns why the second run has no pod, according to a reconciliation that rendered this branch.
async fn why_no_pod(ctx: &ControllerContext, branch: &str) -> Option<String> {
    let status = json!({ "currentRun": entry("Created") });
    let mut looking = reconciling(ctx, &status, branch);
    looking.read_run(job(2)).await.unwrap();
    let run = looking.facts.fetched_run("run-2").unwrap().run.clone();
    let said = looking.why_no_pod(&run).await;
    if let Some(said) = &said {
        let mut memory = looking.memory.lock().unwrap();
        let told = Hindrance::Said(said.clone());
        memory
            .pods
            .for_run("run-2")
            .record_look(told, false, boot_time());
    }
    said.map(|said| said.words)
}

#[tokio::test]
async fn the_events_of_a_job_without_pods_are_asked_seldom_and_by_its_uid() {
    let event = |component: &str, at: &str, message: &str| {
        json!({
            "reason": "FailedCreate", "type": "Warning", "message": message, "lastTimestamp": at,
            "involvedObject": { "kind": "Job" }, "source": { "component": component },
        })
    };
    let events = json!([
        event(
            "job-controller",
            "2025-12-31T23:59:00Z",
            "Error creating: earlier"
        ),
        event(
            "job-controller",
            "2026-01-01T00:00:00Z",
            "Error creating: password=hunter2 no room"
        ),
        event(
            "job-controller",
            "9999-01-01T00:00:00Z",
            "Error creating: forged"
        ),
        event("stranger", "2026-01-01T00:00:00Z", "Error creating: z"),
    ]);
    let (ctx, asked) = with_events((StatusCode::OK, json!({ "metadata": {}, "items": events })));
    let said = why_no_pod(&ctx, "main").await.unwrap();
    assert_eq!(said, "Job app-2 has made no pod yet: password=*** no room");
    // The last cause holds until the namespace may be listed again.
    assert_eq!(why_no_pod(&ctx, "main").await, Some(said));
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].contains("involvedObject.uid%3Drun-2"), "{asked:?}");
}

#[tokio::test]
async fn events_are_not_asked_for_where_a_secret_may_be_in_them_or_they_were_refused() {
    let (ctx, asked) = with_events((StatusCode::FORBIDDEN, json!({ "code": 403 })));
    assert_eq!(why_no_pod(&ctx, "other").await, None);
    assert!(asked.lock().unwrap().is_empty(), "it may hold a Secret");
    for _ in 0..2 {
        assert_eq!(why_no_pod(&ctx, "main").await, None);
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
    // Another account may list at once, and this one later.
    let (pace, now) = (&ctx.event_pace, boot_time());
    assert!(pace.try_list("ns", now) && pace.is_refused("ns", "default", now));
    assert!(!pace.is_refused("ns", "default", now + Duration::from_hours(2)));
}

#[tokio::test]
async fn a_value_of_another_type_is_placed_in_what_was_sent() {
    let said = "Job in version \"v1\" cannot be handled as a Job: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.ownerReferences.controller of type string";
    let refusal = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "BadRequest", "message": said, "code": 400 });
    let ctx = serving(move |request| match *request.method() {
        Method::POST => (StatusCode::BAD_REQUEST, refusal.clone()),
        _ => failed(request),
    });
    let mut refused = reconciling(&ctx, &json!({ "currentRun": entry("Pending") }), "main");
    // The kind is known after this read.
    refused.read_run(job(2)).await.unwrap();
    let path = ResourcePath::new("batch/v1", "jobs", Some("ns"));
    let account = ctx.identity.own();
    let object = json!({});
    let sent = account.create_with_warnings::<Value>(&path, &object);
    let cause = refused.cause_of_refusal(&sent.await.unwrap_err());
    let told = cause.to_string();
    assert!(
        told.contains("at metadata.ownerReferences[0].controller there must be a string"),
        "{told}"
    );
}
