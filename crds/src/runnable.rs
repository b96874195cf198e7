//! The Runnable: the object that a developer keeps in a Git repository.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    approval::ApprovalPolicy,
    concurrency::ConcurrencyPolicy,
    plain_json,
    retry::Retry,
    schema,
    sink::OutputSink,
    source::{Coherence, InputSource},
    start::Start,
    status::RunnableStatus,
};

/// The default account of a Runnable.
pub const DEFAULT_SERVICE_ACCOUNT: &str = "default";

/// Runs a `ClusterRunTemplate` exactly once per change of the document that the template renders.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "carto.run",
    version = "v1alpha1",
    kind = "Runnable",
    namespaced,
    status = "RunnableStatus",
    shortname = "run",
    category = "cartouche",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status","description":"True once the run for the present inputs succeeded"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].reason","description":"Reason for that status"}"#,
    printcolumn = r#"{"name":"Run","type":"integer","jsonPath":".status.currentRun.sequence","description":"Number of the run for the present inputs"}"#,
    printcolumn = r#"{"name":"Result","type":"string","jsonPath":".status.currentRun.result","description":"Result of that run; empty while it works, or while its outputs cannot be read"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Run Name","type":"string","jsonPath":".status.currentRun.name","description":"Name of that run's object","priority":1}"#,
    printcolumn = r#"{"name":"Attempt","type":"integer","jsonPath":".status.currentRun.attempt","description":"Number of the attempt; empty for the first","priority":1}"#,
    printcolumn = r#"{"name":"Waiting","type":"string","jsonPath":".status.pending.reason","description":"Reason why the next run waits","priority":1}"#,
    printcolumn = r#"{"name":"Suspend","type":"boolean","jsonPath":".spec.suspend","description":"True if no new run is made","priority":1}"#,
    printcolumn = r#"{"name":"Template","type":"string","jsonPath":".spec.runTemplateRef.name","priority":1}"#,
    printcolumn = r#"{"name":"Profile","type":"string","jsonPath":".status.profile.name","description":"Profile that its runs are made with","priority":1}"#,
    printcolumn = r#"{"name":"Outputs From","type":"string","jsonPath":".status.outputsFrom.name","description":"Run that the outputs were read from","priority":1}"#
)]
pub struct RunnableSpec {
    /// The template that defines the run.
    pub run_template_ref: RunTemplateRef,

    /// Selects exactly one object, which the template reads as `selected`. The controller watches the object, and
    /// renders the template again when it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,

    /// Values of any JSON type, which the template reads as `runnable.spec.inputs.<name>`.
    #[serde(
        default,
        deserialize_with = "plain_json::optional_map",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::any_json_map")]
    pub inputs: Option<BTreeMap<String, Value>>,

    /// Values from other objects, read as the ServiceAccount. The template reads them as
    /// `runnable.spec.inputs.<name>`, too. The controller renders the template again when one changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub inputs_from: Option<Vec<InputSource>>,

    /// Handling of inputs that derive from different outputs of one Runnable further up, as happens when only one
    /// of two paths has followed a change: with `Required`, the default, a pending run waits until they match;
    /// with `Ignored` it does not. Templates cannot read this field, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coherence: Option<Coherence>,

    /// Objects that the outputs are also written to, as the ServiceAccount; at most 4. Each contains the outputs
    /// of one run, all or none. Templates cannot read this field, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["kind", "name"]))]
    pub write_outputs_to: Option<Vec<OutputSink>>,

    /// The `ClusterRunProfile` to choose if several match equally well. It has an effect only until a profile is
    /// chosen. Templates cannot read this field, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub profile_name: Option<String>,

    /// The ServiceAccount, in the Runnable's namespace, that creates, reads and deletes the runs. The default is
    /// `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,

    /// Suspends new runs while it is true, for example during maintenance. The current run continues, and its
    /// outputs are still published. Changes made meanwhile run once the field is false or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// Retries of failed runs. If neither the Runnable nor its template sets it, a failed run is final until
    /// something changes. Templates cannot read this field, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,

    /// Maximum duration of a run, such as `30m`, from `1s` to `8760h`; by default there is none. If the template
    /// sets one as well, the shorter counts. The controller stops a run that takes longer, by the method of its
    /// kind, as the ServiceAccount. Templates cannot read this field, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,

    /// Handling of a change while an earlier run of the Runnable is still running: `Allow`, the default, runs
    /// both; `LatestOnly` waits for the end of the earlier run; `Replace` stops the earlier run first, as a
    /// timeout does. If the template sets it as well, the template counts. Templates cannot read this field, and a
    /// change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_policy: Option<ConcurrencyPolicy>,

    /// Approval of each run before it begins: `Automatic`, the default, needs none; `Manual` needs that of a
    /// person. It is `Manual` if the Runnable or its template says so. `cartouche approve` shows the changes of
    /// the next run, and approves exactly that run; its retries need no approval. Templates cannot read this
    /// field, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalPolicy>,

    /// Conditions for the start of a pending run, such as a debounce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,

    /// Number of finished runs to keep, by default 10 successful and 10 failed ones. The controller never deletes
    /// unfinished runs, the current run and the run that the outputs came from. It deletes others ten minutes
    /// after their end at the earliest.
    #[serde(default)]
    pub retention_policy: RetentionPolicy,

    /// Paths of the fields that are set and that this release does not know. They belong to a newer release.
    #[serde(skip)]
    #[schemars(skip)]
    pub unknown_fields: Vec<String>,
}

impl RunnableSpec {
    /// Returns the account that acts for the Runnable: the given name, or `default`.
    #[must_use]
    pub fn service_account(&self) -> &str {
        match self.service_account_name.as_deref() {
            None | Some("") => DEFAULT_SERVICE_ACCOUNT,
            Some(name) => name,
        }
    }
}

/// Reference to a `ClusterRunTemplate`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunTemplateRef {
    /// Ignored: the kind is always `ClusterRunTemplate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name of the `ClusterRunTemplate`.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// Selects one object by its kind and labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// The kind of the object.
    pub resource: ResourceRef,
    /// Labels that the object must carry, all of them. Exactly one object may match: in the Runnable's namespace,
    /// or in the cluster for a cluster-scoped kind.
    pub matching_labels: BTreeMap<String, String>,
}

/// An `apiVersion` and a `kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRef {
    /// The API version, for example `v1` or `source.toolkit.fluxcd.io/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The kind, for example `ConfigMap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Number of finished runs to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionPolicy {
    /// Number of failed runs to keep, newest first; lost ones count as failed.
    #[schemars(range(min = 1))]
    pub max_failed_runs: i64,
    /// Number of successful runs to keep, newest first.
    #[schemars(range(min = 1))]
    pub max_successful_runs: i64,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self {
            max_failed_runs: 10,
            max_successful_runs: 10,
        }
    }
}
