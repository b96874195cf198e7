//! Bounds for all answers. The API server and etcd bound the size of one object, but not the number of large ones in a
//! page. Any user who may create objects of a watched kind decides on that.

use std::{collections::HashMap, str::FromStr, sync::Mutex};

use futures::StreamExt;
use http::{Method, Request, Uri, uri::PathAndQuery};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Body as _, Bytes, Frame};
use kube::client::Body;
use tokio::sync::Semaphore;

use super::page::PageRest;
use crate::lock::lock;

const MIB: usize = 1024 * 1024;
/// Maximum size of a page; a larger one is requested again in parts. Pages of usual objects are far below.
pub(super) const PAGE_BYTES: usize = 8 * MIB;
/// Maximum size of any other answer, and of one event of a watch: far more than etcd accepts for an object.
pub(super) const ANSWER_BYTES: usize = 16 * MIB;
/// Maximum size of a small answer.
const SMALL: usize = MIB;
/// Factor by which a page that was too large shrinks.
const SHRINK: usize = 8;
/// Maximum number of running lists whose page sizes are remembered.
const REMEMBERED: usize = 256;

/// Reason why a body was not read to its end.
pub(super) enum Unread {
    TooLarge,
    Broken(kube::Error),
}

/// Limit of large answers that are read at the same time; small ones do not wait.
pub(super) struct Large(Semaphore);

impl Default for Large {
    fn default() -> Self {
        Self(Semaphore::new(4))
    }
}

impl Large {
    /// Reads a body of at most `most` bytes.
    pub(super) async fn read(&self, mut body: Body, most: usize) -> Result<Bytes, Unread> {
        let (mut text, mut turn) = (Vec::new(), None);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(Unread::Broken)?.into_data() else {
                continue;
            };
            let size = text.len() + data.len();
            if size > most {
                return Err(Unread::TooLarge);
            }
            // All of it is in memory already: a wait would only hold it longer.
            if text.is_empty() && body.is_end_stream() {
                return Ok(data);
            }
            if size > SMALL && turn.is_none() {
                turn = self.0.acquire().await.ok();
            }
            text.extend_from_slice(&data);
        }
        Ok(text.into())
    }
}

/// Returns the error for an answer that was too large.
pub(super) fn too_large(what: &str) -> kube::Error {
    kube::Error::Service(
        format!(
            "{what} is larger than {} MiB and was not read",
            ANSWER_BYTES / MIB
        )
        .into(),
    )
}

/// Returns the events of a watch, one line each, none larger than any other answer may be.
pub(super) fn lines(body: Body) -> UnsyncBoxBody<Bytes, kube::Error> {
    let mut line = 0;
    let frames = body.into_data_stream().map(move |chunk| {
        let chunk = chunk?;
        line = match chunk.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => chunk.len() - end,
            None => line + chunk.len(),
        };
        if line > ANSWER_BYTES {
            return Err(too_large("an event of the watch"));
        }
        Ok(Frame::data(chunk))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A request for a page of a list.
#[derive(Debug)]
pub(super) struct PageRequest {
    uri: Uri,
    pub(super) limit: usize,
    token: Option<String>,
}

impl PageRequest {
    /// Returns the page that a request is for; `None` for other requests, and for lists without pages.
    pub(super) fn by(request: &Request<Body>) -> Option<Self> {
        let query = request.uri().query()?;
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let is_list = request.method() == Method::GET && parameter("watch").is_none();
        Some(Self {
            limit: parameter("limit").filter(|_| is_list)?.parse().ok()?,
            token: parameter("continue").map(str::to_owned),
            uri: request.uri().clone(),
        })
    }

    /// Returns the URI of the same page with another limit.
    pub(super) fn with(&self, limit: usize) -> Uri {
        let query = self.uri.query().unwrap_or_default();
        let pairs = query.split('&').map(|pair| {
            if pair.starts_with("limit=") {
                format!("limit={limit}")
            } else {
                pair.to_owned()
            }
        });
        let text = format!(
            "{}?{}",
            self.uri.path(),
            pairs.collect::<Vec<_>>().join("&")
        );
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = PathAndQuery::from_str(&text).ok();
        Uri::from_parts(parts).unwrap_or_else(|_| self.uri.clone())
    }
}

/// Returns the maximum size of a page of `limit` objects. A single object may be larger.
pub(super) fn bound(limit: usize) -> usize {
    if limit > 1 { PAGE_BYTES } else { ANSWER_BYTES }
}

/// Returns the limit to try after a page that was too large, or `None` if it was one object already.
pub(super) fn smaller(limit: usize) -> Option<usize> {
    (limit > 1).then(|| (limit / SHRINK).max(1))
}

/// Limits for the next pages of lists whose pages had to shrink, by the token of each page.
#[derive(Default)]
pub(super) struct PageLimits(Mutex<HashMap<String, usize>>);

impl PageLimits {
    /// Returns how many objects to request.
    pub(super) fn take_limit(&self, asked: &PageRequest) -> usize {
        let known = asked
            .token
            .as_ref()
            .and_then(|token| lock(&self.0).remove(token));
        known.unwrap_or(asked.limit).min(asked.limit)
    }

    /// Notes a page that was read with this limit. The next one gets as many as fit into half the room, if they are
    /// alike: a few large objects do not keep pages small for long.
    pub(super) fn note(&self, asked: &PageRequest, limit: usize, page: &[u8]) {
        if limit >= asked.limit {
            return;
        }
        let next = (limit * (PAGE_BYTES / 2) / page.len().max(1)).clamp(1, asked.limit);
        let token = serde_json::from_slice::<PageRest>(page)
            .ok()
            .and_then(PageRest::next);
        if let Some(token) = token.filter(|_| next < asked.limit) {
            let mut known = lock(&self.0);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(token, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use kube::client::Body;

    use super::{PAGE_BYTES, PageLimits, PageRequest, smaller};

    fn asked(uri: &str) -> Option<PageRequest> {
        PageRequest::by(&Request::get(uri).body(Body::empty()).unwrap())
    }

    #[test]
    fn only_pages_of_lists_are_asked_for_in_parts() {
        assert!(asked("/api/v1/pods").is_none());
        assert!(asked("/api/v1/pods?labelSelector=limit%3D1").is_none());
        assert!(asked("/api/v1/pods?watch=true&limit=3").is_none());
        let page = asked("/api/v1/pods?limit=100&labelSelector=a&continue=x").unwrap();
        assert_eq!(page.limit, 100);
        assert_eq!(
            page.with(12),
            "/api/v1/pods?limit=12&labelSelector=a&continue=x"
        );
    }

    #[test]
    fn a_page_is_made_smaller_down_to_one_object() {
        let tried: Vec<usize> = std::iter::successors(Some(100), |limit| smaller(*limit)).collect();
        assert_eq!(tried, [100, 12, 1]);
    }

    #[test]
    fn pages_grow_again_behind_large_objects() {
        let fitting = PageLimits::default();
        let first = asked("/a?limit=100").unwrap();
        let page = |bytes: usize| {
            let text = r#"{"metadata":{"continue":"next"},"items":[]}"#;
            format!("{text}{}", " ".repeat(bytes - text.len()))
        };
        fitting.note(&first, 1, page(PAGE_BYTES / 8).as_bytes());
        let next = asked("/a?continue=next&limit=100").unwrap();
        assert_eq!(fitting.take_limit(&next), 4);
        fitting.note(&next, 4, page(1000).as_bytes());
        assert_eq!(
            fitting.take_limit(&next),
            100,
            "and nothing is remembered of it"
        );
    }
}
