//! The ClusterRunTemplate: the object that a platform engineer writes once for all teams.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    approval::ApprovalPolicy,
    concurrency::ConcurrencyPolicy,
    health_rule::HealthRule,
    plain_json,
    profile::ProfileRequirement,
    required_permission::{MAX_REQUIRED, RequiredPermission},
    retry::Retry,
    runner::Runner,
    schema,
    start::Start,
    stop::StopMethod,
    unknown_fields::{UnknownFields, open},
};

open!(ClusterRunTemplateStatus);

/// The cure for a field that is in the run, and belongs beside it.
pub const TO_BESIDE_TEMPLATE: &str =
    "it belongs to spec of the ClusterRunTemplate: indent it like template";
/// The fields of a template's spec beside the run itself. No kind of Kubernetes has one of these at its top level.
pub const BESIDE_TEMPLATE: [&str; 15] = [
    "approval",
    "concurrencyPolicy",
    "failureOutputs",
    "healthRule",
    "inputSchema",
    "optionalOutputs",
    "outputs",
    "profile",
    "requires",
    "retry",
    "runner",
    "sensitiveOutputs",
    "start",
    "stop",
    "timeout",
];

/// Defines the run of a Runnable, the rule for its success, and the values that are outputs.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "carto.run",
    version = "v1alpha1",
    kind = "ClusterRunTemplate",
    status = "ClusterRunTemplateStatus",
    shortname = "crt",
    category = "cartouche",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type=='Accepted')].status","description":"True if Runnables can use it"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Accepted')].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct ClusterRunTemplateSpec {
    /// The object to create, with `$(path)$` tags in its string values. It has an `apiVersion`, the `kind` of a
    /// namespaced resource, and a `metadata.generateName` (or a fixed `name`, which can run only once). Tags read
    /// `runnable` and, with a selector, `selected`. `run` and `profile.values` are filled in when a run is made,
    /// and a change of them makes none.
    #[serde(deserialize_with = "plain_json::value")]
    #[schemars(schema_with = "schema::any_object")]
    pub template: Value,

    /// Schema of the inputs that a Runnable gives: a structural `OpenAPI` v3 schema of `spec.inputs`, as in custom
    /// resources (types, `required`, `enum`, `pattern`, `default`, `description`...). Defaults are filled in
    /// before the template is rendered. Inputs that do not fit make no run.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::any_object")]
    pub input_schema: Option<Value>,

    /// Outputs by name, each with the path of its value in a succeeded run, for example
    /// `.status.results[?(@.name=="digest")].value`. For a Job or Pod, `.terminationMessage` is the text or the
    /// JSON object that its container wrote to `/dev/termination-log`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<BTreeMap<String, String>>,

    /// Names of `outputs` that a succeeded run may lack: it then gives the others. While another output has no
    /// value, the run gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub optional_outputs: Option<Vec<String>>,

    /// Names of `outputs` whose values are stored only in a Secret of the Runnable's `writeOutputsTo`: not in its
    /// status, nor in a message. Without such a Secret they are not published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub sensitive_outputs: Option<Vec<String>>,

    /// Outputs of a failed run by name, each with its path as in `outputs`. Missing values are left out. They stay
    /// in the Runnable's `status.failure` until a later run succeeds. For a Job, `.terminationMessage` is that of
    /// the pod which failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_outputs: Option<BTreeMap<String, String>>,

    /// Rule that decides whether a run has succeeded or failed. By default its `Succeeded` condition decides, or
    /// the built-in rule for Jobs, Pods, Argo Workflows and kinds that are done once created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_rule: Option<HealthRule>,

    /// Retries of failed runs, for every Runnable of this template. A Runnable may lower the limit, and set other
    /// pauses and results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,

    /// Maximum duration of each run, for every Runnable of this template, such as `30m`, from `1s` to `8760h`. A
    /// Runnable may shorten it. By default there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,

    /// Handling of a change while an earlier run of the same Runnable is still running, for every Runnable of this
    /// template: `Allow`, `LatestOnly` or `Replace`. It takes precedence over the value of a Runnable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_policy: Option<ConcurrencyPolicy>,

    /// Approval of each run of this template before it begins: `Automatic` or `Manual`. A Runnable can set
    /// `Manual` as well, but cannot withdraw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalPolicy>,

    /// Conditions for the start of a pending run of this template, such as a debounce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,

    /// Method to stop a run, for its timeout, for a later run (`concurrencyPolicy: Replace`) and for
    /// `cartouche cancel`. It is built in for Jobs, Pods, Tekton's `TaskRun`s and `PipelineRun`s, and Argo
    /// `Workflow`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopMethod>,

    /// Need for a `ClusterRunProfile`: `Optional`, the default, makes runs without one if none matches; `Required`
    /// makes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRequirement>,

    /// Files for the containers of a run that is a Job or a Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Runner>,

    /// Permissions that the `ServiceAccount` of a run's pods needs. The controller checks them as that account
    /// before it makes a run, and reports the missing ones. A change of them makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REQUIRED))]
    pub requires: Option<Vec<RequiredPermission>>,

    /// Paths of the fields that are set and that this release does not know. They belong to a newer release.
    #[serde(skip)]
    #[schemars(skip)]
    pub unknown_fields: Vec<String>,
}

/// The controller's verdict on the template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "ClusterRunTemplateStatus")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ClusterRunTemplateStatus {
    /// The `metadata.generation` that this status describes; -1 until the first reconcile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The condition `Accepted`: False with all errors, each with its path; True with any warnings. While it is
    /// False, `Stalled` is True.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

#[cfg(test)]
mod tests {
    use schemars::schema_for;

    use super::{BESIDE_TEMPLATE, ClusterRunTemplateSpec};

    #[test]
    fn each_field_beside_the_run_is_named() {
        let schema = serde_json::to_value(schema_for!(ClusterRunTemplateSpec)).unwrap();
        let fields = schema["properties"].as_object().unwrap().keys();
        let fields: Vec<&str> = fields.map(String::as_str).collect();
        let mut named = [&BESIDE_TEMPLATE[..], &["template"]].concat();
        named.sort_unstable();
        assert_eq!(named, fields);
    }
}
