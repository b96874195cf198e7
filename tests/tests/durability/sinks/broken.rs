//! Objects that outputs are written to, by a controller whose requests and watches break.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cartouche_crds::{RunResult, Runnable};
use cartouche_tests::{
    cluster::Seen,
    controller::Controller,
    fault_proxy::{Call, Fault, FaultProxy},
    kind::CONFIG_MAP,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    DEMO,
    engine::{TRIAL, succeeds},
    scene::{SOON, Scene},
};

async fn scene(name: &str) -> Result<Scene> {
    let scene = Scene::begin(name).await?;
    let rights = [
        TRIAL.rights_of_a_runnable(),
        CONFIG_MAP.rights(&["get", "create", "update", "delete"]),
    ];
    scene.cluster.grant(&scene.account, &rights).await?;
    Ok(scene)
}

async fn behind_a_proxy(scene: &Scene, arguments: &[&str]) -> Result<(FaultProxy, Controller)> {
    let (proxy, _) = FaultProxy::start(&scene.cluster, &scene.namespace).await?;
    let own = ["--namespace", &scene.namespace];
    let arguments: Vec<&str> = own.iter().chain(arguments).copied().collect();
    let settings = proxy.settings(&scene.cluster, &arguments).await?;
    let controller = Controller::start(DEMO, &scene.cluster, &settings).await?;
    Ok((proxy, controller))
}

fn to(name: &str) -> Value {
    json!({ "kind": "ConfigMap", "name": name })
}

async fn has(scene: &Scene, name: &str, data: Value) -> Result<Value> {
    let what = format!("{name} to have {data}");
    let looking = || async {
        let found = scene.find(CONFIG_MAP, name).await?;
        Ok(match found {
            Some(found) if found["data"] == data => Seen::Done(found),
            found => Seen::NotYet(format!("{found:?}")),
        })
    };
    scene.cluster.eventually(&what, SOON, looking).await
}

async fn waits(proxy: &FaultProxy, scene: &Scene) -> Result<()> {
    let looking = || async {
        let is_held = proxy.held() > 0;
        sleep(Duration::from_millis(20)).await;
        Ok(if is_held {
            Seen::Done(())
        } else {
            Seen::NotYet("no request".to_owned())
        })
    };
    scene
        .cluster
        .eventually("a request to wait", SOON, looking)
        .await
}

#[tokio::test]
async fn what_happens_to_a_sink_in_a_gap_of_the_watch_is_seen_after_it() -> Result<()> {
    let scene = scene("gap").await?;
    let (proxy, _controller) = behind_a_proxy(&scene, &[]).await?;
    let spec = json!({ "inputs": succeeds(1), "writeOutputsTo": [to("app")] });
    scene.runnable_with("app", spec).await?;
    scene.all_give(&["app".to_owned()], 1).await?;
    has(&scene, "app", json!({ "value": "1" })).await?;
    let event = Call::new("event", "configmaps");
    proxy.begin(Box::new(move |call, count| {
        (*call == event && count == 1).then_some(Fault::Gone)
    }));
    let patch = json!({ "data": { "value": "2" } });
    scene.patch_of(CONFIG_MAP, "app", patch).await?;
    has(&scene, "app", json!({ "value": "1" })).await?;
    assert_eq!(proxy.broken(), 1, "the event was lost");
    Ok(())
}

#[tokio::test]
async fn a_sink_that_does_not_answer_keeps_no_result_from_being_recorded() -> Result<()> {
    let scene = scene("slow").await?;
    let (proxy, _controller) = behind_a_proxy(&scene, &["--request-timeout", "2"]).await?;
    let create = Call::new("create", "configmaps");
    proxy.hold(Box::new(move |call, _| *call == create));
    let spec = json!({ "inputs": succeeds(1), "writeOutputsTo": [to("app")] });
    scene.runnable_with("app", spec).await?;
    let is_recorded = |runnable: &Runnable| {
        let status = runnable.status.as_ref();
        status.is_some_and(|status| {
            let current = status.current_run.as_ref();
            let result = current.and_then(|run| run.result);
            let behind = status.sinks.iter().any(|sink| sink.behind);
            result == Some(RunResult::Succeeded) && status.outputs.is_some() && behind
        })
    };
    scene.until("app", "its result", is_recorded).await?;
    ensure!(proxy.held() > 0, "no create was sent");
    ensure!(scene.find(CONFIG_MAP, "app").await?.is_none());
    proxy.release();
    has(&scene, "app", json!({ "value": "1" })).await?;
    scene.all_give(&["app".to_owned()], 1).await
}

#[tokio::test]
async fn a_sink_that_is_wanted_again_is_not_deleted_by_whoever_was_kept_for_long() -> Result<()> {
    let scene = scene("kept").await?;
    let (proxy, _controller) = behind_a_proxy(&scene, &[]).await?;
    let spec = |keys: Value, all: bool| {
        let mut first = to("a");
        first["keys"] = keys;
        let both = vec![first, to("b")];
        let wanted: Vec<Value> = both.into_iter().take(if all { 2 } else { 1 }).collect();
        json!({ "spec": { "writeOutputsTo": wanted } })
    };
    let mut first = spec(json!({ "value": "A" }), true)["spec"].take();
    first["inputs"] = succeeds(1);
    scene.runnable_with("app", first).await?;
    scene.all_give(&["app".to_owned()], 1).await?;
    let before = has(&scene, "b", json!({ "value": "1" })).await?;
    proxy.begin(Box::new(|_, _| None));
    let update = Call::new("update", "configmaps");
    proxy.hold(Box::new(move |call, _| *call == update));
    scene
        .patch("app", spec(json!({ "value": "B" }), false))
        .await?;
    waits(&proxy, &scene).await?;
    scene
        .patch("app", spec(json!({ "value": "B" }), true))
        .await?;
    // Longer than a read of the Runnable may be used, and shorter than a request may take.
    sleep(Duration::from_secs(11)).await;
    proxy.release();
    has(&scene, "a", json!({ "B": "1" })).await?;
    scene.all_give(&["app".to_owned()], 1).await?;
    let after = scene.find(CONFIG_MAP, "b").await?.context("it is gone")?;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    let deleted = Call::new("delete", "configmaps");
    let calls = proxy.calls();
    ensure!(
        !calls.iter().any(|counted| counted.call == deleted),
        "{calls:?}"
    );
    Ok(())
}
