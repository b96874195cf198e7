//! The runs of a Runnable, as its ledger knows them.

use cartouche_crds::{
    Cancellation, HistoryEntry, RerunRequest, Runnable, Stop,
    conditions::{RECONCILING, RETRY_SCHEDULED, RUN_TEMPLATE_READY, TRUE},
};
use cartouche_protocol::{
    messages::format::MessageParts,
    status::{RunState, said_of_run},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Serialize, Serializer};

/// Run of the ledger, current or not.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LedgerRun {
    pub(crate) sequence: i64,
    pub(crate) current: bool,
    pub(crate) gives_outputs: bool,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    /// Uid of its object, once the object is known to be made.
    #[serde(skip)]
    pub(crate) uid: Option<String>,
    pub(crate) input_hash: String,
    /// Number of the attempt at the same document and re-run request.
    pub(crate) attempt: i64,
    #[serde(serialize_with = "as_word")]
    pub(crate) state: RunState,
    pub(crate) started_at: Option<Time>,
    /// Time at which the controller first saw its end.
    pub(crate) finished_at: Option<Time>,
    /// Time at which it ended, according to its object, as long as that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<Time>,
    /// Time of the retry, according to the ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_at: Option<Time>,
    /// Request to stop, and its reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Stop>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rerun_token: Option<String>,
    /// User who asked for the run, and the reason: not in the ledger, but on the run's object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rerun_request: Option<RerunRequest>,
    /// User who had it stopped, and the reason: on the run's object as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cancel_request: Option<Cancellation>,
}

/// Returns a condition of a Runnable.
pub(crate) fn condition<'a>(runnable: &'a Runnable, name: &str) -> Option<&'a Condition> {
    let mut conditions = runnable.status.iter().flat_map(|status| &status.conditions);
    conditions.find(|condition| condition.type_ == name)
}

/// Returns the condition that announces a retry of a failed run, or `None`.
pub(crate) fn retry_scheduled(runnable: &Runnable) -> Option<&Condition> {
    let reconciling = condition(runnable, RECONCILING)?;
    (reconciling.status == TRUE && reconciling.reason == RETRY_SCHEDULED).then_some(reconciling)
}

/// Returns all runs, newest first.
pub(crate) fn runs(runnable: &Runnable) -> Vec<LedgerRun> {
    let Some(status) = &runnable.status else {
        return Vec::new();
    };
    let source = status.outputs_from.as_ref().map(|from| from.sequence);
    let current = status.current_run.iter().map(|run| LedgerRun {
        sequence: run.sequence,
        current: true,
        gives_outputs: source == Some(run.sequence),
        api_version: run.api_version.clone(),
        kind: run.kind.clone(),
        name: run.name.clone(),
        uid: run.uid.clone(),
        input_hash: run.input_hash.clone(),
        attempt: run.attempt,
        state: RunState::from(run).as_said(status, &run.name),
        started_at: run.started_at.clone().or_else(|| run.intent_at.clone()),
        finished_at: run.finished_at.clone(),
        ended_at: None,
        retry_at: run.retry_at.clone(),
        stop: run.stop.clone(),
        message: match RunState::from(run).as_said(status, &run.name) {
            // That says why the run was never made, and how often that was tried; or why its outputs are missing.
            RunState::Rejected | RunState::OutputsUnread => {
                what_is_wrong(runnable).unwrap_or_default()
            }
            _ => said_of_run(status).unwrap_or_default().to_owned(),
        },
        rerun_token: run.rerun_token.clone(),
        rerun_request: None,
        cancel_request: None,
    });
    let earlier = status.history.iter().map(|entry| {
        let run = earlier(entry, source);
        let state = run.state.as_said(status, &run.name);
        let why = (state == RunState::OutputsUnread).then(|| what_is_wrong(runnable));
        LedgerRun {
            state,
            message: why.flatten().unwrap_or(run.message),
            ..run
        }
    });
    let mut runs: Vec<LedgerRun> = earlier.chain(current).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.sequence));
    runs
}

/// Returns what keeps the template from being ready for the Runnable, in words for people.
fn what_is_wrong(runnable: &Runnable) -> Option<String> {
    let said = condition(runnable, RUN_TEMPLATE_READY)?;
    Some(MessageParts::parse(&said.message).what.to_owned())
}

/// Returns the run before another one. A number that was given up is not a run: the same input got a later one.
pub(crate) fn before<'a>(runs: &'a [LedgerRun], run: &LedgerRun) -> Option<&'a LedgerRun> {
    let is_run = |earlier: &&LedgerRun| earlier.state != RunState::NameTaken;
    let mut earlier = runs.iter().filter(is_run);
    earlier.find(|earlier| earlier.sequence < run.sequence)
}

fn earlier(entry: &HistoryEntry, source: Option<i64>) -> LedgerRun {
    LedgerRun {
        sequence: entry.sequence,
        current: false,
        gives_outputs: source == Some(entry.sequence),
        api_version: entry.api_version.clone(),
        kind: entry.kind.clone(),
        name: entry.name.clone(),
        uid: entry.uid.clone(),
        input_hash: entry.input_hash.clone(),
        attempt: entry.attempt,
        state: RunState::from(entry),
        started_at: entry.started_at.clone(),
        finished_at: entry.finished_at.clone(),
        ended_at: None,
        retry_at: None,
        stop: entry.stop.clone(),
        message: entry.message.clone(),
        rerun_token: entry.rerun_token.clone().filter(|_| entry.uid.is_some()),
        rerun_request: None,
        cancel_request: None,
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands on what it has"
)]
fn as_word<S: Serializer>(state: &RunState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.as_str())
}

#[cfg(test)]
pub(crate) mod tests {
    use cartouche_protocol::messages::diagnosis::Diagnosis;
    use serde_json::{Value, json};

    use super::*;

    fn with(sequence: i64, fields: &Value) -> Value {
        let mut run = json!({
            "sequence": sequence, "name": format!("r-{sequence}"), "inputHash": "v1:a",
            "apiVersion": "batch/v1", "kind": "Job",
        });
        let run_fields = run.as_object_mut().unwrap();
        run_fields.extend(fields.as_object().unwrap().clone());
        run
    }

    /// Returns runs 5 to 1, in every state but Succeeded.
    pub(crate) fn some_runs() -> Vec<LedgerRun> {
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1",
            "kind": "Runnable",
            "metadata": { "name": "hello" },
            "spec": { "runTemplateRef": { "name": "job" } },
            "status": {
                "conditions": [],
                "currentRun": with(5, &json!({ "phase": "Rejected" })),
                "unfinishedRuns": [
                    with(2, &json!({ "uid": "u2" })),
                    with(3, &json!({})),
                    with(4, &json!({ "takenBy": "stranger" })),
                ],
                "history": ["1 Failed batch/v1/Job/r-1 u1 - - v1:a"],
            },
        });
        runs(&serde_json::from_value(runnable).unwrap())
    }

    #[test]
    fn no_run_is_said_to_be_running_that_is_not_known_to_be_made() {
        let states = json!(some_runs());
        let states = states.as_array().unwrap().iter();
        let states: Vec<&str> = states.map(|run| run["state"].as_str().unwrap()).collect();
        let expected = ["Rejected", "NameTaken", "Unknown", "Running", "Failed"];
        assert_eq!(states, expected);
    }

    #[test]
    fn a_run_that_was_refused_says_why_it_was_never_made() {
        let said = "no permission; tried once; to do: grant it; in full: forbidden";
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
            "spec": { "runTemplateRef": { "name": "job" } },
            "status": {
                "currentRun": with(1, &json!({ "phase": "Rejected" })),
                "conditions": [{
                    "type": "RunTemplateReady", "status": "False", "reason": "R", "message": said,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
            },
        });
        let runs = runs(&serde_json::from_value(runnable).unwrap());
        assert_eq!(runs[0].message, "no permission; tried once");
    }

    #[test]
    fn a_run_whose_outputs_cannot_be_read_says_so_whether_it_is_current_or_not() {
        let of = |name: &str| {
            let why = Diagnosis::NoAnswer("list the pods of the run");
            let unread = Diagnosis::OutputsUnread(name.to_owned(), Box::new(why));
            let runnable = json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
                "spec": { "runTemplateRef": { "name": "job" } },
                "status": {
                    "currentRun": with(2, &json!({ "phase": "Created", "uid": "u2" })),
                    "unfinishedRuns": [with(1, &json!({ "uid": "u1" }))],
                    "conditions": [{
                        "type": "RunTemplateReady", "status": "False", "reason": "OutputPathNotSatisfied",
                        "message": unread.message(Some("unable")), "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }],
                },
            });
            let runs = runs(&serde_json::from_value(runnable).unwrap());
            let told = runs.into_iter().map(|run| (run.state, run.message));
            told.collect::<Vec<_>>()
        };
        let why = |name| {
            let said = "has succeeded, but its outputs cannot be read yet: the API server did not";
            format!("run {name} {said} list the pods of the run")
        };
        let at_work = (RunState::Running, String::new());
        let current = (RunState::OutputsUnread, why("r-2"));
        assert_eq!(of("r-2"), [current, at_work.clone()]);
        let earlier = (RunState::OutputsUnread, why("r-1"));
        assert_eq!(of("r-1"), [at_work, earlier]);
    }

    #[test]
    fn a_number_that_was_given_up_is_not_the_run_before() {
        let runs = some_runs();
        let earlier = before(&runs, &runs[0]).map(|run| run.sequence);
        assert_eq!(earlier, Some(3));
        assert!(before(&runs, &runs[4]).is_none());
    }
}
