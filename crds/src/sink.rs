//! Objects that outputs are written to, and what is said of outputs that stand nowhere else.

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

/// Objects that the outputs of one Runnable are written to, at most.
pub const MAX_SINKS: usize = 4;

/// An object that outputs are written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputSink {
    /// The kind of the object: `Secret` or `ConfigMap`.
    pub kind: SinkKind,

    /// The name of the object, in the Runnable's namespace. It is made, as the Runnable's `ServiceAccount`, and belongs to the
    /// Runnable: an object that somebody else has made is never touched.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Which outputs are written, by name, and the key of each in the object's `data`. Without it all are, under their own
    /// names; a `ConfigMap` never has the sensitive ones.
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

/// A kind of object that outputs are written to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum SinkKind {
    /// A Secret, which has sensitive outputs as well.
    Secret,
    /// A `ConfigMap`.
    ConfigMap,
}

impl SinkKind {
    /// As manifests have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }
}

/// An object that outputs were written to, or are going to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "SinkStatus")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SinkStatus {
    /// Its kind.
    pub kind: SinkKind,
    /// Its name.
    pub name: String,
    /// The number of the run whose outputs it has; 0 before it has any.
    #[schemars(range(min = 0, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// Whether what is in it is not what `outputs` and the template say by now, because it is not written yet.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schemars(transform = schema::without_default)]
    pub behind: bool,
    /// Its fields that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Where the value of a sensitive output is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "SensitiveOutput")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SensitiveOutput {
    /// The Secret that has it.
    pub name: String,
    /// The key in the Secret's `data`.
    pub key: String,
    /// Stands for the value: the same as long as the value and the Secret are. It is keyed by the uid of the Secret, so that the
    /// value cannot be found by trying.
    pub revision: String,
    /// Its fields that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

/// What the newest run that failed gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "RunFailure")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct RunFailure {
    /// The number of the run.
    #[schemars(range(min = 1, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// The name of its object.
    pub name: String,
    /// The uid of its object.
    pub uid: String,
    /// Why it failed, as far as it is known.
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
    /// Its fields that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}
