//! What is due and waits.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unknown_fields::{UnknownFields, open};

open!(PendingRun);

/// A run that is due, and what it waits for. For people and scripts: the controller never decides by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "PendingRun")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PendingRun {
    /// The number that it would get now.
    pub sequence: i64,
    /// Hash of what is rendered now; empty while that may still change (`Debouncing`).
    pub input_hash: String,
    /// What it waits for, as in the reason of Ready: `Debouncing`, `ApprovalRequired` or `RunAtWork`; or that a person has refused it:
    /// `Rejected`.
    pub reason: String,
    /// Since when it waits for that, by the API server's clock.
    pub since: Time,
    /// The value of the annotation `carto.run/approved` that approves exactly this run, while a person has to: its number, and a hash of
    /// all that it is made of. Tools copy it as a whole and read nothing in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Whether the API server would make the run, as it said when the wait for a person began, of at most 1024 bytes: `accepted`, `refused: ` with
    /// the reason, or `unknown: ` with why it did not say. It is asked once for each run that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<String>,
    /// Its fields that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}
