//! The ClusterRunTemplate: what a platform engineer writes once for everybody.

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

/// The cure of a field that stands in the run, and belongs beside it.
pub const TO_BESIDE_TEMPLATE: &str =
    "it belongs to spec of the ClusterRunTemplate: indent it like template";
/// The fields of the spec of a template beside the run itself: no kind of Kubernetes has one of these at its top.
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

/// Says what a Runnable runs, when a run has succeeded, and which of its values are outputs.
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
    printcolumn = r#"{"name":"Accepted","type":"string","jsonPath":".status.conditions[?(@.type=='Accepted')].status","description":"Whether Runnables can use it"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Accepted')].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct ClusterRunTemplateSpec {
    /// The object to create, with `$(path)$` tags in its string values. It has an `apiVersion`, a
    /// `kind` of a namespaced resource, and a `metadata.generateName` (or a fixed `name`, which can
    /// run only once). Tags read `runnable` and, with a selector, `selected`; `run` and `profile.values` are filled in when
    /// a run is made, and a change of them makes none.
    #[serde(deserialize_with = "plain_json::value")]
    #[schemars(schema_with = "schema::any_object")]
    pub template: Value,

    /// What inputs a Runnable gives: a structural `OpenAPI` v3 schema of `spec.inputs`, as custom
    /// resources have one (types, `required`, `enum`, `pattern`, `default`, `description`...).
    /// Defaults are filled in before the template is rendered; inputs that do not fit make no run.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::any_object")]
    pub input_schema: Option<Value>,

    /// Output name to the path of its value in a succeeded run, for example
    /// `.status.results[?(@.name=="digest")].value`. Of a Job or Pod, `.terminationMessage` is what
    /// its container wrote to `/dev/termination-log`: a JSON object, or a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<BTreeMap<String, String>>,

    /// Names of `outputs` that a succeeded run may lack: it then gives the others. While an output
    /// that is not named here has no value, the run gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub optional_outputs: Option<Vec<String>>,

    /// Names of `outputs` whose values stand only in a Secret that `writeOutputsTo` of the Runnable names: not in its status, nor
    /// in a message. Without such a Secret there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    pub sensitive_outputs: Option<Vec<String>>,

    /// Name to the path of a value in a run that failed, as in `outputs`. What is missing is left out. They are in the
    /// Runnable's `status.failure` until a later run succeeds. Of a Job, `.terminationMessage` is that of its pod which failed
    /// last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_outputs: Option<BTreeMap<String, String>>,

    /// When a run counts as succeeded or failed. Without it: its `Succeeded` condition, or what is
    /// built in for Jobs, Pods, Argo Workflows and kinds that are done once created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_rule: Option<HealthRule>,

    /// Tries runs again that failed, for every Runnable of this template. A Runnable may lower the limit, and set
    /// other pauses and ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,

    /// How long each run may work, for every Runnable of this template: a duration such as `30m`, from `1s` to
    /// `8760h`. A Runnable may shorten it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,

    /// Whether a run may begin while an earlier one of the same Runnable is at work, for every Runnable of this template:
    /// `Allow`, `LatestOnly` or `Replace`. It counts before what a Runnable says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_policy: Option<ConcurrencyPolicy>,

    /// Whether a person has to approve each run of this template before it begins: `Automatic` or `Manual`. A Runnable can
    /// ask for `Manual` as well, and cannot take it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalPolicy>,

    /// When a run of this template that is due may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,

    /// How a run is stopped, by its timeout, for a later run (`concurrencyPolicy: Replace`) and by `cartouche cancel`. Without it that is known of Jobs, Pods, Tekton's
    /// `TaskRun`s and `PipelineRun`s, and Argo `Workflow`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopMethod>,

    /// Whether runs of this template are made where no `ClusterRunProfile` matches: `Optional` (they are; if nothing is said) or
    /// `Required`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRequirement>,

    /// What the containers of a run that is a Job or a Pod find in files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Runner>,

    /// What the `ServiceAccount` of a run's pods needs permission for. It is asked as that account before a run is made, and what
    /// is missing is named. A change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REQUIRED))]
    pub requires: Option<Vec<RequiredPermission>>,

    /// Fields that are set and that this release does not know, by path: a newer one wrote them, or was to read
    /// them.
    #[serde(skip)]
    #[schemars(skip)]
    pub unknown_fields: Vec<String>,
}

/// What the controller thinks of the template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "ClusterRunTemplateStatus")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ClusterRunTemplateStatus {
    /// The `metadata.generation` that this status speaks of; -1 until the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `Accepted`: False with everything that is wrong, by path; True with warnings, if any. While it
    /// is False, `Stalled` is True.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// Its fields that this release does not know.
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
