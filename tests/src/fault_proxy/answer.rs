//! Answers of the proxy itself.

use std::io;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use serde_json::json;

/// A body that may break off.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Returns the error that cuts the connection: hyper closes it when a body or a service fails.
pub(super) fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "cut by the fault proxy")
}

pub(super) fn whole(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Returns a body that breaks the connection after the first half.
pub(super) fn half(bytes: &Bytes) -> Body {
    let first = bytes.slice(..bytes.len() / 2);
    let frames = stream::iter([Ok(Frame::data(first)), Err(cut())]);
    // Polled twice, so that the first half leaves before the connection is closed.
    StreamBody::new(frames.then(|frame| async {
        tokio::task::yield_now().await;
        frame
    }))
    .boxed_unsync()
}

/// Returns a Status in the form of the API server.
pub(super) fn status(code: StatusCode, reason: &str) -> Response<Body> {
    let text = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "broken by the fault proxy", "reason": reason, "code": code.as_u16(),
    });
    let mut response = Response::new(whole(Bytes::from(text.to_string())));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if code == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// The event that marks a watch as too old.
pub(super) const GONE: &str = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\
     \"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\",\"code\":410}}\n";
