//! Concurrent runs of one Runnable.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handling of a change while an earlier run of the same Runnable is still running: `Allow`, the default, runs
/// both; `LatestOnly` waits for the end of the earlier run; `Replace` stops the earlier run first, as a timeout
/// does. The value of a template takes precedence over that of a Runnable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConcurrencyPolicy {
    /// The new run begins at once, beside the earlier one.
    #[default]
    Allow,
    /// The new run waits until the earlier run has ended. Only the document rendered then runs; documents in
    /// between do not.
    LatestOnly,
    /// The earlier run is stopped. The document rendered once it has ended runs.
    Replace,
}

impl ConcurrencyPolicy {
    /// Returns the policy as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "Allow",
            Self::LatestOnly => "LatestOnly",
            Self::Replace => "Replace",
        }
    }
}

impl fmt::Display for ConcurrencyPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
