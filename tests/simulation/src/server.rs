//! The simulated API server: HTTP over simulated TCP, in front of the store.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use k8s_openapi::jiff::{Timestamp, fmt::rfc2822};
use serde_json::Value;
use tokio::{sync::watch, time::Instant};
use turmoil::net::TcpListener;

use crate::{
    faults::{Fate, Faults, WatchFate},
    requests::{Call, Target, refused, status},
    store::Store,
    tenants::is_deaf,
    watch::{Watch, expired},
};

/// The port that it listens on.
pub const PORT: u16 = 6443;
/// Interval between bookmarks of a silent watch.
const BOOKMARKS: Duration = Duration::from_secs(10);

type Body = BoxBody<Bytes, io::Error>;

/// State that outlives the API server's process.
pub struct ApiServer {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

/// State that requests are served from.
pub struct State {
    /// The objects.
    pub store: Store,
    /// The source of faults.
    pub faults: Faults,
    /// The requests and their fates, if requested.
    pub spoken: Option<Vec<String>>,
}

impl ApiServer {
    /// Returns a server over a store.
    #[must_use]
    pub fn new(store: Store, faults: Faults, traced: bool) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                store,
                faults,
                spoken: traced.then(Vec::new),
            }),
            changed: watch::Sender::new(0),
        })
    }

    /// Runs `work` on the state, and notifies the watches.
    pub fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let done = work(&mut state);
        let version = state.store.version();
        drop(state);
        self.changed.send_if_modified(|known| {
            let news = *known != version;
            *known = version;
            news
        });
        done
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves until the host is stopped.
    pub async fn serve(self: Arc<Self>) -> turmoil::Result {
        let listener = TcpListener::bind((IpAddr::from(Ipv4Addr::UNSPECIFIED), PORT)).await?;
        loop {
            let (stream, peer) = listener.accept().await?;
            let host = turmoil::reverse_lookup(peer.ip()).unwrap_or_default();
            let api = self.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let (api, host) = (api.clone(), host.clone());
                    async move { api.answer(host, request).await }
                });
                // A connection may end at any time: that is simulated.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    }

    async fn answer(
        self: Arc<Self>,
        host: String,
        request: Request<Incoming>,
    ) -> io::Result<Response<Body>> {
        let call = read(host, request).await?;
        if call.is_watch() && call.method == Method::GET {
            return self.open_watch(&call).await;
        }
        let fate = self.with(|state| {
            let fate = state.faults.fate(&call);
            state.note(&call, &fate);
            fate
        });
        match fate {
            Fate::Lost => return std::future::pending().await,
            Fate::Refused(code) => return Ok(self.reply(code, &failure(code))),
            Fate::Late(time) => tokio::time::sleep(time).await,
            _ => {}
        }
        let (code, body) = self.with(|state| {
            let behind = state.faults.behind(&call);
            let answer = call.carry_out(&mut state.store, state.faults.forbidden, behind);
            answer.unwrap_or_else(|refusal| refused(&refusal))
        });
        match fate {
            Fate::Slow(time) => tokio::time::sleep(time).await,
            Fate::Unanswered => return std::future::pending().await,
            Fate::Belied(code) => return Ok(self.reply(code, &failure(code))),
            Fate::Reset => return Err(io::ErrorKind::ConnectionReset.into()),
            Fate::Truncated => return Ok(self.truncated(code, &body)),
            _ => {}
        }
        Ok(self.reply(code, &body))
    }

    fn reply(&self, code: u16, body: &Value) -> Response<Body> {
        let text = Bytes::from(body.to_string());
        let body = Full::new(text).map_err(|never: Infallible| match never {});
        self.response(code, body.boxed())
    }

    fn truncated(&self, code: u16, body: &Value) -> Response<Body> {
        let mut text = body.to_string();
        text.truncate(text.len() / 2);
        let pieces = [
            Ok(Frame::data(Bytes::from(text))),
            Err(io::ErrorKind::ConnectionReset.into()),
        ];
        self.response(code, BodyExt::boxed(StreamBody::new(stream::iter(pieces))))
    }

    fn response(&self, code: u16, body: Body) -> Response<Body> {
        let mut response = Response::new(body);
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(header::DATE, date(self.lock().store.now()));
        response
    }

    async fn open_watch(self: Arc<Self>, call: &Call) -> io::Result<Response<Body>> {
        let (opening, fate) = self.with(|state| {
            let opening = match state.faults.fate(call) {
                _ if state.faults.deaf && is_deaf(call) => Fate::Refused(403),
                lost @ (Fate::Lost | Fate::Refused(_) | Fate::Reset) => lost,
                _ => Fate::Served,
            };
            state.note(call, &opening);
            (opening, state.faults.watch_fate())
        });
        match opening {
            Fate::Lost => return std::future::pending().await,
            Fate::Refused(code) => return Ok(self.reply(code, &failure(code))),
            Fate::Reset => return Err(io::ErrorKind::ConnectionReset.into()),
            _ => {}
        }
        let Target::All(resource, namespace) = call.target() else {
            return Ok(self.reply(404, &failure(404)));
        };
        let number = |word: &str| call.asks(word).and_then(|text| text.parse::<u64>().ok());
        let asked = number("resourceVersion").unwrap_or_default();
        let position = if asked == 0 {
            self.lock().store.version()
        } else {
            asked
        };
        let open = Duration::from_secs(number("timeoutSeconds").unwrap_or(300));
        let watch = Watch::new(resource, &namespace, call.selector(), position);
        let telling = Telling {
            changed: self.changed.subscribe(),
            api: self.clone(),
            watch,
            fate,
            began: Instant::now(),
            open,
            over: false,
        };
        let lines = stream::unfold(telling, |mut telling| async move {
            let piece = telling.next().await?;
            Some((piece, telling))
        });
        let frames = lines.map(|line| line.map(|line| Frame::data(Bytes::from(line))));
        Ok(self.response(200, BodyExt::boxed(StreamBody::new(frames))))
    }
}

/// A watch that is being served.
struct Telling {
    api: Arc<ApiServer>,
    changed: watch::Receiver<u64>,
    watch: Watch,
    fate: WatchFate,
    began: Instant,
    open: Duration,
    over: bool,
}

impl Telling {
    /// Returns the next piece of the answer, or `None` when it is complete.
    async fn next(&mut self) -> Option<io::Result<String>> {
        if self.over || self.began.elapsed() >= self.open {
            return None;
        }
        if self.fate.expired {
            self.over = true;
            return Some(Ok(expired()));
        }
        loop {
            if let Some((from, length)) = self.fate.stall
                && self.began.elapsed() >= from
            {
                self.fate.stall = None;
                tokio::time::sleep(length).await;
            }
            if self.fate.cut.is_some_and(|cut| self.began.elapsed() >= cut) {
                self.over = true;
                return Some(Err(io::ErrorKind::ConnectionReset.into()));
            }
            self.changed.mark_unchanged();
            let news = self.watch.news(&self.api.lock().store);
            match news {
                Err(last) => {
                    self.over = true;
                    return Some(Ok(last));
                }
                Ok(lines) if !lines.is_empty() => {
                    tokio::time::sleep(self.fate.lag).await;
                    return Some(Ok(lines));
                }
                Ok(_) => {}
            }
            let left = self.open.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                return None;
            }
            let patience = self.fate.cut.map_or(BOOKMARKS, |cut| {
                cut.saturating_sub(self.began.elapsed()).min(BOOKMARKS)
            });
            let news = tokio::time::timeout(patience.min(left), self.changed.changed());
            if news.await.is_err() && self.fate.cut.is_none() {
                return Some(Ok(self.watch.bookmark()));
            }
        }
    }
}

impl State {
    /// Records a line, if requested.
    pub fn tell(&mut self, what: &str) {
        let (at, version) = (self.store.elapsed, self.store.version());
        if let Some(spoken) = &mut self.spoken {
            spoken.push(format!("{:9.3} {version:5} ** {what}", at.as_secs_f64()));
        }
    }

    fn note(&mut self, call: &Call, fate: &Fate) {
        let fate = match fate {
            Fate::Served => String::new(),
            fate => format!("  {fate:?}"),
        };
        let method = if call.is_watch() {
            "WATCH"
        } else {
            call.method.as_str()
        };
        self.tell(&format!("{} {method} {}{fate}", call.host, call.path));
    }
}

async fn read(host: String, request: Request<Incoming>) -> io::Result<Call> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let query = head.uri.query().unwrap_or_default();
    let user = head.headers.get("impersonate-user");
    Ok(Call {
        method: head.method,
        path: head.uri.path().to_owned(),
        query: query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(word, value)| (word.to_owned(), decoded(value)))
            .collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        host,
        user: user.and_then(|user| user.to_str().ok()).map(str::to_owned),
    })
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let Some(byte) = byte {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(if *first == b'+' { b' ' } else { *first });
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn failure(code: u16) -> Value {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    status(code, reason, "simulated")
}

fn date(now: Timestamp) -> HeaderValue {
    let text = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
    text.ok()
        .and_then(|text| HeaderValue::from_str(&text).ok())
        .unwrap_or_else(|| HeaderValue::from_static(""))
}
