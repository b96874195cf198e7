//! Runs that are deleted, and runs that never are. The minimum age of ten minutes is part of the protocol and
//! no setting: here the ledger is edited so that its runs look older than they are.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context, Result};
use cartouche_crds::RunResult;
use cartouche_tests::{cluster::Seen, controller::Controller, fixture::sequence, status::aged};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    ResourceExt,
    api::{ListParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    engine::{JOB, Kind, TRIAL, fails, hangs, succeeds, template},
    scene::{SOON, Scene},
    sight::{current, failed, output, status},
};

/// Makes runs of a Runnable, one after the other, each ended before the next begins.
async fn runs(scene: &Scene, name: &str, policy: Value, runs: &[Value]) -> Result<()> {
    let spec = json!({ "inputs": runs[0], "retentionPolicy": policy });
    scene.runnable_with(name, spec).await?;
    for inputs in runs {
        scene.change(name, inputs.clone()).await?;
        let value = inputs["value"].as_i64().context("a number")?;
        scene.sees(name, value).await?;
        if inputs["play"] == "fail" {
            scene.until(name, "failed", failed).await?;
        } else {
            scene.gives(name, value).await?;
        }
    }
    Ok(())
}

pub fn keep(failed: i64, succeeded: i64) -> Value {
    json!({ "maxFailedRuns": failed, "maxSuccessfulRuns": succeeded })
}

/// Dates everything in the ledger back, while no controller runs.
pub async fn an_hour_passes(scene: &Scene, controller: &mut Controller, name: &str) -> Result<()> {
    assert!(controller.stop().await?.success());
    scene
        .edit_status(name, |status| {
            *status = aged(status.take()).unwrap_or_default();
        })
        .await?;
    controller.restart().await
}

/// Returns the sequences of the existing runs, once there are `count`.
async fn left(scene: &Scene, name: &str, count: usize) -> Result<Vec<i64>> {
    left_of(TRIAL, scene, name, count).await
}

pub async fn left_of(kind: Kind, scene: &Scene, name: &str, count: usize) -> Result<Vec<i64>> {
    scene
        .cluster
        .eventually(
            &format!("{count} runs of {name} to be left"),
            SOON,
            || async {
                let left: Vec<i64> = scene.runs(kind, name).await?.iter().map(sequence).collect();
                Ok(if left.len() == count {
                    Seen::Done(left)
                } else {
                    Seen::NotYet(format!("{left:?}"))
                })
            },
        )
        .await
}

#[tokio::test]
async fn of_old_runs_the_newest_of_each_sort_are_kept_and_no_young_one_goes() -> Result<()> {
    let scene = Scene::begin("retention").await?;
    let mut controller = scene.controller(&[]).await?;
    // Failures are the even numbers up to 8.
    let plays: Vec<Value> = (1..=9)
        .map(|n| if n % 2 == 0 { fails(n) } else { succeeds(n) })
        .collect();
    runs(&scene, "app", keep(1, 2), &plays).await?;
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(scene.retired(TRIAL)?.len(), 0, "none is ten minutes old");

    an_hour_passes(&scene, &mut controller, "app").await?;
    assert_eq!(left(&scene, "app", 3).await?, [7, 8, 9]);
    scene.is_served().await?;
    let retired = scene.retired(TRIAL)?;
    assert_eq!(retired.len(), 6);
    let uids: BTreeSet<&str> = retired
        .iter()
        .filter(|options| options["propagationPolicy"] == "Background")
        .filter_map(|options| options.pointer("/preconditions/uid")?.as_str())
        .collect();
    assert_eq!(
        uids.len(),
        6,
        "each with its uid, in the background: {retired:?}"
    );
    // Their entries go with the objects, at the next write of the ledger.
    scene.change("app", succeeds(10)).await?;
    let end = scene.gives("app", 10).await?;
    let remembered = status(&end).history;
    let remembered: Vec<i64> = remembered.iter().map(|entry| entry.sequence).collect();
    assert_eq!(remembered, [7, 8, 9]);
    assert_eq!(scene.made("app")?.len(), 10);
    Ok(())
}

#[tokio::test]
async fn the_run_that_gave_the_outputs_and_unfinished_runs_are_kept_whatever_their_age()
-> Result<()> {
    let scene = Scene::begin("retention-source").await?;
    let mut controller = scene.controller(&[]).await?;
    scene
        .runnable_with(
            "app",
            json!({ "inputs": hangs(1), "retentionPolicy": keep(1, 1) }),
        )
        .await?;
    let unfinished = scene.sees("app", 1).await?;
    for value in 2..=3 {
        scene.change("app", succeeds(value)).await?;
        scene.gives("app", value).await?;
    }
    // A newer success that lacks the output: the third is kept only because it gave the outputs.
    let mut lacking = template(TRIAL);
    lacking["outputs"] = json!({ "value": ".status.nothing" });
    scene.template(lacking).await?;
    scene.change("app", succeeds(4)).await?;
    let fourth = |r: &_| {
        current(r).is_ok_and(|run| run.sequence == 4 && run.result == Some(RunResult::Succeeded))
    };
    scene.until("app", "the fourth succeeded", fourth).await?;
    for value in 5..=7 {
        scene.change("app", fails(value)).await?;
        scene.sees("app", value).await?;
        scene.until("app", "failed", failed).await?;
    }
    an_hour_passes(&scene, &mut controller, "app").await?;
    // One success is kept, and the one that gave the outputs; one failure, the current run; and the
    // unfinished.
    assert_eq!(left(&scene, "app", 4).await?, [1, 3, 4, 7]);
    scene.is_served().await?;
    assert_eq!(scene.retired(TRIAL)?.len(), 3);
    assert_eq!(output(&scene.now("app").await?), Some(3));
    // The old run ends at last: it is recorded, and its outputs come too late.
    scene.end(&unfinished, true).await?;
    scene
        .until("app", "the end of the first", |r| {
            let now = status(r);
            let mut history = now.history.iter();
            history.any(|entry| entry.sequence == 1 && entry.result.is_some())
        })
        .await?;
    scene.outputs_only_went_forward("app")?;
    assert_eq!(scene.made("app")?.len(), 7);
    Ok(())
}

#[tokio::test]
async fn more_old_runs_than_go_in_one_pass_all_go_nevertheless() -> Result<()> {
    let scene = Scene::begin("retention-many").await?;
    let mut controller = scene.controller(&[]).await?;
    let plays: Vec<Value> = (1..=24).map(succeeds).collect();
    runs(&scene, "app", keep(1, 1), &plays).await?;
    an_hour_passes(&scene, &mut controller, "app").await?;
    assert_eq!(left(&scene, "app", 1).await?, [24]);
    assert_eq!(scene.retired(TRIAL)?.len(), 23);
    Ok(())
}

#[tokio::test]
async fn a_forbidden_delete_is_told_once_and_done_when_it_is_allowed() -> Result<()> {
    let scene = Scene::begin("retention-right").await?;
    let mut controller = scene.controller(&[]).await?;
    let plays: Vec<Value> = (1..=4).map(succeeds).collect();
    runs(&scene, "app", keep(1, 1), &plays).await?;
    scene.leave(TRIAL, &["list", "create"]).await?;
    an_hour_passes(&scene, &mut controller, "app").await?;
    scene.warns("app", "RetentionFailed", "app-").await?;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let told = scene.events("app", "Warning", "RetentionFailed").await?;
    assert_eq!(told.len(), 1, "{told:?}");
    // Runs that cannot be deleted do not hold up others.
    scene.change("app", succeeds(5)).await?;
    scene.gives("app", 5).await?;
    scene.restore_rights().await?;
    assert_eq!(left(&scene, "app", 1).await?, [5]);
    Ok(())
}

#[tokio::test]
async fn another_object_under_the_name_of_an_old_run_is_not_deleted() -> Result<()> {
    let scene = Scene::begin("retention-name").await?;
    let mut controller = scene.controller(&[]).await?;
    let plays: Vec<Value> = (1..=3).map(succeeds).collect();
    runs(&scene, "app", keep(1, 1), &plays).await?;
    let mut old = scene.sees("app", 1).await?;
    scene.delete(TRIAL, &old).await?;
    old.metadata.uid = None;
    old.metadata.resource_version = None;
    let trials = scene.trials();
    scene.gone(TRIAL, &old.name_any()).await?;
    let other = trials.create(&PostParams::default(), &old).await?;
    an_hour_passes(&scene, &mut controller, "app").await?;
    assert_eq!(left(&scene, "app", 2).await?, [1, 3]);
    scene.is_served().await?;
    assert_eq!(trials.get(&old.name_any()).await?.uid(), other.uid());
    let end = scene.gives("app", 3).await?;
    assert_eq!(current(&end)?.sequence, 3);
    Ok(())
}

#[tokio::test]
async fn the_pods_of_an_old_job_go_with_it() -> Result<()> {
    let scene = Scene::begin("retention-jobs").await?;
    let mut controller = scene.controller(&[]).await?;
    scene
        .template(json!({
            "template": {
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "generateName": "$(runnable.metadata.name)$-" },
                "spec": { "backoffLimit": 0, "template": { "spec": {
                    "restartPolicy": "Never",
                    "containers": [{
                        "name": "work", "image": "busybox",
                        "env": [{ "name": "VALUE", "value": "v$(runnable.spec.inputs.value)$" }],
                    }],
                }}},
            },
            "outputs": { "value": ".status.succeeded" },
        }))
        .await?;
    let spec = json!({ "inputs": succeeds(1), "retentionPolicy": keep(1, 1) });
    scene.runnable_with("app", spec).await?;
    for value in 1..=3 {
        scene.change("app", succeeds(value)).await?;
        let done =
            |r: &_| crate::sight::ready(r) && current(r).is_ok_and(|run| run.sequence == value);
        scene.until("app", "its job complete", done).await?;
    }
    let pods = scene.cluster.api::<Pod>(&scene.namespace);
    assert_eq!(pods.list(&ListParams::default()).await?.items.len(), 3);
    an_hour_passes(&scene, &mut controller, "app").await?;
    scene
        .cluster
        .eventually("one pod to be left", SOON, || async {
            let pods = pods.list(&ListParams::default()).await?.items.len();
            let jobs = scene.runs(JOB, "app").await?.len();
            Ok(if (jobs, pods) == (1, 1) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{jobs} jobs, {pods} pods"))
            })
        })
        .await
}

#[tokio::test]
async fn an_old_run_that_a_finalizer_keeps_is_deleted_and_told_of_once() -> Result<()> {
    let scene = Scene::begin("retention-kept").await?;
    let mut controller = scene.controller(&[]).await?;
    let plays: Vec<Value> = (1..=3).map(succeeds).collect();
    runs(&scene, "app", keep(1, 1), &plays).await?;
    let oldest = scene.runs(TRIAL, "app").await?.swap_remove(0);
    let name = oldest.name_any();
    let finalizers = |list: Value| json!({ "metadata": { "finalizers": list } });
    let kept = finalizers(json!(["lab.test/kept"]));
    scene.patch_of(TRIAL, &name, kept).await?;
    an_hour_passes(&scene, &mut controller, "app").await?;
    assert_eq!(left(&scene, "app", 2).await?, [1, 3]);
    for look in 0..5 {
        let poke = json!({ "metadata": { "annotations": { "look": look.to_string() } } });
        scene.patch("app", poke).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(scene.retired(TRIAL)?.len(), 2, "one delete for each");
    let told = scene
        .events("app", "Normal", "StampedObjectRemoved")
        .await?;
    let told = told.iter().filter(|message| message.contains(&name));
    assert_eq!(told.count(), 1);
    let free = finalizers(json!([]));
    scene.patch_of(TRIAL, &name, free).await?;
    assert_eq!(left(&scene, "app", 1).await?, [3]);
    Ok(())
}
