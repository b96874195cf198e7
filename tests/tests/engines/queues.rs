//! Jobs that a queue holds: they wait for longer than their timeout without timing out, and are deleted if
//! they ignore a stop.
//!
//! The queue is played as Kueue 0.19 does it: a Job is suspended when it is made; `spec.suspend: false`
//! admits it; `spec.suspend: true` and the removal of `status.startTime` evict it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Seen,
    fixture::objects::{condition, name_of, text},
    kind::RUNNABLE,
};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{
    played,
    scene::{JOB, Scene, cluster, with},
};

/// Maximum time until a stopped run is gone.
const GOES_WITHIN: Duration = Duration::from_secs(90);
/// Label with the queue of a Job.
pub(crate) const QUEUE: &str = "kueue.x-k8s.io/queue-name";

/// Makes a scene whose account may stop runs, and a Job in a queue that would hang.
async fn queued(template: Value) -> Result<(Scene, Value)> {
    let scene = Scene::with_stops(cluster().await?, JOB).await?;
    let job = start(&scene, template).await?;
    Ok((scene, job))
}

async fn start(scene: &Scene, template: Value) -> Result<Value> {
    let mut spec = with(played::job("hang"), json!({ "suspend": true }));
    spec["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "VERSION", "value": "$(runnable.spec.inputs.version)$" }]);
    let inputs = json!({ "version": "v1" });
    scene.start(spec, template, inputs).await?;
    scene
        .run("the Job to be suspended", |job| {
            job["status"]["conditions"][0]["type"] == "Suspended"
        })
        .await
}

async fn admit(scene: &Scene, job: &Value) -> Result<()> {
    let free = json!({ "spec": { "suspend": false } });
    scene.patch(job, free).await
}

async fn evict(scene: &Scene, job: &Value) -> Result<()> {
    let held = json!({ "spec": { "suspend": true } });
    scene.patch(job, held).await?;
    let params = PatchParams::default();
    let reset = Patch::Merge(json!({ "status": { "startTime": null } }));
    let jobs = scene.api(JOB);
    jobs.patch_status(name_of(job), &params, &reset).await?;
    let is_held = |job: &Value| {
        let conditions = job["status"]["conditions"].as_array();
        let mut suspended = conditions
            .into_iter()
            .flatten()
            .filter(|it| it["type"] == "Suspended" && it["status"] == "True");
        suspended.next().is_some() && job["status"]["active"].as_i64().unwrap_or(0) == 0
    };
    scene.run("the Job to be evicted", is_held).await?;
    Ok(())
}

pub(crate) async fn current_run(scene: &Scene) -> Result<Value> {
    Ok(scene.get(RUNNABLE, "it").await?["status"]["currentRun"].clone())
}

/// Waits until the Job has failed, and returns the time between its last start and its stop.
pub(crate) async fn worked_for(scene: &Scene) -> Result<Duration> {
    let began = scene
        .run("the Job to be at work", |job| job["status"]["active"] == 1)
        .await?;
    timed_out_after(scene, &began["status"]["startTime"]).await
}

/// Waits until the run has failed by its timeout, and returns the time between `began` and its stop.
pub(crate) async fn timed_out_after(scene: &Scene, began: &Value) -> Result<Duration> {
    let began: Timestamp = text(began).parse()?;
    let has_failed = |it: &Value| it["status"]["currentRun"]["result"] == "Failed";
    let it = scene
        .observed(RUNNABLE, "it", "to have failed", has_failed)
        .await?;
    let stop = &it["status"]["currentRun"]["stop"];
    assert_eq!(stop["reason"], "TimedOut");
    let at: Timestamp = text(&stop["at"]).parse()?;
    Ok(at.duration_since(began).unsigned_abs())
}

#[tokio::test]
async fn a_job_that_waits_for_three_times_its_timeout_is_not_timed_out_and_is_after_its_admission()
-> Result<()> {
    let (scene, job) = queued(json!({ "timeout": "6s" })).await?;
    let says = |it: &Value| text(&condition(it, "Ready")["message"]).starts_with("it is queued (");
    scene.observed(RUNNABLE, "it", "to be queued", says).await?;
    tokio::time::sleep(Duration::from_secs(18)).await;
    let current = current_run(&scene).await?;
    assert_eq!(current["stop"], Value::Null, "{current}");
    admit(&scene, &job).await?;
    let worked = worked_for(&scene).await?;
    ensure!(worked >= Duration::from_secs(6), "{worked:?}");
    ensure!(worked < Duration::from_secs(30), "{worked:?}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn after_an_eviction_the_clock_of_a_job_begins_anew() -> Result<()> {
    let (scene, job) = queued(json!({ "timeout": "12s" })).await?;
    admit(&scene, &job).await?;
    scene
        .run("the Job to be at work", |job| job["status"]["active"] == 1)
        .await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    evict(&scene, &job).await?;
    tokio::time::sleep(Duration::from_secs(14)).await;
    let current = current_run(&scene).await?;
    assert_eq!(current["stop"], Value::Null, "{current}");
    admit(&scene, &job).await?;
    let worked = worked_for(&scene).await?;
    ensure!(worked >= Duration::from_secs(12), "{worked:?}");
    ensure!(worked < Duration::from_secs(40), "{worked:?}");
    scene.never_more_runs_than(1).await
}

/// Makes a foreign Job that waits in the queue.
async fn bystander(scene: &Scene) -> Result<Value> {
    let spec = with(played::job("hang"), json!({ "suspend": true }));
    let metadata = json!({
        "name": "bystander", "namespace": scene.namespace, "labels": { QUEUE: "tests" },
    });
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec,
    });
    scene.put(job).await
}

/// Waits until the run is gone. An earlier status records its stop, and it was not patched.
pub(crate) async fn goes(scene: &Scene, run: &Value, reason: &str) -> Result<()> {
    let since = Instant::now();
    let is_told = |it: &Value| it["status"]["currentRun"]["stop"]["reason"] == reason;
    scene
        .observed(RUNNABLE, "it", "to be told to stop", is_told)
        .await?;
    let name = name_of(run);
    scene
        .eventually("the run to be gone", || async move {
            let runs = scene.runs().await?;
            Ok(match runs.iter().find(|run| name_of(run) == name) {
                None => Seen::Done(()),
                Some(run) => Seen::NotYet(format!("{run:#}")),
            })
        })
        .await?;
    let took = since.elapsed();
    ensure!(took <= GOES_WITHIN, "{took:?}");
    ensure!(took >= Duration::from_secs(50), "a minute later: {took:?}");
    Ok(())
}

#[tokio::test]
async fn a_queued_job_that_makes_way_is_deleted_and_nothing_else_is() -> Result<()> {
    let (scene, job) = queued(json!({ "concurrencyPolicy": "Replace" })).await?;
    let other = bystander(&scene).await?;
    scene.inputs(json!({ "version": "v2" })).await?;
    goes(&scene, &job, "Replaced").await?;
    let is_next =
        |job: &Value| job["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] == "v2";
    scene.run("the next one", is_next).await?;
    let it = scene.get(RUNNABLE, "it").await?;
    let line = text(&it["status"]["history"][0]).to_owned();
    ensure!(line.contains(" stop=Replaced@20"), "{line}");
    let left = scene.get(JOB, name_of(&other)).await?;
    assert_eq!(left["spec"], other["spec"]);
    assert_eq!(left["metadata"]["uid"], other["metadata"]["uid"]);
    // Ours, the bystander, and the next one.
    scene.never_more_runs_than(3).await
}

/// Requests a cancellation as `cartouche cancel` does.
async fn cancel(scene: &Scene, job: &Value) -> Result<()> {
    let request = json!({ "by": "alice", "reason": "the wrong branch" }).to_string();
    let asked = json!({
        "metadata": { "annotations": { "carto.run/cancel-request": request } },
        "spec": { "activeDeadlineSeconds": 1 },
    });
    scene.patch(job, asked).await
}

/// Cancels the Job in the queue, which may be retried: it is deleted, has failed, and is not made again.
pub(crate) async fn is_cancelled(scene: &Scene, job: &Value) -> Result<()> {
    cancel(scene, job).await?;
    goes(scene, job, "Cancelled").await?;
    let has_failed = |it: &Value| it["status"]["currentRun"]["result"] == "Failed";
    let it = scene
        .observed(RUNNABLE, "it", "to have failed", has_failed)
        .await?;
    let said = text(&condition(&it, "Ready")["message"]).to_owned();
    ensure!(said.contains("was cancelled; its object is gone"), "{said}");
    assert_eq!(it["status"]["currentRun"]["retryAt"], Value::Null);
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_queued_job_that_is_cancelled_is_deleted_and_not_made_again() -> Result<()> {
    let (scene, job) = queued(json!({ "retry": {} })).await?;
    is_cancelled(&scene, &job).await
}

#[tokio::test]
async fn one_that_is_let_go_before_its_deletion_ends_in_its_own_way() -> Result<()> {
    let (scene, job) = queued(json!({})).await?;
    cancel(&scene, &job).await?;
    let is_told = |it: &Value| it["status"]["currentRun"]["stop"]["reason"] == "Cancelled";
    let it = scene
        .observed(RUNNABLE, "it", "to be told to stop", is_told)
        .await?;
    let said = text(&condition(&it, "Ready")["message"]).to_owned();
    ensure!(
        said.contains("is queued, so the controller deletes it a minute later"),
        "{said}"
    );
    admit(&scene, &job).await?;
    let has_failed = |it: &Value| it["status"]["currentRun"]["result"] == "Failed";
    scene
        .observed(RUNNABLE, "it", "to have failed", has_failed)
        .await?;
    scene.get(JOB, name_of(&job)).await?;
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn without_the_right_to_delete_a_queued_job_that_is_what_is_said() -> Result<()> {
    let scene = Scene::set(cluster().await?, JOB).await?;
    let rights = [JOB.rights(&["get", "list", "watch", "create", "patch"])];
    scene.allow("default", &rights).await?;
    let job = start(&scene, json!({})).await?;
    cancel(&scene, &job).await?;
    let says = |it: &Value| {
        let ready = condition(it, "Ready");
        ready["reason"] == "StopFailed"
            && text(&ready["message"]).contains("may not delete jobs.batch")
    };
    scene
        .observed(RUNNABLE, "it", "to say which right is missing", says)
        .await?;
    scene.get(JOB, name_of(&job)).await?;
    scene.never_more_runs_than(1).await
}
