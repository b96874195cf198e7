//! A release with another hash repeats no run.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use cartouche_crds::Runnable;
use cartouche_tests::{fixture::objects::text, status::edited};
use kube::{ResourceExt, api::ListParams};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    engine::{TRIAL, fails, hangs, succeeds},
    scene::{Scene, names},
    sight::{confirmed, current, failed, output, ready, says},
};

/// Makes a ledger and its runs look as if another release had made them.
async fn as_another_release_left_it(scene: &Scene, name: &str, version: &str) -> Result<()> {
    let foreign = format!("{version}:0123456789abcdef");
    scene
        .edit_status(name, |status| {
            *status = edited(status.take(), |status| {
                let current = status.current_run.iter_mut().map(|run| &mut run.input_hash);
                let earlier = Arc::make_mut(&mut status.history).iter_mut();
                let earlier = earlier.map(|run| &mut run.input_hash);
                current
                    .chain(earlier)
                    .for_each(|hash| foreign.clone_into(hash));
            })
            // Without a status nothing below holds.
            .unwrap_or_default();
        })
        .await?;
    let annotation = json!({ "metadata": { "annotations": { "carto.run/input-hash": foreign } } });
    for run in scene.runs(TRIAL, name).await? {
        scene
            .patch_of(TRIAL, &run.name_any(), annotation.clone())
            .await?;
    }
    Ok(())
}

fn relinked(runnable: &Runnable) -> bool {
    current(runnable).is_ok_and(|run| run.input_hash.starts_with("v1:"))
}

/// Plays many Runnables in all states that change over to this release.
async fn nothing_runs_again(version: &str) -> Result<()> {
    let scene = Scene::begin(&format!("hash-{version}")).await?;
    let mut controller = scene.controller(&[]).await?;
    let mut names: Vec<String> = (0..12).map(|n| format!("app-{n}")).collect();
    for name in &names {
        scene.runnable(name, succeeds(1)).await?;
    }
    scene.all_give(&names, 1).await?;
    for name in &names {
        scene.change(name, succeeds(2)).await?;
    }
    scene.runnable("busy", hangs(2)).await?;
    scene.runnable("broken", fails(2)).await?;
    scene.runnable("gone", succeeds(2)).await?;
    names.push("gone".to_owned());
    scene.all_give(&names, 2).await?;
    scene.until("broken", "failed", failed).await?;
    scene.until("busy", "its run", confirmed).await?;
    let run = scene.sees("gone", 2).await?;
    scene.delete(TRIAL, &run).await?;

    assert!(controller.stop().await?.success());
    let before = scene.made_of(TRIAL)?.len();
    for runnable in scene.runnables().list(&ListParams::default()).await? {
        as_another_release_left_it(&scene, &runnable.name_any(), version).await?;
    }
    controller.restart().await?;
    names.extend(["busy".to_owned(), "broken".to_owned()]);
    for name in &names {
        scene
            .until(name, "a hash of this release", relinked)
            .await?;
    }
    assert_eq!(scene.made_of(TRIAL)?.len(), before, "runs were made again");
    let busy = scene.sees("busy", 2).await?;
    scene.end(&busy, true).await?;
    names.retain(|name| name != "broken");
    scene.all_give(&names, 2).await?;
    let broken = scene.until("broken", "failed", failed).await?;
    assert_eq!(output(&broken), None);
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(scene.made_of(TRIAL)?.len(), before);

    // A real change is made as usual.
    for name in &names {
        scene.change(name, succeeds(3)).await?;
    }
    scene.all_give(&names, 3).await?;
    assert_eq!(scene.made_of(TRIAL)?.len(), before + names.len());
    scene.nothing_twice()
}

#[tokio::test]
async fn ledgers_of_an_older_hash_are_linked_to_their_runs_and_nothing_runs_again() -> Result<()> {
    nothing_runs_again("v0").await
}

#[tokio::test]
async fn ledgers_of_a_newer_hash_are_linked_to_their_runs_and_nothing_runs_again() -> Result<()> {
    nothing_runs_again("v2").await
}

#[tokio::test]
async fn inputs_that_changed_during_the_change_of_release_make_exactly_one_run() -> Result<()> {
    let scene = Scene::begin("hash-changed").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("done", succeeds(1)).await?;
    scene.runnable("busy", hangs(1)).await?;
    scene.gives("done", 1).await?;
    scene.until("busy", "its run", confirmed).await?;
    assert!(controller.stop().await?.success());
    for name in ["done", "busy"] {
        as_another_release_left_it(&scene, name, "v0").await?;
        scene.change(name, succeeds(2)).await?;
    }
    controller.restart().await?;
    for name in ["done", "busy"] {
        scene.gives(name, 2).await?;
    }
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(
        (scene.made("done")?, scene.made("busy")?),
        (vec![1, 2], vec![1, 2])
    );
    scene.nothing_twice()
}

/// Two releases that restore the hash by turns leave it longer each time: they write it with a result then,
/// and at rest not at all.
#[tokio::test]
async fn a_result_is_recorded_while_the_hash_of_another_release_is_left() -> Result<()> {
    let scene = Scene::begin("hash-left").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", confirmed).await?;
    let run = scene.sees("app", 1).await?;
    as_another_release_left_it(&scene, "app", "v2").await?;
    let linked = "a hash of this release";
    scene.until("app", linked, relinked).await?;
    as_another_release_left_it(&scene, "app", "v2").await?;
    let left = scene.now("app").await?;
    sleep(Duration::from_secs(4)).await;
    let now = scene.now("app").await?;
    assert_eq!(now.resource_version(), left.resource_version(), "{now:?}");
    scene.end(&run, true).await?;
    let has_output = |runnable: &Runnable| output(runnable) == Some(1);
    let ended = scene.until("app", "its output", has_output).await?;
    assert!(relinked(&ended), "with the same write: {ended:?}");
    assert_eq!(scene.made("app")?, [1]);
    scene.nothing_twice()
}

/// Longer than the first pause after which a hash, or a waiting run, is written anew, and shorter than the
/// two first ones.
const AT_REST: Duration = Duration::from_mins(1);
/// Each of two processes may write after its first pause, and has perhaps begun with the second one.
const WRITES_AT_REST: usize = 4;

/// Returns the number of writes of the status of each of these by controllers.
fn writes(scene: &Scene, names: &[String]) -> Result<Vec<usize>> {
    let each = names.iter().map(|name| Ok(scene.statuses(name)?.len()));
    each.collect()
}

/// Returns true if the ledger of one of these has had the hashes of both.
fn is_of_both(scene: &Scene, names: &[String]) -> Result<bool> {
    let mut versions = BTreeSet::new();
    for name in names {
        for status in scene.statuses(name)? {
            let hash = text(&status["currentRun"]["inputHash"]);
            versions.extend(hash.split_once(':').map(|(version, _)| version.to_owned()));
        }
    }
    Ok(versions.len() == 2)
}

/// Each puts its own hash in place of the other's, after a pause, and both make runs.
#[tokio::test]
async fn two_releases_that_do_not_know_each_others_hashes_run_each_change_once_and_do_not_fight()
-> Result<()> {
    let scene = Scene::begin("hash-strange").await?;
    let _present = scene.controller(&[]).await?;
    let _strange = scene.controller_of("after-next").await?;
    let done = names(6);
    for name in &done {
        scene.runnable(name, succeeds(0)).await?;
    }
    scene.runnable("busy", hangs(0)).await?;
    let behind = json!({ "inputs": hangs(0), "concurrencyPolicy": "LatestOnly" });
    scene.runnable_with("behind", behind).await?;
    let asked = json!({ "inputs": succeeds(0), "approval": "Manual" });
    scene.runnable_with("asked", asked).await?;
    scene.all_give(&done, 0).await?;
    for value in 1..=4 {
        for name in &done {
            scene.change(name, succeeds(value)).await?;
        }
        scene.all_give(&done, value).await?;
    }
    for name in ["busy", "behind"] {
        scene.until(name, "its run", confirmed).await?;
    }
    scene.change("behind", succeeds(1)).await?;
    for (name, reason) in [("behind", "RunAtWork"), ("asked", "ApprovalRequired")] {
        let waits = |it: &Runnable| says(it, "Ready", "Unknown", reason);
        scene.until(name, reason, waits).await?;
    }

    let all = [
        done.clone(),
        ["busy", "behind", "asked"].map(str::to_owned).into(),
    ]
    .concat();
    let before = writes(&scene, &all)?;
    sleep(AT_REST).await;
    let after = writes(&scene, &all)?;
    for ((name, before), after) in all.iter().zip(before).zip(after) {
        println!("{name}: {} writes at rest", after - before);
        ensure!(
            after - before <= WRITES_AT_REST,
            "{name}: {}",
            after - before
        );
    }
    ensure!(is_of_both(&scene, &all)?, "one of them has written nothing");

    for name in ["busy", "behind"] {
        let run = scene.sees(name, 0).await?;
        scene.end(&run, true).await?;
    }
    scene.gives("busy", 0).await?;
    scene.gives("behind", 1).await?;
    scene.approve("asked", ready).await?;
    for name in &done {
        assert_eq!(scene.made(name)?, [0, 1, 2, 3, 4], "{name}");
        scene.outputs_only_went_forward(name)?;
    }
    assert_eq!(scene.made("busy")?, [0]);
    assert_eq!(scene.made("behind")?, [0, 1]);
    assert_eq!(scene.made("asked")?, [0]);
    scene.nothing_twice()
}
