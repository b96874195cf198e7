//! Tests of which events reach the API server of all that are enqueued.

use std::convert::Infallible;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use kube::{Client, client::Body};
use serde_json::Value;

use super::*;
use crate::{
    api::{Connection, IdentityMode},
    identity::Identity,
};

/// Returns events, and those that the API server has accepted, as `namespace/name reason`.
fn begin() -> (Events, Arc<Mutex<Vec<String>>>) {
    let taken = Arc::<Mutex<Vec<String>>>::default();
    let log = taken.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let log = log.clone();
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let event: Value = serde_json::from_slice(&body).unwrap();
            let text = |pointer| event.pointer(pointer).and_then(Value::as_str).unwrap();
            lock(&log).push(format!(
                "{}/{} {}",
                text("/involvedObject/namespace"),
                text("/involvedObject/name"),
                text("/reason")
            ));
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(body)))
        }
    });
    let metrics = Metrics::default();
    let connection = Connection::over(Client::new(service, "default"), metrics.clone());
    let identity = Identity::new(connection, IdentityMode::Impersonate);
    (Events::start(identity.own().clone(), metrics, 10), taken)
}

fn runnable(namespace: &str, name: &str) -> Runnable {
    let object = json!({
        "metadata": { "namespace": namespace, "name": name, "uid": format!("{namespace}-{name}") },
        "spec": { "runTemplateRef": { "name": "t" } },
    });
    serde_json::from_value(object).unwrap()
}

fn asks(number: usize) -> Occasion {
    Occasion::ApprovalRequested(format!("1:{number}"))
}

#[tokio::test(start_paused = true)]
async fn a_flood_in_one_namespace_drops_no_event_of_another() {
    let (events, taken) = begin();
    let flooding = [runnable("flood", "a"), runnable("flood", "b")];
    let victims: Vec<Runnable> = (0..12)
        .map(|number| runnable("victim", &number.to_string()))
        .collect();
    for number in 0..4_500 {
        for runnable in &flooding {
            events.publish(runnable, &asks(number), None);
        }
        // One victim after the other publishes its own events in the midst of it.
        if number % 300 == 299
            && let Some(victim) = victims.get(number / 300)
        {
            events.publish(victim, &asks(number), None);
            let failed = Occasion::Warning {
                reason: "RetriesExhausted".to_owned(),
                message: String::new(),
            };
            events.publish(victim, &failed, None);
        }
        sleep(Duration::from_millis(17)).await;
    }
    sleep(Duration::from_mins(1)).await;
    let taken = lock(&taken);
    for number in 0..12 {
        for reason in ["ApprovalRequested", "RetriesExhausted"] {
            let wanted = format!("victim/{number} {reason}");
            assert!(taken.contains(&wanted), "{wanted}");
        }
    }
    // 4,500 steps of 17 ms, a minute, and the burst.
    assert!(taken.len() < 1_500, "{}", taken.len());
}

#[tokio::test(start_paused = true)]
async fn what_comes_at_once_waits_and_is_sent_in_time() {
    let (events, taken) = begin();
    for number in 0..150 {
        events.publish(&runnable("ns", &number.to_string()), &asks(1), None);
    }
    sleep(Duration::from_secs(1)).await;
    assert!((50..=61).contains(&lock(&taken).len()));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(lock(&taken).len(), 150);
    assert!(
        events
            .metrics
            .text()
            .contains("cartouche_events_dropped_total 0\n")
    );
}
