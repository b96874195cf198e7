//! Permissions that the pods of a run need.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of permissions in one template.
pub const MAX_REQUIRED: usize = 16;

/// A permission that the `ServiceAccount` of a run's pods needs. Tags read `runnable`, `selected` and
/// `profile.values`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequiredPermission {
    /// The API group of the resource, for example `apps`; empty, the default, for the core group of Pods and
    /// Secrets.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub api_group: String,
    /// The resource, in the plural, for example `configmaps`. A subresource follows after a slash, as in
    /// `pods/exec`.
    #[schemars(length(min = 1, max = 1024))]
    pub resource: String,
    /// The verbs, for example `get` or `create`.
    #[schemars(length(min = 1, max = 8), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub verbs: Vec<String>,
    /// The namespace of the objects; by default that of the Runnable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub namespace: Option<String>,
    /// The name of the one object; by default any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub name: Option<String>,
}
