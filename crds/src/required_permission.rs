//! What the pods of a run need permission for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Permissions that one template asks for, at most.
pub const MAX_REQUIRED: usize = 16;

/// What the `ServiceAccount` of a run's pods needs permission for. Tags read `runnable`, `selected` and `profile.values`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequiredPermission {
    /// The API group of the resource; empty for that of Pods and Secrets.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub api_group: String,
    /// The resource, in the plural; a subresource follows after a slash, as in `pods/exec`.
    #[schemars(length(min = 1, max = 1024))]
    pub resource: String,
    /// What is done with it.
    #[schemars(length(min = 1, max = 8), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub verbs: Vec<String>,
    /// In which namespace; without it in that of the Runnable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub namespace: Option<String>,
    /// The name of the one object; without it any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub name: Option<String>,
}
