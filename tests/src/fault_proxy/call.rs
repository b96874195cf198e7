//! Sorts of requests, read from method and path.

use std::fmt;

use http::Method;
use serde::{Deserialize, Serialize};

/// A sort of request: verb and resource, as RBAC names them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`; `ask` for a create as a dry
    /// run, `event` for one event of a watch, `discover` for a list of kinds.
    pub verb: String,
    /// `runnables.carto.run/status`, `events`; for a discovery, its path.
    pub resource: String,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

impl Call {
    /// Returns a sort of request.
    pub fn new(verb: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            verb: verb.into(),
            resource: resource.into(),
        }
    }

    /// Returns an event of the watch that this call began.
    #[must_use]
    pub fn event(&self) -> Self {
        Self::new("event", &self.resource)
    }

    /// Returns true if the request changes something.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete")
    }
}

/// A request as the proxy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) call: Call,
    /// Namespace of the request, or the name of a cluster-scoped object.
    pub(super) place: Option<String>,
}

impl Asked {
    pub(super) fn read(method: &Method, path: &str, query: &str) -> Self {
        let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
        let (group, rest) = match steps.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return Self::discovery(path),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let Some((resource, rest)) = rest.split_first() else {
            return Self::discovery(path);
        };
        let (name, subresource) = (rest.first(), rest.get(1));
        let mut full = (*resource).to_owned();
        if !group.is_empty() {
            full = format!("{full}.{group}");
        }
        if let Some(subresource) = subresource {
            full = format!("{full}/{subresource}");
        }
        let place = namespace.or(name.copied()).map(str::to_owned);
        Self {
            call: Call::new(verb(method, name.is_some(), query), full),
            place,
        }
    }

    fn discovery(path: &str) -> Self {
        Self {
            call: Call::new("discover", path),
            place: None,
        }
    }
}

fn verb(method: &Method, named: bool, query: &str) -> &'static str {
    let asks = |pair: &str| query.split('&').any(|other| other == pair);
    match *method {
        Method::GET if asks("watch=true") || asks("watch=1") => "watch",
        Method::GET if named => "get",
        Method::POST if asks("dryRun=All") => "ask",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "list",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &Method, path: &str, query: &str) -> (String, Option<String>) {
        let asked = Asked::read(method, path, query);
        (asked.call.to_string(), asked.place)
    }

    #[test]
    fn requests_are_named_as_rights_are() {
        let cases = [
            (
                Method::GET,
                "/apis/carto.run/v1alpha1/namespaces/a/runnables",
                "watch=true",
                "watch runnables.carto.run",
                Some("a"),
            ),
            (
                Method::GET,
                "/apis/carto.run/v1alpha1/clusterruntemplates/t",
                "",
                "get clusterruntemplates.carto.run",
                Some("t"),
            ),
            (
                Method::PUT,
                "/apis/carto.run/v1alpha1/namespaces/a/runnables/x/status",
                "fieldManager=c",
                "update runnables.carto.run/status",
                Some("a"),
            ),
            (
                Method::POST,
                "/apis/lab.test/v1/namespaces/a/trials",
                "timeout=10s",
                "create trials.lab.test",
                Some("a"),
            ),
            (
                Method::POST,
                "/apis/lab.test/v1/namespaces/a/trials",
                "timeout=10s&dryRun=All",
                "ask trials.lab.test",
                Some("a"),
            ),
            (
                Method::POST,
                "/api/v1/namespaces/a/events",
                "",
                "create events",
                Some("a"),
            ),
            (
                Method::GET,
                "/api/v1/serviceaccounts",
                "limit=5",
                "list serviceaccounts",
                None,
            ),
            (
                Method::GET,
                "/apis/lab.test/v1",
                "",
                "discover /apis/lab.test/v1",
                None,
            ),
        ];
        for (method, path, query, name, place) in cases {
            let (call, found) = read(&method, path, query);
            assert_eq!((call.as_str(), found.as_deref()), (name, place), "{path}");
        }
    }
}
