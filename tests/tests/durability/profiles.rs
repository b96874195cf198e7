//! Profiles that change while a create has no answer.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Seen,
    controller::Controller,
    fault_proxy::{Call, Fault, FaultProxy},
    fixture::objects::condition,
    kind::PROFILE,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    DEMO,
    engine::{TRIAL, succeeds},
    scene::{SOON, Scene},
};

/// A profile of the scene's template that gives runs this colour; it is the same one each time.
async fn paints(scene: &Scene, colour: &str) -> Result<()> {
    let patch = json!({ "metadata": { "labels": { "colour": colour } } });
    let profile = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile", "metadata": { "name": scene.namespace },
        "spec": {
            "rules": [{ "templates": [scene.namespace] }],
            "patches": [{ "apiVersion": TRIAL.api_version(), "kind": TRIAL.name, "patch": patch }],
        },
    });
    scene.put(profile).await?;
    let is_known = |it: &Value| {
        condition(it, "Accepted")["status"] == "True"
            && it["status"]["observedGeneration"] == it["metadata"]["generation"]
    };
    let name = &scene.namespace;
    scene
        .observed(PROFILE, name, "to be accepted", is_known)
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_profile_that_is_edited_while_a_create_has_no_answer_makes_no_second_run() -> Result<()> {
    let scene = Scene::begin("profile-answer").await?;
    let (proxy, _) = FaultProxy::start(&scene.cluster, &scene.namespace).await?;
    let settings = proxy
        .settings(&scene.cluster, &["--namespace", &scene.namespace])
        .await?;
    let controller = Controller::start(DEMO, &scene.cluster, &settings).await?;
    paints(&scene, "red").await?;
    let create = Call::new("create", "trials.lab.test");
    let held = create.clone();
    proxy.hold(Box::new(move |call, _| *call == held));
    let lost = create.clone();
    proxy.begin(Box::new(move |call, count| {
        (*call == lost && count == 1).then_some(Fault::LostReply)
    }));
    scene
        .runnable("app", json!({ "inputs": succeeds(1) }))
        .await?;
    let waits = || async {
        sleep(Duration::from_millis(20)).await;
        Ok(if proxy.held() > 0 {
            Seen::Done(())
        } else {
            Seen::NotYet("no create".to_owned())
        })
    };
    scene
        .cluster
        .eventually("a create to wait", SOON, waits)
        .await?;
    paints(&scene, "blue").await?;
    proxy.release();
    scene.all_give(&["app".to_owned()], 1).await?;
    ensure!(proxy.broken() == 1, "the answer was lost");
    let runs = scene.runs(TRIAL, "app").await?;
    ensure!(runs.len() == 1, "{runs:#?}");
    let run = serde_json::to_value(&runs[0])?;
    ensure!(run["metadata"]["labels"]["colour"] == "red", "{run:#}");
    let version = format!("{}@1", scene.namespace);
    ensure!(
        run["metadata"]["annotations"]["carto.run/profile"] == version,
        "{run:#}"
    );
    drop(controller);
    Ok(())
}
