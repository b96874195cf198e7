//! Foreign pods, of an account that may create pods in the namespace of a Job and nothing else.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cartouche_tests::{
    cluster::Seen,
    controller::{Controller, Settings},
    fixture::Fixture,
    kind::{JOB, POD, RUNNABLE},
};
use k8s_openapi::{
    api::core::v1::Pod,
    jiff::{SignedDuration, Timestamp},
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, is_ready};

const GENUINE: &str = "sha256:genuine";
const FORGED: &str = "sha256:FORGED";

/// Returns a template of Jobs whose pod stays as it is until the test, which plays the kubelet, ends it.
fn makes() -> Value {
    json!({
        "template": {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "generateName": "$(runnable.metadata.name)$-" },
            "spec": { "template": {
                "metadata": { "annotations": { "play.carto.run/outcome": "hang" } },
                "spec": pod_spec(),
            } },
        },
        "outputs": { "digest": ".terminationMessage" },
    })
}

fn pod_spec() -> Value {
    json!({ "restartPolicy": "Never", "containers": [{ "name": "work", "image": "busybox" }] })
}

/// Ends a pod as a kubelet does, at this time after now.
async fn end(place: &Fixture, name: &str, said: &str, later: SignedDuration) -> Result<()> {
    let at = (Timestamp::now() + later).to_string();
    let at = format!("{}Z", at.split(['.', 'Z']).next().unwrap_or_default());
    let ended = json!({ "exitCode": 0, "finishedAt": at, "message": said });
    let container = json!({
        "name": "work", "image": "busybox", "imageID": "x", "ready": false, "restartCount": 0,
        "state": { "terminated": ended },
    });
    let status = json!({ "phase": "Succeeded", "containerStatuses": [container] });
    let patch = Patch::Merge(json!({ "status": status }));
    let plain = PatchParams::default();
    place.api(POD).patch_status(name, &plain, &patch).await?;
    Ok(())
}

/// Returns the pod that the Job controller made.
async fn pod_of(place: &Fixture, job: &str) -> Result<String> {
    let label = format!("batch.kubernetes.io/job-name={job}");
    place
        .eventually("the pod of the Job", || async {
            let pods = place.list(POD, &label).await?;
            let name = pods
                .first()
                .and_then(|pod| pod["metadata"]["name"].as_str());
            Ok(match name {
                Some(name) => Seen::Done(name.to_owned()),
                None => Seen::NotYet("no pod".to_owned()),
            })
        })
        .await
}

#[tokio::test]
async fn pods_that_the_job_controller_does_not_count_give_no_outputs() -> Result<()> {
    let cluster = ground::cluster().await?;
    let rights = [JOB.rights_of_a_runnable(), POD.rights(&["list"])];
    let place = ground::namespace(&cluster, "pods", &rights).await?;
    place.template(makes()).await?;
    let forger = place.allow("forger", &[POD.rights(&["create"])]).await?;
    let _controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    place.runnable("it", json!({})).await?;
    let is_made = |it: &Value| it["status"]["currentRun"]["uid"].is_string();
    let it = place.observed(RUNNABLE, "it", "its run", is_made).await?;
    let current = &it["status"]["currentRun"];
    let (job, uid) = (current["name"].as_str(), current["uid"].as_str());
    let (job, uid) = job.zip(uid).context("the run has no name")?;
    let genuine = pod_of(&place, job).await?;

    let pods: Api<Pod> = Api::namespaced(cluster.client_of(&forger).await?, &place.namespace);
    let of_name = json!({ "job-name": job, "batch.kubernetes.io/job-name": job });
    // With the uid as a label and without a controller the Job controller would adopt them, and count them
    // itself.
    for (name, controller) in [
        ("names-an-owner", None),
        ("says-it-is-none", Some(false)),
        ("names-a-controller", Some(true)),
    ] {
        let owner = json!({
            "apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid, "controller": controller,
        });
        let metadata = json!({
            "name": name, "labels": of_name, "ownerReferences": [owner],
            "annotations": { "play.carto.run/outcome": "hang" },
        });
        let pod = serde_json::from_value(json!({ "metadata": metadata, "spec": pod_spec() }))?;
        pods.create(&PostParams::default(), &pod).await?;
        // The last one to end would give the message.
        end(&place, name, FORGED, SignedDuration::from_hours(1)).await?;
    }
    end(&place, &genuine, GENUINE, SignedDuration::ZERO).await?;
    let it = place
        .observed(RUNNABLE, "it", "its outputs", is_ready)
        .await?;
    let outputs = &it["status"]["outputs"];
    ensure!(outputs["digest"] == GENUINE, "{outputs}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let it = place.get(RUNNABLE, "it").await?.to_string();
    ensure!(!it.contains(FORGED), "{it}");
    Ok(())
}
