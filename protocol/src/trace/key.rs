//! The key of a source in a status.

use std::{borrow::Cow, fmt};

use cartouche_language::short_hash;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Longest name in a [`SourceKey`], in bytes.
const LONGEST_NAME: usize = 253;

/// The key of a source in a status: `Runnable/<namespace>/<name>`,
/// `ConfigMap/<namespace>/<name>/<key>`, `Secret/<namespace>/<name>/<key>`, or
/// `<Kind>.<group>/<namespace>/<name>/{<revisionPath>}`. Names hold no slash and keys no brace, so
/// no two sources have one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceKey(String);

impl SourceKey {
    /// Key in a message for a source that the account of the Runnable may not read.
    pub const UNNAMED: Self = Self(String::new());

    /// Returns the key with this text of a status.
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the key of a Runnable, for any of its outputs: its runs give them together.
    #[must_use]
    pub fn runnable(namespace: &str, name: &str) -> Self {
        Self(format!("Runnable/{namespace}/{name}"))
    }

    /// Returns the key of one entry of a `ConfigMap`. A change of another entry does not affect it.
    #[must_use]
    pub fn config_map(namespace: &str, name: &str, key: &str) -> Self {
        Self(format!("ConfigMap/{namespace}/{name}/{key}"))
    }

    /// Returns the key of one entry of a Secret.
    #[must_use]
    pub fn secret(namespace: &str, name: &str, key: &str) -> Self {
        Self(format!("Secret/{namespace}/{name}/{key}"))
    }

    /// Returns namespace and name, or `None` if it is no Runnable.
    #[must_use]
    pub fn as_runnable(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix("Runnable/")?.split_once('/')
    }

    /// Returns the key of an object of any kind, with the path of its revision if it is traced:
    /// another path gives another revision. Kinds of the core group have no group in their key, and
    /// cluster-scoped objects no namespace.
    #[must_use]
    pub fn object(
        (kind, group): (&str, &str),
        namespace: &str,
        name: &str,
        revision_path: &str,
    ) -> Self {
        let dot = if group.is_empty() { "" } else { "." };
        let (name, path) = (bounded(name), Self::of_path(revision_path));
        Self(format!("{kind}{dot}{group}/{namespace}/{name}{path}"))
    }

    /// Returns the suffix for an object whose revision is read by this path; empty if it is not
    /// traced.
    #[must_use]
    pub fn of_path(revision_path: &str) -> String {
        if revision_path.is_empty() {
            return String::new();
        }
        format!("/{{{}}}", bounded(revision_path))
    }

    /// Returns the text that a status has.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the text, or its hash if it is longer than any name: keys are passed on to all Runnables
/// that derive from the source.
fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_NAME {
        return Cow::Borrowed(text);
    }
    Cow::Owned(short_hash(&json!(text)))
}

impl fmt::Display for SourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
