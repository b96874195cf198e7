//! `TaskRuns` and `PipelineRuns`, run by Tekton's controller.

use anyhow::Result;
use cartouche_tests::repository;
use serde_json::{Value, json};

use crate::scene::{
    Kind, PIPELINE_RUN, Scene, TASK_RUN, cluster_with_tekton, examples, ready, retried, with,
};

/// Returns a TaskRun of one step with a result: its input and output are a revision.
fn task(more: Value) -> Value {
    let task = json!({
        "params": [{ "name": "revision", "value": "$(runnable.spec.inputs.revision)$" }],
        "taskSpec": {
            "params": [{ "name": "revision" }],
            "results": [{ "name": "revision" }],
            "steps": [{
                "name": "test", "image": "busybox", "command": ["test"],
                "env": [{ "name": "REVISION", "value": "$(params.revision)" }],
            }],
        },
    });
    with(task, more)
}

/// Returns the same task in a pipeline, and its result as the pipeline's.
fn pipeline() -> Value {
    let mut spec = task(json!({}))["taskSpec"].clone();
    spec["params"] = json!([{ "name": "revision" }]);
    json!({
        "params": [{ "name": "revision", "value": "$(runnable.spec.inputs.revision)$" }],
        "pipelineSpec": {
            "params": [{ "name": "revision" }],
            "results": [{ "name": "revision", "value": "$(tasks.test.results.revision)" }],
            "tasks": [{
                "name": "test",
                "params": [{ "name": "revision", "value": "$(params.revision)" }],
                "taskSpec": spec,
            }],
        },
    })
}

fn outputs() -> Value {
    json!({ "outputs": { "revision": r#".status.results[?(@.name=="revision")].value"# } })
}

/// Returns outputs as above, of runs whose pods hang until they are ended.
fn hanging() -> Value {
    let mut template = outputs();
    template["annotations"] = json!({ "play.carto.run/outcome": "hang" });
    template
}

/// Makes a scene in which a run with the revision `v1` is wanted, or returns `None` if Tekton is not
/// available.
async fn started(kind: Kind, spec: Value, template: Value) -> Result<Option<Scene>> {
    let Some(cluster) = cluster_with_tekton().await? else {
        return Ok(None);
    };
    let scene = Scene::set(cluster, kind).await?;
    let revision = json!({ "revision": "v1" });
    scene.start(spec, template, revision).await?;
    Ok(Some(scene))
}

fn is_at_work(run: &Value) -> bool {
    condition(run)["status"] == "Unknown" && run["status"]["startTime"].is_string()
}

fn condition(run: &Value) -> &Value {
    &run["status"]["conditions"][0]
}

#[tokio::test]
async fn the_taskrun_of_the_examples_gives_its_results() -> Result<()> {
    let Some(cluster) = cluster_with_tekton().await? else {
        return Ok(());
    };
    let example = repository().join("examples/tekton-taskrun");
    cluster.apply_kustomization(&example).await?;
    let it = ready(&examples(&cluster), "shop-source", "True").await?;
    assert_eq!(it.reason("StampedObjectCondition"), "SucceededCondition");
    assert_eq!(it.output("url"), "https://github.com/kubernetes/examples");
    assert_eq!(it.output("commit").as_str().map(str::len), Some(40));
    Ok(())
}

#[tokio::test]
async fn the_pipelinerun_of_the_examples_gives_its_results() -> Result<()> {
    let Some(cluster) = cluster_with_tekton().await? else {
        return Ok(());
    };
    let example = repository().join("examples/tekton-pipelinerun");
    cluster.apply_kustomization(&example).await?;
    let it = ready(&examples(&cluster), "shop-checks", "True").await?;
    assert_eq!(it.output("revision"), "v1.1.0");
    assert_eq!(it.output("report").as_str().map(str::len), Some(40));
    Ok(())
}

#[tokio::test]
async fn a_profile_patches_a_taskrun_and_tekton_runs_it_so() -> Result<()> {
    let Some(cluster) = cluster_with_tekton().await? else {
        return Ok(());
    };
    let scene = Scene::set(cluster, TASK_RUN).await?;
    scene
        .patched(json!({ "metadata": { "labels": { "pool": "builds" } }, "spec": { "timeout": "33m0s" } }))
        .await?;
    let revision = json!({ "revision": "v1" });
    scene.start(task(json!({})), outputs(), revision).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");
    let run = scene.run("to be there", |_| true).await?;
    assert_eq!(run["spec"]["timeout"], "33m0s", "{run:#}");
    assert_eq!(run["metadata"]["labels"]["pool"], "builds", "{run:#}");
    Ok(())
}

#[tokio::test]
async fn a_taskrun_that_fails_says_why_and_leaves_the_last_good_outputs() -> Result<()> {
    let Some(scene) = started(TASK_RUN, task(json!({})), outputs()).await? else {
        return Ok(());
    };
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");
    scene.inputs(json!({ "revision": "bad-v2" })).await?;
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    assert!(
        message.contains(r#""step-test" exited with code 1"#),
        "{message}"
    );
    assert_eq!(it.status("Stalled"), "True");
    assert_eq!(it.output("revision"), "v1");
    scene.inputs(json!({ "revision": "v3" })).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v3");
    scene.never_more_runs_than(3).await
}

#[tokio::test]
async fn a_taskrun_that_takes_too_long_has_failed() -> Result<()> {
    let slow = task(json!({ "timeout": "2s" }));
    let Some(scene) = started(TASK_RUN, slow, hanging()).await? else {
        return Ok(());
    };
    let it = scene.ready("False").await?;
    let message = it.message("StampedObjectCondition");
    assert!(
        message.contains(r#"failed to finish within "2s""#),
        "{message}"
    );
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_taskrun_that_a_user_cancels_is_not_run_again() -> Result<()> {
    let Some(scene) = started(TASK_RUN, task(json!({})), retried(hanging())).await? else {
        return Ok(());
    };
    let run = scene.run("the TaskRun to be at work", is_at_work).await?;
    let it = scene.ready("Unknown").await?;
    assert_eq!(it.status("Reconciling"), "True");
    let cancel = json!({ "spec": { "status": "TaskRunCancelled" } });
    scene.patch(&run, cancel).await?;
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    assert!(message.contains("was cancelled"), "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn what_a_pruner_deletes_is_not_run_again() -> Result<()> {
    let Some(scene) = started(TASK_RUN, task(json!({})), outputs()).await? else {
        return Ok(());
    };
    scene.ready("True").await?;
    for run in scene.runs().await? {
        scene.delete(&run).await?;
    }
    scene.runs_gone().await?;
    scene.never_more_runs_than(1).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");
    Ok(())
}

#[tokio::test]
async fn a_retry_inside_tekton_is_the_same_run_at_work() -> Result<()> {
    let twice = task(json!({ "retries": 1 }));
    let Some(scene) = started(TASK_RUN, twice, hanging()).await? else {
        return Ok(());
    };
    let first = scene.pods(1).await?;
    scene.end(&first[0], "fail").await?;
    scene
        .run("the retry", |run| {
            run["status"]["retriesStatus"].as_array().map(Vec::len) == Some(1) && is_at_work(run)
        })
        .await?;
    let it = scene.ready("Unknown").await?;
    assert_eq!(it.status("Stalled"), "");
    let both = scene.pods(2).await?;
    let second = both
        .iter()
        .find(|pod| pod.metadata.name != first[0].metadata.name);
    scene.end(second.unwrap_or(&both[1]), "succeed").await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_pipelinerun_fails_with_its_task() -> Result<()> {
    let Some(scene) = started(PIPELINE_RUN, pipeline(), outputs()).await? else {
        return Ok(());
    };
    let it = scene.ready("True").await?;
    assert_eq!(it.output("revision"), "v1");

    scene.inputs(json!({ "revision": "bad-v2" })).await?;
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    assert!(message.contains("Failed: 1"), "{message}");
    assert_eq!(it.output("revision"), "v1");

    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_pipelinerun_that_a_user_cancels_is_not_run_again() -> Result<()> {
    let Some(scene) = started(PIPELINE_RUN, pipeline(), retried(hanging())).await? else {
        return Ok(());
    };
    scene.pods(1).await?;
    let run = scene
        .run("the PipelineRun to be at work", is_at_work)
        .await?;
    scene.ready("Unknown").await?;
    let cancel = json!({ "spec": { "status": "Cancelled" } });
    scene.patch(&run, cancel).await?;
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    assert!(message.contains("was cancelled"), "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_pipelinerun_that_takes_too_long_has_failed() -> Result<()> {
    let slow = with(pipeline(), json!({ "timeouts": { "pipeline": "2s" } }));
    let Some(scene) = started(PIPELINE_RUN, slow, hanging()).await? else {
        return Ok(());
    };
    let it = scene.ready("False").await?;
    let message = it.message("StampedObjectCondition");
    assert!(
        message.contains(r#"failed to finish within "2s""#),
        "{message}"
    );
    scene.never_more_runs_than(1).await
}
