//! Requests to the API server. Each has a deadline and is counted. Reads are retried, writes never. The server's clock
//! is taken from every answer of its own.

mod bounded;
mod client;
mod denied;
mod error;
mod page;
mod path;
mod refused_values;
mod server_clock;
mod warnings;
mod watch_one;
mod writes;

use std::{sync::Arc, time::Duration};

use cartouche_language::{
    bounds::LIGHT,
    weight::{most_weight, weight_of_levels},
};
use cartouche_protocol::object::MAX_DEPTH;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Bytes;
use kube::{Client, client::Body, core::Status};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{backoff::READS, budget::Budget};
use bounded::Unread;
pub use client::{Bearer, Caller, Connection, IdentityMode, configure};
pub use denied::DeniedRequest;
pub use error::ApiError;
pub(crate) use error::answers;
use page::Page;
pub use path::{ResourcePath, api_root, field_query, label_query};
pub(crate) use refused_values::UNPARSED;
pub use watch_one::WatchEvent;
pub use writes::CreateMode;

/// Timeout of a request, including its answer, unless `--request-timeout` sets another. Giving up sooner is safe: a
/// create without an answer counts as one that may have been carried out.
pub const DEADLINE: Duration = Duration::from_secs(15);
/// Number of objects in one page of a list.
pub(crate) const PAGE_SIZE: u32 = 100;
const PAGE: usize = PAGE_SIZE as usize;
/// Maximum number of objects kept of one list: more of one Runnable are surely not intended. Other objects in the list
/// are not limited, and cost only time.
const MAX_KEPT: usize = 20_000;
/// Maximum number of pages, so that a list ends even if a server always announces another page. This many full ones
/// have two million objects, more than a cluster holds.
const MAX_PAGES: usize = 20_000;
/// Maximum number of tries of a read.
const READ_ATTEMPTS: u32 = 3;

/// Requests with one identity.
#[derive(Clone)]
pub struct Requests {
    connection: Connection,
    caller: Caller,
    /// Budget of the reconciliation that they serve.
    budget: Option<Arc<Budget>>,
}

impl Requests {
    /// Creates requests over a connection, with the caller's identity.
    #[must_use]
    pub fn new(connection: Connection, caller: Caller) -> Self {
        Self {
            connection,
            caller,
            budget: None,
        }
    }

    /// Limits the requests by a budget: a heavy read waits until no other reconciliation holds one.
    pub(crate) fn within(self, budget: Arc<Budget>) -> Self {
        Self {
            budget: Some(budget),
            ..self
        }
    }

    /// Returns a client with the same identity, for watches.
    #[must_use]
    pub fn client(&self) -> Client {
        self.connection.client(&self.caller)
    }

    /// Reads one object consistently.
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        name: &str,
    ) -> Result<T, ApiError> {
        self.read(&path.object_path(name)).await
    }

    /// Reads one object at least as new as a version that was seen: the API server need not ask its store. If its
    /// replica is behind, a consistent read follows instead.
    pub async fn get_since<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        name: &str,
        version: u64,
    ) -> Result<T, ApiError> {
        let uri = format!("{}?resourceVersion={version}", path.object_path(name));
        match self.once(Method::GET, &uri, Vec::new()).await {
            Err(error) if !error.is_not_found() && !error.is_forbidden() => {
                self.get(path, name).await
            }
            answered => answered,
        }
    }

    /// Returns the same requests without a budget, for answers that are small, or not read as trees.
    pub(crate) fn without_budget(&self) -> Self {
        Self {
            budget: None,
            ..self.clone()
        }
    }

    /// Passes each object of a consistent list to `keep`, which returns true if it kept any of it. Only a page of text
    /// and one object are held meanwhile.
    pub async fn each(
        &self,
        path: &ResourcePath,
        selector: &str,
        keep: impl FnMut(Value) -> bool,
    ) -> Result<(), ApiError> {
        let more = self.pages(path, selector, PAGE, MAX_KEPT, keep).await?;
        if more {
            return Err(ApiError::Unsent(format!(
                "there are more than {MAX_KEPT} objects: delete those that are not needed"
            )));
        }
        Ok(())
    }

    /// Passes the first objects of a consistent list to `show`, about `most` of them, for callers that can do without
    /// the rest.
    pub async fn show_some(
        &self,
        path: &ResourcePath,
        selector: &str,
        most: usize,
        mut show: impl FnMut(Value),
    ) -> Result<(), ApiError> {
        let keep = |object| {
            show(object);
            true
        };
        self.pages(path, selector, most.min(PAGE), most, keep)
            .await?;
        Ok(())
    }

    /// Returns at most `most` objects of a consistent list.
    pub async fn list_some(
        &self,
        path: &ResourcePath,
        selector: &str,
        most: usize,
    ) -> Result<Vec<Value>, ApiError> {
        let mut found = Vec::new();
        let keep = |object| {
            found.push(object);
            true
        };
        self.pages(path, selector, most, most, keep).await?;
        Ok(found)
    }

    /// Passes the objects of a list to `keep` until it has kept `many`. Returns true if there are more.
    async fn pages(
        &self,
        path: &ResourcePath,
        selector: &str,
        limit: usize,
        many: usize,
        mut keep: impl FnMut(Value) -> bool,
    ) -> Result<bool, ApiError> {
        let (mut kept, mut token) = (0, String::new());
        for _ in 0..MAX_PAGES {
            let continuation = match token.as_str() {
                "" => String::new(),
                token => format!("&continue={token}"),
            };
            let uri = format!("{}?limit={limit}&{selector}{continuation}", path.all());
            let text = self.read_text(&uri).await?;
            let page: Page<'_> = parsed(&text)?;
            let heaviest = page.items().map(|text| self.weighs(text.as_bytes())).max();
            if let Some((budget, heaviest)) = self.without_place(heaviest.unwrap_or_default()) {
                // The wait may be long and the page is large: it is read again afterwards.
                drop(text);
                budget.pass(heaviest).await;
                continue;
            }
            for text in page.items() {
                let object = page.object(text).map_err(|error| unreadable(&error))?;
                kept += usize::from(keep(object));
            }
            match page.next() {
                None => return Ok(false),
                Some(_) if kept >= many => return Ok(true),
                // The same page would follow again.
                Some(next) if next == token => return Err(endless()),
                // A page may have fewer objects than requested.
                Some(next) => next.clone_into(&mut token),
            }
        }
        Err(endless())
    }

    /// Reads one object by name with the permission to list only.
    pub async fn find(&self, path: &ResourcePath, name: &str) -> Result<Option<Value>, ApiError> {
        let query = field_query([("metadata.name", name)]);
        let mut found = None;
        let keep = |object| found.replace(object).is_none();
        self.each(path, &query, keep).await?;
        Ok(found)
    }

    /// Reads anything by its path, with retries.
    pub async fn read<T: DeserializeOwned>(&self, uri: &str) -> Result<T, ApiError> {
        let mut text = self.read_text(uri).await?;
        if let Some((budget, weight)) = self.without_place(self.weighs(&text)) {
            // The text is dropped before the wait, and read again.
            drop(text);
            budget.pass(weight).await;
            text = self.read_text(uri).await?;
        }
        self.decoded(&text).await
    }

    /// Returns the budget and the weight, if the weight needs the place for heavy objects and does not have it.
    fn without_place(&self, weight: usize) -> Option<(&Budget, usize)> {
        let budget = self.budget.as_deref()?;
        (weight > LIGHT && !budget.has_place()).then_some((budget, weight))
    }

    async fn decoded<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, ApiError> {
        if let Some(budget) = &self.budget {
            budget.pass(self.weighs(text)).await;
        }
        parsed(text)
    }

    /// Returns the weight of a text as a tree, or zero if it is light or there is no budget.
    fn weighs(&self, text: &[u8]) -> usize {
        if self.budget.is_none() || most_weight(text.len()) <= LIGHT {
            return 0;
        }
        // Text that cannot be parsed is no tree.
        weight_of_levels(text, MAX_DEPTH).unwrap_or_default()
    }

    async fn read_text(&self, uri: &str) -> Result<Bytes, ApiError> {
        let mut failures = 0;
        loop {
            let outcome = self.exchange(Method::GET, uri, Vec::new()).await;
            match outcome {
                Err(error) if error.is_passing() && failures + 1 < READ_ATTEMPTS => {
                    tokio::time::sleep(READS.delay(failures)).await;
                    failures += 1;
                }
                other => return other.map(|(_, text)| text),
            }
        }
    }

    async fn once<T: DeserializeOwned>(
        &self,
        method: Method,
        uri: &str,
        body: Vec<u8>,
    ) -> Result<T, ApiError> {
        let (_, text) = self.exchange(method, uri, body).await?;
        self.decoded(&text).await
    }

    async fn exchange(
        &self,
        method: Method,
        uri: &str,
        body: Vec<u8>,
    ) -> Result<(HeaderMap, Bytes), ApiError> {
        let content = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        // Decisions rely on this bound for when a write has taken effect.
        let most = match method {
            Method::GET => Duration::MAX,
            _ => DEADLINE,
        };
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header(http::header::CONTENT_TYPE, content)
            .body(Body::from(body))
            .map_err(|error| ApiError::Unsent(error.to_string()))?;
        let exchange = async {
            let response = self.connection.send(&self.caller, request).await?;
            self.read_answer(response).await
        };
        let deadline = self.connection.deadline().min(most);
        match tokio::time::timeout(deadline, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ApiError::Unanswered(format!(
                "no answer within {} seconds",
                deadline.as_secs()
            ))),
        }
    }

    /// Reads an answer to its end. A write whose answer breaks off may have taken effect.
    async fn read_answer(&self, response: Response<Body>) -> Result<(HeaderMap, Bytes), ApiError> {
        let (head, body) = response.into_parts();
        let large = &self.connection.large;
        let text = match large.read(body, bounded::ANSWER_BYTES).await {
            Ok(text) => text,
            Err(Unread::TooLarge) => return Err(bounded::too_large("the answer").into()),
            Err(Unread::Broken(error)) => return Err(ApiError::Unanswered(error.to_string())),
        };
        if head.status.is_success() {
            return Ok((head.headers, text));
        }
        Err(kube::Error::Api(Box::new(refusal(head.status, &text))).into())
    }
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(text).map_err(|error| unreadable(&error))
}

fn endless() -> ApiError {
    ApiError::Unanswered("the list has no end: each page announces another one".into())
}

fn unreadable(error: &serde_json::Error) -> ApiError {
    ApiError::Unanswered(format!("the answer cannot be read: {error}"))
}

/// Returns the Status of a refusal. A proxy before the API server may answer with other text.
fn refusal(code: StatusCode, text: &[u8]) -> Status {
    let mut status = serde_json::from_slice::<Status>(text).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(text);
        Status::failure(&text, "Failed to parse error data")
    });
    status.code = code.as_u16();
    status
}

#[cfg(test)]
mod tests;
