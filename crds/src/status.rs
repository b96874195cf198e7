//! The Runnable's status: conditions and outputs for people, the ledger of runs for the controller.
//!
//! The ledger is what makes a run happen exactly once per change (`docs/concepts/exactly-once.md`). Only the controller
//! writes it, and only with the resourceVersion of what it read.

mod written;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    breaker::Breaker,
    history::HistoryEntry,
    pending_run::PendingRun,
    profile::PinnedProfile,
    run::{MAX_SEQUENCE, RunResult, first_attempt, is_first_attempt},
    schema,
    sink::{RunFailure, SensitiveOutput, SinkStatus},
    stop::Stop,
    unknown_fields::{Open, UnknownFields, open},
};
use written::WrittenStatus;
pub use written::{MAX_LINE, MAX_LINES, MAX_UNREADABLE};

/// Observations and actions of the controller, in the form for code: one list holds all earlier runs, ended or
/// not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenStatus", into = "WrittenStatus")]
pub struct RunnableStatus {
    /// The `metadata.generation` that this status describes; -1 until the first reconcile.
    pub observed_generation: Option<i64>,
    /// `RunTemplateReady`, `StampedObjectCondition`, `Ready`, and others while they are true.
    pub conditions: Vec<Condition>,
    /// The values of the newest successful run. They stay until newer ones replace them.
    pub outputs: Option<BTreeMap<String, Value>>,
    /// The run that `outputs` were read from.
    pub outputs_from: Option<OutputsFrom>,
    /// Locations of the values of sensitive outputs, by name.
    pub sensitive_outputs: BTreeMap<String, SensitiveOutput>,
    /// The objects that outputs were written to, or will be.
    pub sinks: Vec<SinkStatus>,
    /// Result of the newest run that failed, until a later one succeeds.
    pub failure: Option<Box<RunFailure>>,
    /// The run for the document that the template renders now.
    pub current_run: Option<CurrentRun>,
    /// The pending run, while a setting of the user holds it back. No decision depends on it.
    pub pending: Option<PendingRun>,
    /// The last re-run request that a run before the current one answered.
    pub answered_token: Option<String>,
    /// Earlier runs with and without a result, oldest first. Shared, since few writes change them.
    pub history: Arc<Vec<HistoryEntry>>,
    /// Lines of the history that cannot be parsed, in their order, as far as they are kept.
    pub unreadable_history: Vec<String>,
    /// Number of lines of the history that were dropped: too long, or too many that cannot be parsed.
    pub dropped_lines: usize,
    /// The profile that runs are made with; boxed, since most Runnables have none.
    pub profile: Option<Box<PinnedProfile>>,
    /// Counter of runs, which slows feedback loops.
    pub breaker: Option<Breaker>,
    /// Words for the features that a release must know to act for the Runnable. A value that is no word is kept as
    /// JSON.
    pub needs: Vec<String>,
    /// Fields of the object that this release does not know.
    pub unknown_fields: UnknownFields,
}

open!(CurrentRun, OutputsFrom);

impl RunnableStatus {
    /// Returns the last re-run request that was answered. It asks for no further run, even if its annotation is
    /// removed and added again.
    #[must_use]
    pub fn last_answered(&self) -> Option<&str> {
        last_answered(self.current_run.as_ref(), self.answered_token.as_deref())
    }

    /// Takes over the unknown fields of a stored status: its own, and those of each object that is equal there.
    /// The current run and earlier ones bring theirs from the ledger.
    #[must_use]
    pub fn with_unknown_fields_of(mut self, stored: &Self) -> Self {
        if let Some(from) = &mut self.outputs_from {
            keep_of(from, stored.outputs_from.as_ref());
        }
        if let Some(pending) = &mut self.pending {
            keep_of(pending, stored.pending.as_ref());
        }
        if let Some(failure) = &mut self.failure {
            keep_of(&mut **failure, stored.failure.as_deref());
        }
        if let Some(profile) = &mut self.profile {
            keep_of(&mut **profile, stored.profile.as_deref());
        }
        for sink in &mut self.sinks {
            let same = stored.sinks.iter().find(|it| *it == sink);
            keep_of(sink, same);
        }
        for (name, output) in &mut self.sensitive_outputs {
            keep_of(output, stored.sensitive_outputs.get(name));
        }
        self.unknown_fields.clone_from(&stored.unknown_fields);
        self
    }

    /// Returns the history for changes. Other holders of the shared list keep it unchanged.
    pub fn history_mut(&mut self) -> &mut Vec<HistoryEntry> {
        Arc::make_mut(&mut self.history)
    }
}

/// Takes over the unknown fields of an equal object.
fn keep_of<T: Open + PartialEq>(next: &mut T, stored: Option<&T>) {
    if let Some(stored) = stored.filter(|it| !it.unknown_fields().is_empty() && *it == next) {
        next.unknown_fields_mut()
            .clone_from(stored.unknown_fields());
    }
}

/// Returns the last re-run request that the current run or one before it answered.
#[must_use]
pub fn last_answered<'a>(
    current: Option<&'a CurrentRun>,
    before: Option<&'a str>,
) -> Option<&'a str> {
    let by_current = current.and_then(|current| current.rerun_token.as_deref());
    by_current.or(before)
}

impl JsonSchema for RunnableStatus {
    fn schema_name() -> Cow<'static, str> {
        "RunnableStatus".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        WrittenStatus::json_schema(generator)
    }
}

/// Progress of the current run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RunPhase {
    /// The run is intended; it is unknown whether its object exists.
    Pending,
    /// The run's object exists, or existed.
    Created,
    /// The API server refused to create the run's object.
    Rejected,
}

/// The run for the document that the template renders now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "CurrentRun")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CurrentRun {
    /// The number of the run. It is higher than that of every earlier run of the Runnable.
    #[schemars(range(min = 1, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// Hash of the rendered document, preceded by the version of the hash: `v1:<hex>`.
    pub input_hash: String,
    /// Hash of all that the run is made of, as a person approved it; absent if no approval was needed, or if it
    /// equals `inputHash`. The controller does not send a create whose object has another hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// Number of the attempt at the same document and re-run request; absent for the first.
    #[serde(default = "first_attempt", skip_serializing_if = "is_first_attempt")]
    #[schemars(range(min = 1), transform = schema::without_default)]
    pub attempt: i64,
    /// The re-run request that the run answers. No run seen before it answers the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_token: Option<String>,
    /// Progress of the run: `Pending`, `Created` or `Rejected`.
    pub phase: RunPhase,
    /// False if no request to create the run can have had an unseen effect. True is not written, because each
    /// field costs the API server at each write.
    #[serde(default = "may_be", skip_serializing_if = "is_true")]
    #[schemars(transform = schema::without_default)]
    pub attempted: bool,
    /// The `apiVersion` of the run's object.
    pub api_version: String,
    /// The kind of the run's object.
    pub kind: String,
    /// The name of the run's object, fixed before it is created.
    pub name: String,
    /// The uid of the run's object, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Time of the decision to make the run, by the API server's clock; absent once the creation time of its
    /// object is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_at: Option<Time>,
    /// Creation time of the run's object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Time at which the controller first saw the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// The result of the run; absent before it has ended, and while its outputs cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RunResult>,
    /// Hash of the template's `outputs`, `optionalOutputs`, `sensitiveOutputs` and `healthRule` when the run was
    /// made; absent once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_hash: Option<String>,
    /// Time of the retry, which is the next run; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
    /// The request to stop the run, with its reason; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Sources of the run: the revision of each source of its inputs, and of all that these derive from, by
    /// `Runnable/<namespace>/<name>`, `ConfigMap/<namespace>/<name>/<key>`, `Secret/<namespace>/<name>/<key>` or
    /// `<Kind>.<group>/<namespace>/<name>/{<revisionPath>}`. An optional source that did not exist has the
    /// revision `absent`. With `coherence: Ignored` an ancestor in two states is left out, unless it is a Runnable
    /// that is itself a source. Absent if the sources are unknown, or if no input has a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<BTreeMap<String, String>>,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

fn may_be() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_true(value: &bool) -> bool {
    *value
}

/// The run that the outputs come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "OutputsFrom")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct OutputsFrom {
    /// The number of the run. It never decreases.
    #[schemars(range(min = 1, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// The name of the run's object.
    pub name: String,
    /// The uid of the run's object.
    pub uid: String,
    /// Hash of the template's `outputs`, `optionalOutputs`, `sensitiveOutputs` and `healthRule` by which the outputs were read.
    pub rules_hash: String,
    /// Sources of that run, as in `currentRun`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<BTreeMap<String, String>>,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}
