//! The runs of a Runnable, as its ledger knows them.

use cartouche_crds::{HistoryEntry, RerunRequest, RunPhase, RunResult, Runnable};
use cartouche_protocol::status::STAMPED_OBJECT_CONDITION;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::Serialize;

/// A run of the ledger, current or not.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LedgerRun {
    pub(crate) sequence: i64,
    pub(crate) current: bool,
    pub(crate) gives_outputs: bool,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) input_hash: String,
    /// `Succeeded`, `Failed`, `Lost`, `Running`, `Pending` or `Rejected`.
    pub(crate) state: &'static str,
    pub(crate) started_at: Option<Time>,
    pub(crate) finished_at: Option<Time>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rerun_token: Option<String>,
    /// Who asked, and why: not in the ledger, but on the run's object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rerun_request: Option<RerunRequest>,
}

/// A condition of a Runnable.
pub(crate) fn condition<'a>(runnable: &'a Runnable, name: &str) -> Option<&'a Condition> {
    let mut conditions = runnable.status.iter().flat_map(|status| &status.conditions);
    conditions.find(|condition| condition.type_ == name)
}

/// All runs, newest first.
pub(crate) fn runs(runnable: &Runnable) -> Vec<LedgerRun> {
    let Some(status) = &runnable.status else {
        return Vec::new();
    };
    let source = status.outputs_from.as_ref().map(|from| from.sequence);
    let stamped = condition(runnable, STAMPED_OBJECT_CONDITION);
    let current = status.current_run.iter().map(|run| LedgerRun {
        sequence: run.sequence,
        current: true,
        gives_outputs: source == Some(run.sequence),
        api_version: run.api_version.clone(),
        kind: run.kind.clone(),
        name: run.name.clone(),
        input_hash: run.input_hash.clone(),
        state: match (run.result, run.phase) {
            (Some(result), _) => result_word(result),
            (None, RunPhase::Pending) => "Pending",
            (None, RunPhase::Created) => "Running",
            (None, RunPhase::Rejected) => "Rejected",
        },
        started_at: run.started_at.clone().or_else(|| run.intent_at.clone()),
        finished_at: run.finished_at.clone(),
        message: stamped.map_or_else(String::new, |it| it.message.clone()),
        rerun_token: run.rerun_token.clone(),
        rerun_request: None,
    });
    let earlier = status.history.iter().map(|entry| earlier(entry, source));
    let mut runs: Vec<LedgerRun> = earlier.chain(current).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.sequence));
    runs
}

fn earlier(entry: &HistoryEntry, source: Option<i64>) -> LedgerRun {
    LedgerRun {
        sequence: entry.sequence,
        current: false,
        gives_outputs: source == Some(entry.sequence),
        api_version: entry.api_version.clone(),
        kind: entry.kind.clone(),
        name: entry.name.clone(),
        input_hash: entry.input_hash.clone(),
        state: entry.result.map_or("Running", result_word),
        started_at: entry.started_at.clone(),
        finished_at: entry.finished_at.clone(),
        message: entry.message.clone(),
        rerun_token: None,
        rerun_request: None,
    }
}

fn result_word(result: RunResult) -> &'static str {
    match result {
        RunResult::Succeeded => "Succeeded",
        RunResult::Failed => "Failed",
        RunResult::Lost => "Lost",
    }
}
