//! Objects that outputs are written to, and references to outputs that are stored nowhere else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    plain_json,
    run::MAX_SEQUENCE,
    schema,
    unknown_fields::{UnknownFields, open},
};

open!(SinkStatus, SensitiveOutput, RunFailure);

/// Maximum number of objects that the outputs of one Runnable are written to.
pub const MAX_SINKS: usize = 4;

/// An object that outputs are written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputSink {
    /// The kind of the object: `Secret` or `ConfigMap`.
    pub kind: SinkKind,

    /// The name of the object, in the Runnable's namespace. The controller creates it as the Runnable's
    /// ServiceAccount, and the Runnable owns it. The controller never touches an object that was created by other
    /// means.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Outputs to write, by name, each with its key in the object's `data`, for example `{digest: IMAGE_DIGEST}`.
    /// By default all outputs are written under their own names; a `ConfigMap` never contains sensitive ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "keys")]
    pub keys: Option<BTreeMap<String, String>>,
}

fn keys(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object", "minProperties": 1, "maxProperties": 64,
        "additionalProperties": { "type": "string", "minLength": 1, "maxLength": 253, "pattern": "^[-._a-zA-Z0-9]+$" },
    })
}

/// A kind of object that outputs are written to: `Secret` or `ConfigMap`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum SinkKind {
    /// A Secret, which may contain sensitive outputs.
    Secret,
    /// A `ConfigMap`.
    ConfigMap,
}

impl SinkKind {
    /// Returns the name of the kind, as in manifests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }
}

/// An object that outputs were written to, or will be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "SinkStatus")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SinkStatus {
    /// The kind of the object.
    pub kind: SinkKind,
    /// The name of the object.
    pub name: String,
    /// The number of the run whose outputs the object contains; 0 before there are any.
    #[schemars(range(min = 0, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// True while the object does not match `outputs` and the template, because the controller has yet to write
    /// it.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schemars(transform = schema::without_default)]
    pub behind: bool,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Location of the value of a sensitive output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "SensitiveOutput")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SensitiveOutput {
    /// The name of the Secret that contains the value.
    pub name: String,
    /// The key in the Secret's `data`.
    pub key: String,
    /// Stands for the value: unchanged as long as the value and the Secret are. It is keyed by the uid of the
    /// Secret, so that the value cannot be guessed by trial.
    pub revision: String,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

/// Result of the newest run that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "RunFailure")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct RunFailure {
    /// The number of the run.
    #[schemars(range(min = 1, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// The name of the run's object.
    pub name: String,
    /// The uid of the run's object.
    pub uid: String,
    /// The reason of the failure, as far as it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The values of the template's `failureOutputs`, as far as the run has them.
    #[serde(
        default,
        deserialize_with = "plain_json::map",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(schema_with = "schema::any_json_map")]
    pub outputs: BTreeMap<String, Value>,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}
