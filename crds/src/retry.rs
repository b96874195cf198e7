//! Retries of failed runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of retries.
pub const MAX_RETRIES: i64 = 20;
/// Maximum factor between a pause and the next one.
pub const MAX_FACTOR: i64 = 10;

/// Retries of a run that did not succeed: new runs of the same document, each after a pause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// Maximum number of retries, from 0 (none) to 20; 3 by default. If the template and the Runnable both set it,
    /// the smaller counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,

    /// Pauses before the retries. Values of the Runnable take precedence over those of its template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,

    /// Results of a run that are retried, out of `Failed`, `TimedOut` and `Lost`; by default the first two. The
    /// value of the Runnable takes precedence over that of its template. A run that a user cancels, with
    /// `cartouche cancel` or by the means of Tekton and Argo, is not retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 3), extend("x-kubernetes-list-type" = "set"))]
    pub retry_on: Option<Vec<RetryOn>>,
}

/// Pauses between attempts: an initial one, multiplied by a factor after each attempt up to a maximum. Each varies
/// by up to a fifth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Backoff {
    /// Pause before the second attempt: a duration such as `30s` or `1m30s`, from `1s` to `8760h`; `10s` by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,

    /// Factor between a pause and the next one, from 1 to 10; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<i64>,

    /// Maximum pause, which may vary by a fifth: a duration from `1s` to `8760h`; by default `5m`, or `initial` if
    /// that is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
}

/// A result of a run that can be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RetryOn {
    /// The run ended without success.
    Failed,
    /// The run ended without success after its timeout had stopped it.
    TimedOut,
    /// The run's object vanished while no controller was watching, so that its result is unknown.
    Lost,
    /// A result of a later release, which this one does not retry.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}
