//! The Runnable's status: conditions and outputs for people, the ledger of runs for the controller.
//!
//! The ledger is what makes a run happen exactly once per change (`docs/exactly-once.md`). Only the
//! controller writes it, and only with the resourceVersion of what it read.

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

/// What the controller saw and did, as code has it: earlier runs are in one list, whether they have ended or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenStatus", into = "WrittenStatus")]
pub struct RunnableStatus {
    /// The `metadata.generation` that this status speaks of; -1 until the first look.
    pub observed_generation: Option<i64>,
    /// `RunTemplateReady`, `StampedObjectCondition`, `Ready`, and while they are true others.
    pub conditions: Vec<Condition>,
    /// The values that the newest successful run gave. They stay until newer ones replace them.
    pub outputs: Option<BTreeMap<String, Value>>,
    /// The run that `outputs` were read from.
    pub outputs_from: Option<OutputsFrom>,
    /// Where the values of sensitive outputs are.
    pub sensitive_outputs: BTreeMap<String, SensitiveOutput>,
    /// The objects that outputs were written to, or are going to be.
    pub sinks: Vec<SinkStatus>,
    /// What the newest run that failed gave, until a later one succeeds.
    pub failure: Option<Box<RunFailure>>,
    /// The run for what the template renders now.
    pub current_run: Option<CurrentRun>,
    /// The run that is due, while something holds it back that was asked for. Nothing is decided by it.
    pub pending: Option<PendingRun>,
    /// The last re-run request that a run before the current one answered.
    pub answered_token: Option<String>,
    /// Earlier runs, oldest first: those without a result and those with one. Shared, since few writes change them.
    pub history: Arc<Vec<HistoryEntry>>,
    /// Lines of the history that cannot be read, in their order, as far as they are kept.
    pub unreadable_history: Vec<String>,
    /// How many lines of the history were found that are not kept: too long, or too many that cannot be read.
    pub dropped_lines: usize,
    /// The profile that runs are made with; boxed, since most Runnables have none.
    pub profile: Option<Box<PinnedProfile>>,
    /// Counts runs, to slow feedback loops.
    pub breaker: Option<Breaker>,
    /// Words for what a release has to know to do anything for the Runnable. What is no word is there as its JSON.
    pub needs: Vec<String>,
    /// Its fields that this release does not know.
    pub unknown_fields: UnknownFields,
}

open!(CurrentRun, OutputsFrom);

impl RunnableStatus {
    /// The last re-run request that was answered: it asks for nothing more, even where its annotation was taken away
    /// and is put back.
    #[must_use]
    pub fn last_answered(&self) -> Option<&str> {
        last_answered(self.current_run.as_ref(), self.answered_token.as_deref())
    }

    /// Takes over the unknown fields of a stored status: its own, and those of each object that says the same as there. The
    /// current run and earlier ones bring theirs from the ledger.
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

    /// The history, to be changed: who shares it keeps it as it was.
    pub fn history_mut(&mut self) -> &mut Vec<HistoryEntry> {
        Arc::make_mut(&mut self.history)
    }
}

/// Takes over the unknown fields of an object that says the same.
fn keep_of<T: Open + PartialEq>(next: &mut T, stored: Option<&T>) {
    if let Some(stored) = stored.filter(|it| !it.unknown_fields().is_empty() && *it == next) {
        next.unknown_fields_mut()
            .clone_from(stored.unknown_fields());
    }
}

/// The last re-run request that was answered, by the current run or by one before it.
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

/// How far the current run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RunPhase {
    /// Intended; whether its object exists is not known yet.
    Pending,
    /// Its object exists, or existed.
    Created,
    /// The API server refused to create it.
    Rejected,
}

/// The run for what the template renders now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "CurrentRun")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CurrentRun {
    /// Its number. Every run of a Runnable has a higher one than all before.
    #[schemars(range(min = 1, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// Hash of the rendered document, with the version of the hash in front: `v1:<hex>`.
    pub input_hash: String,
    /// Hash of all that it is made of, as a person approved it; absent if nobody had to, or if that is `inputHash`. A create whose
    /// object has another one is not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// Which attempt it is at the same document and re-run request; absent for the first.
    #[serde(default = "first_attempt", skip_serializing_if = "is_first_attempt")]
    #[schemars(range(min = 1), transform = schema::without_default)]
    pub attempt: i64,
    /// The re-run request that it answers; no run that was seen before it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_token: Option<String>,
    /// How far it has come.
    pub phase: RunPhase,
    /// Whether a request to create it may have had an effect that was not seen. Written only where it is false: each
    /// field costs the API server at each write.
    #[serde(default = "may_be", skip_serializing_if = "is_true")]
    #[schemars(transform = schema::without_default)]
    pub attempted: bool,
    /// The `apiVersion` of its object.
    pub api_version: String,
    /// The kind of its object.
    pub kind: String,
    /// The name of its object, fixed before it is made.
    pub name: String,
    /// The uid of its object, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// When it was decided on, by the API server's clock; absent once it is known when its object was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_at: Option<Time>,
    /// When its object was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When the controller first saw its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// How it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RunResult>,
    /// Hash of the template's `outputs`, `optionalOutputs` and `healthRule` that it was made under; absent once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_hash: Option<String>,
    /// When it is tried again, as the next number; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
    /// That it was told to stop, and why; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// What it was made from: the revision of each source of its inputs, and of all that these stem from, by
    /// `Runnable/<namespace>/<name>`, `ConfigMap/<namespace>/<name>/<key>`, `Secret/<namespace>/<name>/<key>` or
    /// `<Kind>.<group>/<namespace>/<name>/{<revisionPath>}`; `absent` is the revision of what is optional and was not there.
    /// With `coherence: Ignored` an ancestor of two states is left out, unless it is a Runnable that is read itself. Absent if
    /// that is not known, or if no input came from anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<BTreeMap<String, String>>,
    /// Its fields that this release does not know.
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

/// Where the outputs come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "OutputsFrom")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct OutputsFrom {
    /// The run's number. It never decreases.
    #[schemars(range(min = 1, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// The name of the run's object.
    pub name: String,
    /// The uid of the run's object.
    pub uid: String,
    /// Hash of the template's `outputs`, `optionalOutputs` and `healthRule` by which they were read.
    pub rules_hash: String,
    /// What that run was made from, as in `currentRun`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<BTreeMap<String, String>>,
    /// Its fields that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}
