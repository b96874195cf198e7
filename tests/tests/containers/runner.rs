//! The example runner, on the files that a template gives it.

use anyhow::Result;
use cartouche_tests::{fixture::objects::name_of, kind::JOB};
use serde_json::{Value, json};

use crate::scene::{Scene, message, outputs, pod, with};

const COUNT: [&str; 3] = ["/bin/runner", "count", "$(runnable.spec.inputs.text)$"];

/// Returns the part of a template that has the example run a command and declares outputs of these names.
fn runner(command: &[&str], more: Value, names: &[&str]) -> Value {
    let runner = json!({ "context": true, "args": { "command": command } });
    with(outputs(names), json!({ "runner": with(runner, more) }))
}

/// Starts a Runnable of this template.
async fn started(template: Value) -> Result<Option<Scene>> {
    let Some(scene) = Scene::set().await? else {
        return Ok(None);
    };
    scene.start(pod(&[]), json!({}), template).await?;
    Ok(Some(scene))
}

#[tokio::test]
async fn what_a_runner_says_last_becomes_outputs() -> Result<()> {
    let template = runner(&COUNT, json!({ "timeout": "10m0s" }), &["words", "bytes"]);
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    // Every user may read its files, even if the container may not write to its root.
    let mut pod = pod(&[]);
    pod["spec"]["securityContext"] = json!({ "runAsUser": 1000, "runAsNonRoot": true });
    pod["spec"]["volumes"] = json!([{ "name": "tmp", "emptyDir": {} }]);
    let container = &mut pod["spec"]["containers"][0];
    container["volumeMounts"] = json!([{ "name": "tmp", "mountPath": "/tmp" }]);
    container["securityContext"] = json!({ "readOnlyRootFilesystem": true });
    scene.start(pod, json!({}), template).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it["status"]["outputs"], json!({ "words": 3, "bytes": 13 }));
    scene.change("it", json!({ "text": "four" })).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it["status"]["outputs"], json!({ "words": 1, "bytes": 4 }));
    Ok(())
}

#[tokio::test]
async fn a_dry_run_says_what_it_would_do_and_for_whom() -> Result<()> {
    let names = ["dryRun", "wouldRun", "run", "namespace", "account", "owner"];
    let template = runner(&COUNT, json!({ "dryRun": true }), &names);
    let Some(scene) = started(template).await? else {
        return Ok(());
    };
    let it = scene.ready("True").await?;
    assert_eq!(it["status"]["outputs"], Value::Null, "a dry run gives none");
    let runs = scene.list(JOB, "").await?;
    let states = scene.states().await?;
    let said = states[0]["terminated"]["message"].as_str();
    let said: Value = serde_json::from_str(said.unwrap_or_default())?;
    let wanted = json!({
        "dryRun": true,
        "wouldRun": ["/bin/runner", "count", "one two three"],
        "run": name_of(&runs[0]),
        "namespace": scene.namespace,
        "account": "default",
        "owner": "Runnable it",
    });
    assert_eq!(said, wanted);
    Ok(())
}

#[tokio::test]
async fn a_runner_ends_its_command_at_the_timeout_of_its_context() -> Result<()> {
    let template = runner(&["/bin/runner", "sleep"], json!({ "timeout": "1s" }), &[]);
    let Some(scene) = started(template).await? else {
        return Ok(());
    };
    let it = scene.ready("False").await?;
    let said = message(&it, "Ready");
    assert!(said.contains("exited 124"), "{said}");
    assert!(said.contains("it took longer than 1s"), "{said}");
    // SIGTERM reached it: otherwise the message after 20 s would be that it goes on.
    assert!(said.contains("it then ended as if it were done"), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_runner_says_which_of_its_files_it_lacks() -> Result<()> {
    let template = runner(&COUNT, json!({ "context": false }), &[]);
    let Some(scene) = started(template).await? else {
        return Ok(());
    };
    let it = scene.ready("False").await?;
    let said = message(&it, "Ready");
    assert!(said.contains("exited 2"), "{said}");
    assert!(said.contains("RUNNER_CONTEXT_PATH"), "{said}");
    Ok(())
}
