//! Watches: changes since a version, for a client that selects by labels.

use serde_json::{Value, json};

use crate::{
    discovery::Resource,
    requests::status,
    selector::Selector,
    store::{Change, Happened, Refusal, Store},
};

/// An open watch.
#[derive(Debug)]
pub struct Watch {
    resource: Resource,
    namespace: String,
    selector: Selector,
    /// Version up to which everything was sent.
    position: u64,
}

impl Watch {
    /// Returns a watch from a version on.
    #[must_use]
    pub fn new(resource: Resource, namespace: &str, selector: Selector, position: u64) -> Self {
        Self {
            resource,
            namespace: namespace.to_owned(),
            selector,
            position,
        }
    }

    /// Returns the new events, a line each. The error is the last line, when the watch cannot continue.
    pub fn news(&mut self, store: &Store) -> Result<String, String> {
        let changes = match store.since(self.position) {
            Ok(changes) => changes,
            Err(Refusal::Expired) => return Err(expired()),
            Err(_) => return Ok(String::new()),
        };
        let mut lines = String::new();
        for change in changes {
            if let Some(event) = self.event(store, change) {
                lines.push_str(&event);
            }
            self.position = change.version;
        }
        Ok(lines)
    }

    /// Returns a bookmark at the present position.
    #[must_use]
    pub fn bookmark(&self) -> String {
        line(
            "BOOKMARK",
            &json!({
                "kind": self.resource.kind(), "apiVersion": self.resource.api_version(),
                "metadata": { "resourceVersion": self.position.to_string() },
            }),
        )
    }

    fn event(&self, store: &Store, change: &Change) -> Option<String> {
        let concerned = change.key.resource == self.resource
            && (self.namespace.is_empty() || change.key.namespace == self.namespace);
        if !concerned {
            return None;
        }
        let is = change.happened != Happened::Deleted && self.selector.matches(&change.object);
        let was = change.happened != Happened::Created
            && before(store, change).is_some_and(|object| self.selector.matches(object));
        let kind = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            // Also for an object that has lost its label.
            (true, false) => "DELETED",
            (false, false) => return None,
        };
        Some(line(kind, &change.object))
    }
}

/// Returns the object before a change.
fn before<'a>(store: &'a Store, change: &Change) -> Option<&'a Value> {
    let log = store.log();
    let at = log.partition_point(|other| other.version < change.version);
    let mut earlier = log[..at].iter().rev();
    earlier
        .find(|other| other.key == change.key)
        .map(|other| &*other.object)
}

/// Returns the event for a history that is no longer kept.
#[must_use]
pub fn expired() -> String {
    line("ERROR", &status(410, "Expired", "too old resource version"))
}

fn line(kind: &str, object: &Value) -> String {
    // In the order of the API server, which readers may rely on.
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}
