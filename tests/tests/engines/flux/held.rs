//! Runs that are retried, held back, or requested again, while Flux looks.

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Seen,
    kind::{JOB, POD, RUNNABLE},
};
use serde_json::{Value, json};

use super::stage::{Stage, for_version};
use crate::scene::{condition, end_pod, with};

const TOKEN: &str = "carto.run/rerun-token";

/// Waits until the Runnable has had this many runs for `v00`.
async fn has_run(stage: &Stage, runs: usize) -> Result<()> {
    stage
        .eventually(&format!("{runs} runs"), || async {
            let made = stage.record.runs(&stage.namespace, "it", "v00");
            Ok(if made == runs {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{made}"))
            })
        })
        .await
}

/// Waits until one more pod runs than have ended, and ends it.
async fn ends(stage: &Stage, outcome: &str) -> Result<()> {
    let running = |pod: &Value| pod["status"]["phase"] == "Running";
    let name = stage
        .eventually("a pod that runs", || async {
            let pods = stage.list(POD, "").await?;
            let name = pods.iter().find(|it| running(it));
            let name = name.map(|it| {
                it["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            });
            Ok(name.map_or_else(|| Seen::NotYet(format!("{} pods", pods.len())), Seen::Done))
        })
        .await?;
    end_pod(stage, &name, outcome).await
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_failure_with_an_attempt_ahead_fails_no_kustomization() -> Result<()> {
    let Some(stage) = Stage::set("again").await? else {
        return Ok(());
    };
    let (record, namespace) = (&stage.record, &stage.namespace);
    let mut spec = for_version("v00");
    spec["inputs"]["outcome"] = json!("hang");
    // Longer than Flux waits between two looks.
    let pause = "7s";
    spec["retry"] = json!({ "limit": 1, "backoff": { "initial": pause, "max": pause } });
    let files = [stage.file("again", "it", spec)];
    let revision = stage.sync(&files, &[("again", json!({}))]).await?;
    ends(&stage, "fail").await?;
    let ahead = |it: &Value| condition(it, "Reconciling")["reason"] == "RetryScheduled";
    stage
        .observed(RUNNABLE, "it", "an attempt to be ahead", ahead)
        .await?;
    has_run(&stage, 2).await?;
    ends(&stage, "succeed").await?;
    let ready = record.ready(namespace, "again", &revision).await?;
    let ended = record.ended(namespace, "it", "v00").await?;
    ensure!(ended < ready, "ready {ready}, attempt 2 {ended}");
    let told = record.has_failed(namespace, "again", &revision, "HealthCheckFailed");
    ensure!(!told, "the first attempt has failed the Kustomization");
    let made = stage.audit.creates(namespace, &JOB.audited())?;
    ensure!(made == 2, "{made} runs");
    println!("a failure that is tried again: in progress, ready after attempt 2, 2 runs");
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_suspended_runnable_is_waited_for_only_while_a_run_is_pending() -> Result<()> {
    let Some(stage) = Stage::set("held").await? else {
        return Ok(());
    };
    let (record, namespace) = (&stage.record, &stage.namespace);
    let file = |spec: Value, suspend: bool| {
        [stage.file("held", "it", with(spec, json!({ "suspend": suspend })))]
    };
    let kustomizations = [("held", json!({ "timeout": "30s" }))];
    let files = file(for_version("v00"), false);
    let revision = stage.sync(&files, &kustomizations).await?;
    record.ready(namespace, "held", &revision).await?;

    // Nothing is pending.
    let revision = stage.push(&file(for_version("v00"), true)).await?;
    record.ready(namespace, "held", &revision).await?;

    // A run is.
    let revision = stage.push(&file(for_version("v01"), true)).await?;
    let failed = record.failed(namespace, "held", &revision, "HealthCheckFailed");
    failed.await?;
    let says = record.says(namespace, "held");
    ensure!(!says.contains("status: 'Failed'"), "{says}");
    let it = stage.get(RUNNABLE, "it").await?;
    let ready = condition(&it, "Ready");
    ensure!(
        ready["reason"] == "Suspended" && ready["status"] == "Unknown",
        "{it:#}"
    );
    ensure!(record.runs(namespace, "it", "v01") == 0, "a run");

    let revision = stage.push(&file(for_version("v01"), false)).await?;
    let ready = record.ready(namespace, "held", &revision).await?;
    let ended = record.ended(namespace, "it", "v01").await?;
    ensure!(ended < ready, "ready {ready}, run {ended}");
    stage.has_run_once_each(&["it"], &["v00".to_owned(), "v01".to_owned()])?;
    println!("suspended: ready with nothing pending, else the timeout; resumed, ready after 1 run");
    Ok(())
}

/// Patches the Runnable as kubectl does.
async fn kubectl(stage: &Stage, patch: Value) -> Result<()> {
    let patch = patch.to_string();
    let arguments = ["patch", "runnable", "it", "--type=merge", "--patch", &patch];
    let in_namespace = [&["--namespace", &stage.namespace], &arguments[..]].concat();
    stage.cluster.kubectl(&in_namespace).await.map(drop)
}

/// The table of docs/how-to/flux.md. Flux reverts what kubectl has written, and not what another client such as
/// `cartouche` has.
#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn what_is_changed_by_hand_stays_or_is_taken_back_as_the_page_says() -> Result<()> {
    let Some(stage) = Stage::set("hand").await? else {
        return Ok(());
    };
    let (record, namespace) = (&stage.record, &stage.namespace);
    let suspend = |value: Value| json!({ "spec": { "suspend": value } });
    let suspended = async || anyhow::Ok(stage.get(RUNNABLE, "it").await?["spec"]["suspend"].take());
    let files = [stage.file("hand", "it", for_version("v00"))];
    let revision = stage
        .sync(&files, &[("hand", json!({ "wait": false }))])
        .await?;
    record.ready(namespace, "hand", &revision).await?;
    has_run(&stage, 1).await?;

    // Git does not mention it.
    stage.patch("it", suspend(json!(true))).await?;
    stage.reconciled("hand", "another client").await?;
    ensure!(suspended().await? == true, "taken back");
    stage.patch("it", suspend(Value::Null)).await?;
    kubectl(&stage, suspend(json!(true))).await?;
    stage.reconciled("hand", "kubectl").await?;
    ensure!(suspended().await?.is_null(), "kubectl's word stays");

    // Git says `false`.
    let spec = with(for_version("v00"), json!({ "suspend": false }));
    let revision = stage.push(&[stage.file("hand", "it", spec)]).await?;
    record.ready(namespace, "hand", &revision).await?;
    stage.patch("it", suspend(json!(true))).await?;
    stage.reconciled("hand", "git").await?;
    ensure!(suspended().await? == false, "it stays");
    ensure!(record.runs(namespace, "it", "v00") == 1, "a run of that");
    println!("suspended by hand: stays by another client, taken back by kubectl and by Git's word");
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_run_that_is_asked_for_once_more_is_made_once_and_twice_beside_a_token_in_git()
-> Result<()> {
    let Some(stage) = Stage::set("rerun").await? else {
        return Ok(());
    };
    let (record, namespace) = (&stage.record, &stage.namespace);
    let asked = |token: &str| json!({ "metadata": { "annotations": { TOKEN: token } } });
    let token = async || {
        let it = stage.get(RUNNABLE, "it").await?;
        anyhow::Ok(it["metadata"]["annotations"][TOKEN].clone())
    };
    let files = [stage.file("rerun", "it", for_version("v00"))];
    let revision = stage
        .sync(&files, &[("rerun", json!({ "wait": false }))])
        .await?;
    record.ready(namespace, "rerun", &revision).await?;
    has_run(&stage, 1).await?;

    kubectl(&stage, asked("a")).await?;
    has_run(&stage, 2).await?;
    stage.reconciled("rerun", "kubectl").await?;
    ensure!(token().await?.is_null(), "kubectl's annotation stays");
    stage.patch("it", asked("b")).await?;
    has_run(&stage, 3).await?;
    stage.reconciled("rerun", "another client").await?;
    ensure!(token().await? == "b", "another client's is taken away");

    let mut manifest = stage.manifest("it", for_version("v00"));
    manifest["metadata"]["annotations"] = json!({ TOKEN: "c" });
    let files = [("rerun/it.yaml".to_owned(), manifest.to_string())];
    let revision = stage.push(&files).await?;
    record.ready(namespace, "rerun", &revision).await?;
    has_run(&stage, 4).await?;
    stage.patch("it", asked("d")).await?;
    has_run(&stage, 5).await?;
    stage.reconciled("rerun", "git").await?;
    has_run(&stage, 6).await?;
    ensure!(token().await? == "c", "Git's token is not there");
    stage.reconciled("rerun", "once more").await?;
    let made = stage.audit.creates(namespace, &JOB.audited())?;
    ensure!(made == 6, "{made} runs");
    println!("asked for again: by kubectl 1, by another client 1, in Git 1, by hand besides 2");
    Ok(())
}
