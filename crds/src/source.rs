//! Inputs that come from other objects.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of inputs from other objects in one Runnable.
pub const MAX_SOURCES: usize = 32;
/// Maximum number of labels that select an object.
pub const MAX_LABELS: usize = 16;

/// An input from another object. Exactly one kind of source is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("oneOf" = [
    { "required": ["configMapKeyRef"] }, { "required": ["secretKeyRef"] }, { "required": ["runnableRef"] },
    { "required": ["objectRef"] },
]))]
pub struct InputSource {
    /// The name of the input, which the template reads as `runnable.spec.inputs.<name>`. It must not be in
    /// `inputs` as well.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// If true, the input is left out while its object or key does not exist, so that a default of the template's
    /// `inputSchema` applies. If false, the default, no run is made until it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,

    /// The value of a key of a `ConfigMap` in the Runnable's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,

    /// A key of a Secret in the Runnable's namespace. The input is `{name, key}`, for a `secretKeyRef` or a volume
    /// of the run; no template can read the value itself. When the value changes, a template that reads the input
    /// runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,

    /// An output of another Runnable. A pending run waits until that Runnable has settled, and until all ancestors
    /// of the inputs are at one revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable_ref: Option<RunnableRef>,

    /// A field of one object of any kind except Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_ref: Option<ObjectRef>,
}

/// Reference to a key of a `ConfigMap`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMapKeyRef {
    /// The name of the `ConfigMap`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in the `data` of the `ConfigMap`.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Interpretation of the value: `Text` (the default) takes the text itself, `JSON` parses it.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub read_as: Option<ReadAs>,
}

/// Interpretation of a text: `Text` (the default) takes the text itself, `JSON` parses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReadAs {
    /// The text itself.
    #[default]
    Text,
    /// The JSON value that the text contains.
    #[serde(rename = "JSON")]
    Json,
}

/// Reference to a key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyRef {
    /// The name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in the `data` of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// Reference to an output of a Runnable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnableRef {
    /// The name of the Runnable.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The namespace of the Runnable; by default that of the Runnable which reads the output. In another namespace
    /// the ServiceAccount needs permission to `get` the Runnable there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The name of the output.
    #[schemars(length(min = 1, max = 253))]
    pub output: String,
    /// Required state of the Runnable before a pending run takes the output. `Settled`, the default, waits until
    /// it is not about to give another output; if its run failed, the former output counts. `Succeeded` also waits
    /// until the run for its present inputs has succeeded. `Nothing` takes the output as it is, and leaves it out
    /// of `coherence`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<WaitFor>,
}

/// Required state of a Runnable before its output is taken. `Settled`, the default, waits until it is not about to
/// give another output; if its run failed, the former output counts. `Succeeded` also waits until the run for its
/// present inputs has succeeded. `Nothing` takes the output as it is, and leaves it out of `coherence`.
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
    /// No requirement: the output is taken as it is, and left out of `coherence`.
    Nothing,
    /// The Runnable is not about to give other outputs. If its run failed, the former outputs count.
    #[default]
    Settled,
    /// The Runnable has settled and is ready.
    Succeeded,
}

/// Handling of inputs that derive from different revisions of one ancestor: with `Required`, the default, a
/// pending run waits until the revisions match; with `Ignored` it does not.
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
    /// A pending run waits until the revisions match.
    #[default]
    Required,
    /// Different revisions are accepted.
    Ignored,
}

/// Reference to a field of an object, selected by its name or by labels that exactly one object carries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("oneOf" = [{ "required": ["name"] }, { "required": ["matchingLabels"] }]))]
pub struct ObjectRef {
    /// The API version of the object, for example `v1` or `source.toolkit.fluxcd.io/v1`.
    #[schemars(length(min = 1, max = 317))]
    pub api_version: String,
    /// The kind of the object, for example `GitRepository`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// The name of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Labels that the object must carry, all of them; at most 16. Exactly one object may match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 16))]
    pub matching_labels: Option<BTreeMap<String, String>>,
    /// The namespace of the object; by default that of the Runnable, or none for a cluster-scoped kind. In another
    /// namespace the ServiceAccount needs permission to `get` the object there, or to `list` it if it is selected
    /// by labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The path of the value in the object, for example `.status.artifact.digest`: a `JSONPath` that leads to one
    /// value.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
    /// The path of a text that identifies the state of the object, for example `.status.artifact.revision`. If
    /// several inputs derive from the object, directly or through other Runnables, they must all see the same
    /// revision (`coherence`). Without this path the object is not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub revision_path: Option<String>,
    /// Required state of the object before a pending run takes the value: `Ready`, the default, or `Nothing`.
    /// `Ready` waits while the object reports that it is not ready: if it has a condition `Ready`, that must be
    /// True and of its present generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<WaitForObject>,
}

/// Required state of an object before its value is taken: `Ready`, the default, waits while the object reports
/// that it is not ready; `Nothing` takes the value as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WaitForObject {
    /// The object does not report that it is not ready.
    #[default]
    Ready,
    /// No requirement.
    Nothing,
}
