//! Workflows, run by the workflow-controller of Argo Workflows.

use anyhow::Result;
use cartouche_tests::repository;
use serde_json::{Value, json};

use crate::scene::{Scene, WORKFLOW, cluster_with_argo, examples, ready, retried, with};

/// Returns a Workflow of one pod, which ends as the annotation demands.
fn workflow(outcome: &str, more: Value) -> Value {
    let workflow = json!({
        "serviceAccountName": "pods",
        "entrypoint": "main",
        "podMetadata": { "annotations": { "play.carto.run/outcome": outcome } },
        "templates": [
            {
                "name": "main",
                "container": {
                    "image": "busybox", "command": ["build"],
                    "env": [{ "name": "REVISION", "value": "$(runnable.spec.inputs.revision)$" }],
                },
                "outputs": { "parameters": [{
                    "name": "revision", "globalName": "revision",
                    "valueFrom": { "path": "/tmp/revision" },
                }] },
            },
            { "name": "gate", "steps": [
                [{ "name": "approval", "template": "approval" }],
                [{ "name": "main", "template": "main" }],
            ] },
            { "name": "approval", "suspend": {} },
        ],
    });
    with(workflow, more)
}

fn outputs() -> Value {
    json!({ "outputs": {
        "revision": r#".status.outputs.parameters[?(@.name=="revision")].value"#,
    } })
}

/// Makes a scene in which a run with the revision `v1` is wanted, and pods may report their outputs; `None`
/// if Argo Workflows is not available.
async fn started(workflow: Value) -> Result<Option<Scene>> {
    started_with(workflow, outputs()).await
}

async fn started_with(workflow: Value, template: Value) -> Result<Option<Scene>> {
    let Some(cluster) = cluster_with_argo().await? else {
        return Ok(None);
    };
    let scene = Scene::set(cluster, WORKFLOW).await?;
    scene.let_pods_report().await?;
    let inputs = json!({ "revision": "v1", "outcome": "succeed" });
    scene.start(workflow, template, inputs).await?;
    Ok(Some(scene))
}

#[tokio::test]
async fn a_profile_patches_a_workflow_and_argo_runs_it_so() -> Result<()> {
    let Some(cluster) = cluster_with_argo().await? else {
        return Ok(());
    };
    let scene = Scene::set(cluster, WORKFLOW).await?;
    scene.let_pods_report().await?;
    // The account that the template names may not report the results of pods; that of the profile may.
    scene
        .patched(json!({ "spec": { "serviceAccountName": "pods", "priority": 7 } }))
        .await?;
    let inputs = json!({ "revision": "v1", "outcome": "succeed" });
    let mut spec = workflow("succeed", json!({}));
    spec["serviceAccountName"] = "nobody".into();
    scene.start(spec, outputs(), inputs).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");
    let run = scene.run("to be there", |_| true).await?;
    assert_eq!(run["spec"]["priority"], 7, "{run:#}");
    Ok(())
}

#[tokio::test]
async fn the_workflow_of_the_examples_gives_its_output_parameters() -> Result<()> {
    let Some(cluster) = cluster_with_argo().await? else {
        return Ok(());
    };
    let example = repository().join("examples/argo-workflow");
    cluster.apply_kustomization(&example).await?;
    let it = ready(&examples(&cluster), "letter", "True").await?;
    assert_eq!(it.reason("StampedObjectCondition"), "WorkflowPhase");
    // SHA-256 of `Dear reader`, which the script in the template computes.
    let digest = "6249bd4e8b5ca26dc044b41fec810a39361fbc0cacf80d1c710792c752f90734";
    assert_eq!(it.output("digest"), digest);
    Ok(())
}

#[tokio::test]
async fn a_workflow_that_fails_says_why_and_leaves_the_last_good_outputs() -> Result<()> {
    let as_asked = workflow("$(runnable.spec.inputs.outcome)$", json!({}));
    let Some(scene) = started(as_asked).await? else {
        return Ok(());
    };
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");
    let bad = json!({ "revision": "v2", "outcome": "fail" });
    scene.inputs(bad).await?;
    let it = scene.ready("False").await?;
    assert_eq!(it.reason("Ready"), "WorkflowPhase");
    let message = it.message("Ready");
    assert!(message.contains("exit code 1"), "{message}");
    assert_eq!(it.output("revision"), "v1");
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_workflow_that_a_user_stops_is_not_run_again() -> Result<()> {
    shut_down("Stop").await
}

#[tokio::test]
async fn a_workflow_that_a_user_cancels_is_not_run_again() -> Result<()> {
    shut_down("Terminate").await
}

/// Shuts the Workflow down. `Stop` lets exit handlers run, `Terminate` (which `cartouche cancel` writes) does
/// not.
async fn shut_down(strategy: &str) -> Result<()> {
    let hanging = workflow("hang", json!({}));
    let Some(scene) = started_with(hanging, retried(outputs())).await? else {
        return Ok(());
    };
    let pods = scene.pods(1).await?;
    let run = scene
        .run("the Workflow to be at work", |run| {
            run["status"]["phase"] == "Running"
        })
        .await?;
    let it = scene.ready("Unknown").await?;
    assert_eq!(it.status("Reconciling"), "True");
    scene
        .patch(&run, json!({ "spec": { "shutdown": strategy } }))
        .await?;
    // Argo asks the kubelet to end the containers, which KWOK does only on demand.
    scene.end(&pods[0], "fail").await?;
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    let told = format!("Stopped with strategy '{strategy}'");
    // Argo may see the pod's end before the request.
    let of_pod = message.contains("exit code 1");
    assert!(message.contains(&told) || of_pod, "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_workflow_that_waits_for_approval_is_at_work_until_it_is_resumed() -> Result<()> {
    let gated = workflow("", json!({ "entrypoint": "gate" }));
    let Some(scene) = started(gated).await? else {
        return Ok(());
    };
    let waits = |run: &Value| approval(run).is_some();
    let run = scene.run("the approval to be waited for", waits).await?;
    scene.ready("Unknown").await?;
    // The patch of `argo resume`.
    let node = approval(&run).unwrap_or_default();
    let resumed = json!({ "status": { "nodes": { node: { "phase": "Succeeded" } } } });
    scene.patch(&run, resumed).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");
    scene.never_more_runs_than(1).await
}

/// Returns the node of a Workflow that waits for approval.
fn approval(run: &Value) -> Option<String> {
    let nodes = run["status"]["nodes"].as_object()?;
    let waiting = |node: &&Value| node["type"] == "Suspend" && node["phase"] == "Running";
    let node = nodes.values().find(waiting)?;
    node["id"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_workflow_that_is_suspended_as_a_whole_is_at_work() -> Result<()> {
    let suspended = workflow("", json!({ "suspend": true }));
    let Some(scene) = started(suspended).await? else {
        return Ok(());
    };
    let run = scene.run("the Workflow", |_| true).await?;
    scene.never_more_runs_than(1).await?;
    scene.ready("Unknown").await?;
    scene
        .patch(&run, json!({ "spec": { "suspend": null } }))
        .await?;
    scene.ready("True").await?;
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_workflow_that_its_ttl_deletes_is_not_run_again() -> Result<()> {
    let short = workflow(
        "",
        json!({ "ttlStrategy": { "secondsAfterCompletion": 3 } }),
    );
    let Some(scene) = started(short).await? else {
        return Ok(());
    };
    scene.ready("True").await?;
    scene.runs_gone().await?;
    scene.never_more_runs_than(1).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");
    Ok(())
}
