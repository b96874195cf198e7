//! Pods without any engine: scheduled by kube-scheduler, their containers played by KWOK.

use anyhow::Result;
use serde_json::{Value, json};

use crate::scene::{POD, Scene, cluster};

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

/// The template of a Pod whose container ends as `outcome` says with these last words.
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
