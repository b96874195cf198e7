//! Reasons why a Job failed, or does not begin, from the Job controller, kube-scheduler, and KWOK as the
//! kubelet.

use anyhow::Result;
use cartouche_tests::{
    cluster::Seen,
    fixture::objects::text,
    kind::{EVENT, RUNNABLE, TEMPLATE},
};
use serde_json::{Value, json};

use crate::scene::{JOB, POD, Scene, Standing, cluster, condition, with};

/// Makes a namespace with an account that may list pods, or may not.
async fn scene(lists_pods: bool) -> Result<Scene> {
    let scene = Scene::set(cluster().await?, JOB).await?;
    if lists_pods {
        let rights = [JOB.rights_of_a_runnable(), POD.rights(&["list"])];
        scene.allow("default", &rights).await?;
    }
    Ok(scene)
}

/// Returns a Job of one pod that is tried once. Annotations set how its kubelet ends it.
fn job(outcome: &str, message: &str, of_pod: Value, more: Value) -> Value {
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [{
            "name": "migrate", "image": "registry.example/app:1",
            "env": [{ "name": "VERSION", "value": "$(runnable.spec.inputs.version)$" }],
        }],
    });
    let job = json!({
        "backoffLimit": 0,
        "template": {
            "metadata": { "annotations": {
                "play.carto.run/outcome": outcome, "play.carto.run/message": message,
            } },
            "spec": with(spec, of_pod),
        },
    });
    with(job, more)
}

async fn started(lists_pods: bool, job: Value) -> Result<Scene> {
    let scene = scene(lists_pods).await?;
    scene
        .start(job, json!({}), json!({ "version": "v1" }))
        .await?;
    Ok(scene)
}

async fn pod_name(scene: &Scene) -> Result<String> {
    let pods = scene.pods(1).await?;
    Ok(pods[0].metadata.name.clone().unwrap_or_default())
}

/// Waits until Ready has this status and message.
async fn says(scene: &Scene, status: &str, said: &str) -> Result<Standing> {
    let what = format!("to have Ready {status} that says {said:?}");
    let wanted = |it: &Value| {
        let ready = condition(it, "Ready");
        let message = ready["message"].as_str().unwrap_or_default();
        ready["status"] == status && message.contains(said) && message.is_empty() == said.is_empty()
    };
    let it = scene.observed(RUNNABLE, "it", &what, wanted).await?;
    Ok(Standing(it))
}

#[tokio::test]
async fn a_failed_job_says_which_container_failed_how_and_with_which_words() -> Result<()> {
    let words = "relation \"orders\" already exists";
    let scene = started(true, job("fail", words, json!({}), json!({}))).await?;
    let it = scene.ready("False").await?;
    let pod = pod_name(&scene).await?;
    let wanted = format!(
        "Job failed (BackoffLimitExceeded): container migrate of pod {pod} exited 1: {words}; \
         the Job says: Job has reached the specified backoff limit"
    );
    assert_eq!(it.message("Ready"), wanted);
    assert_eq!(it.message("Stalled"), wanted);
    // As in Cartographer.
    let stamped = it.message("StampedObjectCondition");
    assert_eq!(stamped, "Job has reached the specified backoff limit");
    let event = &format!(
        "{wanted}; to do: look at the run (`cartouche logs`), change what is wrong, or run again: `cartouche rerun`"
    );
    scene
        .eventually("the event", || async {
            let events = scene.list(EVENT, "").await?;
            Ok(if events.iter().any(|it| it["message"] == **event) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{events:#?}"))
            })
        })
        .await?;
    // Its message stays when it is gone, and in the history.
    scene.delete(&scene.run("the Job", |_| true).await?).await?;
    scene.inputs(json!({ "version": "v2" })).await?;
    let it = scene.ready("False").await?;
    let line = it.0["status"]["history"][0].as_str().unwrap_or_default();
    assert!(line.contains(&wanted[..120]), "{line}");
    scene.never_more_runs_than(2).await
}

#[tokio::test]
async fn without_the_right_to_list_pods_a_failed_job_says_which_right_would_tell_why() -> Result<()>
{
    let scene = started(false, job("fail", "secret", json!({}), json!({}))).await?;
    let it = scene.ready("False").await?;
    let wanted = format!(
        "Job failed (BackoffLimitExceeded): Job has reached the specified backoff limit; \
         its pods may show why, but ServiceAccount {}/default may not list pods",
        scene.namespace
    );
    assert_eq!(it.message("Ready"), wanted);
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_job_whose_pod_cannot_be_scheduled_says_so_while_it_waits_and_when_its_time_is_over()
-> Result<()> {
    let nowhere = json!({ "nodeSelector": { "there-is": "no-such-node" } });
    let job = job("", "", nowhere, json!({ "activeDeadlineSeconds": 60 }));
    let scene = started(true, job).await?;
    let pod = pod_name(&scene).await?;
    let said = format!("pod {pod} cannot be scheduled: 0/");
    let it = says(&scene, "Unknown", &said).await?;
    assert_eq!(it.reason("Ready"), "Unschedulable");
    assert_eq!(it.message("StampedObjectCondition"), "");
    let it = scene.ready("False").await?;
    assert_eq!(it.reason("Ready"), "Unschedulable");
    let message = it.message("Ready");
    let wanted = format!("Job failed (DeadlineExceeded): {said}");
    assert!(message.starts_with(&wanted), "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_job_that_makes_no_pod_says_why_or_what_shows_it_by_the_right_to_list_events()
-> Result<()> {
    tokio::try_join!(without_pods(true), without_pods(false))?;
    Ok(())
}

async fn without_pods(may_list_events: bool) -> Result<()> {
    let of_nobody = json!({ "serviceAccountName": "nobody" });
    let job = job("", "", of_nobody, json!({ "activeDeadlineSeconds": 60 }));
    let scene = scene(true).await?;
    let mut rights = vec![JOB.rights_of_a_runnable(), POD.rights(&["list"])];
    if may_list_events {
        rights.push(EVENT.rights(&["list"]));
    }
    scene.allow("default", &rights).await?;
    scene
        .start(job, json!({}), json!({ "version": "v1" }))
        .await?;
    let run = scene.run("the Job", |_| true).await?;
    let name = run["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = &scene.namespace;
    let why = if may_list_events {
        format!(
            "error looking up service account {namespace}/nobody: serviceaccount \"nobody\" not found"
        )
    } else {
        format!("`kubectl describe job {name} -n {namespace}` shows why")
    };
    let said = format!("Job {name} has made no pod yet: {why}");
    let it = says(&scene, "Unknown", &said).await?;
    assert_eq!(it.reason("Ready"), "NoPodYet");
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    let wanted = format!("Job failed (DeadlineExceeded): {said}");
    assert!(message.starts_with(&wanted), "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_job_whose_image_cannot_be_pulled_says_so_until_it_can() -> Result<()> {
    let scene = started(true, job("no-image", "", json!({}), json!({}))).await?;
    let said = "image \"registry.example/app:1\" cannot be pulled";
    let it = says(&scene, "Unknown", said).await?;
    assert_eq!(it.reason("Ready"), "ImagePullBackOff");
    assert_eq!(it.reason("Reconciling"), "ImagePullBackOff");
    let told = |event: &Value| event["type"] == "Warning" && event["reason"] == "ImagePullBackOff";
    let looked = &scene;
    looked
        .eventually("the event", || async {
            let events = looked.list(EVENT, "").await?;
            Ok(match events.iter().filter(|it| told(it)).count() {
                0 => Seen::NotYet("none".to_owned()),
                _ => Seen::Done(()),
            })
        })
        .await?;
    let stalled = |it: &Value| text(&condition(it, "Stalled")["reason"]) == "ImagePullBackOff";
    scene
        .observed(RUNNABLE, "it", "to be Stalled", stalled)
        .await?;
    let pods = scene.pods(1).await?;
    scene.end(&pods[0], "hang").await?;
    scene
        .run("the pod to run", |job| job["status"]["ready"] == 1)
        .await?;
    let it = says(&scene, "Unknown", "has not ended yet").await?;
    assert_eq!(it.reason("Ready"), "RunInProgress");
    scene.end(&pods[0], "succeed").await?;
    scene.ready("True").await?;
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_field_that_the_api_server_drops_is_told_with_the_run_and_the_template() -> Result<()> {
    let more = json!({ "activeDeadlineSecond": 600, "extra": "$(runnable.spec.inputs.extra)$" });
    let scene = scene(true).await?;
    let inputs = json!({ "version": "v1", "extra": { "of-a-tenant": 1 } });
    scene
        .start(job("", "", json!({}), more), json!({}), inputs)
        .await?;
    scene.ready("True").await?;
    let dropped = "unknown field \"spec.activeDeadlineSecond\"";
    let scene = &scene;
    scene
        .eventually("the event", || async {
            let events = scene.list(EVENT, "").await?;
            let mut warnings = events.iter().filter(|it| it["reason"] == "RunWarning");
            let text = |it: &Value| it["message"].as_str().unwrap_or_default().to_owned();
            Ok(if warnings.any(|it| text(it).contains(dropped)) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{events:#?}"))
            })
        })
        .await?;
    let template = scene.get(TEMPLATE, &scene.namespace).await?;
    let accepted = condition(&template, "Accepted");
    let message = accepted["message"].as_str().unwrap_or_default();
    assert_eq!(accepted["status"], "True");
    assert_eq!(accepted["reason"], "AcceptedWithWarnings");
    assert!(message.contains(dropped), "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_failed_pod_says_which_container_failed_how_and_with_which_words() -> Result<()> {
    let scene = Scene::set(cluster().await?, POD).await?;
    let spec = json!({
        "restartPolicy": "Never", "containers": [{ "name": "work", "image": "busybox" }],
    });
    let annotations = json!({
        "play.carto.run/outcome": "fail", "play.carto.run/message": "PGPASSWORD=hidden broken",
    });
    let template = json!({ "annotations": annotations });
    scene.start(spec, template, json!({})).await?;
    let it = scene.ready("False").await?;
    let run = scene.run("the Pod", |_| true).await?;
    let name = run["metadata"]["name"].as_str().unwrap_or_default();
    let wanted = format!("container work of pod {name} exited 1: PGPASSWORD=*** broken");
    let message = it.message("Ready");
    assert!(message.ends_with(&wanted), "{message}");
    scene.never_more_runs_than(1).await
}
