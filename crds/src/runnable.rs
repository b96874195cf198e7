//! The Runnable: what a developer keeps in a Git repository.

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

/// The account of a Runnable that names none.
pub const DEFAULT_SERVICE_ACCOUNT: &str = "default";

/// Runs a `ClusterRunTemplate` exactly once per change of what the template renders.
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
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].reason","description":"Why it is ready, or not"}"#,
    printcolumn = r#"{"name":"Run","type":"integer","jsonPath":".status.currentRun.sequence","description":"The number of the run for the present inputs"}"#,
    printcolumn = r#"{"name":"Result","type":"string","jsonPath":".status.currentRun.result","description":"How that run ended; empty while it is at work, or while its outputs cannot be read"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Run Name","type":"string","jsonPath":".status.currentRun.name","description":"The name of that run's object","priority":1}"#,
    printcolumn = r#"{"name":"Attempt","type":"integer","jsonPath":".status.currentRun.attempt","description":"Which attempt that run is; empty for the first","priority":1}"#,
    printcolumn = r#"{"name":"Waiting","type":"string","jsonPath":".status.pending.reason","description":"What the run that is due waits for","priority":1}"#,
    printcolumn = r#"{"name":"Suspend","type":"boolean","jsonPath":".spec.suspend","description":"Whether new runs are held back","priority":1}"#,
    printcolumn = r#"{"name":"Template","type":"string","jsonPath":".spec.runTemplateRef.name","priority":1}"#,
    printcolumn = r#"{"name":"Profile","type":"string","jsonPath":".status.profile.name","description":"The profile that its runs are made with","priority":1}"#,
    printcolumn = r#"{"name":"Outputs From","type":"string","jsonPath":".status.outputsFrom.name","description":"The run that the outputs were read from","priority":1}"#
)]
pub struct RunnableSpec {
    /// The template that says what to run.
    pub run_template_ref: RunTemplateRef,

    /// Picks exactly one object that the template can read as `selected`. It is watched: a change
    /// of the object renders the template again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,

    /// Values that the template can read as `runnable.spec.inputs.<name>`. Any JSON.
    #[serde(
        default,
        deserialize_with = "plain_json::optional_map",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::any_json_map")]
    pub inputs: Option<BTreeMap<String, Value>>,

    /// Values from other objects, read as the ServiceAccount, that the template can read as
    /// `runnable.spec.inputs.<name>`, too. When one changes, the template is rendered again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub inputs_from: Option<Vec<InputSource>>,

    /// Whether a run that is due waits while its inputs stem from different outputs of one Runnable further up, as they do
    /// when only one of two ways has followed a change: `Required` (it waits; if nothing is said) or `Ignored`. Templates cannot read it,
    /// and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coherence: Option<Coherence>,

    /// Objects that the outputs are written to as well, as the ServiceAccount. Each has the outputs of one run, all or none.
    /// Templates cannot read it, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["kind", "name"]))]
    pub write_outputs_to: Option<Vec<OutputSink>>,

    /// The `ClusterRunProfile` that is to be chosen where several match and none of them says more than the others. It counts
    /// until one was chosen. Templates cannot read it, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub profile_name: Option<String>,

    /// The ServiceAccount, in the Runnable's namespace, that makes, reads and deletes the runs.
    /// Without a name it is `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,

    /// While it is true no new run is made. The present run goes on, and its outputs still come; what
    /// changes meanwhile runs when it is false again, or not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// Tries a run again that failed. Without it, and without one in the template, a failed run stays that until
    /// something changes. Templates cannot read it, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,

    /// How long a run may work: a duration such as `30m`, from `1s` to `8760h`. Where the template gives one as well,
    /// the shorter counts. A run that works longer is told to stop, in the way of its kind, as the ServiceAccount.
    /// Templates cannot read it, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,

    /// Whether a run may begin while an earlier one of the same Runnable is at work: `Allow` (it may), `LatestOnly` (it waits
    /// for the end of the earlier one) or `Replace` (the earlier one is told to stop first, as by a timeout). Where the template
    /// says it as well, the template counts; where nobody says it, it is `Allow`.
    /// Templates cannot read it, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_policy: Option<ConcurrencyPolicy>,

    /// Whether a person has to approve each run before it begins: `Automatic` (nobody has to) or `Manual`. It is Manual if
    /// the Runnable or its template says so. `cartouche approve` shows what the next run changes, and approves exactly that;
    /// attempts that `retry` makes need no approval. Templates cannot read it, and a change of it makes no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalPolicy>,

    /// When a run that is due may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,

    /// How many finished runs are kept. Unfinished runs, the current run and the run that the
    /// outputs came from are never deleted, others ten minutes after their end at the earliest.
    #[serde(default)]
    pub retention_policy: RetentionPolicy,

    /// Fields that are set and that this release does not know, by path: a newer one wrote them, or was to read
    /// them.
    #[serde(skip)]
    #[schemars(skip)]
    pub unknown_fields: Vec<String>,
}

impl RunnableSpec {
    /// The account that acts for the Runnable: the given name, or `default`.
    #[must_use]
    pub fn service_account(&self) -> &str {
        match self.service_account_name.as_deref() {
            None | Some("") => DEFAULT_SERVICE_ACCOUNT,
            Some(name) => name,
        }
    }
}

/// Names a `ClusterRunTemplate`.
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
    /// Labels that the object must carry, all of them. Exactly one object may match: in the
    /// Runnable's namespace, or in the cluster for a kind without namespaces.
    pub matching_labels: BTreeMap<String, String>,
}

/// An `apiVersion` and a `kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRef {
    /// For example `v1` or `source.toolkit.fluxcd.io/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// For example `ConfigMap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// How many finished runs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionPolicy {
    /// Failed runs (and those lost from sight) that are kept, newest first.
    #[schemars(range(min = 1))]
    pub max_failed_runs: i64,
    /// Successful runs that are kept, newest first.
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
