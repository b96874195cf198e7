//! The API server does not list its kinds for a while.

use anyhow::Result;
use cartouche_tests::{
    fault_proxy::Fault,
    faults::{
        scenario::{gives, selector, sources},
        stage::{APP, Stage},
    },
    lab::{TRIAL, succeeds},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{DEMO, cluster};

async fn patched(stage: &Stage, name: &str, annotation: &str) -> Result<()> {
    let annotations = json!({ "lab.test/touched": annotation });
    stage
        .patch(name, json!({ "metadata": { "annotations": annotations } }))
        .await
}

/// Makes every controller forget the known kinds.
async fn definitions_change(stage: &Stage) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(stage.cluster.client());
    let annotations = json!({ "lab.test/touched": stage.namespace });
    let patch: Value = json!({ "metadata": { "annotations": annotations } });
    let patch = Patch::Merge(patch);
    api.patch("recluses.lab.test", &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// A controller that got such an answer once missed all later changes, and took its old selection for the
/// present state, for good.
#[tokio::test]
async fn a_selected_object_that_changes_meanwhile_is_noticed() -> Result<()> {
    let cluster = cluster().await?;
    let stage = Stage::set(DEMO, &cluster, "unlisted").await?;
    sources(&stage).await?;
    // The other keeps the watch of selected objects open.
    for (name, pick) in [(APP, "one"), ("other", "two")] {
        stage
            .runnable(
                name,
                json!({ "inputs": succeeds(0), "selector": selector(pick) }),
            )
            .await?;
    }
    stage.start_controller().await?;
    stage.until(APP, "its output", |r| gives(r, 1, 1)).await?;
    stage
        .until("other", "its output", |r| gives(r, 1, 2))
        .await?;

    stage.proxy.begin(Box::new(|call, _| {
        (call.verb == "discover").then_some(Fault::Internal)
    }));
    definitions_change(&stage).await?;
    // The controller gathers such events for a moment, and only then treats its knowledge as old.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let stuck = |runnable: &cartouche_crds::Runnable| {
        let conditions = runnable.status.iter().flat_map(|status| &status.conditions);
        conditions
            .into_iter()
            .any(|condition| condition.type_ == "RunTemplateReady" && condition.status == "False")
    };
    patched(&stage, APP, "meanwhile").await?;
    stage.until(APP, "a word that it is stuck", stuck).await?;
    let sources: Api<DynamicObject> =
        Api::namespaced_with(cluster.client(), &stage.namespace, &TRIAL.resource());
    let change = Patch::Merge(json!({ "spec": { "value": 5 } }));
    sources
        .patch("source-one", &PatchParams::default(), &change)
        .await?;
    // Another request after the event: the one that is stuck retries again and again.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    stage.proxy.spare();
    stage
        .until(APP, "the new value", |r| gives(r, 2, 5))
        .await?;
    Ok(())
}
