//! Runs that their engine holds: a `PipelineRun` with the status `PipelineRunPending`, a Workflow that waits
//! for a lock. They do not time out while they wait, and they end when they are cancelled meanwhile.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Seen,
    fixture::objects::{condition, name_of, text},
    kind::RUNNABLE,
};
use serde_json::{Value, json};

use crate::{
    played,
    queues::{current_run, goes, timed_out_after},
    scene::{Kind, PIPELINE_RUN, Scene, WORKFLOW, cluster_with_argo, cluster_with_tekton, with},
};

/// Timeout of runs.
const TIMEOUT: Duration = Duration::from_secs(6);
/// Maximum time until a cancelled run has ended, or is gone.
const ENDS_WITHIN: Duration = Duration::from_secs(90);
/// An object that is no run of the Runnable.
const BYSTANDER: &str = "bystander";

fn is_own(run: &Value) -> bool {
    name_of(run) != BYSTANDER
}

/// Makes a foreign object of the kind.
async fn bystander(scene: &Scene, kind: Kind, spec: Value) -> Result<Value> {
    let object = json!({
        "apiVersion": kind.api_version(), "kind": kind.name,
        "metadata": {
            "name": BYSTANDER, "namespace": scene.namespace,
            "annotations": { "play.carto.run/outcome": "hang" },
        },
        "spec": spec,
    });
    scene.put(object).await
}

/// Checks that the bystander is unchanged.
async fn is_untouched(scene: &Scene, kind: Kind, before: &Value) -> Result<()> {
    let now = scene.get(kind, BYSTANDER).await?;
    // Its engine may add what its spec leaves out.
    for word in ["status", "shutdown"] {
        assert_eq!(now["spec"][word], before["spec"][word]);
    }
    assert_eq!(now["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(now["metadata"]["deletionTimestamp"], Value::Null);
    Ok(())
}

async fn is_queued(scene: &Scene, sign: &str) -> Result<()> {
    let said = format!("it is queued ({sign})");
    let says = |it: &Value| text(&condition(it, "Ready")["message"]).starts_with(&said);
    scene.observed(RUNNABLE, "it", "to be queued", says).await?;
    Ok(())
}

/// Checks that it waits for three times its timeout without being stopped.
async fn waits_for_long(scene: &Scene) -> Result<()> {
    tokio::time::sleep(3 * TIMEOUT).await;
    let current = current_run(scene).await?;
    assert_eq!(current["stop"], Value::Null, "{current}");
    assert_eq!(current["result"], Value::Null, "{current}");
    Ok(())
}

/// Waits until it is stopped after it has worked for its timeout, and has failed.
async fn is_timed_out(scene: &Scene, began: &Value) -> Result<()> {
    let worked = timed_out_after(scene, began).await?;
    ensure!(worked >= TIMEOUT, "{worked:?}");
    ensure!(worked < Duration::from_secs(30), "{worked:?}");
    Ok(())
}

/// Cancels the run as `cartouche cancel` does, with its kind's way to stop: it ends, counts as failed, and is
/// not retried.
async fn ends_cancelled(scene: &Scene, kind: Kind, run: &Value, stop: Value) -> Result<Value> {
    let since = Instant::now();
    let request = json!({ "by": "alice", "reason": "the wrong branch" }).to_string();
    let asked = json!({ "carto.run/cancel-request": request });
    let asked = json!({ "metadata": { "annotations": asked }, "spec": stop });
    scene.patch(run, asked).await?;
    let has_failed = |it: &Value| it["status"]["currentRun"]["result"] == "Failed";
    let it = scene
        .observed(RUNNABLE, "it", "to have failed", has_failed)
        .await?;
    assert_eq!(it["status"]["currentRun"]["retryAt"], Value::Null);
    let name = name_of(run);
    scene
        .eventually("the run to have ended", || async move {
            Ok(match scene.find(kind, name).await? {
                Some(run) if is_at_work(&run) => Seen::NotYet(format!("{run:#}")),
                _ => Seen::Done(()),
            })
        })
        .await?;
    let took = since.elapsed();
    ensure!(took <= ENDS_WITHIN, "{took:?}");
    Ok(it)
}

/// Returns true if its engine has not reported its end.
fn is_at_work(run: &Value) -> bool {
    let succeeded = &condition(run, "Succeeded")["status"];
    let phase = text(&run["status"]["phase"]);
    !(succeeded == "True"
        || succeeded == "False"
        || ["Succeeded", "Failed", "Error"].contains(&phase))
}

fn pipeline() -> Value {
    let task = played::task_run()["taskSpec"].take();
    json!({
        "status": "PipelineRunPending",
        "pipelineSpec": { "tasks": [{ "name": "work", "taskSpec": task }] },
    })
}

/// Makes a `PipelineRun` that would hang, and is made Pending; `None` without Tekton.
async fn pending(template: Value) -> Result<Option<(Scene, Value)>> {
    let Some(cluster) = cluster_with_tekton().await? else {
        return Ok(None);
    };
    let scene = Scene::with_stops(cluster, PIPELINE_RUN).await?;
    let hangs = json!({ "annotations": { "play.carto.run/outcome": "hang" } });
    scene
        .start(pipeline(), with(template, hangs), json!({}))
        .await?;
    let run = scene.run("the PipelineRun", is_own).await?;
    is_queued(&scene, "spec.status is PipelineRunPending").await?;
    Ok(Some((scene, run)))
}

#[tokio::test]
async fn a_pipelinerun_that_is_pending_is_not_timed_out_and_is_after_it_was_let_go() -> Result<()> {
    let Some((scene, run)) = pending(json!({ "timeout": "6s" })).await? else {
        return Ok(());
    };
    waits_for_long(&scene).await?;
    scene
        .patch(&run, json!({ "spec": { "status": null } }))
        .await?;
    let works = |run: &Value| run["status"]["startTime"].is_string();
    let run = scene.run("the PipelineRun to work", works).await?;
    is_timed_out(&scene, &run["status"]["startTime"]).await?;
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_pipelinerun_that_is_cancelled_while_it_is_pending_ends_and_nothing_else_does()
-> Result<()> {
    let Some((scene, run)) = pending(json!({ "retry": {} })).await? else {
        return Ok(());
    };
    let other = bystander(&scene, PIPELINE_RUN, pipeline()).await?;
    let stop = json!({ "status": "Cancelled" });
    ends_cancelled(&scene, PIPELINE_RUN, &run, stop).await?;
    is_untouched(&scene, PIPELINE_RUN, &other).await?;
    // Ours, and the bystander.
    scene.never_more_runs_than(2).await
}

/// Returns a Workflow that needs the lock of its namespace, and would hang.
fn locking() -> Value {
    let lock = json!({ "synchronization": { "mutexes": [{ "name": "one" }] } });
    let mut spec = with(played::workflow("hang"), lock);
    spec["templates"][0]["container"]["env"] =
        json!([{ "name": "VERSION", "value": "$(runnable.spec.inputs.version)$" }]);
    spec
}

/// Makes a Workflow that waits for a lock, and the bystander that has it; `None` without Argo Workflows.
async fn locked(template: Value) -> Result<Option<(Scene, Value, Value)>> {
    let Some(cluster) = cluster_with_argo().await? else {
        return Ok(None);
    };
    let scene = Scene::with_stops(cluster, WORKFLOW).await?;
    scene.let_pods_report().await?;
    bystander(&scene, WORKFLOW, locking()).await?;
    let works = |run: &Value| run["status"]["phase"] == "Running";
    let holder = scene.run("the bystander to work", works).await?;
    let inputs = json!({ "version": "v1" });
    scene.start(locking(), template, inputs).await?;
    let waits = |run: &Value| is_own(run) && run["status"]["phase"] == "Pending";
    let run = scene.run("the Workflow to wait", waits).await?;
    is_queued(&scene, "its phase is Pending").await?;
    Ok(Some((scene, run, holder)))
}

#[tokio::test]
async fn a_workflow_that_waits_for_a_lock_is_not_timed_out_and_is_after_it_has_it() -> Result<()> {
    let Some((scene, _, holder)) = locked(json!({ "timeout": "6s" })).await? else {
        return Ok(());
    };
    waits_for_long(&scene).await?;
    scene.delete(&holder).await?;
    let works = |run: &Value| is_own(run) && run["status"]["phase"] == "Running";
    let run = scene.run("the Workflow to work", works).await?;
    is_timed_out(&scene, &run["status"]["startedAt"]).await?;
    // Ours, and the bystander.
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_workflow_that_is_cancelled_while_it_waits_has_failed_though_argo_says_succeeded()
-> Result<()> {
    let Some((scene, run, holder)) = locked(json!({ "retry": {} })).await? else {
        return Ok(());
    };
    let stop = json!({ "shutdown": "Terminate" });
    let it = ends_cancelled(&scene, WORKFLOW, &run, stop).await?;
    // argo-workflows#16776: without that, this test proves nothing.
    let run = scene.get(WORKFLOW, name_of(&run)).await?;
    assert_eq!(run["status"]["phase"], "Succeeded", "{run:#}");
    let said = text(&condition(&it, "Ready")["message"]);
    let why = "it was shut down before its entry node had succeeded";
    ensure!(said.contains(why), "{said}");
    is_untouched(&scene, WORKFLOW, &holder).await?;
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_workflow_that_makes_way_while_it_waits_is_deleted_and_nothing_else_is() -> Result<()> {
    let Some((scene, run, holder)) = locked(json!({ "concurrencyPolicy": "Replace" })).await?
    else {
        return Ok(());
    };
    scene.inputs(json!({ "version": "v2" })).await?;
    goes(&scene, &run, "Replaced").await?;
    let env = "/spec/templates/0/container/env/0/value";
    let is_next = |run: &Value| run.pointer(env) == Some(&json!("v2"));
    scene.run("the next one", is_next).await?;
    is_untouched(&scene, WORKFLOW, &holder).await?;
    // Ours, the bystander, and the next one.
    scene.never_more_runs_than(3).await
}
