//! Requests to the API server: each with a deadline, reads tried again and writes never, all
//! counted, and the server's clock taken from every answer.

mod client;
mod error;
mod path;

use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::{Client, client::Body, core::Status};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::mutants;
pub use client::{Caller, Connection, configure};
pub use error::ApiError;
pub use path::{ResourcePath, percent_encoded};

/// How long a request may take, answer included, unless `--request-timeout` says otherwise. Giving up
/// sooner is safe: a create whose answer never came counts as one that may have been carried out.
pub const DEADLINE: Duration = Duration::from_secs(15);
/// How long the API server may work on a create before it gives up; the basis of
/// [`crate::retention::MINIMUM_AGE`].
const CREATE_TIMEOUT: &str = "10s";
/// Objects in one page of a list.
const PAGE: usize = 100;
/// How often a read is tried.
const READ_ATTEMPTS: u32 = 3;

/// Requests of one identity.
#[derive(Clone)]
pub struct Requests {
    connection: Connection,
    caller: Caller,
}

/// What a create asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// The object.
    Real,
    /// Only what the server would make of it.
    DryRun,
}

impl Requests {
    /// Requests over a connection, which carry the caller's identity.
    #[must_use]
    pub fn new(connection: Connection, caller: Caller) -> Self {
        Self { connection, caller }
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

    /// A consistent list, page by page.
    pub async fn list(&self, path: &ResourcePath, selector: &str) -> Result<Vec<Value>, ApiError> {
        let mut found = Vec::new();
        let mut continuation = String::new();
        loop {
            let page: Value = self
                .read(&format!(
                    "{}?limit={PAGE}&{selector}{continuation}",
                    path.all()
                ))
                .await?;
            let next = page
                .pointer("/metadata/continue")
                .and_then(Value::as_str)
                .filter(|token| !token.is_empty())
                .map(str::to_owned);
            found.extend(items(page));
            match next {
                Some(token) => continuation = format!("&continue={token}"),
                None => return Ok(found),
            }
        }
    }

    /// At most so many objects of a consistent list.
    pub async fn list_some(
        &self,
        path: &ResourcePath,
        selector: &str,
        most: usize,
    ) -> Result<Vec<Value>, ApiError> {
        let page: Value = self
            .read(&format!("{}?limit={most}&{selector}", path.all()))
            .await?;
        Ok(items(page))
    }

    /// Reads one object by name with the right to list only.
    pub async fn find(&self, path: &ResourcePath, name: &str) -> Result<Option<Value>, ApiError> {
        Ok(self
            .list(
                path,
                &format!("fieldSelector=metadata.name%3D{}", percent_encoded(name)),
            )
            .await?
            .pop())
    }

    /// Reads anything by its path, again if need be.
    pub async fn read<T: DeserializeOwned>(&self, uri: &str) -> Result<T, ApiError> {
        let mut attempt = 1;
        loop {
            let outcome = self.once(Method::GET, uri, Vec::new()).await;
            match outcome {
                Err(error) if error.is_passing() && attempt < READ_ATTEMPTS => {
                    tokio::time::sleep(Duration::from_millis(100 * u64::from(attempt))).await;
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    /// Creates an object, and gives what of the answer the caller wants to know. Never sent twice.
    pub async fn create<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        object: &Value,
        mode: CreateMode,
    ) -> Result<T, ApiError> {
        let dry_run = if mode == CreateMode::DryRun {
            "&dryRun=All"
        } else {
            ""
        };
        let uri = format!(
            "{}?fieldManager={}&timeout={CREATE_TIMEOUT}{dry_run}",
            path.all(),
            cartouche_crds::FIELD_MANAGER
        );
        let body = bytes(object)?;
        mutants::answer(|| self.once(Method::POST, &uri, body.clone())).await
    }

    /// Replaces the status of an object. The body carries the resourceVersion that was read.
    pub async fn replace_status<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        name: &str,
        object: &impl Serialize,
    ) -> Result<T, ApiError> {
        let uri = format!(
            "{}/status?fieldManager={}",
            path.named(name),
            cartouche_crds::FIELD_MANAGER
        );
        self.once(Method::PUT, &uri, bytes(object)?).await
    }

    /// Deletes the object with this uid, and what it owns after it.
    pub async fn delete(&self, path: &ResourcePath, name: &str, uid: &str) -> Result<(), ApiError> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions": { "uid": uid },
        });
        self.once::<serde::de::IgnoredAny>(Method::DELETE, &path.named(name), bytes(&options)?)
            .await
            .map(drop)
    }

    async fn once<T: DeserializeOwned>(
        &self,
        method: Method,
        uri: &str,
        body: Vec<u8>,
    ) -> Result<T, ApiError> {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .map_err(|error| ApiError::Unsent(error.to_string()))?;
        let exchange = async {
            let response = self.connection.send(&self.caller, request).await?;
            read_answer(response).await
        };
        let deadline = self.connection.deadline();
        match tokio::time::timeout(deadline, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ApiError::Unanswered(format!(
                "no answer within {} seconds",
                deadline.as_secs()
            ))),
        }
    }
}

/// Reads an answer to its end. A write whose answer breaks off may have had its effect.
async fn read_answer<T: DeserializeOwned>(response: Response<Body>) -> Result<T, ApiError> {
    let status = response.status();
    let text = response
        .into_body()
        .collect()
        .await
        .map_err(|error| ApiError::Unanswered(error.to_string()))?
        .to_bytes();
    if status.is_success() {
        return serde_json::from_slice(&text)
            .map_err(|error| ApiError::Unanswered(format!("the answer cannot be read: {error}")));
    }
    Err(kube::Error::Api(Box::new(refusal(status, &text))).into())
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

fn bytes(object: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(object).map_err(|error| ApiError::Unsent(error.to_string()))
}

fn items(mut page: Value) -> Vec<Value> {
    let (api_version, kind) = list_kind(&page);
    match page.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items
            .into_iter()
            .map(|item| typed(item, &api_version, &kind))
            .collect(),
        _ => Vec::new(),
    }
}

/// Items of a list of a built-in kind carry neither apiVersion nor kind.
fn typed(mut item: Value, api_version: &str, kind: &str) -> Value {
    if let Value::Object(fields) = &mut item {
        fields
            .entry("apiVersion")
            .or_insert_with(|| api_version.into());
        fields.entry("kind").or_insert_with(|| kind.into());
    }
    item
}

fn list_kind(page: &Value) -> (String, String) {
    let text = |key: &str| page.get(key).and_then(Value::as_str).unwrap_or_default();
    (
        text("apiVersion").to_owned(),
        text("kind").trim_end_matches("List").to_owned(),
    )
}
