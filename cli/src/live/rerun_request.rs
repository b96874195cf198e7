//! Who asked for which re-run, and why. Runs carry it, so that it is known as long as they are there.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{
    RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION, RUN_SEQUENCE_LABEL, RUNNABLE_UID_LABEL,
    RerunRequest, Runnable,
};
use cartouche_templating::label_value;
use kube::{
    ResourceExt as _,
    api::{ListParams, ObjectMeta, PartialObjectMeta},
    core::DynamicObject,
};

use crate::{
    cluster::{Cluster, within},
    live::runs::LedgerRun,
};

/// Adds to the runs what their objects say. What may not be read stays unknown.
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
        let Some(served) = cluster.served(&api_version, &kind).await? else {
            continue;
        };
        let api = cluster.objects(&served);
        let parameters =
            ListParams::default().labels(&format!("{RUNNABLE_UID_LABEL}={}", label_value(&uid)));
        let listed = within("listing the runs", api.list_metadata(&parameters)).await;
        let objects: Vec<PartialObjectMeta<DynamicObject>> =
            listed.map(|list| list.items).unwrap_or_default();
        let requests: BTreeMap<String, RerunRequest> = objects
            .iter()
            .filter_map(|object| Some((object.name_any(), of(&object.metadata)?)))
            .collect();
        for run in runs.iter_mut().filter(|run| run.kind == kind) {
            if let Some(request) = requests.get(&run.name) {
                run.rerun_token = Some(request.token.clone());
                run.rerun_request = Some(request.clone());
            }
        }
    }
    Ok(())
}

/// What a run says of the request that it answers.
fn of(metadata: &ObjectMeta) -> Option<RerunRequest> {
    metadata.labels.as_ref()?.get(RUN_SEQUENCE_LABEL)?;
    let annotations = metadata.annotations.as_ref()?;
    let token = annotations.get(RERUN_TOKEN_ANNOTATION)?;
    let request = annotations
        .get(RERUN_REQUEST_ANNOTATION)
        .and_then(|text| RerunRequest::of(text, token));
    Some(request.unwrap_or_else(|| RerunRequest {
        token: token.clone(),
        ..RerunRequest::default()
    }))
}

/// `alice: the registry was down`, or the token where nothing else is known.
pub(crate) fn summary(run: &LedgerRun) -> String {
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
        let request = of(&metadata(
            r#"{"token":"again","by":"alice","reason":"disk full"}"#,
        ));
        let request = request.unwrap();
        assert_eq!(
            (request.by.as_str(), request.reason.as_str()),
            ("alice", "disk full")
        );
    }

    #[test]
    fn words_of_another_request_are_not_believed() {
        let request = of(&metadata(r#"{"token":"before","by":"alice"}"#)).unwrap();
        assert_eq!((request.token.as_str(), request.by.as_str()), ("again", ""));
    }
}
