//! An old status is restored from a backup.

use anyhow::{Context, Result};
use cartouche_crds::{FIELD_MANAGER, Runnable};
use cartouche_tests::controller::Controller;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::{
    engine::{TRIAL, succeeds},
    scene::Scene,
    sight::{current, is_at, says, status},
};

/// Makes `app` after this many runs, and a backup of its status after the first.
async fn with_a_backup(name: &str, runs: i64) -> Result<(Scene, Controller, Value)> {
    let scene = Scene::begin(name).await?;
    let controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    let old = serde_json::to_value(status(&scene.gives("app", 1).await?))?;
    for value in 2..=runs {
        scene.change("app", succeeds(value)).await?;
        scene.gives("app", value).await?;
    }
    Ok((scene, controller, old))
}

async fn put_back(scene: &Scene, backup: &Value) -> Result<()> {
    scene
        .edit_status("app", |status| status.clone_from(backup))
        .await
}

/// Returns true if the API server has noted that another client wrote the status.
fn is_marked(runnable: &Runnable) -> bool {
    let mut entries = runnable.managed_fields().iter();
    entries.any(|it| {
        it.subresource.as_deref() == Some("status") && it.manager.as_deref() != Some(FIELD_MANAGER)
    })
}

#[tokio::test]
async fn a_status_from_an_old_backup_goes_on_at_the_highest_number_without_a_run() -> Result<()> {
    let (scene, mut controller, old) = with_a_backup("backup", 4).await?;
    // With the controller stopped, as a restore should be done, and then while it runs.
    for (round, stopped) in [true, false].into_iter().enumerate() {
        if stopped {
            assert!(controller.stop().await?.success());
        }
        put_back(&scene, &old).await?;
        if stopped {
            controller.restart().await?;
        }
        let newest = 4 + i64::try_from(round)?;
        let back = scene.gives("app", newest).await?;
        assert_eq!(current(&back)?.sequence, newest);
        scene.is_served().await?;
        assert_eq!(scene.made("app")?, (1..=newest).collect::<Vec<_>>());
        scene.change("app", succeeds(newest + 1)).await?;
        let next = scene.gives("app", newest + 1).await?;
        assert_eq!(current(&next)?.sequence, newest + 1);
    }
    scene.nothing_twice()
}

/// Restores the status and the inputs of a backup: the ledger of that time would see no change in them.
/// Served again, the Runnable has a run above all, with this number.
async fn restored_with_inputs_of_then(
    scene: &Scene,
    controller: &mut Controller,
    backup: &Value,
    inputs: i64,
    number: i64,
) -> Result<()> {
    assert!(controller.stop().await?.success());
    put_back(scene, backup).await?;
    scene.change("app", succeeds(inputs)).await?;
    controller.restart().await?;
    let above = |r: &Runnable| current(r).is_ok_and(|run| run.sequence == number);
    scene.until("app", "a run above all", above).await?;
    scene.gives("app", inputs).await?;
    scene.is_served().await
}

/// A backup that was made between a decision and its run is restored when that run has long gone.
#[tokio::test]
async fn a_backup_of_a_decision_whose_run_is_gone_does_not_make_it_again() -> Result<()> {
    let scene = Scene::begin("backup-pending").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    for value in 1..=4 {
        scene.change("app", succeeds(value)).await?;
        scene.gives("app", value).await?;
    }
    let decided = scene.statuses("app")?.into_iter().find(|status| {
        let run = &status["currentRun"];
        run["sequence"] == 2 && run["phase"] == "Pending"
    });
    let decided = decided.context("the second run was made without a decision")?;
    assert!(controller.stop().await?.success());
    let second = scene.sees("app", 2).await?;
    scene.delete(TRIAL, &second).await?;
    put_back(&scene, &decided).await?;
    controller.restart().await?;
    let back = scene.gives("app", 4).await?;
    assert_eq!(current(&back)?.sequence, 4);
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 2, 3, 4]);

    restored_with_inputs_of_then(&scene, &mut controller, &decided, 2, 5).await?;
    assert_eq!(scene.made("app")?, [1, 2, 3, 4, 2]);
    scene.nothing_twice()
}

#[tokio::test]
async fn an_old_backup_and_other_inputs_at_once_are_one_run_above_the_highest() -> Result<()> {
    let (scene, mut controller, old) = with_a_backup("backup-changed", 3).await?;
    restored_with_inputs_of_then(&scene, &mut controller, &old, 1, 4).await?;
    assert_eq!(scene.made("app")?, [1, 2, 3, 1]);
    scene.nothing_twice()
}

/// The controller has not looked for the runs that the old status does not know before something else is
/// stuck. That does not make them foreign.
#[tokio::test]
async fn an_old_backup_is_caught_up_with_after_first_looks_that_fail() -> Result<()> {
    let (scene, mut controller, old) = with_a_backup("backup-stuck", 3).await?;
    assert!(controller.stop().await?.success());
    put_back(&scene, &old).await?;
    let template = |name: &str| json!({ "spec": { "runTemplateRef": { "name": name } } });
    scene.patch("app", template("mistyped")).await?;
    controller.restart().await?;
    scene
        .warns("app", "StatusNotCompared", "unable to get run template")
        .await?;
    scene.is_served().await?;
    // The next writer removes the note that another client has written.
    assert!(is_marked(&scene.now("app").await?));
    scene.patch("app", template(&scene.namespace)).await?;
    assert_eq!(current(&scene.gives("app", 3).await?)?.sequence, 3);
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 2, 3]);
    scene.nothing_twice()
}

/// The newest run goes while only the note of the other writer reveals that the status is an old one.
#[tokio::test]
async fn an_old_backup_under_a_suspended_runnable_is_caught_up_with_before_its_newest_run_goes()
-> Result<()> {
    let (scene, mut controller, old) = with_a_backup("backup-suspended", 3).await?;
    assert!(controller.stop().await?.success());
    put_back(&scene, &old).await?;
    let spec = json!({ "spec": { "suspend": true, "inputs": succeeds(4) } });
    scene.patch("app", spec).await?;
    controller.restart().await?;
    scene
        .until("app", "the newest run to be known", is_at(3))
        .await?;
    let newest = scene.sees("app", 3).await?;
    scene.delete(TRIAL, &newest).await?;
    scene.is_served().await?;
    scene
        .patch("app", json!({ "spec": { "suspend": false } }))
        .await?;
    assert_eq!(current(&scene.gives("app", 4).await?)?.sequence, 4);
    assert_eq!(scene.made("app")?, [1, 2, 3, 4]);
    scene.nothing_twice()
}

#[tokio::test]
async fn an_old_backup_under_a_broken_template_is_caught_up_with_after_its_newest_run_went()
-> Result<()> {
    let (scene, _controller, old) = with_a_backup("backup-broken", 3).await?;
    let template = |name: &str| json!({ "spec": { "runTemplateRef": { "name": name } } });
    scene.patch("app", template("mistyped")).await?;
    let no_template = |r: &Runnable| says(r, "RunTemplateReady", "False", "RunTemplateNotFound");
    scene.until("app", "no template", no_template).await?;
    put_back(&scene, &old).await?;
    // Its conditions are those of an earlier template, and nothing is written.
    scene
        .warns("app", "StatusNotCompared", "unable to get run template")
        .await?;
    let newest = scene.sees("app", 3).await?;
    scene.delete(TRIAL, &newest).await?;
    scene.is_served().await?;
    assert!(is_marked(&scene.now("app").await?));
    let mended =
        json!({ "spec": { "runTemplateRef": { "name": scene.namespace }, "inputs": succeeds(4) } });
    scene.patch("app", mended).await?;
    assert_eq!(current(&scene.gives("app", 4).await?)?.sequence, 4);
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 2, 3, 4]);
    scene.nothing_twice()
}

/// The controller has read a newer ledger and written nothing since it began.
#[tokio::test]
async fn an_old_backup_is_caught_up_with_by_a_controller_that_has_only_read() -> Result<()> {
    let (scene, mut controller, old) = with_a_backup("backup-read", 3).await?;
    assert!(controller.stop().await?.success());
    controller.restart().await?;
    scene.is_served().await?;
    put_back(&scene, &old).await?;
    let back = |r: &Runnable| current(r).is_ok_and(|run| run.sequence != 1);
    let back = scene
        .until("app", "a newer run than that of the backup", back)
        .await?;
    assert_eq!(current(&back)?.sequence, 3);
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 2, 3]);
    scene.nothing_twice()
}
