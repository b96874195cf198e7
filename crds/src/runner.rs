//! Files for the containers of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{plain_json, schema};

/// Maximum number of further files in one template.
pub const MAX_FILES: usize = 16;

/// Files for the containers of a run that is a Job or a Pod: the arguments, the context, and further files of the
/// template. They are annotations of the pod, mounted read-only, with at most 200 KiB in total.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runner {
    /// If true, adds a file about the run: its name, its namespace, the pod's ServiceAccount and the Runnable as
    /// owner of objects that the container creates. The variable `RUNNER_CONTEXT_PATH` contains its path. The
    /// default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<bool>,

    /// Content of the file at the path in the variable `RUNNER_ARGS_PATH`: any JSON, with `$(path)$` tags in its
    /// string values. By default it contains all inputs.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::anything")]
    pub args: Option<Value>,

    /// If true, the container is asked to change nothing. The value is `true`, `false` or a tag. It is part of the
    /// context, and needs `context: true`.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::anything")]
    pub dry_run: Option<Value>,

    /// Maximum duration that the container is asked to keep: a duration such as `10m`, or a tag. It is part of the
    /// context, and needs `context: true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub timeout: Option<String>,

    /// Further files; at most 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_FILES), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["path"]))]
    pub files: Option<Vec<RunnerFile>>,

    /// Names of the containers that get the files, init containers included. By default all containers except init
    /// containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub containers: Option<Vec<String>>,
}

/// A file that contains a text or JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [{ "required": ["text"] }, { "required": ["json"] }]))]
pub struct RunnerFile {
    /// The absolute path of the file, for example `/etc/app/config.yaml`.
    #[schemars(length(min = 2, max = 512))]
    pub path: String,

    /// Content of the file as text, with tags. The value of a tag is inserted without escaping: use `json` for a
    /// JSON file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,

    /// Content of the file as JSON, with tags in its string values.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::anything")]
    pub json: Option<Value>,
}
