//! What the containers of a run find in files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{plain_json, schema};

/// Files of one template, at most.
pub const MAX_FILES: usize = 16;

/// What the containers of a run that is a Job or a Pod find in files: the arguments, what a runner has to know, and files of
/// the template's own. They are annotations of the pod, mounted read-only; together they have at most 200 KiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runner {
    /// Whether there is a file that says for whom a container works: the name of the run, its namespace, the pod's ServiceAccount
    /// and the Runnable as owner of what the container makes. The variable `RUNNER_CONTEXT_PATH` says where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<bool>,

    /// What is in the file that the variable `RUNNER_ARGS_PATH` names, with `$(path)$` tags in its string values. Any JSON;
    /// without it all inputs.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::anything")]
    pub args: Option<Value>,

    /// Whether the container is asked to change nothing: `true`, `false` or a tag. It is part of the context.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::anything")]
    pub dry_run: Option<Value>,

    /// How long the container is asked to work at most: a duration such as `10m`, or a tag. It is part of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub timeout: Option<String>,

    /// More files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_FILES), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["path"]))]
    pub files: Option<Vec<RunnerFile>>,

    /// The containers that find the files, init containers among them, by name; without it all but init containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "set"))]
    pub containers: Option<Vec<String>>,
}

/// A file: a text, or JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [{ "required": ["text"] }, { "required": ["json"] }]))]
pub struct RunnerFile {
    /// Where it is, from `/` on.
    #[schemars(length(min = 2, max = 512))]
    pub path: String,

    /// The text in it, with tags. What a tag yields stands there as it is: where the file is JSON, `json` is what keeps it in
    /// its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,

    /// What is in it as JSON, with tags in its string values.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::anything")]
    pub json: Option<Value>,
}
