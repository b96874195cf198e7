//! The `ClusterRunProfile`: the place and the settings of runs.

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

/// Maximum number of rules in one profile.
pub const MAX_RULES: usize = 64;
/// Maximum number of templates in one rule.
pub const MAX_RULE_TEMPLATES: usize = 64;
/// Maximum number of kinds that one profile patches.
pub const MAX_PATCHES: usize = 32;
/// Maximum length of a profile's description, in characters.
pub const MAX_DESCRIPTION: usize = 1024;
/// Maximum number of values in one profile.
pub const MAX_VALUES: usize = 64;

/// Settings shared by all runs of a team, a stage or a cluster, whatever their templates say: where runs are made,
/// and how. The controller applies a profile when it creates a run. A change of a profile creates no run.
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
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type=='Accepted')].status","description":"True if runs can be made with it"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Accepted')].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Rules","type":"string","jsonPath":".spec.rules","description":"Rules that choose Runnables"}"#,
    printcolumn = r#"{"name":"Description","type":"string","jsonPath":".spec.description","description":"Description for people","priority":1}"#
)]
pub struct ClusterRunProfileSpec {
    /// A text for people, for example the purpose and the owner of the profile. It has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_DESCRIPTION))]
    pub description: Option<String>,

    /// Rules that select the Runnables of this profile. One matching rule is enough. If several profiles match a
    /// Runnable, the controller chooses the one with the most specific rule: a rule with `templates` outranks one
    /// with `namespaceSelector`, which outranks one with `runnableSelector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_RULES))]
    pub rules: Option<Vec<ProfileRule>>,

    /// Patch for the pods of a run that is a Job or a Pod, merged as `kubectl patch` does: `metadata.labels`,
    /// `metadata.annotations` and `spec`. Containers, environment variables, volumes and the like are matched by
    /// name; `*` stands for each container. A container that the run does not have is an error.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::any_object")]
    pub pod_template: Option<Value>,

    /// Patches for runs of other kinds, or of these: one JSON merge patch (RFC 7386) for each kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_PATCHES), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["apiVersion", "kind"]))]
    pub patches: Option<Vec<ProfilePatch>>,

    /// Values of any JSON type that templates read as `profile.values.<name>`.
    #[serde(
        default,
        deserialize_with = "plain_json::optional_map",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "values")]
    pub values: Option<BTreeMap<String, Value>>,

    /// Paths of the fields that are set and that this release does not know. They belong to a newer release.
    #[serde(skip)]
    #[schemars(skip)]
    pub unknown_fields: Vec<String>,
}

fn values(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schema = schema::any_json_map(generator);
    schema.insert("maxProperties".to_owned(), MAX_VALUES.into());
    schema
}

/// Selects Runnables for a profile. All fields that are set must match; a rule without fields matches every
/// Runnable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileRule {
    /// Names of `ClusterRunTemplate`s. The rule matches Runnables of one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_RULE_TEMPLATES), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "set"))]
    pub templates: Option<Vec<String>>,

    /// Selects namespaces by their labels. The rule matches Runnables in one of these namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub namespace_selector: Option<LabelSelector>,

    /// Selects Runnables by their own labels. Every user who may write a Runnable chooses its labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub runnable_selector: Option<LabelSelector>,
}

/// A JSON merge patch for the runs of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfilePatch {
    /// The API version of the runs, for example `tekton.dev/v1`.
    #[schemars(length(min = 1, max = 317))]
    pub api_version: String,
    /// The kind of the runs, for example `TaskRun`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// The patch. Its members replace those of the run, null removes a member, and lists are replaced as a whole.
    #[serde(deserialize_with = "plain_json::value")]
    #[schemars(schema_with = "schema::any_object")]
    pub patch: Value,
}

/// Need of a template for a profile: `Optional` (the default) makes runs without a profile if none matches,
/// `Required` makes no run until a profile matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ProfileRequirement {
    /// Runs are made without a profile if none matches.
    #[default]
    Optional,
    /// No run is made until a profile matches.
    Required,
}

/// The profile that the runs of a Runnable are made with, until a user asks for a new choice.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", remote = "PinnedProfile")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PinnedProfile {
    /// The name of the profile.
    #[schemars(length(max = 253))]
    pub name: String,

    /// The request for a new choice (`carto.run/profile-refresh`) that this profile answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub refresh_token: Option<String>,

    /// True if the status was lost and this profile was read from the newest run, which every account that may
    /// create runs can have written. It counts while a rule of the profile matches, until the next run is made.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schemars(transform = schema::without_default)]
    pub from_run: bool,

    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A profile at one generation, written `<name>@<generation>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProfileVersion {
    /// The name of the profile.
    pub name: String,
    /// The `metadata.generation` of the profile.
    pub generation: i64,
}

impl ProfileVersion {
    /// Parses `<name>@<generation>`. Returns `None` if the text has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
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

/// The controller's verdict on the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "ClusterRunProfileStatus")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ClusterRunProfileStatus {
    /// The `metadata.generation` that this status describes; -1 until the first reconcile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The condition `Accepted`: False with all errors, each with its path. While it is False, `Stalled` is True.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// Fields of the object that this release does not know.
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
        assert_eq!(ProfileVersion::parse(&version.to_string()), Some(version));
        for text in [
            "", "gke", "@1", "gke@", "gke@x", "gke@+1", "gke@01", "GKE@1", "a@b@1", "gke@1 ",
        ] {
            assert_eq!(ProfileVersion::parse(text), None, "{text:?}");
        }
    }
}
