//! The key of a source in a status.

use std::{borrow::Cow, fmt};

use cartouche_templating::short_hash;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// No name in a [`SourceKey`] has more bytes.
const LONGEST_NAME: usize = 253;

/// Which source it is, as it stands in a status: `Runnable/<namespace>/<name>`,
/// `ConfigMap/<namespace>/<name>/<key>`, `Secret/<namespace>/<name>/<key>`, or
/// `<Kind>.<group>/<namespace>/<name>/{<revisionPath>}`. Names hold no slash and keys no brace, so that no two sources have one
/// key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceKey(String);

impl SourceKey {
    /// The key that stands in a message for a source which the account of the Runnable may not read.
    pub const UNNAMED: Self = Self(String::new());

    /// As a status has it.
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// A Runnable, whichever of its outputs is read: its runs give them together.
    #[must_use]
    pub fn runnable(namespace: &str, name: &str) -> Self {
        Self(format!("Runnable/{namespace}/{name}"))
    }

    /// One key of a `ConfigMap`: a change of a neighbour is none of it.
    #[must_use]
    pub fn config_map(namespace: &str, name: &str, key: &str) -> Self {
        Self(format!("ConfigMap/{namespace}/{name}/{key}"))
    }

    /// One key of a Secret.
    #[must_use]
    pub fn secret(namespace: &str, name: &str, key: &str) -> Self {
        Self(format!("Secret/{namespace}/{name}/{key}"))
    }

    /// Namespace and name, if it is a Runnable.
    #[must_use]
    pub fn as_runnable(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix("Runnable/")?.split_once('/')
    }

    /// An object of any kind, and the path of its revision, if it is traced: by another path it tells another thing. Kinds of the
    /// core group have no group in their key, and objects of the cluster no namespace.
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

    /// What stands behind the name of an object whose revision is read by this path; nothing where it is not traced.
    #[must_use]
    pub fn of_path(revision_path: &str) -> String {
        if revision_path.is_empty() {
            return String::new();
        }
        format!("/{{{}}}", bounded(revision_path))
    }

    /// As it stands in a status.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is longer than any name stands in a key by its hash: keys are handed on to all who stem from the source.
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
