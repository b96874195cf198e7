//! The pending run of a Runnable.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unknown_fields::{UnknownFields, open};

open!(PendingRun);

/// A pending run and the reason for which it waits. For people and scripts: the controller never decides by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "PendingRun")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PendingRun {
    /// The number that the run would get now.
    pub sequence: i64,
    /// Hash of the document that is rendered now; empty while it may still change (`Debouncing`).
    pub input_hash: String,
    /// The reason for which the run waits, as in the reason of Ready: for example `Debouncing`, `ApprovalRequired`,
    /// `RunAtWork` or `DependencyNotReady`; or `Rejected` if a person has refused it.
    pub reason: String,
    /// Time since which the run waits for this reason, by the API server's clock.
    pub since: Time,
    /// The value of the annotation `carto.run/approved` that approves exactly this run, while it needs approval:
    /// its number, and a hash of all that it is made of. Tools copy it as a whole and do not parse it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Answer of the API server to a dry run of the create, requested once per waiting run when the wait for
    /// approval began: `accepted`, `refused: ` with the reason, or `unknown: ` with the reason for the lack of an
    /// answer; at most 1024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<String>,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}
