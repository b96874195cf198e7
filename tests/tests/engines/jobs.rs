//! Jobs, run by the Job controller of kube-controller-manager.

use anyhow::Result;
use cartouche_tests::{cluster::Seen, kind::RUNNABLE};
use serde_json::{Value, json};

use crate::scene::{JOB, POD, Scene, cluster, condition, retried, with};

async fn scene() -> Result<Scene> {
    Scene::set(cluster().await?, JOB).await
}

/// Returns a Job of one pod that ends as the annotation demands.
fn job(outcome: &str, more: Value) -> Value {
    let job = json!({
        "template": {
            "metadata": { "annotations": { "play.carto.run/outcome": outcome } },
            "spec": {
                "restartPolicy": "Never",
                "containers": [{
                    "name": "work", "image": "busybox",
                    "env": [{ "name": "VERSION", "value": "$(runnable.spec.inputs.version)$" }],
                }],
            },
        },
    });
    with(job, more)
}

fn outputs() -> Value {
    json!({ "outputs": {
        "version": ".spec.template.spec.containers[0].env[0].value",
        "pods": ".status.succeeded",
    } })
}

/// Makes a scene in which this Job is wanted with the version `v1`.
async fn started(job: Value) -> Result<Scene> {
    let scene = scene().await?;
    let version = json!({ "version": "v1" });
    scene.start(job, outputs(), version).await?;
    Ok(scene)
}

#[tokio::test]
async fn a_job_that_completes_gives_its_outputs() -> Result<()> {
    let scene = started(job("", json!({}))).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.reason("StampedObjectCondition"), "JobCondition");
    assert_eq!(it.output("version"), "v1");
    assert_eq!(it.output("pods"), 1);
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_job_gives_what_its_container_said_last() -> Result<()> {
    let scene = scene().await?;
    let rights = [JOB.rights_of_a_runnable(), POD.rights(&["list"])];
    scene.allow("default", &rights).await?;
    let mut spec = job("", json!({}));
    let said = json!({ "digest": "sha256:abc", "layers": 3 }).to_string();
    spec["template"]["metadata"]["annotations"] = json!({ "play.carto.run/message": said });
    let outputs = json!({ "outputs": {
        "digest": ".terminationMessage.digest", "layers": ".terminationMessage.layers",
    } });
    scene
        .start(spec, outputs, json!({ "version": "v1" }))
        .await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("digest"), "sha256:abc");
    assert_eq!(it.output("layers"), 3);
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_job_that_tries_again_is_at_work_until_its_backoff_limit() -> Result<()> {
    let twice = job("hang", json!({ "backoffLimit": 1 }));
    let scene = started(twice).await?;
    let first = scene.pods(1).await?;
    scene.end(&first[0], "fail").await?;
    // The Job controller waits ten seconds before its retry.
    scene
        .run("one failed pod", |job| job["status"]["failed"] == 1)
        .await?;
    let second = scene.pods(2).await?;
    let it = scene.ready("Unknown").await?;
    assert_eq!(it.status("Reconciling"), "True");
    scene.end(&second[1], "fail").await?;
    let it = scene.ready("False").await?;
    assert_eq!(it.status("Stalled"), "True");
    let message = it.message("Ready");
    assert!(message.contains("backoff limit"), "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_job_beyond_its_deadline_has_failed() -> Result<()> {
    let slow = job("hang", json!({ "activeDeadlineSeconds": 2 }));
    let scene = started(slow).await?;
    let it = scene.ready("False").await?;
    let message = it.message("StampedObjectCondition");
    assert!(message.contains("deadline"), "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_job_that_a_user_cancels_by_a_deadline_is_not_run_again() -> Result<()> {
    let scene = scene().await?;
    scene
        .start(
            job("hang", json!({})),
            retried(outputs()),
            json!({ "version": "v1" }),
        )
        .await?;
    let run = scene
        .run("the Job to be at work", |job| job["status"]["active"] == 1)
        .await?;
    let it = scene.ready("Unknown").await?;
    assert_eq!(it.status("Reconciling"), "True");
    // The patch of `cartouche cancel`: a deletion would make a new run, and the deadline alone would be a
    // mere failure, which is retried.
    let request = json!({ "by": "alice" }).to_string();
    let cancel = json!({
        "metadata": { "annotations": { "carto.run/cancel-request": request } },
        "spec": { "activeDeadlineSeconds": 1 },
    });
    scene.patch(&run, cancel).await?;
    let it = scene.ready("False").await?;
    let message = it.message("StampedObjectCondition");
    assert!(message.contains("deadline"), "{message}");
    scene.never_more_runs_than(1).await?;
    scene.inputs(json!({ "version": "v2" })).await?;
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_suspended_job_is_at_work_until_somebody_lets_it_go_on() -> Result<()> {
    let suspended = job("", json!({ "suspend": true }));
    let scene = started(suspended).await?;
    let run = scene
        .run("the Job to be suspended", |job| {
            job["status"]["conditions"][0]["type"] == "Suspended"
        })
        .await?;
    scene.ready("Unknown").await?;
    scene
        .patch(&run, json!({ "spec": { "suspend": false } }))
        .await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("version"), "v1");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_job_that_its_ttl_deletes_is_not_run_again() -> Result<()> {
    let short = job("", json!({ "ttlSecondsAfterFinished": 3 }));
    let scene = started(short).await?;
    scene.ready("True").await?;
    scene.runs_gone().await?;
    scene.never_more_runs_than(1).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("version"), "v1");
    scene.inputs(json!({ "version": "v2" })).await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("version"), "v2");
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_failed_job_that_its_ttl_deletes_before_its_next_attempt_is_tried_again_once()
-> Result<()> {
    let scene = scene().await?;
    let short = json!({ "backoffLimit": 0, "ttlSecondsAfterFinished": 1 });
    let retry = json!({ "retry": { "limit": 1, "backoff": { "initial": "6s" } } });
    scene
        .start(job("fail", short), retry, json!({ "version": "v1" }))
        .await?;
    let first = scene.run("the first attempt", |_| true).await?;
    scene.runs_gone().await?;
    let it = scene.ready("False").await?;
    assert_eq!(it.reason("Reconciling"), "RetryScheduled");
    let second = scene.run("the second attempt", |_| true).await?;
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    let is_over = |it: &Value| condition(it, "Stalled")["status"] == "True";
    scene
        .observed(RUNNABLE, "it", "to be stalled", is_over)
        .await?;
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn an_unfinished_job_that_somebody_deletes_is_made_anew_once() -> Result<()> {
    let scene = started(job("hang", json!({}))).await?;
    let first = scene.pods(1).await?;
    let run = scene
        .run("the Job to be at work", |job| job["status"]["active"] == 1)
        .await?;
    scene.delete(&run).await?;
    let second = scene
        .run("another Job", |other| {
            other["metadata"]["uid"] != run["metadata"]["uid"]
        })
        .await?;
    assert_eq!(second["metadata"]["labels"]["carto.run/run-sequence"], "2");
    let pods = scene.pods(1).await?;
    assert_ne!(pods[0].metadata.uid, first[0].metadata.uid);
    scene.end(&pods[0], "succeed").await?;
    let it = scene.ready("True").await?;
    assert_eq!(it.output("version"), "v1");
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn a_pod_that_somebody_deletes_is_no_other_run() -> Result<()> {
    let retry =
        json!({ "retry": { "limit": 1 }, "timeout": "10m", "concurrencyPolicy": "LatestOnly" });
    let scene = scene().await?;
    scene
        .start(job("hang", json!({})), retry, json!({ "version": "v1" }))
        .await?;
    let first = scene.pods(1).await?;
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> = scene.cluster.api(&scene.namespace);
    let name = first[0].metadata.name.clone().unwrap_or_default();
    pods.delete(&name, &kube::api::DeleteParams::default().grace_period(0))
        .await?;
    scene
        .eventually("another pod", || async {
            let pods = scene.pods(1).await?;
            Ok(if pods[0].metadata.uid == first[0].metadata.uid {
                Seen::NotYet("the same pod".to_owned())
            } else {
                Seen::Done(())
            })
        })
        .await?;
    let it = scene.ready("Unknown").await?;
    assert_eq!(it.reason("Ready"), "RunInProgress");
    scene.never_more_runs_than(1).await
}
