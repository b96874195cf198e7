//! Timeouts, with each engine's way to stop: its own report ends the run, and its way to stop does not count
//! as a user's action.

use anyhow::{Result, ensure};
use cartouche_tests::{
    fixture::objects::{condition, text},
    kind::RUNNABLE,
};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{
    played,
    scene::{
        JOB, POD, Scene, TASK_RUN, WORKFLOW, cluster, cluster_with_argo, cluster_with_tekton,
        retried,
    },
};

/// Returns a template of runs that hang, have a timeout of a few seconds, and are retried once.
fn hanging() -> Value {
    let annotations = json!({ "play.carto.run/outcome": "hang" });
    let template = json!({ "timeout": "5s", "annotations": annotations });
    retried(template)
}

/// Checks that both runs are stopped, the second one for good, and that an engine's own way to stop does not
/// count as a user's action.
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
    let scene = Scene::with_stops(cluster().await?, JOB).await?;
    scene
        .start(played::job("hang"), hanging(), json!({}))
        .await?;
    both_are_stopped(&scene, "the Job says: ").await
}

#[tokio::test]
async fn a_pod_is_given_a_deadline() -> Result<()> {
    let scene = Scene::with_stops(cluster().await?, POD).await?;
    let spec = json!({ "restartPolicy": "Never", "containers": played::containers() });
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
    let scene = Scene::with_stops(cluster, TASK_RUN).await?;
    scene
        .start(played::task_run(), hanging(), json!({}))
        .await?;
    both_are_stopped(&scene, "the TaskRun says: ").await
}

#[tokio::test]
async fn a_workflow_is_terminated_and_tried_again() -> Result<()> {
    let Some(cluster) = cluster_with_argo().await? else {
        return Ok(());
    };
    let scene = Scene::with_stops(cluster, WORKFLOW).await?;
    scene.let_pods_report().await?;
    scene
        .start(played::workflow("hang"), hanging(), json!({}))
        .await?;
    both_are_stopped(&scene, "the Workflow says: ").await
}
