//! Profiles that change while a create has no answer.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Seen,
    controller::Controller,
    fault_proxy::{Call, FaultProxy},
    fixture::objects::condition,
    kind::{PROFILE, RUNNABLE},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    DEMO,
    engine::{TRIAL, succeeds},
    scene::{SOON, Scene},
};

/// Writes a profile of the scene's template that gives runs this colour; it is the same one each time.
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
    // A create is given up soon, and still arrives.
    let arguments = ["--namespace", &scene.namespace, "--request-timeout", "2"];
    let settings = proxy.settings(&scene.cluster, &arguments).await?;
    let controller = Controller::start(DEMO, &scene.cluster, &settings).await?;
    paints(&scene, "red").await?;
    let create = Call::new("create", TRIAL.audited());
    proxy.hold(Box::new(move |call, _| *call == create));
    let spec = json!({ "inputs": succeeds(1) });
    scene.runnable_with("app", spec).await?;
    let come = |count: usize| {
        let (proxy, scene) = (&proxy, &scene);
        async move {
            let what = format!("{count} creates to wait");
            let looking = || async {
                sleep(Duration::from_millis(20)).await;
                let status = scene.get(RUNNABLE, "app").await?["status"].take();
                Ok(if proxy.held() >= count {
                    Seen::Done(())
                } else {
                    Seen::NotYet(format!("{} creates; {status}", proxy.held()))
                })
            };
            scene.cluster.eventually(&what, SOON, looking).await
        }
    };
    come(1).await?;
    paints(&scene, "blue").await?;
    // The earlier create has no answer, and is repeated with the present profile.
    come(2).await?;
    proxy.release();
    scene.all_give(&["app".to_owned()], 1).await?;
    let runs = scene.runs(TRIAL, "app").await?;
    ensure!(runs.len() == 1, "{runs:#?}");
    // The first to arrive has made the run, with the profile of that time.
    let run = serde_json::to_value(&runs[0])?;
    let (colour, version) = (
        &run["metadata"]["labels"]["colour"],
        &run["metadata"]["annotations"]["carto.run/profile"],
    );
    let of = |generation: i64| format!("{}@{generation}", scene.namespace);
    let is_one_of_them = [("red", of(1)), ("blue", of(2))];
    ensure!(
        is_one_of_them
            .iter()
            .any(|(its, at)| colour == its && *version == at.as_str()),
        "{run:#}"
    );
    drop(controller);
    Ok(())
}
