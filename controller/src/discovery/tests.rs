use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode};
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{DiscoveryError, Kinds, is_api_version};
use crate::{
    api::{Caller, Connection, Requests},
    metrics::Metrics,
};

type Asked = Arc<Mutex<Vec<String>>>;

/// Returns the kinds of a server with one group, which has moved its Things from v0 to v1.
fn moved() -> (Kinds, Asked) {
    let asked = Asked::default();
    let log = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let version = |version: &str| json!({ "groupVersion": version, "version": version });
        let things = json!([{ "name": "things", "kind": "Thing", "namespaced": true, "singularName": "", "verbs": [] }]);
        let (status, body) = match path.as_str() {
            "/apis/a" => (
                StatusCode::OK,
                json!({ "name": "a", "versions": [version("a/v1"), version("a/v0")] }),
            ),
            "/apis/a/v1" => (
                StatusCode::OK,
                json!({ "groupVersion": "a/v1", "resources": things }),
            ),
            _ => (StatusCode::NOT_FOUND, Value::Null),
        };
        log.lock().unwrap().push(path);
        let mut response = Response::new(Body::from(body.to_string().into_bytes()));
        *response.status_mut() = status;
        async move { Ok::<_, std::convert::Infallible>(response) }
    });
    let connection = Connection::over(Client::new(service, "default"), Metrics::default());
    (
        Kinds::new(Requests::new(connection, Caller::Controller)),
        asked,
    )
}

/// Returns the hint for a missing kind.
async fn hint(api_version: &str, kind: &str) -> Option<String> {
    let (kinds, asked) = moved();
    kinds.find("a/v1", "Thing").await.unwrap();
    let error = kinds.find(api_version, kind).await.unwrap_err();
    taken(&asked);
    let error = kinds.with_hint(error);
    assert_eq!(taken(&asked), Vec::<String>::new(), "nobody is asked");
    match error {
        DiscoveryError::Unknown { hint, .. } => hint,
        DiscoveryError::Api(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn of_a_kind_that_is_not_there_it_is_said_what_was_probably_meant() {
    let said = hint("a/v0", "Thing").await;
    assert_eq!(said.as_deref(), Some("Thing is in a/v1"));
    let said = hint("a/v1", "Thign").await;
    assert_eq!(said.as_deref(), Some("did you mean 'Thing'?"));
    let said = hint("b/v1", "Job").await;
    assert_eq!(said.as_deref(), Some("Job is in batch/v1"));
    // It is unknown whether Tekton is installed.
    assert_eq!(hint("b/v1", "TaskRun").await, None);
    assert_eq!(hint("a/v0", "Other").await, None);
    assert_eq!(hint("b/v1", &"J".repeat(100)).await, None);
}

fn taken(asked: &Asked) -> Vec<String> {
    std::mem::take(&mut *asked.lock().unwrap())
}

#[tokio::test]
async fn where_the_objects_of_an_old_version_are_is_asked_once_until_something_changes() {
    let (kinds, asked) = moved();
    for _ in 0..3 {
        let found = kinds.find_objects("a/v0", "Thing").await.unwrap();
        assert_eq!(found.api_version, "a/v1");
    }
    let once = ["/apis/a/v0", "/apis/a", "/apis/a/v1"];
    assert_eq!(taken(&asked), once);
    for forget in [Kinds::forget_all, |kinds: &Kinds| kinds.forget("a/v1")] {
        forget(&kinds);
        kinds.find_objects("a/v0", "Thing").await.unwrap();
        let again = taken(&asked);
        assert!(again.contains(&"/apis/a/v1".to_owned()), "{again:?}");
    }
}

#[tokio::test]
async fn that_no_version_has_a_kind_is_asked_once_in_a_moment() {
    let (kinds, asked) = moved();
    for _ in 0..3 {
        let found = kinds.find_objects("a/v0", "Other").await;
        assert!(matches!(found, Err(DiscoveryError::Unknown { .. })));
    }
    assert_eq!(taken(&asked).len(), 3);
}

#[test]
fn an_api_version_cannot_leave_its_path() {
    assert!(is_api_version("v1"));
    assert!(is_api_version("batch/v1"));
    for bad in ["", "/", "a/b/c", "../x", "v1?x", "v1/..", "a b/v1"] {
        assert!(!is_api_version(bad), "{bad}");
    }
    assert!(is_api_version(&format!(
        "{}/{}",
        "g".repeat(253),
        "v".repeat(63)
    )));
    assert!(!is_api_version(&format!(
        "{}/{}",
        "g".repeat(253),
        "v".repeat(64)
    )));
}
