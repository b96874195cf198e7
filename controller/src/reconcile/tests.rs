//! What a look leaves behind.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, Weak},
};

use cartouche_crds::Runnable;
use clap::Parser;
use http::{Request, Response, StatusCode};
use kube::{Client, client::Body, runtime::reflector};
use serde_json::{Value, json};

use super::Reconciler;
use crate::{
    api::Connection, endpoints::Readiness, flags::Flags, metrics::Metrics,
    runnable_key::RunnableKey, serve::wire, watch::Wakes,
};

const API_VERSION: &str = "example.dev/v1";
const KIND: &str = "Build";

/// Something that happens to the Runnable while its look waits for the kind of its run.
type Meanwhile = fn(&Reconciler);

fn key() -> RunnableKey {
    RunnableKey::of(&runnable("any"))
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

/// A controller whose API server knows one kind and nothing else.
fn reconciler(meanwhile: Meanwhile) -> Arc<Reconciler> {
    let reconciler = Arc::new(Mutex::new(Weak::<Reconciler>::new()));
    let asked = reconciler.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (status, body) = if request.uri().path() == format!("/apis/{API_VERSION}") {
            if let Some(reconciler) = asked.lock().unwrap().upgrade() {
                meanwhile(&reconciler);
            }
            let kind = json!({ "name": "builds", "kind": KIND, "namespaced": true, "singularName": "", "verbs": [] });
            let list = json!({ "groupVersion": API_VERSION, "resources": [kind] });
            (StatusCode::OK, list)
        } else {
            (StatusCode::NOT_FOUND, Value::Null)
        };
        let mut response = Response::new(Body::from(body.to_string().into_bytes()));
        *response.status_mut() = status;
        async move { Ok::<_, Infallible>(response) }
    });
    let metrics = Metrics::default();
    let connection = Connection::over(Client::new(service, "default"), metrics.clone());
    let made = Arc::new(wire(
        &Flags::parse_from(["cartouche-controller"]),
        &connection,
        &metrics,
        reflector::store().0,
        reflector::store().0,
        Wakes::new().0,
        &Readiness::default(),
    ));
    *reconciler.lock().unwrap() = Arc::downgrade(&made);
    made
}

async fn look(reconciler: &Reconciler, uid: &str) {
    let runnable = Arc::new(runnable(uid));
    let _ = reconciler.reconcile(runnable, &|| false).await;
}

/// Whom watches serve.
fn users(reconciler: &Reconciler) -> Vec<RunnableKey> {
    let open = reconciler.watches.open();
    let users = |watched| reconciler.watches.users(&watched);
    open.into_iter().flat_map(users).collect()
}

#[tokio::test]
async fn a_runnable_that_stays_keeps_the_watch_of_its_runs() {
    let reconciler = reconciler(|_| {});
    look(&reconciler, "first").await;
    assert_eq!(users(&reconciler), [key()]);
    reconciler.forget(&runnable("first"));
    assert!(users(&reconciler).is_empty());
}

#[tokio::test]
async fn a_runnable_that_goes_while_it_is_looked_at_leaves_no_watch_behind() {
    let reconciler = reconciler(|reconciler| reconciler.forget(&runnable("first")));
    look(&reconciler, "first").await;
    assert!(users(&reconciler).is_empty());
}

#[tokio::test]
async fn one_that_was_made_anew_under_the_same_name_meanwhile_is_served() {
    let reconciler = reconciler(|reconciler| {
        reconciler.forget(&runnable("first"));
        let _ = reconciler.memories.of(&key(), "second");
    });
    look(&reconciler, "first").await;
    assert!(users(&reconciler).is_empty());
    look(&reconciler, "second").await;
    assert_eq!(users(&reconciler), [key()]);
}
