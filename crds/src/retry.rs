//! Trying again what failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often anything is tried again at most.
pub const MAX_RETRIES: i64 = 20;
/// How many times as long as the one before a pause may be.
pub const MAX_FACTOR: i64 = 10;

/// How a run that did not succeed is tried again: as a new run of the same document, after a pause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// How often it is tried again at most, from 0 to 20; without it 3. Where the template and the Runnable both give one,
    /// the smaller counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,

    /// The pauses before the next attempts. What the Runnable gives goes before what its template gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,

    /// Which ends of a run are tried again; without it `Failed` and `TimedOut`. What the Runnable gives goes before what
    /// its template gives. A run that somebody cancels, with `cartouche cancel` or in the way of Tekton and Argo, is not tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 3), extend("x-kubernetes-list-type" = "set"))]
    pub retry_on: Option<Vec<RetryOn>>,
}

/// Pauses between attempts: the first one, and each that follows longer, give or take a fifth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Backoff {
    /// The pause before the second attempt, a duration such as `30s` or `1m30s`, from `1s` to `8760h`; without it `10s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,

    /// How many times as long each further pause is, from 1 to 10; without it 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<i64>,

    /// The longest pause, give or take a fifth, a duration as well; without it `5m`, or `initial` if that is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
}

/// An end of a run that can be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RetryOn {
    /// It ended without success.
    Failed,
    /// It ended without success, after its timeout had stopped it.
    TimedOut,
    /// Its object vanished while nobody watched, so that nobody knows whether it did its work.
    Lost,
    /// What a later release knows: it is no reason to try again for this one.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}
