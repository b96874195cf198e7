//! Timeouts, as each engine knows how to stop: its word ends the run, and its way to stop is not taken for a person's.

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Cluster,
    fixture::objects::{condition, text},
    kind::RUNNABLE,
};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::scene::{
    JOB, Kind, POD, Scene, TASK_RUN, WORKFLOW, cluster, cluster_with_argo, cluster_with_tekton,
    retried,
};

/// A scene whose account may stop runs as well.
async fn scene(cluster: Cluster, kind: Kind) -> Result<Scene> {
    let scene = Scene::set(cluster, kind).await?;
    let rights = [kind.rights_of_a_runnable(), kind.rights(&["patch"])];
    scene.allow("default", &rights).await?;
    Ok(scene)
}

/// A template of runs that hang, may work for a few seconds, and are tried again once.
fn hanging() -> Value {
    let annotations = json!({ "play.carto.run/outcome": "hang" });
    let template = json!({ "timeout": "5s", "annotations": annotations });
    retried(template)
}

fn containers() -> Value {
    json!([{ "name": "work", "image": "busybox", "command": ["work"] }])
}

/// Both runs are stopped, the second one for good; an engine's own way to be stopped is not taken for a person's.
async fn both_are_stopped(scene: &Scene, engine: &str) -> Result<()> {
    let is_stalled = |it: &Value| condition(it, "Stalled")["status"] == "True";
    let it = scene
        .observed(RUNNABLE, "it", "to have failed for good", is_stalled)
        .await?;
    let said = text(&condition(&it, "Ready")["message"]);
    ensure!(
        said.contains("by its timeout") && said.contains(engine),
        "{said}"
    );
    let current = &it["status"]["currentRun"];
    assert_eq!(
        (&current["attempt"], &current["stop"]["reason"]),
        (&json!(2), &json!("TimedOut"))
    );
    let first = text(&it["status"]["history"][0]);
    ensure!(first.contains(" stop=TimedOut@"), "{first}");
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_job_is_stopped_by_a_deadline() -> Result<()> {
    let scene = scene(cluster().await?, JOB).await?;
    let pod = json!({
        "metadata": { "annotations": { "play.carto.run/outcome": "hang" } },
        "spec": { "restartPolicy": "Never", "containers": containers() },
    });
    scene
        .start(json!({ "template": pod }), hanging(), json!({}))
        .await?;
    both_are_stopped(&scene, "the Job says: ").await
}

#[tokio::test]
async fn a_pod_is_given_a_deadline() -> Result<()> {
    let scene = scene(cluster().await?, POD).await?;
    let spec = json!({ "restartPolicy": "Never", "containers": containers() });
    scene.start(spec, hanging(), json!({})).await?;
    let run = scene
        .run("the deadline", |pod| {
            pod["spec"]["activeDeadlineSeconds"] == 1
        })
        .await?;
    // A kubelet would end it.
    let ended = json!({ "status": { "phase": "Failed", "reason": "DeadlineExceeded" } });
    scene
        .api(POD)
        .patch_status(
            text(&run["metadata"]["name"]),
            &PatchParams::default(),
            &Patch::Merge(ended),
        )
        .await?;
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    ensure!(message.contains("by its timeout"), "{message}");
    Ok(())
}

#[tokio::test]
async fn a_taskrun_is_cancelled_and_tried_again() -> Result<()> {
    let Some(cluster) = cluster_with_tekton().await? else {
        return Ok(());
    };
    let scene = scene(cluster, TASK_RUN).await?;
    let spec = json!({ "taskSpec": { "steps": containers() } });
    scene.start(spec, hanging(), json!({})).await?;
    both_are_stopped(&scene, "the TaskRun says: ").await
}

#[tokio::test]
async fn a_workflow_is_terminated_and_tried_again() -> Result<()> {
    let Some(cluster) = cluster_with_argo().await? else {
        return Ok(());
    };
    let scene = scene(cluster, WORKFLOW).await?;
    let reports = Kind::new(
        "argoproj.io",
        "v1alpha1",
        "WorkflowTaskResult",
        "workflowtaskresults",
    );
    scene
        .allow("pods", &[reports.rights(&["create", "patch"])])
        .await?;
    let spec = json!({
        "serviceAccountName": "pods", "entrypoint": "main",
        "podMetadata": { "annotations": { "play.carto.run/outcome": "hang" } },
        "templates": [{ "name": "main", "container": containers()[0] }],
    });
    scene.start(spec, hanging(), json!({})).await?;
    both_are_stopped(&scene, "the Workflow says: ").await
}
