//! Runs that a later one replaces, with each engine's way to stop: the later one begins when the engine has
//! reported the end of the earlier one.

use anyhow::{Result, ensure};
use cartouche_tests::fixture::objects::text;
use serde_json::{Value, json};

use crate::{
    played,
    scene::{JOB, Scene, TASK_RUN, WORKFLOW, cluster, cluster_with_argo, cluster_with_tekton},
};

/// The outcome of a run is an input.
const PLAY: &str = "$(runnable.spec.inputs.play)$";

/// Returns a template of runs that hang or end as an input demands, one at a time.
fn exclusive() -> Value {
    json!({
        "concurrencyPolicy": "Replace",
        "annotations": { "play.carto.run/outcome": PLAY },
    })
}

/// Changes the input while the first run hangs: that is stopped, and then the second one runs.
async fn the_first_makes_way(scene: &Scene, has_begun: impl Fn(&Value) -> bool) -> Result<()> {
    scene.run("the first run", has_begun).await?;
    scene.inputs(json!({ "play": "succeed" })).await?;
    let end = scene.ready("True").await?;
    let status = &end.0["status"];
    assert_eq!(status["currentRun"]["sequence"], 2);
    let first = text(&status["history"][0]).to_owned();
    ensure!(first.starts_with("1 Failed "), "{first}");
    ensure!(first.contains(" stop=Replaced@"), "{first}");
    let ended = first.split(' ').nth(5).unwrap_or_default();
    let began = text(&status["currentRun"]["startedAt"]);
    ensure!(
        ended <= began,
        "the first ended at {ended}, the second began at {began}"
    );
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_job_makes_way() -> Result<()> {
    let scene = Scene::with_stops(cluster().await?, JOB).await?;
    scene
        .start(played::job(PLAY), exclusive(), json!({ "play": "hang" }))
        .await?;
    the_first_makes_way(&scene, |job| job["status"]["active"] == 1).await
}

#[tokio::test]
async fn a_taskrun_makes_way() -> Result<()> {
    let Some(cluster) = cluster_with_tekton().await? else {
        return Ok(());
    };
    let scene = Scene::with_stops(cluster, TASK_RUN).await?;
    scene
        .start(played::task_run(), exclusive(), json!({ "play": "hang" }))
        .await?;
    the_first_makes_way(&scene, |run| run["status"]["podName"].is_string()).await
}

#[tokio::test]
async fn a_workflow_makes_way() -> Result<()> {
    let Some(cluster) = cluster_with_argo().await? else {
        return Ok(());
    };
    let scene = Scene::with_stops(cluster, WORKFLOW).await?;
    scene.let_pods_report().await?;
    scene
        .start(
            played::workflow(PLAY),
            exclusive(),
            json!({ "play": "hang" }),
        )
        .await?;
    the_first_makes_way(&scene, |run| run["status"]["phase"] == "Running").await
}
