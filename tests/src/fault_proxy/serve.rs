//! Takes requests, passes them on, and breaks the chosen ones.

use std::{convert::Infallible, future::pending, io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header, request, response};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::Client;
use tokio::{net::TcpListener, task::JoinSet, time::sleep};

use super::{
    answer::{Body, cut, half, status, whole},
    call::Asked,
    desk::Desk,
    fault::{Fault, LATE, SPLIT},
    relay,
};

/// Time that the controller has to read an answer before it is killed; it gets no further meanwhile.
const READING: Duration = Duration::from_millis(30);

/// Serves until it is aborted; connections end with it.
pub(super) async fn serve(listener: TcpListener, upstream: Client, desk: Arc<Desk>) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(READING).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let (upstream, desk) = (upstream.clone(), desk.clone());
        let handle = move |request| handle(request, upstream.clone(), desk.clone());
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(handle));
        // Broken connections are the purpose of this proxy.
        connections.spawn(async move { drop(connection.await) });
    }
}

/// A request that was read whole, so that it can be sent on after its sender is gone.
struct Taken {
    head: request::Parts,
    body: Bytes,
    upstream: Client,
}

async fn handle(
    request: Request<Incoming>,
    upstream: Client,
    desk: Arc<Desk>,
) -> io::Result<Response<Body>> {
    if desk.is_frozen() {
        return pending().await;
    }
    if desk.is_split() {
        return Err(cut());
    }
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| cut())?.to_bytes();
    let asked = desk.read(&head);
    let fault = desk.meet(&asked);
    let taken = Taken {
        head,
        body,
        upstream,
    };
    if !desk.door.stops(&asked.call, &taken.body) {
        return pass_on(fault, taken, &asked, desk).await;
    }
    // In a task of its own: a request on its way arrives even if its sender is dead.
    let waiting = tokio::spawn(async move {
        let busy = desk.busy();
        desk.door.pass().await;
        // A broken request may never be answered.
        drop(busy);
        pass_on(fault, taken, &asked, desk.clone()).await
    });
    waiting.await.map_err(|_| cut())?
}

async fn pass_on(
    fault: Option<Fault>,
    taken: Taken,
    asked: &Asked,
    desk: Arc<Desk>,
) -> io::Result<Response<Body>> {
    match fault {
        None => taken.answered(asked, &desk).await,
        Some(fault) => broken(fault, taken, asked, desk).await,
    }
}

async fn broken(
    fault: Fault,
    taken: Taken,
    asked: &Asked,
    desk: Arc<Desk>,
) -> io::Result<Response<Body>> {
    match fault {
        Fault::CrashBefore => {
            crash(desk, Duration::ZERO);
            pending().await
        }
        Fault::CrashSent => {
            carry_out(taken, desk.clone(), Duration::ZERO).await;
            crash(desk, Duration::ZERO);
            pending().await
        }
        Fault::CrashAnswered => {
            let answer = taken.answered(asked, &desk).await;
            crash(desk, READING);
            answer
        }
        Fault::LostReply => {
            carry_out(taken, desk, Duration::ZERO).await;
            pending().await
        }
        Fault::Late => {
            carry_out(taken, desk, LATE).await;
            pending().await
        }
        Fault::ResetAnswered => {
            carry_out(taken, desk, Duration::ZERO).await;
            Err(cut())
        }
        Fault::TimeoutAnswered => {
            carry_out(taken, desk, Duration::ZERO).await;
            Ok(status(StatusCode::GATEWAY_TIMEOUT, "Timeout"))
        }
        Fault::Truncated => taken.truncated().await,
        Fault::StaleList => taken.stale(asked, &desk).await,
        Fault::Partition => {
            desk.split_for(SPLIT);
            Err(cut())
        }
        other => refused(other).await,
    }
}

/// Has the controller killed. In a task of its own, because that of the connection ends with the controller.
fn crash(desk: Arc<Desk>, after: Duration) {
    desk.freeze();
    tokio::spawn(async move {
        let _busy = desk.busy();
        sleep(after).await;
        desk.crash().await;
    });
}

/// Answers a request with a fault that the API server does not see.
async fn refused(fault: Fault) -> io::Result<Response<Body>> {
    Ok(match fault {
        Fault::Drop => return pending().await,
        Fault::Conflict => status(StatusCode::CONFLICT, "Conflict"),
        Fault::TooMany => status(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
        Fault::Internal => status(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        Fault::Unavailable => status(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
        _ => return Err(cut()),
    })
}

/// Carries a request out, even if its sender no longer waits.
async fn carry_out(taken: Taken, desk: Arc<Desk>, after: Duration) {
    let work = tokio::spawn(async move {
        let _busy = desk.busy();
        sleep(after).await;
        taken.sent().await.map(drop)
    });
    // The API server's audit log has the result.
    let _ = work.await;
}

impl Taken {
    async fn sent(self) -> io::Result<(response::Parts, kube::client::Body)> {
        let mut request = Request::from_parts(self.head, kube::client::Body::from(self.body));
        request.headers_mut().remove(header::HOST);
        let answer = self.upstream.send(request).await.map_err(|_| cut())?;
        Ok(answer.into_parts())
    }

    async fn answered(self, asked: &Asked, desk: &Arc<Desk>) -> io::Result<Response<Body>> {
        let uri = self.head.uri.to_string();
        let (mut head, body) = self.sent().await?;
        clean(&mut head.headers);
        if asked.call.verb == "watch" && head.status.is_success() {
            let body = relay::relay(body, asked.clone(), desk.clone());
            return Ok(Response::from_parts(head, body));
        }
        let bytes = body.collect().await.map_err(|_| cut())?.to_bytes();
        if asked.call.verb == "list" && head.status.is_success() {
            desk.remember(&uri, &bytes);
        }
        Ok(Response::from_parts(head, whole(bytes)))
    }

    async fn truncated(self) -> io::Result<Response<Body>> {
        let (mut head, body) = self.sent().await?;
        clean(&mut head.headers);
        let bytes = body.collect().await.map_err(|_| cut())?.to_bytes();
        head.headers
            .insert(header::CONTENT_LENGTH, bytes.len().into());
        Ok(Response::from_parts(head, half(&bytes)))
    }

    /// Returns the remembered answer, if there is one.
    async fn stale(self, asked: &Asked, desk: &Arc<Desk>) -> io::Result<Response<Body>> {
        match desk.remembered(&self.head.uri.to_string()) {
            None => self.answered(asked, desk).await,
            Some(bytes) => {
                let mut response = Response::new(whole(bytes));
                response.headers_mut().insert(
                    header::CONTENT_TYPE,
                    header::HeaderValue::from_static("application/json"),
                );
                Ok(response)
            }
        }
    }
}

/// Removes headers that belong to the connection with the API server and not to the answer.
fn clean(headers: &mut HeaderMap) {
    for name in [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
    ] {
        headers.remove(name);
    }
}
