//! Requests to the API server: each with a deadline, reads tried again and writes never, all
//! counted, and the server's clock taken from every answer that is its own.

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

use cartouche_protocol::object::MAX_DEPTH;
use cartouche_templating::{
    bounds::LIGHT,
    weight::{most_weight, weight_of_levels},
};
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
pub use watch_one::Told;
pub use writes::CreateMode;

/// How long a request may take, answer included, unless `--request-timeout` says otherwise. Giving up
/// sooner is safe: a create whose answer never came counts as one that may have been carried out.
pub const DEADLINE: Duration = Duration::from_secs(15);
/// Objects in one page of a list.
pub(crate) const PAGE_SIZE: u32 = 100;
const PAGE: usize = PAGE_SIZE as usize;
/// Objects that are kept of one list at most: more of one Runnable would be nobody's intent. How many
/// others there are is up to whoever makes them, and costs time only.
const MAX_KEPT: usize = 20_000;
/// Pages that are asked for at most, so that a list ends even where a server says for ever that it goes on.
/// Full ones have two million objects, more than a cluster holds.
const MAX_PAGES: usize = 20_000;
/// How often a read is tried.
const READ_ATTEMPTS: u32 = 3;

/// Requests of one identity.
#[derive(Clone)]
pub struct Requests {
    connection: Connection,
    caller: Caller,
    /// That of the reconciliation that they are made for.
    budget: Option<Arc<Budget>>,
}

impl Requests {
    /// Requests over a connection, which carry the caller's identity.
    #[must_use]
    pub fn new(connection: Connection, caller: Caller) -> Self {
        Self {
            connection,
            caller,
            budget: None,
        }
    }

    /// The same within a budget: who reads what is heavy waits until no other does.
    pub(crate) fn within(self, budget: Arc<Budget>) -> Self {
        Self {
            budget: Some(budget),
            ..self
        }
    }

    /// A client with the same identity, for watches.
    #[must_use]
    pub fn client(&self) -> Client {
        self.connection.client(&self.caller)
    }

    /// A consistent read of one object.
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        name: &str,
    ) -> Result<T, ApiError> {
        self.read(&path.named(name)).await
    }

    /// A read of one object that is at least as new as a version of it that was seen: the API server need not ask
    /// its store. A replica of it that is behind makes nobody wait twice: the read is a consistent one then.
    pub async fn get_since<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        name: &str,
        version: u64,
    ) -> Result<T, ApiError> {
        let uri = format!("{}?resourceVersion={version}", path.named(name));
        match self.once(Method::GET, &uri, Vec::new()).await {
            Err(error) if !error.is_not_found() && !error.is_forbidden() => {
                self.get(path, name).await
            }
            answered => answered,
        }
    }

    /// The same requests, for answers that are known to be small, or are not read as trees.
    pub(crate) fn unbudgeted(&self) -> Self {
        Self {
            budget: None,
            ..self.clone()
        }
    }

    /// Gives each object of a consistent list to `keep`, which says whether it kept any of it; only a page of
    /// text and one object are held meanwhile.
    pub async fn each(
        &self,
        path: &ResourcePath,
        selector: &str,
        keep: impl FnMut(Value) -> bool,
    ) -> Result<(), ApiError> {
        let more = self.pages(path, selector, PAGE, MAX_KEPT, keep).await?;
        if more {
            return Err(ApiError::Unsent(format!(
                "there are more than {MAX_KEPT} objects: delete those that nobody needs"
            )));
        }
        Ok(())
    }

    /// Shows the first objects of a consistent list, about so many: whoever asks can do without the others.
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

    /// At most so many objects of a consistent list.
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

    /// Gives the objects of a list to `keep` until it kept so `many`, and says whether there are more.
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
                // It may be long until there is one, and the page is large: it is asked for again.
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
                // The same page would come again.
                Some(next) if next == token => return Err(endless()),
                // A page may have fewer objects than were asked for.
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

    /// Reads anything by its path, again if need be.
    pub async fn read<T: DeserializeOwned>(&self, uri: &str) -> Result<T, ApiError> {
        let mut text = self.read_text(uri).await?;
        if let Some((budget, weight)) = self.without_place(self.weighs(&text)) {
            // No text waits for the place.
            drop(text);
            budget.pass(weight).await;
            text = self.read_text(uri).await?;
        }
        self.decoded(&text).await
    }

    /// Something heavy that has no place yet, with the budget that gives it one.
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

    /// The weight of a text as a tree, where that counts and may be much.
    fn weighs(&self, text: &[u8]) -> usize {
        if self.budget.is_none() || most_weight(text.len()) <= LIGHT {
            return 0;
        }
        // What cannot be read is no tree.
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
        // What is decided by when a write has landed reckons with this.
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

    /// Reads an answer to its end. A write whose answer breaks off may have had its effect.
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
    ApiError::Unanswered(
        "the list has no end: the API server says again and again that it goes on".into(),
    )
}

fn unreadable(error: &serde_json::Error) -> ApiError {
    ApiError::Unanswered(format!("the answer cannot be read: {error}"))
}

/// The Status in a refusal; something between us and the API server may answer with other text.
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
