//! Requests, and the answers of the API server.

use std::{collections::BTreeMap, sync::Arc};

use http::Method;
use serde_json::{Value, json};

use crate::{
    discovery::{Resource, resource_list},
    selector::Selector,
    store::{Key, Refusal, Store},
    strangers::TENANTS,
};

/// A request that was read.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its method.
    pub method: Method,
    /// Its path.
    pub path: String,
    /// Its query, decoded.
    pub query: BTreeMap<String, String>,
    /// Its body; null if there was none.
    pub body: Value,
    /// The host that sent it.
    pub host: String,
    /// The user that it impersonates.
    pub user: Option<String>,
}

/// The target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The list of the kinds of a version.
    Version(String),
    /// All objects of a resource, or those of one namespace.
    All(Resource, String),
    /// One object.
    One(Key),
    /// The status of one object.
    Status(Key),
    /// Nothing that is served.
    Nothing,
}

/// The answer of the store to a request that is no watch.
pub type Answer = Result<(u16, Value), Refusal>;

impl Call {
    /// Returns its target.
    #[must_use]
    pub fn target(&self) -> Target {
        self.named().unwrap_or(Target::Nothing)
    }

    fn named(&self) -> Option<Target> {
        let mut parts = self.path.split('/').filter(|part| !part.is_empty());
        let api_version = match parts.next()? {
            "api" => parts.next()?.to_owned(),
            "apis" => format!("{}/{}", parts.next()?, parts.next()?),
            _ => return None,
        };
        let rest: Vec<&str> = parts.collect();
        let (namespace, rest) = match rest.as_slice() {
            [] => return Some(Target::Version(api_version)),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let resource = Resource::find(&api_version, rest.first()?)?;
        let key = |name: &str| Key {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        match rest {
            [_] => Some(Target::All(resource, namespace.to_owned())),
            [_, name] => Some(Target::One(key(name))),
            [_, name, "status"] => Some(Target::Status(key(name))),
            _ => None,
        }
    }

    /// Returns the value of one parameter of its query.
    #[must_use]
    pub fn asks(&self, word: &str) -> Option<&str> {
        self.query.get(word).map(String::as_str)
    }

    /// Returns true if it watches.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.asks("watch").is_some_and(|watch| watch != "false")
    }

    /// Returns true if it creates an object and is no dry run.
    #[must_use]
    pub fn is_create(&self) -> bool {
        self.method == Method::POST && self.asks("dryRun").is_none()
    }

    /// Returns its actor.
    #[must_use]
    pub fn actor(&self) -> String {
        match &self.user {
            None => self.host.clone(),
            Some(user) => format!("{} as {user}", self.host),
        }
    }

    /// Returns its selector.
    #[must_use]
    pub fn selector(&self) -> Selector {
        Selector::parse(
            self.asks("labelSelector").unwrap_or_default(),
            self.asks("fieldSelector").unwrap_or_default(),
        )
    }

    /// Carries it out, unless it is a watch. `behind` is the maximum age of a list of a whole cluster, in
    /// versions.
    pub fn carry_out(&self, store: &mut Store, forbidden: bool, behind: u64) -> Answer {
        match (self.method.as_str(), self.target()) {
            ("GET", Target::Version(version)) => resource_list(&version)
                .map(|list| (200, list))
                .ok_or(Refusal::NotFound),
            ("GET", Target::All(resource, namespace)) => {
                self.list(store, resource, &namespace, behind)
            }
            ("GET", Target::One(key)) => store
                .get(&key)
                .map(|object| (200, (*object).clone()))
                .ok_or(Refusal::NotFound),
            ("POST", Target::All(Resource::Events, _)) => {
                store.hear(&self.body, &self.host);
                Ok((201, self.body.clone()))
            }
            ("POST", Target::All(resource, namespace)) => {
                if forbidden && resource.is_run() {
                    return Err(Refusal::Forbidden);
                }
                if namespace == TENANTS && resource.is_run() {
                    return Err(Refusal::Invalid("no run is valid here"));
                }
                let dry_run = self.asks("dryRun").is_some();
                let created = store.create(
                    resource,
                    &namespace,
                    self.body.clone(),
                    &self.actor(),
                    dry_run,
                )?;
                Ok((201, (*created).clone()))
            }
            ("PUT", Target::Status(key)) => {
                let replaced = store.replace_status(&key, &self.body, &self.actor())?;
                Ok((200, (*replaced).clone()))
            }
            ("PUT", Target::One(key)) if !key.resource.has_status() => {
                let replaced = store.replace(&key, &self.body, &self.actor())?;
                Ok((200, (*replaced).clone()))
            }
            ("PATCH", Target::One(key)) => {
                let patched = store.patch(&key, &self.body, &self.actor())?;
                Ok((200, (*patched).clone()))
            }
            ("DELETE", Target::One(key)) => {
                store.delete_as_asked(&key, &self.body, &self.actor())?;
                Ok((
                    200,
                    json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" }),
                ))
            }
            _ => Err(Refusal::NotFound),
        }
    }

    /// Returns a page of a list. The pages of one list are all of one version, which their token names.
    fn list(&self, store: &Store, resource: Resource, namespace: &str, behind: u64) -> Answer {
        let token = self
            .asks("continue")
            .and_then(|token| token.split_once('.'));
        let (version, from) = if let Some((version, from)) = token {
            let version = version.parse().map_err(|_| Refusal::Expired)?;
            (version, from.parse().map_err(|_| Refusal::Expired)?)
        } else {
            let old = store.version().saturating_sub(behind);
            (old.max(store.oldest()), 0usize)
        };
        let selector = self.selector();
        let mut found: Vec<Arc<Value>> = store.all_at(resource, namespace, version)?;
        found.retain(|object| selector.matches(object));
        let limit = self.asks("limit").and_then(|limit| limit.parse().ok());
        // Small pages, so that lists have several.
        let limit: usize = limit.unwrap_or(usize::MAX).min(PAGE);
        let page: Vec<Value> = found
            .iter()
            .skip(from)
            .take(limit)
            .map(|object| (**object).clone())
            .collect();
        let left = found.len().saturating_sub(from + page.len());
        let mut metadata = json!({ "resourceVersion": version.to_string() });
        if left > 0 && self.asks("limit").is_some() {
            metadata["continue"] = json!(format!("{version}.{}", from + page.len()));
            metadata["remainingItemCount"] = json!(left);
        }
        Ok((
            200,
            json!({
                "kind": format!("{}List", resource.kind()), "apiVersion": resource.api_version(), "metadata": metadata, "items": page,
            }),
        ))
    }
}

/// Maximum number of objects in a page.
const PAGE: usize = 4;

/// Returns a refusal in the words of the API server.
#[must_use]
pub fn refused(refusal: &Refusal) -> (u16, Value) {
    let (code, reason, message) = match refusal {
        Refusal::NotFound => (404, "NotFound", "not found"),
        Refusal::AlreadyExists => (409, "AlreadyExists", "already exists"),
        Refusal::Conflict => (
            409,
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
        ),
        Refusal::Invalid(why) => (422, "Invalid", *why),
        Refusal::Forbidden => (403, "Forbidden", "forbidden: the account may not create it"),
        Refusal::Expired => (410, "Expired", "too old resource version"),
    };
    (code, status(code, reason, message))
}

/// Returns a `Status` of a failure.
#[must_use]
pub fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason, "message": message,
    })
}
