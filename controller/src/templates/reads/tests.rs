use std::{
    convert::Infallible,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use cartouche_crds::ClusterRunTemplate;
use http::{Request, Response, StatusCode};
use kube::{
    Client,
    client::Body,
    runtime::{reflector, watcher},
};
use serde_json::{Value, json};

use super::*;
use crate::{
    api::{Caller, Connection},
    metrics::Metrics,
};

fn object(generation: i64) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "ClusterRunTemplate",
        "metadata": { "name": "t", "uid": "u", "generation": generation },
        "spec": { "template": { "apiVersion": "v1", "kind": "ConfigMap" } },
    })
}

/// Templates of which the cache has the first generation of one, and an API server that answers with the `stored` one.
struct Server {
    templates: Arc<Templates>,
    writer: reflector::store::Writer<ClusterRunTemplate>,
    requests: Requests,
    asked: Arc<AtomicUsize>,
    stored: Arc<Mutex<Option<Value>>>,
    /// No answer comes while it is locked.
    answers: Arc<tokio::sync::Mutex<()>>,
}

impl Server {
    fn start() -> Self {
        let (asked, stored) = (
            Arc::<AtomicUsize>::default(),
            Arc::new(Mutex::new(Some(object(1)))),
        );
        let (count, answer) = (asked.clone(), stored.clone());
        let answers = Arc::<tokio::sync::Mutex<()>>::default();
        let slowly = answers.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            let stored = answer.lock().unwrap().clone();
            let mut response = Response::new(Body::from(json!(stored).to_string().into_bytes()));
            if stored.is_none() {
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
            let slow = slowly.clone();
            async move {
                tokio::task::yield_now().await;
                let _ = slow.lock().await;
                Ok::<_, Infallible>(response)
            }
        });
        let connection = Connection::over(Client::new(service, "default"), Metrics::default());
        let (store, writer) = reflector::store();
        let mut server = Self {
            templates: Arc::new(Templates::new(store)),
            writer,
            requests: Requests::new(connection, Caller::Controller),
            asked,
            stored,
            answers,
        };
        server.watch_shows(1);
        server
    }

    fn watch_shows(&mut self, generation: i64) {
        let template = serde_json::from_value(object(generation)).unwrap();
        self.writer
            .apply_watcher_event(&watcher::Event::Apply(template));
    }

    async fn read(&self, arrived: u64) -> Result<i64, TemplateUnread> {
        let read = self.templates.read("t", arrived, &self.requests).await;
        read.map(|compiled| compiled.generation)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_read_serves_all_that_had_come_before_it_was_sent() {
    let server = Server::start();
    let (first, second) = (moment(), moment());
    let both = futures::join!(server.read(first), server.read(second));
    assert_eq!(both, (Ok(1), Ok(1)));
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn who_comes_after_a_read_was_sent_takes_the_next() {
    let server = Server::start();
    assert_eq!(server.read(moment()).await, Ok(1));
    *server.stored.lock().unwrap() = Some(object(2));
    assert_eq!(server.read(moment()).await, Ok(2));
    assert_eq!(server.asked(), 2);
}

#[tokio::test]
async fn an_answer_that_is_not_what_the_cache_has_serves_nobody_else() {
    let mut server = Server::start();
    let arrived = moment();
    assert_eq!(server.read(arrived).await, Ok(1));
    server.watch_shows(2);
    *server.stored.lock().unwrap() = Some(object(2));
    assert_eq!(server.read(arrived).await, Ok(2));
    assert_eq!(server.asked(), 2);
}

#[tokio::test]
async fn a_read_that_failed_serves_nobody_else() {
    let server = Server::start();
    let arrived = moment();
    *server.stored.lock().unwrap() = None;
    assert_eq!(server.read(arrived).await, Err(TemplateUnread::Absent));
    *server.stored.lock().unwrap() = Some(object(1));
    assert_eq!(server.read(arrived).await, Ok(1));
}

#[tokio::test]
async fn an_answer_of_a_while_ago_serves_nobody_else() {
    let server = Server::start();
    let arrived = moment();
    assert_eq!(server.read(arrived).await, Ok(1));
    tokio::time::sleep(Duration::from_millis(120)).await;
    // The cache does not have it yet.
    *server.stored.lock().unwrap() = Some(object(2));
    assert_eq!(server.read(arrived).await, Ok(2));
    assert_eq!(server.asked(), 2);
}

/// The first Runnable's read is answered before the template changes, and the answer arrives after the event of the
/// change: a reconciliation because of that event would see no change, and no other event would follow.
#[tokio::test]
async fn an_answer_that_was_overtaken_serves_nobody_else() {
    for (then, first) in [
        (Some(object(1)), Ok(1)),
        (None, Err(TemplateUnread::Absent)),
    ] {
        let mut server = Server::start();
        let (other, changed) = (moment(), moment());
        *server.stored.lock().unwrap() = then;
        let held = server.answers.clone().lock_owned().await;
        let overtaken = tokio::spawn({
            let (templates, requests) = (server.templates.clone(), server.requests.clone());
            async move { templates.read("t", changed, &requests).await }
        });
        while server.asked() == 0 {
            tokio::task::yield_now().await;
        }
        *server.stored.lock().unwrap() = Some(object(2));
        server.watch_shows(2);
        let look = server.read(other);
        let release = async { drop(held) };
        let (looked, ()) = futures::join!(look, release);
        assert_eq!(looked, Ok(2));
        assert_eq!(overtaken.await.unwrap().map(|it| it.generation), first);
        assert_eq!(server.asked(), 2);
    }
}
