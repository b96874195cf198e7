//! Tests of the state that a reconciliation leaves behind.

mod asking;
mod contested;
mod late;
mod releases;
mod required;
mod selecting;
mod settling;
mod sources;
mod stopping;
mod waking;
mod watched_secrets;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, Weak},
};

use cartouche_crds::Runnable;
use clap::Parser;
use http::{Request, Response, StatusCode};
use kube::{Client, client::Body, runtime::reflector};
use serde_json::{Value, json};

use super::ControllerContext;
use crate::{
    api::Connection, endpoints::ProcessReadiness, flags::Flags, metrics::Metrics,
    runnable_key::RunnableKey, serve::wire, watch::Enqueuer,
};

const API_VERSION: &str = "example.dev/v1";
const KIND: &str = "Build";

/// Event that hits the Runnable while its reconciliation waits for the kind of its run.
type Meanwhile = fn(&ControllerContext);

fn key() -> RunnableKey {
    RunnableKey::from_runnable(&runnable("any"))
}

fn runnable(uid: &str) -> Runnable {
    let object = json!({
        "metadata": { "namespace": "ns", "name": "app", "uid": uid, "resourceVersion": "1" },
        "spec": { "runTemplateRef": { "name": "t" } },
        "status": { "currentRun": {
            "sequence": 2, "inputHash": "v1:A", "phase": "Created", "apiVersion": API_VERSION, "kind": KIND, "name": "app-2", "uid": "run-2",
        } },
    });
    serde_json::from_value(object).unwrap()
}

/// A controller whose API server knows only one kind.
fn ctx(meanwhile: Meanwhile) -> Arc<ControllerContext> {
    let ctx = Arc::new(Mutex::new(Weak::<ControllerContext>::new()));
    let asked = ctx.clone();
    let made = serving(move |request| {
        if request.uri().path() != format!("/apis/{API_VERSION}") {
            return (StatusCode::NOT_FOUND, Value::Null);
        }
        if let Some(ctx) = asked.lock().unwrap().upgrade() {
            meanwhile(&ctx);
        }
        (StatusCode::OK, kinds(API_VERSION, KIND, "builds"))
    });
    *ctx.lock().unwrap() = Arc::downgrade(&made);
    made
}

/// Discovery document of a version with one kind.
fn kinds(api_version: &str, kind: &str, plural: &str) -> Value {
    let kind = json!({ "name": plural, "kind": kind, "namespaced": true, "singularName": "", "verbs": [] });
    json!({ "groupVersion": api_version, "resources": [kind] })
}

/// A controller whose API server gives these answers.
pub(super) fn serving(
    answer: impl Fn(&Request<Body>) -> (StatusCode, Value) + Send + 'static,
) -> Arc<ControllerContext> {
    serving_with(Enqueuer::new().0, answer)
}

/// Likewise, with this queue.
fn serving_with(
    enqueuer: Enqueuer,
    answer: impl Fn(&Request<Body>) -> (StatusCode, Value) + Send + 'static,
) -> Arc<ControllerContext> {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (status, body) = answer(&request);
        let mut response = Response::new(Body::from(body.to_string().into_bytes()));
        *response.status_mut() = status;
        let date = http::HeaderValue::from_static("Thu, 01 Jan 2026 00:00:00 GMT");
        response.headers_mut().insert(http::header::DATE, date);
        async move { Ok::<_, Infallible>(response) }
    });
    let metrics = Metrics::default();
    let connection = Connection::over(Client::new(service, "default"), metrics.clone());
    Arc::new(wire(
        &Flags::parse_from(["cartouche-controller"]),
        &connection,
        &metrics,
        reflector::store().0,
        reflector::store().0,
        enqueuer,
        &ProcessReadiness::default(),
    ))
}

async fn look(ctx: &ControllerContext, uid: &str) {
    let runnable = Arc::new(runnable(uid));
    let _ = ctx.reconcile(runnable, crate::clock::moment()).await;
}

/// Runnables that watches serve.
fn users(ctx: &ControllerContext) -> Vec<RunnableKey> {
    let open = ctx.watches.open();
    let users = |watched| ctx.watches.users(&watched);
    open.into_iter().flat_map(users).collect()
}

#[tokio::test]
async fn a_runnable_that_stays_keeps_the_watch_of_its_runs() {
    let ctx = ctx(|_| {});
    look(&ctx, "first").await;
    assert_eq!(users(&ctx), [key()]);
    ctx.forget(&runnable("first"));
    assert!(users(&ctx).is_empty());
}

#[tokio::test]
async fn a_runnable_that_goes_while_it_is_looked_at_leaves_no_watch_behind() {
    let ctx = ctx(|ctx| ctx.forget(&runnable("first")));
    look(&ctx, "first").await;
    assert!(users(&ctx).is_empty());
}

#[tokio::test]
async fn one_that_was_made_anew_under_the_same_name_meanwhile_is_served() {
    let ctx = ctx(|ctx| {
        ctx.forget(&runnable("first"));
        let _ = ctx.memories.get_or_create(&key(), "second");
    });
    look(&ctx, "first").await;
    assert!(users(&ctx).is_empty());
    look(&ctx, "second").await;
    assert_eq!(users(&ctx), [key()]);
}
