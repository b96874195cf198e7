//! A registry of watches, and an API server that answers as a test says.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use cartouche_protocol::{
    references::{SourceKind, SourceObject},
    sourced_inputs::SourceRead,
};
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Frame};
use kube::{Client, client::Body};
use serde_json::json;
use tokio::sync::mpsc;

use super::super::{SecretWatches, WatchedSecret};
use crate::{
    api::{Connection, IdentityMode},
    clock::boot_time,
    identity::Identity,
    lock::lock,
    memory::Memories,
    metrics::Metrics,
    runnable_key::RunnableKey,
    watch::{Enqueued, Enqueuer},
};

pub(super) const MOMENT: Duration = Duration::from_secs(3);

/// A watch that was requested.
pub(super) struct Asked {
    pub(super) as_whom: String,
    pub(super) uri: String,
    pub(super) events: mpsc::UnboundedSender<String>,
}

/// A registry, and the API server behind it.
pub(super) struct Scene {
    pub(super) watches: Arc<SecretWatches>,
    pub(super) memories: Arc<Memories>,
    metrics: Metrics,
    enqueued: Enqueued,
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
    /// Status code of the answer to a watch.
    pub(super) code: Arc<AtomicU16>,
}

fn answer(
    code: u16,
    events: mpsc::UnboundedReceiver<String>,
) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    let body = if code == 200 {
        let events = futures::stream::unfold(events, |mut events| async {
            events.recv().await.map(|event| (event, events))
        });
        let frames = events.map(|event| Ok::<_, Infallible>(Frame::data(Bytes::from(event))));
        StreamBody::new(frames).boxed_unsync()
    } else {
        let status = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": "No", "message": "" });
        Full::from(status.to_string()).boxed_unsync()
    };
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
    response
}

/// Returns a token with this number.
fn given(number: u16) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    let token = json!({ "status": { "token": format!("token-{number}") } });
    let mut response = Response::new(Full::from(token.to_string()).boxed_unsync());
    *response.status_mut() = http::StatusCode::CREATED;
    response
}

fn as_whom(request: &Request<Body>) -> String {
    let headers = request.headers();
    let user = headers.get("impersonate-user");
    let user = user.or(headers.get(http::header::AUTHORIZATION));
    user.unwrap().to_str().unwrap().to_owned()
}

impl Scene {
    pub(super) fn new(most: usize) -> Self {
        Self::with(most, IdentityMode::Impersonate)
    }

    pub(super) fn with(most: usize, mode: IdentityMode) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let code = Arc::new(AtomicU16::new(200));
        let (log, status) = (asked.clone(), code.clone());
        let tokens = AtomicU16::new(0);
        let service = tower::service_fn(move |request: Request<Body>| {
            let response = if request.uri().path().ends_with("/token") {
                given(tokens.fetch_add(1, Ordering::SeqCst) + 1)
            } else {
                let (events, receiver) = mpsc::unbounded_channel();
                lock(&log).push(Asked {
                    as_whom: as_whom(&request),
                    uri: request.uri().to_string(),
                    events,
                });
                answer(status.load(Ordering::SeqCst), receiver)
            };
            async move { Ok::<_, Infallible>(response) }
        });
        let metrics = Metrics::default();
        let connection = Connection::over(Client::new(service, "default"), metrics.clone());
        let connection = connection.with_tokens();
        let (enqueuer, waiting) = Enqueuer::new();
        let memories = Arc::<Memories>::default();
        let watches = SecretWatches::new(
            most,
            Arc::new(Identity::new(connection, mode)),
            memories.clone(),
            enqueuer,
            metrics.clone(),
        );
        Self {
            watches: Arc::new(watches),
            memories,
            metrics,
            enqueued: waiting,
            asked,
            code,
        }
    }

    /// Has a Runnable read these Secrets as this account, and find them.
    pub(super) fn reads(&self, runnable: &str, account: &str, names: &[&str]) {
        let wanted: BTreeSet<_> = names.iter().map(|name| secret(account, name)).collect();
        self.watches.want(&key(runnable), wanted.clone());
        self.has_read(runnable, names);
        for secret in wanted {
            self.watches.record_found(&key(runnable), &secret);
        }
    }

    /// Has Runnables of a namespace each find a Secret of their own.
    pub(super) fn find(&self, namespace: &str, numbers: Range<usize>) {
        for number in numbers {
            let (key, secret) = (numbered(namespace, number), secret_of(namespace, number));
            self.watches.want(&key, BTreeSet::from([secret.clone()]));
            self.watches.record_found(&key, &secret);
        }
    }

    /// Returns the number of those that are watched.
    pub(super) fn watched(&self, namespace: &str, numbers: Range<usize>) -> usize {
        let watched = |number: &usize| self.watches.is_watched(&secret_of(namespace, *number));
        numbers.filter(watched).count()
    }

    pub(super) fn has_read(&self, runnable: &str, names: &[&str]) {
        let memory = self.memories.get_or_create(&key(runnable), runnable);
        for name in names {
            let sources = &mut lock(&memory).sources;
            sources.keep(object(name), SourceRead::Absent, None, boot_time());
        }
    }

    pub(super) fn relies_on(&self, runnable: &str, name: &str) -> bool {
        let memory = self.memories.get_or_create(&key(runnable), runnable);
        let known = lock(&memory)
            .sources
            .lately(&object(name), None, boot_time());
        known.is_some()
    }

    /// Returns the Runnables that were enqueued since the last call.
    pub(super) fn enqueued(&self) -> BTreeSet<String> {
        let enqueued = self.enqueued.take().into_iter();
        enqueued.map(|key| key.name).collect()
    }

    pub(super) fn asked(&self) -> usize {
        lock(&self.asked).len()
    }

    pub(super) fn last_uri(&self) -> String {
        lock(&self.asked).last().unwrap().uri.clone()
    }

    /// Sends an event on the watch with this index.
    pub(super) fn tell(&self, which: usize, what: &str, version: &str) {
        let event =
            json!({ "type": what, "object": { "metadata": { "resourceVersion": version } } });
        lock(&self.asked)[which]
            .events
            .send(format!("{event}\n"))
            .unwrap();
    }

    pub(super) fn fail(&self, which: usize, code: u16) {
        let event = json!({ "type": "ERROR", "object": { "code": code, "reason": "Expired" } });
        lock(&self.asked)[which]
            .events
            .send(format!("{event}\n"))
            .unwrap();
    }

    /// Ends a watch as the API server does.
    pub(super) fn end(&self, which: usize) {
        let (closed, _) = mpsc::unbounded_channel();
        lock(&self.asked)[which].events = closed;
    }

    /// Returns true if the registry still listens to a watch.
    pub(super) fn is_open(&self, which: usize) -> bool {
        !lock(&self.asked)[which].events.is_closed()
    }

    pub(super) fn is_watched(&self, account: &str, name: &str) -> bool {
        self.watches.is_watched(&secret(account, name))
    }

    /// Returns the number of watches in this state, by the metric.
    pub(super) fn counted(&self, state: &str) -> i64 {
        let text = self.metrics.text();
        let start = format!("cartouche_watched_secrets{{state=\"{state}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        line.map_or(0, |count| count.parse().unwrap())
    }
}

pub(super) fn key(name: &str) -> RunnableKey {
    RunnableKey {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    }
}

pub(super) fn numbered(namespace: &str, number: usize) -> RunnableKey {
    RunnableKey {
        namespace: namespace.to_owned(),
        name: number.to_string(),
    }
}

pub(super) fn secret_of(namespace: &str, number: usize) -> WatchedSecret {
    WatchedSecret {
        namespace: namespace.to_owned(),
        account: "default".to_owned(),
        name: number.to_string(),
    }
}

pub(super) fn secret(account: &str, name: &str) -> WatchedSecret {
    WatchedSecret {
        namespace: "ns".to_owned(),
        account: account.to_owned(),
        name: name.to_owned(),
    }
}

fn object(name: &str) -> SourceObject {
    SourceObject::in_own_namespace(SourceKind::Secret, name)
}

pub(super) fn named(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
