//! Pods without any engine: scheduled by kube-scheduler, their containers played by KWOK.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cartouche_tests::{fixture::objects::text, kind::RUNNABLE};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::scene::{POD, Scene, cluster, condition, with};

async fn scene() -> Result<Scene> {
    Scene::set(cluster().await?, POD).await
}

fn pod() -> Value {
    json!({
        "restartPolicy": "Never",
        "containers": [{
            "name": "work", "image": "busybox",
            "env": [{ "name": "VERSION", "value": "$(runnable.spec.inputs.version)$" }],
        }],
    })
}

/// Returns the template of a Pod whose container has this outcome and last message.
fn says(outcome: &str, message: &str, outputs: &Value) -> Value {
    let annotations =
        json!({ "play.carto.run/outcome": outcome, "play.carto.run/message": message });
    json!({ "annotations": annotations, "outputs": outputs })
}

#[tokio::test]
async fn a_pod_gives_what_its_container_said_last() -> Result<()> {
    let scene = scene().await?;
    let said = json!({ "digest": "sha256:abc", "layers": 3 }).to_string();
    let outputs = json!({
        "digest": ".terminationMessage.digest", "layers": ".terminationMessage.layers",
        "version": ".spec.containers[0].env[0].value",
    });
    let version = json!({ "version": "v1" });
    scene
        .start(pod(), says("", &said, &outputs), version)
        .await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.reason("StampedObjectCondition"), "PodPhase");
    assert_eq!(it.output("digest"), "sha256:abc");
    assert_eq!(it.output("layers"), 3);
    assert_eq!(it.output("version"), "v1");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn last_words_that_are_no_json_are_a_text() -> Result<()> {
    let scene = scene().await?;
    let outputs = json!({ "said": ".terminationMessage" });
    let version = json!({ "version": "v1" });
    let template = says("", "all {good}\n", &outputs);
    scene.start(pod(), template, version).await?;
    let it = scene.ready("True").await?;
    let said = it.output("said").as_str().unwrap_or_default();
    assert_eq!(said.trim(), "all {good}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_pod_that_fails_is_not_run_again_and_gives_nothing() -> Result<()> {
    let scene = scene().await?;
    let outputs = json!({ "said": ".terminationMessage" });
    let version = json!({ "version": "v1" });
    let template = says("fail", "broken", &outputs);
    scene.start(pod(), template, version).await?;
    let it = scene.ready("False").await?;
    assert_eq!(it.reason("Ready"), "PodPhase");
    assert_eq!(it.status("Stalled"), "True");
    assert!(it.output("said").is_null());
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_finished_pod_that_is_collected_is_not_run_again() -> Result<()> {
    let scene = scene().await?;
    let outputs = json!({ "said": ".terminationMessage" });
    let version = json!({ "version": "v1" });
    scene
        .start(pod(), says("", "done", &outputs), version)
        .await?;
    scene.ready("True").await?;
    let run = scene.run("the Pod", |_| true).await?;
    scene.delete(&run).await?;
    scene.runs_gone().await?;
    scene.never_more_runs_than(1).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("said"), "done");
    Ok(())
}

/// The scheduler takes it up once it has no gate any more.
#[tokio::test]
async fn a_pod_behind_a_gate_is_not_timed_out_before_it_is_let_go() -> Result<()> {
    let scene = Scene::with_stops(cluster().await?, POD).await?;
    let gated = with(
        pod(),
        json!({ "schedulingGates": [{ "name": "lab.test/queue" }] }),
    );
    let template = with(says("hang", "", &json!({})), json!({ "timeout": "6s" }));
    scene
        .start(gated, template, json!({ "version": "v1" }))
        .await?;
    let queued =
        |it: &Value| text(&condition(it, "Ready")["message"]).starts_with("it is queued (");
    scene
        .observed(RUNNABLE, "it", "to be queued", queued)
        .await?;
    tokio::time::sleep(Duration::from_secs(18)).await;
    let it = scene.get(RUNNABLE, "it").await?;
    ensure!(
        queued(&it) && it["status"]["currentRun"]["stop"].is_null(),
        "{it:#}"
    );
    let run = scene.run("the Pod", |_| true).await?;
    let let_go = json!({ "spec": { "schedulingGates": null } });
    scene.patch(&run, let_go).await?;
    let begun = scene.run("to be scheduled", |pod| pod["spec"]["nodeName"].is_string());
    let pod = begun.await?;
    let is_told = |it: &Value| it["status"]["currentRun"]["stop"]["reason"] == "TimedOut";
    let it = scene
        .observed(RUNNABLE, "it", "to be timed out", is_told)
        .await?;
    let conditions = pod["status"]["conditions"].as_array();
    let scheduled = conditions
        .into_iter()
        .flatten()
        .find(|it| it["type"] == "PodScheduled");
    let since: Timestamp =
        text(&scheduled.context("no condition")?["lastTransitionTime"]).parse()?;
    let at: Timestamp = text(&it["status"]["currentRun"]["stop"]["at"]).parse()?;
    let worked = at.duration_since(since).as_secs();
    ensure!((6..30).contains(&worked), "{worked} s");
    scene.never_more_runs_than(1).await
}
