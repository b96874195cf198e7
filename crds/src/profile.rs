//! The `ClusterRunProfile`: where runs are made, and how.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;

/// Rules of one profile, at most.
pub const MAX_RULES: usize = 64;
/// Templates that one rule names, at most.
pub const MAX_RULE_TEMPLATES: usize = 64;
/// Kinds that one profile patches, at most.
pub const MAX_PATCHES: usize = 32;
/// Values of one profile, at most.
pub const MAX_VALUES: usize = 64;

/// Says where runs are made and how: what is the same for all runs of a team, a stage or a cluster, whatever their templates
/// say. What it says is applied when a run is made, and a change of it makes none.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "carto.run",
    version = "v1alpha1",
    kind = "ClusterRunProfile",
    status = "ClusterRunProfileStatus",
    shortname = "crp",
    category = "cartouche",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type=='Accepted')].status","description":"Whether runs can be made with it"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Accepted')].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct ClusterRunProfileSpec {
    /// For which Runnables it is: those that a rule matches. Among the profiles of a Runnable the one whose rule says most
    /// is chosen: a rule that names the template outranks one that selects namespaces, and that one outranks a rule that
    /// selects Runnables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_RULES))]
    pub rules: Option<Vec<ProfileRule>>,

    /// What is merged into the pods of a run that is a Job or a Pod, as `kubectl patch` does it: `metadata.labels`,
    /// `metadata.annotations` and `spec`. Containers, environment variables, volumes and the like are found by their names; `*`
    /// stands for each container. A container that the run does not have is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub pod_template: Option<Value>,

    /// What is merged into runs of other kinds, or of these: a JSON merge patch (RFC 7386) for each kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_PATCHES), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["apiVersion", "kind"]))]
    pub patches: Option<Vec<ProfilePatch>>,

    /// Values that templates read as `profile.values.<name>`. Any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "values")]
    pub values: Option<BTreeMap<String, Value>>,
}

fn values(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schema = schema::any_json_map(generator);
    schema.insert("maxProperties".to_owned(), MAX_VALUES.into());
    schema
}

/// Which Runnables a profile is for. All that is said has to hold; a rule that says nothing matches every Runnable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileRule {
    /// Runnables of one of these `ClusterRunTemplate`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_RULE_TEMPLATES), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "set"))]
    pub templates: Option<Vec<String>>,

    /// Runnables in a namespace that carries such labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub namespace_selector: Option<LabelSelector>,

    /// Runnables that carry such labels themselves. Whoever may write a Runnable chooses its labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub runnable_selector: Option<LabelSelector>,
}

/// What is merged into the runs of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfilePatch {
    /// For example `tekton.dev/v1`.
    #[schemars(length(min = 1, max = 317))]
    pub api_version: String,
    /// For example `TaskRun`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// What is merged: members replace those of the run, null takes away, and lists are replaced whole.
    #[schemars(schema_with = "schema::any_object")]
    pub patch: Value,
}

/// What the controller thinks of the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRunProfileStatus {
    /// The `metadata.generation` that this status speaks of; -1 until the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `Accepted`: False with everything that is wrong, by path; True with warnings, if any. While it
    /// is False, `Stalled` is True.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
