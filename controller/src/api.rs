//! Requests to the API server: each with a deadline, reads tried again and writes never, all
//! counted, and the server's clock taken from every answer that is its own.

mod bounded;
mod client;
mod denied;
mod error;
mod page;
mod path;
mod server_clock;
mod warnings;
mod watch_one;

use std::{sync::Arc, time::Duration};

use cartouche_crds::{API_VERSION, FIELD_MANAGER};
use cartouche_protocol::object::MAX_DEPTH;
use cartouche_templating::{
    bounds::LIGHT,
    weight::{most_weight, weight_of_levels},
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Bytes;
use kube::{Client, Resource, client::Body, core::Status};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{backoff::READS, budget::Budget};
use bounded::Unread;
pub use client::{Bearer, Caller, Connection, configure};
pub use denied::DeniedRequest;
pub use error::ApiError;
pub(crate) use error::answers;
use page::Page;
use path::percent_encoded;
pub use path::{ResourcePath, api_root, label_query};
pub use watch_one::Told;

/// How long a request may take, answer included, unless `--request-timeout` says otherwise. Giving up
/// sooner is safe: a create whose answer never came counts as one that may have been carried out.
pub const DEADLINE: Duration = Duration::from_secs(15);
/// How long the API server may work on a create, or on a status, before it gives up; the basis of
/// [`cartouche_protocol::retention::MINIMUM_AGE`], and of how long an entry that was withdrawn is waited for.
const WRITE_TIMEOUT: &str = "10s";
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

/// What a create asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// The object.
    Real,
    /// Only what the server would make of it.
    DryRun,
}

/// An object as far as a write of its status must give it: which one, and the status.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a, Status> {
    api_version: &'static str,
    kind: &'a str,
    metadata: Value,
    spec: Value,
    status: &'a Status,
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
            for text in page.items() {
                self.pass(text.as_bytes()).await;
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
        let query = format!(
            "fieldSelector=metadata.name%3D{}",
            percent_encoded(&literal(name))
        );
        let mut found = None;
        let keep = |object| found.replace(object).is_none();
        self.each(path, &query, keep).await?;
        Ok(found)
    }

    /// Reads anything by its path, again if need be.
    pub async fn read<T: DeserializeOwned>(&self, uri: &str) -> Result<T, ApiError> {
        self.decoded(&self.read_text(uri).await?).await
    }

    async fn decoded<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, ApiError> {
        self.pass(text).await;
        parsed(text)
    }

    /// Waits for the place that this needs as a tree.
    async fn pass(&self, text: &[u8]) {
        let Some(budget) = self
            .budget
            .as_ref()
            .filter(|_| most_weight(text.len()) > LIGHT)
        else {
            return;
        };
        // What cannot be read is no tree.
        let weight = weight_of_levels(text, MAX_DEPTH).unwrap_or_default();
        budget.pass(weight).await;
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

    /// Creates an object, and gives what of the answer the caller wants to know. Never sent twice.
    pub async fn create<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        object: &Value,
        mode: CreateMode,
    ) -> Result<T, ApiError> {
        let uri = created_at(
            path,
            if mode == CreateMode::DryRun {
                "&dryRun=All"
            } else {
                ""
            },
        );
        let body = bytes(object)?;
        self.once(Method::POST, &uri, body).await
    }

    /// The same, with what the API server warns of: fields that it drops, and what is deprecated (KEP-2885).
    pub async fn create_with_warnings<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        object: &Value,
    ) -> Result<(T, Vec<String>), ApiError> {
        let uri = created_at(path, "&fieldValidation=Warn");
        let (head, text) = self.exchange(Method::POST, &uri, bytes(object)?).await?;
        Ok((self.decoded(&text).await?, warnings::of(&head)))
    }

    /// Replaces the status of an object of ours, on the condition that it is at this resourceVersion. Its
    /// `spec` is ignored by the server, but its schema wants one.
    pub async fn replace_status<T, K>(
        &self,
        object: &K,
        resource_version: &str,
        spec: Value,
        status: &impl Serialize,
    ) -> Result<T, ApiError>
    where
        T: DeserializeOwned,
        K: Resource<DynamicType = ()>,
    {
        let meta = object.meta();
        let namespace = meta.namespace.as_deref();
        let name = meta.name.as_deref().unwrap_or_default();
        let body = StatusUpdate {
            api_version: API_VERSION,
            kind: &K::kind(&()),
            metadata: json!({
                "name": name, "namespace": namespace, "uid": meta.uid, "resourceVersion": resource_version,
            }),
            spec,
            status,
        };
        let path = ResourcePath::new(API_VERSION, &K::plural(&()), namespace);
        let named = path.named(name);
        let uri = format!("{named}/status?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}");
        self.once(Method::PUT, &uri, bytes(&body)?).await
    }

    /// Replaces an object, on the condition that it is at the resourceVersion that it carries.
    pub async fn replace<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        name: &str,
        object: &Value,
    ) -> Result<T, ApiError> {
        let named = path.named(name);
        let uri = format!("{named}?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}");
        self.once(Method::PUT, &uri, bytes(object)?).await
    }

    /// Sends a JSON merge patch (RFC 7386); with a uid in it an object that has taken the name is left alone.
    pub async fn merge(
        &self,
        path: &ResourcePath,
        name: &str,
        change: &Value,
    ) -> Result<(), ApiError> {
        let uri = format!("{}?fieldManager={FIELD_MANAGER}", path.named(name));
        let body = bytes(change)?;
        self.once::<serde::de::IgnoredAny>(Method::PATCH, &uri, body)
            .await
            .map(drop)
    }

    /// Deletes the object with this uid, and what it owns after it.
    pub async fn delete(&self, path: &ResourcePath, name: &str, uid: &str) -> Result<(), ApiError> {
        self.delete_if(path, name, "Background", json!({ "uid": uid }))
            .await
    }

    /// The same of one that is still as it was read, in this resourceVersion.
    pub async fn delete_as_read(
        &self,
        path: &ResourcePath,
        name: &str,
        (uid, version): (&str, &str),
    ) -> Result<(), ApiError> {
        let preconditions = json!({ "uid": uid, "resourceVersion": version });
        self.delete_if(path, name, "Background", preconditions)
            .await
    }

    /// Deletes the object with this uid, if it still has this resourceVersion, once all that it owns is gone.
    pub async fn delete_last(
        &self,
        path: &ResourcePath,
        name: &str,
        (uid, version): (&str, Option<u64>),
    ) -> Result<(), ApiError> {
        let version = version.map(|version| version.to_string());
        let preconditions = json!({ "uid": uid, "resourceVersion": version });
        self.delete_if(path, name, "Foreground", preconditions)
            .await
    }

    async fn delete_if(
        &self,
        path: &ResourcePath,
        name: &str,
        propagation: &str,
        preconditions: Value,
    ) -> Result<(), ApiError> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation, "preconditions": preconditions,
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

/// Where an object is created, in which way.
fn created_at(path: &ResourcePath, way: &str) -> String {
    let all = path.all();
    format!("{all}?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}{way}")
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(text).map_err(|error| unreadable(&error))
}

/// A value in a field selector, whose own signs are escaped (`k8s.io/apimachinery/pkg/fields`).
fn literal(value: &str) -> String {
    let mut literal = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '\\' | ',' | '=') {
            literal.push('\\');
        }
        literal.push(character);
    }
    literal
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

fn bytes(object: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(object).map_err(|error| ApiError::Unsent(error.to_string()))
}

#[cfg(test)]
mod tests;
