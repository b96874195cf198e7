//! The status as the API server stores it.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use super::{CurrentRun, OutputsFrom, RunnableStatus};
use crate::{
    history::HistoryEntry,
    needs,
    pending_run::PendingRun,
    plain_json,
    profile::PinnedProfile,
    schema,
    sink::{RunFailure, SensitiveOutput, SinkStatus},
    unknown_fields::{MAX_UNKNOWN_BYTES, Open, UnknownFields, open},
};

open!(WrittenStatus);

/// Maximum number of unparsable lines that are kept: the last ones. Together with the two hundred others they must
/// never fill the list, or no further run could be recorded.
pub const MAX_UNREADABLE: usize = 100;
/// Maximum number of lines that are written. A longer list is not the controller's own: only its last lines are
/// read.
pub const MAX_LINES: usize = 300;
/// Maximum bytes of a line. A longer one is not the controller's own, and is dropped: the API server's store
/// refuses a status that is too large.
pub const MAX_LINE: usize = 4096;

/// Observations and actions of the controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "WrittenStatus")]
// Written as a whole: the server's records of who wrote each field would cost more than the rest.
#[schemars(extend("x-kubernetes-map-type" = "atomic", "x-kubernetes-preserve-unknown-fields" = true))]
pub(super) struct WrittenStatus {
    /// The `metadata.generation` that this status describes; -1 until the first reconcile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,

    /// `RunTemplateReady`, `StampedObjectCondition`, `Ready`, and while they are true `Reconciling`, `Stalled` and
    /// `WatchUnavailable`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    conditions: Vec<Condition>,

    /// The values of the newest successful run, by output name. They stay until newer ones replace them.
    #[serde(
        default,
        deserialize_with = "plain_json::optional_map",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::any_json_map")]
    outputs: Option<BTreeMap<String, Value>>,

    /// The run that `outputs` were read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outputs_from: Option<OutputsFrom>,

    /// Locations of the values of the template's `sensitiveOutputs`, by name.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "if_readable"
    )]
    sensitive_outputs: Option<BTreeMap<String, SensitiveOutput>>,

    /// The objects that outputs were written to, or will be, as `spec.writeOutputsTo` asks.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "readable"
    )]
    #[schemars(length(max = 16))]
    sinks: Vec<SinkStatus>,

    /// Result of the newest run that failed, with the template's `failureOutputs`, until a later one succeeds.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "if_readable"
    )]
    failure: Option<Box<RunFailure>>,

    /// The profile that runs are made with, until `carto.run/profile-refresh` asks for a new choice.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "if_readable"
    )]
    profile: Option<Box<PinnedProfile>>,

    /// The run for the document that the template renders now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current_run: Option<CurrentRun>,

    /// The pending run and the reason for which it waits, while a setting of the user holds it back.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "if_readable"
    )]
    pending: Option<PendingRun>,

    /// The last re-run request that a run before the current one answered. It asks for no further run.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "text"
    )]
    answered_token: Option<String>,

    /// Earlier runs without a result, oldest first. At 200 of them no further run is made. An entry that cannot be
    /// parsed counts as removed.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "readable"
    )]
    #[schemars(length(max = 500))]
    unfinished_runs: Vec<HistoryEntry>,

    /// Earlier runs that have ended, a list of text, oldest first, at most 200: `<number> <result>
    /// <apiVersion>/<kind>/<name> <uid|-> <started|-> <finished|-> <hash> [key=value …] : <message>`.
    /// `cartouche history` prints them. A line that cannot be parsed is kept unchanged, unless it has more than
    /// 4,096 bytes or more than a hundred such lines follow.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "lines"
    )]
    #[schemars(schema_with = "schema::anything")]
    history: Vec<String>,

    /// Counts runs that follow from no change of the Runnable or its template by a user, and slows them when a run
    /// changes the very object that its Runnable selects: `<generation> <template's uid> <template's generation>
    /// <begin of the count> <runs> [<hash of the generations of the Runnables that its inputs derive from>]`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "text"
    )]
    breaker: Option<String>,

    /// Words for the features that a controller must know to act for the Runnable; at most 16 of at most 63 bytes
    /// each. A release that does not know one of them leaves the Runnable alone. A later release writes them if an
    /// earlier one would do harm.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "needs::words"
    )]
    #[schemars(length(max = needs::MOST), inner(length(min = 1, max = needs::BYTES)))]
    needs: Vec<String>,

    /// A reserved key, which means a need for `clusters`.
    #[serde(
        default,
        rename = "cluster",
        skip_serializing,
        deserialize_with = "needs::is_there"
    )]
    #[schemars(skip)]
    has_cluster: bool,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    unknown_fields: UnknownFields,
}

/// Deserializes the readable entries of a list. Entries stored under an earlier definition are unchecked.
fn readable<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let text = Box::<RawValue>::deserialize(from)?;
    Ok(serde_json::from_str(text.get()).unwrap_or_else(|_| {
        let entries: Vec<Value> = serde_json::from_str(text.get()).unwrap_or_default();
        let entry = |value| serde_json::from_value(value).ok();
        entries.into_iter().filter_map(entry).collect()
    }))
}

/// Deserializes a list of text. Any other JSON, which is unchecked, is kept as text.
fn lines<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let text = Box::<RawValue>::deserialize(from)?;
    // Each by itself: one that is nested too deep to be read must not cost the others.
    let line = |element: &RawValue| {
        let line = serde_json::from_str(element.get());
        line.unwrap_or_else(|_| element.get().to_owned())
    };
    Ok(serde_json::from_str(text.get()).unwrap_or_else(|_| {
        match serde_json::from_str::<Option<Vec<&RawValue>>>(text.get()) {
            Ok(elements) => elements.into_iter().flatten().map(line).collect(),
            Err(_) => vec![text.get().to_owned()],
        }
    }))
}

/// Deserializes a value, or `None` if it is unreadable: it is for people, and must not cost the ledger.
fn if_readable<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let text = Box::<RawValue>::deserialize(from)?;
    Ok(serde_json::from_str(text.get()).ok())
}

/// Deserializes a text; anything else becomes `None`.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match plain_json::value(from)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

impl WrittenStatus {
    /// Keeps [`MAX_UNKNOWN_BYTES`] of unknown fields in total: an account that may write statuses can write any
    /// number.
    fn bound_unknown_fields(&mut self) {
        let mut room = MAX_UNKNOWN_BYTES;
        self.unknown_fields.fit(&mut room);
        if let Some(run) = &mut self.current_run {
            run.unknown_fields.fit(&mut room);
            fit(&mut run.stop, &mut room);
        }
        for run in &mut self.unfinished_runs {
            run.unknown_fields.fit(&mut room);
            fit(&mut run.stop, &mut room);
        }
        fit(&mut self.outputs_from, &mut room);
        fit(&mut self.pending, &mut room);
        fit(self.failure.as_deref_mut(), &mut room);
        fit(self.profile.as_deref_mut(), &mut room);
        fit(&mut self.sinks, &mut room);
        let sensitive = self.sensitive_outputs.iter_mut();
        fit(sensitive.flat_map(BTreeMap::values_mut), &mut room);
    }
}

/// Keeps the unknown fields of these objects that fit into the room, and subtracts their bytes from it.
fn fit<'a, T: Open + 'a>(objects: impl IntoIterator<Item = &'a mut T>, room: &mut usize) {
    for object in objects {
        object.unknown_fields_mut().fit(room);
    }
}

impl From<WrittenStatus> for RunnableStatus {
    fn from(mut written: WrittenStatus) -> Self {
        written.bound_unknown_fields();
        let mut history = written.unfinished_runs;
        history.retain(|entry| entry.sequence >= 1);
        let mut unreadable_history = Vec::new();
        // A longer list is not the controller's own, and may have any length.
        let mut dropped_lines = written.history.len().saturating_sub(MAX_LINES);
        for line in written.history.into_iter().skip(dropped_lines) {
            match line.parse() {
                _ if line.len() > MAX_LINE => dropped_lines += 1,
                Ok(entry) => history.push(entry),
                Err(_) => unreadable_history.push(line),
            }
        }
        let mut needs = written.needs;
        if written.has_cluster {
            needs.push(needs::CLUSTERS.to_owned());
        }
        let surplus = unreadable_history.len().saturating_sub(MAX_UNREADABLE);
        unreadable_history.drain(..surplus);
        history.sort_by_key(|entry| entry.sequence);
        Self {
            observed_generation: written.observed_generation,
            conditions: written.conditions,
            outputs: written.outputs,
            outputs_from: written.outputs_from,
            sensitive_outputs: written.sensitive_outputs.unwrap_or_default(),
            sinks: written.sinks,
            failure: written.failure,
            profile: written.profile,
            current_run: written.current_run,
            pending: written.pending,
            answered_token: written.answered_token,
            history: Arc::new(history),
            unreadable_history,
            dropped_lines: dropped_lines + surplus,
            breaker: written.breaker.and_then(|line| line.parse().ok()),
            needs,
            unknown_fields: written.unknown_fields,
        }
    }
}

impl From<RunnableStatus> for WrittenStatus {
    fn from(status: RunnableStatus) -> Self {
        let mut history = status.unreadable_history;
        history.drain(..history.len().saturating_sub(MAX_UNREADABLE));
        let mut unfinished_runs = Vec::new();
        for entry in &*status.history {
            match entry.line() {
                Some(line) => history.push(line),
                None => unfinished_runs.push(entry.clone()),
            }
        }
        // With one more than the maximum, the API server would refuse every write.
        history.drain(..history.len().saturating_sub(MAX_LINES));
        Self {
            observed_generation: status.observed_generation,
            conditions: status.conditions,
            outputs: status.outputs,
            outputs_from: status.outputs_from,
            sensitive_outputs: Some(status.sensitive_outputs).filter(|it| !it.is_empty()),
            sinks: status.sinks,
            failure: status.failure,
            profile: status.profile,
            current_run: status.current_run,
            pending: status.pending,
            answered_token: status.answered_token,
            unfinished_runs,
            history,
            breaker: status.breaker.map(|breaker| breaker.to_string()),
            needs: status.needs,
            has_cluster: false,
            unknown_fields: status.unknown_fields,
        }
    }
}

#[cfg(test)]
mod tests;
