//! The requests for a re-run or a stop, with the user and the reason. Runs carry them, so that they are known as long
//! as the runs exist.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{
    CANCEL_REQUEST_ANNOTATION, Cancellation, RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION,
    RUN_SEQUENCE_LABEL, RUNNABLE_UID_LABEL, RerunRequest, RunResult, Runnable,
};
use cartouche_engines::ended_at;
use cartouche_language::label_value;
use cartouche_protocol::status::RunState;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, ObjectMeta},
    core::DynamicObject,
};
use serde_json::Value;

use crate::{
    cluster::{Cluster, within},
    live::runs::LedgerRun,
};

/// Adds the requests that the objects of the runs carry, or the Runnable for a run without an object. Objects that
/// the user may not read add nothing.
pub(crate) async fn add(
    runs: &mut [LedgerRun],
    runnable: &Runnable,
    cluster: &Cluster,
) -> anyhow::Result<()> {
    let uid = runnable.uid().unwrap_or_default();
    let kinds: BTreeSet<(String, String)> = runs
        .iter()
        .map(|run| (run.api_version.clone(), run.kind.clone()))
        .collect();
    for (api_version, kind) in kinds {
        let Some(served) = cluster.find_kind(&api_version, &kind).await? else {
            continue;
        };
        let api = cluster.objects(&served);
        let parameters =
            ListParams::default().labels(&format!("{RUNNABLE_UID_LABEL}={}", label_value(&uid)));
        let listed = within("listing the runs", api.list(&parameters)).await;
        let objects: Vec<DynamicObject> = match listed {
            Ok(listed) => listed.items,
            // The objects may be too large together; the requests are in the metadata.
            Err(_) => bare(&api, &parameters).await,
        };
        let objects: BTreeMap<String, &DynamicObject> = objects
            .iter()
            .map(|object| (object.name_any(), object))
            .collect();
        for run in runs.iter_mut().filter(|run| run.kind == kind) {
            if let Some(object) = objects.get(&run.name) {
                note(run, &object.metadata);
                if object.metadata.uid == run.uid {
                    let json = serde_json::to_value(object)?;
                    run.ended_at = ended_at((&api_version, &kind), &json).map(Time);
                }
            }
        }
    }
    add_asked(runs, runnable);
    Ok(())
}

/// Returns the metadata of the runs, or none if the user may not list them.
async fn bare(api: &Api<DynamicObject>, parameters: &ListParams) -> Vec<DynamicObject> {
    let listed = within("listing the runs", api.list_metadata(parameters)).await;
    let listed = listed.map(|list| list.items).unwrap_or_default();
    let bare = listed.into_iter().map(|it| DynamicObject {
        types: None,
        metadata: it.metadata,
        data: Value::Null,
    });
    bare.collect()
}

/// Adds the request that the Runnable still carries.
fn add_asked(runs: &mut [LedgerRun], runnable: &Runnable) {
    let Some(request) = runnable.annotations().get(RERUN_REQUEST_ANNOTATION) else {
        return;
    };
    for run in runs.iter_mut().filter(|run| run.rerun_request.is_none()) {
        let token = run.rerun_token.as_deref();
        run.rerun_request = token.and_then(|token| RerunRequest::parse(request, token));
    }
}

/// Adds to a run the requests that its object carries.
fn note(run: &mut LedgerRun, metadata: &ObjectMeta) {
    if let Some(request) = parse_request(metadata) {
        run.rerun_token = Some(request.token.clone());
        run.rerun_request = Some(request);
    }
    run.cancel_request = cancellation(metadata);
}

/// Returns the request that a run answers, or `None`.
fn parse_request(metadata: &ObjectMeta) -> Option<RerunRequest> {
    metadata.labels.as_ref()?.get(RUN_SEQUENCE_LABEL)?;
    let annotations = metadata.annotations.as_ref()?;
    let token = annotations.get(RERUN_TOKEN_ANNOTATION)?;
    let request = annotations
        .get(RERUN_REQUEST_ANNOTATION)
        .and_then(|text| RerunRequest::parse(text, token));
    Some(request.unwrap_or_else(|| RerunRequest {
        token: token.clone(),
        ..RerunRequest::default()
    }))
}

/// Returns the request to stop a run, as its object carries it.
pub(crate) fn cancellation(metadata: &ObjectMeta) -> Option<Cancellation> {
    metadata.labels.as_ref()?.get(RUN_SEQUENCE_LABEL)?;
    let annotations = metadata.annotations.as_ref()?;
    Cancellation::parse(annotations.get(CANCEL_REQUEST_ANNOTATION)?)
}

/// Returns a text such as `stopped by alice: the wrong branch`, or `None` if the run succeeded all the same.
pub(crate) fn describe_stop(run: &LedgerRun) -> Option<String> {
    let request = run.cancel_request.as_ref().map(ToString::to_string);
    let stopped = request.or_else(|| run.stop.as_ref().map(ToString::to_string))?;
    match run.state {
        RunState::Ended(RunResult::Succeeded) | RunState::OutputsUnread => None,
        RunState::Ended(_) => Some(stopped),
        _ => Some(format!("to be {stopped}")),
    }
}

/// Returns the first line of a run's message, with who had it stopped.
pub(crate) fn message(run: &LedgerRun) -> String {
    let message = run.message.lines().next().unwrap_or_default();
    match (describe_stop(run), message) {
        (None, message) => message.to_owned(),
        (Some(stopped), message) if message.contains(&stopped) => message.to_owned(),
        (Some(stopped), "") => stopped,
        (Some(stopped), message) => format!("{stopped} ({message})"),
    }
}

/// Returns the request that a run answers; at least its token.
pub(crate) fn request(run: &LedgerRun, token: &str) -> RerunRequest {
    run.rerun_request.clone().unwrap_or_else(|| RerunRequest {
        token: token.to_owned(),
        ..RerunRequest::default()
    })
}

/// Returns a text such as `alice: the registry was down`, or the token if nothing else is known.
pub(crate) fn asked_for(run: &LedgerRun) -> String {
    let Some(request) = &run.rerun_request else {
        return run.rerun_token.clone().unwrap_or_default();
    };
    let reason = request.reason.lines().next().unwrap_or_default();
    match (request.by.as_str(), reason) {
        ("", "") => request.token.clone(),
        ("", reason) => reason.to_owned(),
        (by, "") => by.to_owned(),
        (by, reason) => format!("{by}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(request: &str) -> ObjectMeta {
        serde_json::from_value(json!({
            "labels": { "carto.run/run-sequence": "3" },
            "annotations": { "carto.run/rerun-token": "again", "carto.run/rerun-request": request },
        }))
        .unwrap()
    }

    #[test]
    fn a_run_says_who_asked_for_it_and_why() {
        let request = parse_request(&metadata(
            r#"{"token":"again","by":"alice","reason":"disk full"}"#,
        ));
        let request = request.unwrap();
        assert_eq!(
            (request.by.as_str(), request.reason.as_str()),
            ("alice", "disk full")
        );
    }

    fn run(state: RunState, message: &str) -> LedgerRun {
        let mut run = crate::live::runs::tests::some_runs().swap_remove(0);
        (run.state, run.message) = (state, message.to_owned());
        run
    }

    #[test]
    fn a_run_that_was_stopped_says_by_whom_and_why_beside_what_its_engine_says() {
        let metadata = serde_json::from_value(json!({
            "labels": { "carto.run/run-sequence": "3" },
            "annotations": { "carto.run/cancel-request": r#"{"by":"alice","reason":"the wrong branch"}"# },
        }));
        let metadata: ObjectMeta = metadata.unwrap();
        let told = |state, words: &str| {
            let mut run = run(state, words);
            note(&mut run, &metadata);
            message(&run)
        };
        let failed = RunState::Ended(RunResult::Failed);
        let stopped = "stopped by alice: the wrong branch";
        assert_eq!(told(failed, "too long"), format!("{stopped} (too long)"));
        assert_eq!(told(failed, ""), stopped);
        let told_already = format!("Job failed, {stopped}");
        assert_eq!(told(failed, &told_already), told_already);
        assert_eq!(told(RunState::Running, ""), format!("to be {stopped}"));
        assert_eq!(told(RunState::Ended(RunResult::Succeeded), "ok"), "ok");
    }

    #[test]
    fn who_asked_for_a_run_that_is_not_there_stands_in_the_runnable() {
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello", "annotations": {
                "carto.run/rerun-request": r#"{"token":"again","by":"alice","reason":"disk full"}"#,
            } },
            "spec": { "runTemplateRef": { "name": "greet" } },
        });
        let runnable = serde_json::from_value(runnable).unwrap();
        let mut runs = crate::live::runs::tests::some_runs();
        runs[0].rerun_token = Some("again".to_owned());
        runs[1].rerun_token = Some("before".to_owned());
        add_asked(&mut runs, &runnable);
        assert_eq!(asked_for(&runs[0]), "alice: disk full");
        assert_eq!(asked_for(&runs[1]), "before");
        assert_eq!(asked_for(&runs[2]), "");
    }

    #[test]
    fn words_of_another_request_are_not_believed() {
        let request = parse_request(&metadata(r#"{"token":"before","by":"alice"}"#)).unwrap();
        assert_eq!((request.token.as_str(), request.by.as_str()), ("again", ""));
    }
}
