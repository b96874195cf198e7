//! Inputs that come from other objects.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Inputs from other objects of one Runnable, at most.
pub const MAX_SOURCES: usize = 32;
/// So many labels an object is found by at most.
pub const MAX_LABELS: usize = 16;

/// An input that comes from another object: from exactly one kind of source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("oneOf" = [
    { "required": ["configMapKeyRef"] }, { "required": ["secretKeyRef"] }, { "required": ["runnableRef"] },
    { "required": ["objectRef"] },
]))]
pub struct InputSource {
    /// The name of the input, which the template reads as `runnable.spec.inputs.<name>`. It may not stand in `inputs` as
    /// well.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Whether the input is left out while its object or key is not there, so that a default of the template's
    /// `inputSchema` applies. Otherwise nothing runs until it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,

    /// The value of a key of a `ConfigMap` in the Runnable's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,

    /// A key of a Secret in the Runnable's namespace. The input is `{name, key}`, for a `secretKeyRef` or a volume of the
    /// run: the value itself no template can read. When it changes, a template that reads the input runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,

    /// An output of another Runnable. A run that is due waits until that one has settled, and until all that the inputs stem
    /// from is of one revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable_ref: Option<RunnableRef>,

    /// A field of one object of any kind but Secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_ref: Option<ObjectRef>,
}

/// Names a key of a `ConfigMap`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMapKeyRef {
    /// The name of the `ConfigMap`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in its `data`.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// What the value is: `Text` (the text itself, if nothing is said) or `JSON` (what the text means as JSON).
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub read_as: Option<ReadAs>,
}

/// What a text is read as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReadAs {
    /// The text itself.
    #[default]
    Text,
    /// What it means as JSON.
    #[serde(rename = "JSON")]
    Json,
}

/// Names a key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyRef {
    /// The name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in its `data`.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// Names an output of a Runnable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnableRef {
    /// The name of the Runnable.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; without one that of the Runnable which reads it. In another one the `ServiceAccount` needs the right to
    /// `get` it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The name of the output.
    #[schemars(length(min = 1, max = 253))]
    pub output: String,
    /// What is waited for before a run that is due takes the output: `Settled` (that the Runnable is not about to give another
    /// one; if its run failed, the output of before counts), `Succeeded` (that, and that its run for its present inputs has succeeded) or
    /// `Nothing` (the output is taken as it is, and takes no part in `coherence`). If nothing is said it is `Settled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<WaitFor>,
}

/// What is asked of a Runnable before its output is taken. Later ones are stricter.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum WaitFor {
    /// Nothing: its outputs as they are. They take no part in what is coherent.
    Nothing,
    /// That it is not about to give others. If its run failed, the outputs of before count.
    #[default]
    Settled,
    /// That, and that it is ready.
    Succeeded,
}

/// Whether the sources of a Runnable may stem from different revisions of one ancestor.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum Coherence {
    /// They may not: a run that is due waits until they do not.
    #[default]
    Required,
    /// Nobody cares.
    Ignored,
}

/// Names a field of an object: by its name, or by labels that exactly one carries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("oneOf" = [{ "required": ["name"] }, { "required": ["matchingLabels"] }]))]
pub struct ObjectRef {
    /// For example `v1` or `source.toolkit.fluxcd.io/v1`.
    #[schemars(length(min = 1, max = 317))]
    pub api_version: String,
    /// For example `GitRepository`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// The name of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Labels that the object must carry, all of them. Exactly one object may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 16))]
    pub matching_labels: Option<BTreeMap<String, String>>,
    /// Its namespace; without one that of the Runnable, or none for a kind without namespaces. In another one the `ServiceAccount` needs the right to
    /// `get` (by labels to `list`) it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The path of the value in the object, such as `.status.artifact.digest`: a `JSONPath` that leads to one value.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
    /// The path of a text that says which state of the object that is, such as `.status.artifact.revision`. Where several inputs stem
    /// from the object, be it by way of other Runnables, they have to be of one (`coherence`). Without it the object is not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub revision_path: Option<String>,
    /// What is waited for before a run that is due takes the value: `Ready` (that the object does not say it is not ready: its
    /// condition `Ready`, if it has one, is True, and of its present generation) or `Nothing`. If nothing is said it is `Ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<WaitForObject>,
}

/// What is asked of an object before a value of it is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WaitForObject {
    /// That it does not say it is not ready.
    #[default]
    Ready,
    /// Nothing.
    Nothing,
}
