//! The example runner, on files as Capact's runners read them.

use anyhow::Result;
use serde_json::{Value, json};

use crate::scene::{Scene, message, outputs, pod};

/// A pod with the example runner, which finds its context and its arguments in files.
fn runner(timeout: &str, dry_run: bool, command: &[&str]) -> Value {
    let context = json!({
        "name": "it-1",
        "dryRun": dry_run,
        "timeout": timeout,
        "platform": {
            "namespace": "$(runnable.metadata.namespace)$",
            "serviceAccountName": "default",
            "ownerRef": {
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
                "name": "$(runnable.metadata.name)$", "uid": "$(runnable.metadata.uid)$",
            },
        },
    });
    let args = json!({ "command": command });
    let mut pod = pod(&[]);
    pod["metadata"]["annotations"] = json!({
        "carto.run/runner-context": context.to_string(),
        "carto.run/runner-args": args.to_string(),
    });
    let (mut items, mut mounts, mut variables) = (vec![], vec![], vec![]);
    for (name, variable) in [
        ("context", "RUNNER_CONTEXT_PATH"),
        ("args", "RUNNER_ARGS_PATH"),
    ] {
        let annotation = format!("metadata.annotations['carto.run/runner-{name}']");
        let path = format!("/runner.d/{name}.yaml");
        items.push(json!({ "path": name, "fieldRef": { "fieldPath": annotation } }));
        mounts
            .push(json!({ "name": "files", "mountPath": path, "subPath": name, "readOnly": true }));
        variables.push(json!({ "name": variable, "value": path }));
    }
    pod["spec"]["volumes"] = json!([{ "name": "files", "downwardAPI": { "items": items } }]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!(mounts);
    pod["spec"]["containers"][0]["env"] = json!(variables);
    pod
}

const COUNT: [&str; 3] = ["/runner", "count", "$(runnable.spec.inputs.text)$"];

#[tokio::test]
async fn what_a_runner_says_last_becomes_outputs() -> Result<()> {
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    let pod = runner("10m0s", false, &COUNT);
    scene
        .start(pod, json!({}), outputs(&["words", "bytes"]))
        .await?;
    let it = scene.ready("True").await?;
    assert_eq!(it["status"]["outputs"], json!({ "words": 3, "bytes": 13 }));
    scene.change("it", json!({ "text": "four" })).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it["status"]["outputs"], json!({ "words": 1, "bytes": 4 }));
    Ok(())
}

#[tokio::test]
async fn a_dry_run_says_what_it_would_do_and_does_nothing() -> Result<()> {
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    let pod = runner("10m", true, &COUNT);
    let names = ["dryRun", "wouldRun"];
    scene.start(pod, json!({}), outputs(&names)).await?;
    let it = scene.ready("True").await?;
    let wanted = json!({ "dryRun": true, "wouldRun": ["/runner", "count", "one two three"] });
    assert_eq!(it["status"]["outputs"], wanted);
    Ok(())
}

#[tokio::test]
async fn a_runner_ends_at_the_timeout_of_its_context() -> Result<()> {
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    let pod = runner("1s", false, &["/runner", "sleep"]);
    scene.start(pod, json!({}), json!({})).await?;
    let it = scene.ready("False").await?;
    let said = message(&it, "Ready");
    assert!(said.contains("it took longer than 1s"), "{said}");
    assert_eq!(scene.terminated().await?["exitCode"], 124);
    Ok(())
}

#[tokio::test]
async fn a_runner_says_which_of_its_files_is_wrong() -> Result<()> {
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    let pod = runner("ten minutes", false, &COUNT);
    scene.start(pod, json!({}), json!({})).await?;
    let it = scene.ready("False").await?;
    let said = message(&it, "Ready");
    assert!(said.contains("\"ten minutes\" is no duration"), "{said}");
    assert_eq!(scene.terminated().await?["exitCode"], 2);
    Ok(())
}
