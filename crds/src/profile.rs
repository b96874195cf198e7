//! The `ClusterRunProfile`: where runs are made, and how.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    names::is_dns_subdomain,
    plain_json, schema,
    unknown_fields::{UnknownFields, open},
};

open!(PinnedProfile, ClusterRunProfileStatus);

/// Rules of one profile, at most.
pub const MAX_RULES: usize = 64;
/// Templates that one rule names, at most.
pub const MAX_RULE_TEMPLATES: usize = 64;
/// Kinds that one profile patches, at most.
pub const MAX_PATCHES: usize = 32;
/// Characters of the description of a profile, at most.
pub const MAX_DESCRIPTION: usize = 1024;
/// Values of one profile, at most.
pub const MAX_VALUES: usize = 64;

/// Says where runs are made and how: what is the same for all runs of a team, a stage or a cluster, whatever their templates
/// say. What it says is applied when a run is made, and a change of it makes none.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
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
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Rules","type":"string","jsonPath":".spec.rules","description":"For which Runnables it is"}"#,
    printcolumn = r#"{"name":"Description","type":"string","jsonPath":".spec.description","description":"What people say of it","priority":1}"#
)]
pub struct ClusterRunProfileSpec {
    /// For people, such as what it is for and who answers for it. It has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_DESCRIPTION))]
    pub description: Option<String>,

    /// For which Runnables it is: those that a rule matches. Among the profiles of a Runnable the one whose rule says most
    /// is chosen: a rule that names the template outranks one that selects namespaces, and that one outranks a rule that
    /// selects Runnables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_RULES))]
    pub rules: Option<Vec<ProfileRule>>,

    /// What is merged into the pods of a run that is a Job or a Pod, as `kubectl patch` does it: `metadata.labels`,
    /// `metadata.annotations` and `spec`. Containers, environment variables, volumes and the like are found by their names; `*`
    /// stands for each container. A container that the run does not have is an error.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::any_object")]
    pub pod_template: Option<Value>,

    /// What is merged into runs of other kinds, or of these: a JSON merge patch (RFC 7386) for each kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_PATCHES), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["apiVersion", "kind"]))]
    pub patches: Option<Vec<ProfilePatch>>,

    /// Values that templates read as `profile.values.<name>`. Any JSON.
    #[serde(
        default,
        deserialize_with = "plain_json::optional_map",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "values")]
    pub values: Option<BTreeMap<String, Value>>,

    /// Fields that are set and that this release does not know, by path: a newer one wrote them, or was to read
    /// them.
    #[serde(skip)]
    #[schemars(skip)]
    pub unknown_fields: Vec<String>,
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
    #[serde(deserialize_with = "plain_json::value")]
    #[schemars(schema_with = "schema::any_object")]
    pub patch: Value,
}

/// Whether a template makes runs without a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ProfileRequirement {
    /// It does, where none matches.
    #[default]
    Optional,
    /// It makes none before a profile matches.
    Required,
}

/// The profile that the runs of a Runnable are made with, until somebody asks to choose anew.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", remote = "PinnedProfile")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PinnedProfile {
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,

    /// The request to choose anew (`carto.run/profile-refresh`) that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub refresh_token: Option<String>,

    /// The status was lost, and this is what the newest run says, which whoever may make runs can have written: it counts
    /// while a rule of the profile matches, until the next run is made.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schemars(transform = schema::without_default)]
    pub from_run: bool,

    /// Its fields that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A profile as it was at one generation. Written `<name>@<generation>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProfileVersion {
    /// Its name.
    pub name: String,
    /// Its `metadata.generation`.
    pub generation: i64,
}

impl ProfileVersion {
    /// Reads what somebody wrote. `None` if it has another form.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (name, generation) = text.split_once('@')?;
        let read = Self {
            name: name.to_owned(),
            generation: generation.parse().ok()?,
        };
        (is_dns_subdomain(name) && read.to_string() == text).then_some(read)
    }
}

impl fmt::Display for ProfileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.generation)
    }
}

/// What the controller thinks of the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "ClusterRunProfileStatus")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ClusterRunProfileStatus {
    /// The `metadata.generation` that this status speaks of; -1 until the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `Accepted`: False with everything that is wrong, by path. While it is False, `Stalled` is True.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// Its fields that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_version_is_read_as_it_is_written_and_in_no_other_form() {
        let version = ProfileVersion {
            name: "gke.production".to_owned(),
            generation: 12,
        };
        assert_eq!(ProfileVersion::of(&version.to_string()), Some(version));
        for text in [
            "", "gke", "@1", "gke@", "gke@x", "gke@+1", "gke@01", "GKE@1", "a@b@1", "gke@1 ",
        ] {
            assert_eq!(ProfileVersion::of(text), None, "{text:?}");
        }
    }
}
