//! The Runnable's status: conditions and outputs for people, the ledger of runs for the controller.
//!
//! The ledger is what makes a run happen exactly once per change (`docs/exactly-once.md`). Only the
//! controller writes it, and only with the resourceVersion of what it read.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};

use crate::schema;

/// What the controller saw and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnableStatus {
    /// The `metadata.generation` that this status speaks of; -1 until the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `RunTemplateReady`, `StampedObjectCondition`, `Ready`, and while they are true `Reconciling`,
    /// `Stalled` and `WatchUnavailable`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// The values that the newest successful run gave. They stay until newer ones replace them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_json_map")]
    pub outputs: Option<BTreeMap<String, Value>>,

    /// The run that `outputs` were read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs_from: Option<OutputsFrom>,

    /// The run for what the template renders now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run: Option<CurrentRun>,

    /// Earlier runs, oldest first; at most 200. An entry that cannot be read counts as taken away.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "readable"
    )]
    #[schemars(length(max = 200))]
    pub history: Vec<HistoryEntry>,

    /// Counts runs that nobody asked for by changing the Runnable or its template, and slows them
    /// when a run changes the very object that its Runnable selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<Breaker>,
}

/// What can be read of a list that the API server does not check: anybody with the right to write
/// statuses could otherwise stop a Runnable by a word in it.
fn readable<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<HistoryEntry>, D::Error> {
    let text = Box::<RawValue>::deserialize(from)?;
    let mut entries: Vec<HistoryEntry> =
        serde_json::from_str(text.get()).unwrap_or_else(|_| entries_of(text.get()));
    entries.retain(|entry| entry.sequence >= 1);
    Ok(entries)
}

fn entries_of(text: &str) -> Vec<HistoryEntry> {
    let entries: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let entry = |value| serde_json::from_value(value).ok();
    entries.into_iter().filter_map(entry).collect()
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

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RunResult {
    /// It did what it was made for.
    Succeeded,
    /// It ended without success.
    Failed,
    /// Its object vanished while nobody watched, so its end is not known.
    Lost,
}

/// The run for what the template renders now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// Written as a whole: what the server keeps about who wrote each field would be larger than it.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct CurrentRun {
    /// Its number. Every run of a Runnable has a higher one than all before.
    #[schemars(range(min = 1))]
    pub sequence: i64,
    /// Hash of the rendered document, with the version of the hash in front: `v1:<hex>`.
    pub input_hash: String,
    /// The re-run request that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_token: Option<String>,
    /// How far it has come.
    pub phase: RunPhase,
    /// Whether a request to create it may have had an effect that was not seen.
    #[serde(default)]
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
    /// When it was decided on, by the API server's clock.
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
    /// Hash of the template's `outputs` and `healthRule` that it was made under; absent once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_hash: Option<String>,
}

/// Where the outputs come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// Written as a whole: what the server keeps about who wrote each field would be larger than it.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct OutputsFrom {
    /// The run's number. It never decreases.
    #[schemars(range(min = 1))]
    pub sequence: i64,
    /// The name of the run's object.
    pub name: String,
    /// The uid of the run's object.
    pub uid: String,
    /// The hash of what was rendered for it.
    pub input_hash: String,
    /// Hash of the template's `outputs` and `healthRule` by which they were read.
    pub rules_hash: String,
}

/// An earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Its number.
    #[schemars(range(min = 1))]
    pub sequence: i64,
    /// The hash of what was rendered for it.
    pub input_hash: String,
    /// The `apiVersion` of its object.
    pub api_version: String,
    /// The kind of its object.
    pub kind: String,
    /// The name of its object.
    pub name: String,
    /// The uid of its object; absent while it is not known whether it was ever made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// How it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RunResult>,
    /// When its object was created; before that is known, when it was last attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it was intended, if it is not known whether it was made by the time of its last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_at: Option<Time>,
    /// The uid of the object that held its name and is somebody else's: the number was given up. A run that comes
    /// to be under that name all the same gives no outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<String>,
    /// When the controller first saw its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// What its engine said at the end, at most 256 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub message: String,
    /// Hash of the template's `outputs` and `healthRule` that it was made under; absent once it has
    /// ended. Under other rules than these its `Succeeded` condition, or what is known of its kind,
    /// tells how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_hash: Option<String>,
}

/// Counts runs in a window of time, under one generation of the Runnable and of its template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// Written as a whole: what the server keeps about who wrote each field would be larger than it.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Breaker {
    /// The Runnable's generation while the runs were counted.
    pub generation: i64,
    /// The template's uid while the runs were counted.
    #[serde(rename = "templateUID")]
    pub template_uid: String,
    /// The template's generation while the runs were counted.
    pub template_generation: i64,
    /// When the count began.
    pub window_start: Time,
    /// Runs since then.
    #[schemars(range(min = 0))]
    pub runs: i64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn history_of(history: &Value) -> Vec<i64> {
        let status = json!({ "observedGeneration": 3, "history": history });
        let status: RunnableStatus = serde_json::from_str(&status.to_string()).unwrap();
        assert_eq!(status.observed_generation, Some(3));
        status.history.iter().map(|entry| entry.sequence).collect()
    }

    fn entry(sequence: i64) -> Value {
        json!({
            "sequence": sequence, "inputHash": "v1:00", "apiVersion": "v1", "kind": "Pod",
            "name": format!("pod-{sequence}"), "result": "Succeeded", "of a later version": [],
        })
    }

    #[test]
    fn what_the_controller_writes_is_read_again() {
        let history = json!([entry(1), entry(2)]);
        assert_eq!(history_of(&history), [1, 2]);
        let status: RunnableStatus = serde_json::from_value(json!({ "history": history })).unwrap();
        let written = serde_json::to_string(&status).unwrap();
        assert_eq!(
            serde_json::from_str::<RunnableStatus>(&written).unwrap(),
            status
        );
    }

    #[test]
    fn an_entry_that_cannot_be_read_counts_as_taken_away() {
        let mut odd = entry(2);
        odd["result"] = "Undecided".into();
        let history = json!([entry(0), entry(1), odd, null, "x", {}, [entry(4)], entry(3)]);
        assert_eq!(history_of(&history), [1, 3]);
    }

    #[test]
    fn a_history_that_is_no_list_is_none() {
        for odd in [json!(null), json!("x"), json!({ "0": entry(1) }), json!(3)] {
            assert_eq!(history_of(&odd), [0; 0]);
        }
    }
}
