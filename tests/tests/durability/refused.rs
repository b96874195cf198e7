//! Statuses that the API server refuses.

use std::time::Duration;

use anyhow::Result;
use cartouche_tests::{cluster::Seen, controller::Controller};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::json;

use crate::{
    engine::{TRIAL, hangs, succeeds},
    scene::{SOON, Scene},
    sight::{confirmed, output},
};

/// Refuses every status of the scene's Runnables that meets this condition.
async fn refuse(scene: &Scene, when: &str) -> Result<()> {
    let name = &scene.namespace;
    let here = json!({ "matchLabels": { "kubernetes.io/metadata.name": name } });
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [{
                "apiGroups": ["carto.run"], "apiVersions": ["*"], "operations": ["UPDATE"],
                "resources": ["runnables/status"],
            }] },
            "validations": [{ "expression": format!("!({when})"), "message": "not now" }],
        },
    }))?;
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": {
            "policyName": name, "validationActions": ["Deny"],
            "matchResources": { "namespaceSelector": here },
        },
    }))?;
    let cluster = &scene.cluster;
    cluster
        .all()
        .create(&PostParams::default(), &policy)
        .await?;
    cluster
        .all()
        .create(&PostParams::default(), &binding)
        .await?;
    Ok(())
}

async fn allow(scene: &Scene) -> Result<()> {
    let bindings = scene.cluster.all::<ValidatingAdmissionPolicyBinding>();
    bindings
        .delete(&scene.namespace, &DeleteParams::default())
        .await?;
    Ok(())
}

fn refusals(scene: &Scene) -> Result<usize> {
    let written = scene.chronicle.events(|event| {
        let ours = event.resource() == "runnables.carto.run/status"
            && event.user() == Controller::account().user();
        (ours && !event.took_effect()).then_some(())
    })?;
    Ok(written.len())
}

async fn is_refused(scene: &Scene) -> Result<()> {
    let look = || async {
        Ok(match refusals(scene)? {
            0 => Seen::NotYet("no refusal".to_owned()),
            _ => Seen::Done(()),
        })
    };
    scene
        .cluster
        .eventually("a status to be refused", SOON, look)
        .await
}

#[tokio::test]
async fn a_status_that_is_refused_is_tried_less_and_less_often_and_told_of_once() -> Result<()> {
    let scene = Scene::begin("refused").await?;
    let controller = scene.controller(&[]).await?;
    refuse(&scene, "true").await?;
    // Until the policy is in force, statuses may be accepted.
    tokio::time::sleep(Duration::from_secs(3)).await;
    scene.runnable("app", succeeds(1)).await?;
    is_refused(&scene).await?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let tried = refusals(&scene)?;
    assert!(
        (3..=7).contains(&tried),
        "{tried} refusals in half a minute"
    );
    scene.warns("app", "StatusRefused", "not now").await?;
    let told = scene.events("app", "Warning", "StatusRefused").await?;
    assert_eq!(told.len(), 1, "{told:?}");
    let metrics = controller.get("/metrics").await?;
    // Another one may have been refused since the first count.
    let mut counts = tried..=refusals(&scene)?;
    let counted = |count| format!("cartouche_status_errors_total{{verb=\"update\"}} {count}\n");
    let is_counted = counts.any(|count| metrics.contains(&counted(count)));
    assert!(is_counted, "{tried}: {metrics}");
    allow(&scene).await?;
    // Another spec causes a retry at once.
    scene.change("app", succeeds(2)).await?;
    scene.gives("app", 2).await?;
    assert_eq!(scene.made("app")?, [2]);
    scene.nothing_twice()
}

#[tokio::test]
async fn a_run_that_could_not_be_recorded_is_not_made_again_however_long_that_takes() -> Result<()>
{
    let scene = Scene::begin("unrecorded").await?;
    let _controller = scene.controller(&[]).await?;
    refuse(
        &scene,
        "has(object.status.currentRun) && has(object.status.currentRun.uid)",
    )
    .await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    scene.runnable("app", hangs(1)).await?;
    let run = scene.sees("app", 1).await?;
    is_refused(&scene).await?;
    // Gone before any status recorded it, as by a TTL: the controller knows that it made it.
    scene.end(&run, true).await?;
    scene.delete(TRIAL, &run).await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(scene.made("app")?, [1]);
    allow(&scene).await?;
    scene.until("app", "its run", confirmed).await?;
    let runs = scene.trials().list(&ListParams::default()).await?;
    assert!(runs.items.is_empty());
    assert_eq!(scene.made("app")?, [1]);
    assert_eq!(output(&scene.now("app").await?), None);
    scene.nothing_twice()
}
