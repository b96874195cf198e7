//! The status, which holds the ledger, is lost, restored, edited, or contested.

use std::time::Duration;

use anyhow::Result;
use cartouche_crds::Runnable;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    engine::{TRIAL, fails, hangs, succeeds},
    scene::{AFTER_QUIET, QUIET, Scene},
    sight::{condition, current, failed, is_at, output, ready, says, status, without_ledger},
};

fn has_ledger(runnable: &Runnable) -> bool {
    status(runnable).current_run.is_some()
}

/// Makes three Runnables: one with three runs and outputs, one that failed after a success, one with a run
/// under way.
async fn three(scene: &Scene) -> Result<()> {
    for name in ["done", "broken", "busy"] {
        scene.runnable(name, succeeds(1)).await?;
        scene.gives(name, 1).await?;
    }
    for value in 2..=3 {
        scene.change("done", succeeds(value)).await?;
        scene.gives("done", value).await?;
    }
    scene.change("broken", fails(2)).await?;
    scene.until("broken", "failed", failed).await?;
    scene.change("busy", hangs(2)).await?;
    scene.sees("busy", 2).await?;
    scene.until("busy", "its second run", is_at(2)).await?;
    Ok(())
}

async fn sequences(scene: &Scene) -> Result<Vec<i64>> {
    let mut found = Vec::new();
    for name in ["done", "broken", "busy"] {
        found.push(current(&scene.now(name).await?)?.sequence);
    }
    Ok(found)
}

/// Checks that no more runs were made for them, and that their status is as before.
async fn all_is_as_before(scene: &Scene) -> Result<()> {
    for name in ["done", "broken", "busy"] {
        scene
            .within(AFTER_QUIET, name, "its ledger", has_ledger)
            .await?;
    }
    scene.gives("done", 3).await?;
    let broken = scene.until("broken", "failed", failed).await?;
    assert_eq!(output(&broken), Some(1));
    assert_eq!(sequences(scene).await?, [3, 2, 2]);
    scene.is_served().await?;
    assert_eq!(scene.made_of(TRIAL)?.len(), 7);
    // Life goes on: the run under way ends, and the next change is the next sequence.
    let busy = scene.sees("busy", 2).await?;
    scene.end(&busy, true).await?;
    scene.gives("busy", 2).await?;
    scene.change("done", succeeds(4)).await?;
    let next = scene.gives("done", 4).await?;
    assert_eq!(current(&next)?.sequence, 4);
    assert_eq!(scene.made("done")?, [1, 2, 3, 4]);
    scene.nothing_twice()
}

#[tokio::test]
async fn a_status_that_was_lost_while_nobody_looked_is_rebuilt_without_a_run() -> Result<()> {
    let scene = Scene::begin("lost").await?;
    let mut controller = scene.controller(&[]).await?;
    three(&scene).await?;
    controller.kill()?;
    for name in ["done", "broken", "busy"] {
        scene
            .edit_status(name, |status| *status = json!({}))
            .await?;
    }
    controller.restart().await?;
    all_is_as_before(&scene).await
}

#[tokio::test]
async fn a_ledger_that_was_lost_while_nobody_looked_is_rebuilt_without_a_run() -> Result<()> {
    let scene = Scene::begin("ledgerless").await?;
    let mut controller = scene.controller(&[]).await?;
    three(&scene).await?;
    controller.kill()?;
    for name in ["done", "broken", "busy"] {
        scene.edit_status(name, without_ledger).await?;
    }
    controller.restart().await?;
    all_is_as_before(&scene).await?;
    let shown = |status: &&Value| status.pointer("/outputs/value").is_some();
    let statuses = scene.statuses("done")?;
    let gone = statuses
        .iter()
        .skip_while(|s| !shown(s))
        .find(|s| !shown(s));
    assert_eq!(gone, None, "the outputs were gone in between");
    Ok(())
}

#[tokio::test]
async fn a_status_that_is_wiped_under_a_running_controller_is_rebuilt_without_a_run() -> Result<()>
{
    let scene = Scene::begin("wiped").await?;
    let _controller = scene.controller(&[]).await?;
    three(&scene).await?;
    for name in ["done", "broken", "busy"] {
        scene
            .edit_status(name, |status| *status = json!({}))
            .await?;
    }
    all_is_as_before(&scene).await
}

#[tokio::test]
async fn edited_outputs_and_conditions_are_put_right_without_a_run() -> Result<()> {
    let scene = Scene::begin("edited").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    let forge = |status: &mut Value| {
        status["outputs"]["value"] = json!(666);
        status["conditions"] = json!([]);
    };
    scene.edit_status("app", forge).await?;
    scene.gives("app", 1).await?;
    controller.kill()?;
    scene.edit_status("app", forge).await?;
    controller.restart().await?;
    scene.gives("app", 1).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1]);
    Ok(())
}

/// Lines are kept as they are, and everything else in the list as the text of its JSON.
#[tokio::test]
async fn a_history_that_cannot_be_read_is_kept_and_told_and_makes_no_run() -> Result<()> {
    let scene = Scene::begin("garbage").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    scene.change("app", succeeds(2)).await?;
    scene.gives("app", 2).await?;
    let odd = [
        (json!([""]), ""),
        (json!(["a text"]), "a text"),
        (json!([{ "sequence": 1 }]), r#"{"sequence":1}"#),
        (
            json!("0 Succeeded v1/Pod/a - - - h"),
            r#""0 Succeeded v1/Pod/a - - - h""#,
        ),
        (
            json!(["3 Undecided v1/Pod/a - - - h"]),
            "3 Undecided v1/Pod/a - - - h",
        ),
    ];
    let mut made = vec![1, 2];
    for (value, (garbage, kept)) in (3..).zip(odd) {
        let spoil = |status: &mut Value| status["history"].clone_from(&garbage);
        scene.edit_status("app", spoil).await?;
        scene.is_served().await?;
        controller.kill()?;
        scene.edit_status("app", spoil).await?;
        controller.restart().await?;
        scene.is_served().await?;
        assert_eq!(scene.made("app")?, made, "{garbage}");
        scene.change("app", succeeds(value)).await?;
        let end = scene.gives("app", value).await?;
        assert_eq!(status(&end).unreadable_history, [kept]);
        made.push(value);
    }
    assert_eq!(scene.made("app")?, made);
    let told = scene.events("app", "Warning", "HistoryUnreadable").await?;
    assert!(told.iter().any(|told| told.contains("a text")), "{told:?}");
    scene.nothing_twice()
}

/// Acts as the original controller: it writes its own whole status wherever it finds another.
async fn the_original_fights(scene: &Scene, name: &str, for_as_long_as: Duration) -> Result<()> {
    let word = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let fight = async {
        loop {
            let runnable = scene.now(name).await?;
            let own = json!({
                "observedGeneration": runnable.metadata.generation,
                "outputs": { "value": 1 },
                "conditions": [
                    word("RunTemplateReady", "True", "Ready"),
                    word("StampedObjectCondition", "True", "SucceededCondition"),
                    word("Ready", "True", "Ready"),
                ],
            });
            if serde_json::to_value(status(&runnable))? != own {
                scene
                    .edit_status(name, |status| status.clone_from(&own))
                    .await?;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(for_as_long_as, fight)
        .await
        .unwrap_or(Ok(()))
}

#[tokio::test]
async fn while_another_controller_takes_the_ledger_away_no_run_is_made() -> Result<()> {
    let scene = Scene::begin("fight").await?;
    let controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    let before = scene.requests()?.len();
    let changed = async {
        sleep(Duration::from_secs(5)).await;
        scene.change("app", succeeds(2)).await
    };
    // Longer than the quiet that would end it.
    let fight = the_original_fights(&scene, "app", QUIET + Duration::from_secs(10));
    tokio::try_join!(fight, changed)?;
    assert_eq!(scene.made("app")?, [1], "a run was made amid the fight");
    let told = scene.statuses("app")?;
    let told = told
        .iter()
        .filter(|status| status.pointer("/conditions/0/reason") == Some(&json!("OtherController")));
    let told = told.count();
    assert!(told > 0, "nobody was told");
    let writes = scene.requests()?.split_off(before);
    let writes = writes
        .iter()
        .filter(|request| request.contains(": update "));
    let writes = writes.count();
    assert!(
        writes <= 60,
        "{writes} writes in 40 s: both fight at full speed"
    );
    scene.warns("app", "OtherController", "stop").await?;

    // The other one is gone: after the quiet the change is made, once.
    let done = |r: &Runnable| ready(r) && output(r) == Some(2);
    // On a slow machine the quiet is over before this check.
    let other = |r: &Runnable| says(r, "RunTemplateReady", "False", "OtherController") || done(r);
    scene.until("app", "OtherController", other).await?;
    scene
        .within(AFTER_QUIET, "app", "its second run", done)
        .await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 2]);
    assert!(controller.runs()?);
    let end = scene.now("app").await?;
    assert!(condition(&end, "Reconciling").is_none());
    scene.nothing_twice()
}
