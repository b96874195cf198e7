//! Whether runs of one Runnable may be at work at once.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a change while an earlier run of the same Runnable is at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConcurrencyPolicy {
    /// Its run begins at once, beside the earlier one.
    #[default]
    Allow,
    /// It waits until the earlier run has ended. What is rendered then runs; what was rendered in between does not.
    LatestOnly,
    /// The earlier run is told to stop, and what is rendered once it has ended runs.
    Replace,
}

impl ConcurrencyPolicy {
    /// As it is written.
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
