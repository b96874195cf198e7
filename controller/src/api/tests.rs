use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{ApiError, Caller, Connection, MAX_KEPT, MAX_PAGES, PAGE, Requests, ResourcePath};
use crate::metrics::Metrics;

/// Requests to a server whose nth page of a list is `page(n)`.
fn server(
    page: impl Fn(usize) -> Value + Clone + Send + Sync + 'static,
) -> (Requests, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let text = page(counted.fetch_add(1, Ordering::Relaxed)).to_string();
        async move { Ok::<_, Infallible>(Response::new(Body::from(text.into_bytes()))) }
    });
    let connection = Connection::over(Client::new(service, "default"), Metrics::default());
    (Requests::new(connection, Caller::Controller), asked)
}

fn page(items: usize, next: &str) -> Value {
    json!({ "metadata": { "continue": next }, "items": vec![json!({}); items] })
}

fn things() -> ResourcePath {
    ResourcePath::new("a/v1", "things", Some("ns"))
}

/// A list of this many full pages.
fn full(pages: usize) -> impl Fn(usize) -> Value + Clone + Send + Sync {
    move |number| {
        let next = (number + 1 < pages).then(|| number.to_string());
        page(PAGE, &next.unwrap_or_default())
    }
}

#[test]
fn a_name_in_a_field_selector_is_only_a_name() {
    let query = |name| super::field_query([("metadata.name", name), ("type", "a")]);
    assert_eq!(
        query(r"a-b.c"),
        "fieldSelector=metadata.name%3Da-b.c%2Ctype%3Da"
    );
    assert_eq!(
        query(r"x=y,a\b"),
        r"fieldSelector=metadata.name%3Dx%5C%3Dy%5C%2Ca%5C%5Cb%2Ctype%3Da"
    );
}

#[tokio::test]
async fn however_many_strangers_there_are_a_list_comes_to_its_end() {
    let (requests, asked) = server(full(MAX_KEPT / PAGE + 10));
    let mut looked = 0;
    let look = |_| {
        looked += 1;
        false
    };
    requests.each(&things(), "", look).await.unwrap();
    assert_eq!(looked, MAX_KEPT + 10 * PAGE);
    assert_eq!(asked.load(Ordering::Relaxed), MAX_KEPT / PAGE + 10);
}

#[tokio::test]
async fn no_more_is_kept_of_a_list_than_fits() {
    let (requests, asked) = server(full(MAX_KEPT / PAGE + 10));
    let refused = requests.each(&things(), "", |_| true).await;
    assert!(matches!(refused, Err(ApiError::Unsent(_))));
    assert_eq!(asked.load(Ordering::Relaxed), MAX_KEPT / PAGE);
}

#[tokio::test]
async fn a_list_that_has_just_as_many_as_fit_is_whole() {
    let (requests, _) = server(full(MAX_KEPT / PAGE));
    requests.each(&things(), "", |_| true).await.unwrap();
}

#[tokio::test]
async fn a_server_that_gives_the_same_page_again_is_left() {
    let (requests, asked) = server(|_| page(0, "same"));
    let refused = requests.each(&things(), "", |_| true).await;
    assert!(refused.unwrap_err().to_string().contains("no end"));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_server_whose_empty_pages_do_not_end_is_left() {
    let (requests, asked) = server(|number| page(0, &number.to_string()));
    let refused = requests.list_some(&things(), "", 2).await;
    assert!(refused.unwrap_err().to_string().contains("no end"));
    assert_eq!(asked.load(Ordering::Relaxed), MAX_PAGES);
}

/// Reads an object since version 7 from a server that answers with these codes, and returns the requests.
async fn read_since_seven(codes: &'static [u16]) -> (Result<Value, ApiError>, Vec<String>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let uris = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let mut uris = uris.lock().unwrap();
        let mut response = Response::new(Body::from(b"{}".to_vec()));
        *response.status_mut() = StatusCode::from_u16(codes[uris.len()]).unwrap();
        uris.push(request.uri().to_string());
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = Connection::over(Client::new(service, "default"), Metrics::default());
    let requests = Requests::new(connection, Caller::Controller);
    let read = requests.get_since(&things(), "a", 7).await;
    let asked = asked.lock().unwrap().clone();
    (read, asked)
}

#[tokio::test]
async fn a_read_for_the_sake_of_what_was_seen_asks_for_nothing_older() {
    let (read, asked) = read_since_seven(&[200]).await;
    assert_eq!(read.unwrap(), json!({}));
    assert_eq!(
        asked,
        ["/apis/a/v1/namespaces/ns/things/a?resourceVersion=7"]
    );
}

#[tokio::test]
async fn a_server_that_is_behind_what_was_seen_is_asked_once_and_then_consistently() {
    for code in [504, 410, 500, 429] {
        let codes = Box::leak(Box::new([code, 200]));
        let (read, asked) = read_since_seven(codes).await;
        assert_eq!(read.unwrap(), json!({}));
        assert_eq!(asked.len(), 2, "{code}");
        assert_eq!(asked[1], "/apis/a/v1/namespaces/ns/things/a");
    }
}

#[tokio::test]
async fn that_nothing_is_there_and_that_it_may_not_be_read_are_answers() {
    for code in [404, 403] {
        let codes = Box::leak(Box::new([code, 200]));
        let (read, asked) = read_since_seven(codes).await;
        let error = read.unwrap_err();
        assert!(error.is_not_found() || error.is_forbidden(), "{error}");
        assert_eq!(asked.len(), 1, "{code}");
    }
}

/// Returns the connection after an answer with this date, and some silence.
async fn time_after(date: &'static str, silence: Duration) -> Connection {
    let service = tower::service_fn(move |_: Request<Body>| async move {
        let answer = Response::builder().header("date", date);
        Ok::<_, Infallible>(answer.body(Body::from(b"{}".to_vec())).unwrap())
    });
    let connection = Connection::over(Client::new(service, "default"), Metrics::default());
    let requests = Requests::new(connection.clone(), Caller::Controller);
    let maps = ResourcePath::new("v1", "configmaps", Some("ns"));
    let _: Value = requests.get(&maps, "a").await.unwrap();
    tokio::time::sleep(silence).await;
    connection
}

#[tokio::test]
async fn the_clock_of_the_api_server_goes_on_while_it_is_silent() {
    let connection = time_after(
        "Thu, 01 Jan 2026 00:00:00 GMT",
        Duration::from_millis(1_100),
    )
    .await;
    let answered: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    assert!(connection.now().unwrap() > answered);
}

/// An aggregated API server may claim any time, and a tenant may cause reads of its objects.
#[tokio::test]
async fn an_answer_of_another_group_tells_no_time() {
    let service = tower::service_fn(move |request: Request<Body>| async move {
        let is_own = request.uri().path().starts_with("/api/v1/");
        let date = if is_own {
            "Thu, 01 Jan 2026 00:00:00 GMT"
        } else {
            "Thu, 01 Jan 2099 00:00:00 GMT"
        };
        let answer = Response::builder().header("date", date);
        Ok::<_, Infallible>(answer.body(Body::from(b"{}".to_vec())).unwrap())
    });
    let connection = Connection::over(Client::new(service, "default"), Metrics::default());
    let requests = Requests::new(connection.clone(), Caller::Controller);
    let read = async |path: &ResourcePath| {
        let _: Value = requests.get(path, "a").await.unwrap();
        connection.now()
    };
    assert_eq!(read(&things()).await, None);
    let maps = ResourcePath::new("v1", "configmaps", Some("ns"));
    let told = read(&maps).await.unwrap();
    for _ in 0..3 {
        let after = read(&things()).await.unwrap();
        assert!(after.duration_since(told).as_secs() < 60, "{after}");
    }
}

/// A request of the controller's own confirms a jump at once.
#[tokio::test]
async fn a_clock_that_was_set_is_asked_once_more() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let before = count.fetch_add(1, Ordering::SeqCst);
        let date = if before == 0 {
            "Thu, 01 Jan 2026 00:00:00 GMT"
        } else {
            "Thu, 01 Jan 2026 01:00:00 GMT"
        };
        assert!(before < 2 || request.uri().path() == "/version");
        let answer = Response::builder().header("date", date);
        let answer = answer.body(Body::from(b"{}".to_vec())).unwrap();
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = Connection::over(Client::new(service, "default"), Metrics::default());
    let requests = Requests::new(connection.clone(), Caller::Controller);
    let maps = ResourcePath::new("v1", "configmaps", Some("ns"));
    let set: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
    let _: Value = requests.get(&maps, "a").await.unwrap();
    assert!(connection.now().unwrap() < set);
    let _: Value = requests.get(&maps, "a").await.unwrap();
    for _ in 0..200 {
        if connection.now().unwrap() >= set {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    assert!(connection.now().unwrap() >= set);
}

#[tokio::test]
async fn nothing_is_said_of_an_object_at_a_time_before_it_was() {
    let connection = time_after("Thu, 01 Jan 2026 00:00:00 GMT", Duration::ZERO).await;
    let created: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
    let object = |at| ObjectMeta {
        creation_timestamp: Some(Time(at)),
        ..ObjectMeta::default()
    };
    assert_eq!(connection.clock().now_for(&object(created)), Some(created));
    let earlier: Timestamp = "2025-01-01T00:00:00Z".parse().unwrap();
    assert!(connection.clock().now_for(&object(earlier)).unwrap() > earlier);
}

/// Returns the precondition that a deletion sends.
async fn condition_of_deletion(
    delete: impl AsyncFnOnce(Requests) -> Result<(), ApiError>,
) -> Value {
    let sent = Arc::<Mutex<Value>>::default();
    let log = sent.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let log = log.clone();
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let options: Value = serde_json::from_slice(&body).unwrap();
            *log.lock().unwrap() = options["preconditions"].clone();
            Ok::<_, Infallible>(Response::new(Body::from(b"{}".to_vec())))
        }
    });
    let connection = Connection::over(Client::new(service, "default"), Metrics::default());
    delete(Requests::new(connection, Caller::Controller))
        .await
        .unwrap();
    sent.lock().unwrap().take()
}

/// A run that a queue has released since it was read is stopped in another way than by its deletion.
#[tokio::test]
async fn a_deletion_of_what_was_read_holds_for_that_version_only() {
    let read = json!({ "uid": "u", "resourceVersion": "7" });
    let last = async |api: Requests| api.delete_last(&things(), "a", ("u", Some(7))).await;
    assert_eq!(condition_of_deletion(last).await, read);
    let as_read = async |api: Requests| api.delete_as_read(&things(), "a", ("u", "7")).await;
    assert_eq!(condition_of_deletion(as_read).await, read);
    let any = async |api: Requests| api.delete(&things(), "a", "u").await;
    assert_eq!(condition_of_deletion(any).await, json!({ "uid": "u" }));
}
