//! Whether runs of one Runnable may be at work at once, and what waits while they may not.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
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

/// A run that is due, and what it waits for. For people and scripts: the controller never decides by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingRun {
    /// The number that it would get now.
    pub sequence: i64,
    /// Hash of what is rendered now.
    pub input_hash: String,
    /// What it waits for, as in the reason of Ready: `RunAtWork`.
    pub reason: String,
    /// Since when it waits for that, by the API server's clock.
    pub since: Time,
}
