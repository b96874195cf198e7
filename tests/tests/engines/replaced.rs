//! Runs that make way for a later one, as each engine knows how to stop: the later one begins when the engine has said
//! that the earlier one is over.

use anyhow::{Result, ensure};
use cartouche_tests::{cluster::Cluster, fixture::objects::text};
use serde_json::{Value, json};

use crate::scene::{
    JOB, Kind, Scene, TASK_RUN, WORKFLOW, cluster, cluster_with_argo, cluster_with_tekton,
};

/// A scene whose account may stop runs as well.
async fn scene(cluster: Cluster, kind: Kind) -> Result<Scene> {
    let scene = Scene::set(cluster, kind).await?;
    let rights = [kind.rights_of_a_runnable(), kind.rights(&["patch"])];
    scene.allow("default", &rights).await?;
    Ok(scene)
}

/// A template of runs that hang or end as an input says, one at a time.
fn exclusive() -> Value {
    let play = "$(runnable.spec.inputs.play)$";
    json!({
        "concurrencyPolicy": "Replace",
        "annotations": { "play.carto.run/outcome": play },
    })
}

fn containers() -> Value {
    json!([{ "name": "work", "image": "busybox", "command": ["work"] }])
}

/// Has the input change while the first run hangs: that is stopped, and then the second one runs.
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
    let scene = scene(cluster().await?, JOB).await?;
    let pod = json!({
        "metadata": { "annotations": { "play.carto.run/outcome": "$(runnable.spec.inputs.play)$" } },
        "spec": { "restartPolicy": "Never", "containers": containers() },
    });
    scene
        .start(
            json!({ "template": pod }),
            exclusive(),
            json!({ "play": "hang" }),
        )
        .await?;
    the_first_makes_way(&scene, |job| job["status"]["active"] == 1).await
}

#[tokio::test]
async fn a_taskrun_makes_way() -> Result<()> {
    let Some(cluster) = cluster_with_tekton().await? else {
        return Ok(());
    };
    let scene = scene(cluster, TASK_RUN).await?;
    let spec = json!({ "taskSpec": { "steps": containers() } });
    scene
        .start(spec, exclusive(), json!({ "play": "hang" }))
        .await?;
    the_first_makes_way(&scene, |run| run["status"]["podName"].is_string()).await
}

#[tokio::test]
async fn a_workflow_makes_way() -> Result<()> {
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
        "podMetadata": { "annotations": { "play.carto.run/outcome": "$(runnable.spec.inputs.play)$" } },
        "templates": [{ "name": "main", "container": containers()[0] }],
    });
    scene
        .start(spec, exclusive(), json!({ "play": "hang" }))
        .await?;
    the_first_makes_way(&scene, |run| run["status"]["phase"] == "Running").await
}
