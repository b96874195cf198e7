//! Runs of a kind that the controller may not watch, and rights that come and go.

use std::time::Duration;

use anyhow::Result;
use cartouche_crds::{RunResult, Runnable};
use cartouche_tests::controller::Controller;
use serde_json::json;

use crate::{
    engine::{RECLUSE, TRIAL, hangs, succeeds, template},
    retention::{an_hour_passes, keep, left_of},
    scene::{AFTER_QUIET, Scene},
    sight::{confirmed, current, is_at, output, refused, result, says, status},
};

#[tokio::test]
async fn a_kind_that_may_not_be_watched_is_polled_as_the_account() -> Result<()> {
    let scene = Scene::begin("polled").await?;
    scene.template(template(RECLUSE)).await?;
    let mut controller = scene.controller(&["--poll-seconds", "1"]).await?;
    scene.runnable("app", succeeds(1)).await?;
    for value in 1..=3 {
        scene.change("app", succeeds(value)).await?;
        scene.gives("app", value).await?;
    }
    controller.restart().await?;
    scene.change("app", succeeds(4)).await?;
    scene.gives("app", 4).await?;
    let made = scene.made_of(RECLUSE)?;
    let values: Vec<_> = made.iter().filter_map(|run| run.value).collect();
    assert_eq!(values, [1, 2, 3, 4]);
    // Never with the controller's own rights: it tries to watch, and is refused.
    let controller = Controller::account().user();
    let own = scene.chronicle.events(|event| {
        let own = event.acting_as() == controller && event.resource().starts_with("recluses");
        (own && event.took_effect()).then(|| event.verb.clone())
    })?;
    assert_eq!(own, Vec::<String>::new());
    scene.nothing_twice()
}

#[tokio::test]
async fn that_a_kind_is_polled_is_said() -> Result<()> {
    let scene = Scene::begin("polled-told").await?;
    scene.template(template(RECLUSE)).await?;
    let _controller = scene.controller(&["--poll-seconds", "1"]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    scene
        .warns("app", "KindNotWatched", "recluses.lab.test")
        .await
}

#[tokio::test]
async fn a_polled_run_that_is_gone_unfinished_is_lost_and_not_made_again() -> Result<()> {
    for (name, watching) in [("polled-gone", true), ("polled-unseen", false)] {
        let scene = Scene::begin(name).await?;
        scene.template(template(RECLUSE)).await?;
        let mut controller = scene.controller(&["--poll-seconds", "1"]).await?;
        scene.runnable("app", hangs(1)).await?;
        let run = scene.sees_of(RECLUSE, "app", 1).await?;
        scene.until("app", "its run", confirmed).await?;
        if watching {
            // A list has shown it. No list shows whether it ended before it went.
            tokio::time::sleep(Duration::from_secs(3)).await;
            scene.delete(RECLUSE, &run).await?;
        } else {
            assert!(controller.stop().await?.success());
            scene.delete(RECLUSE, &run).await?;
            controller.restart().await?;
        }
        let lost = |r: &Runnable| result(r) == Some(RunResult::Lost);
        scene.within(AFTER_QUIET, "app", "lost", lost).await?;
        let again = json!({ "carto.run/rerun-token": "once more" });
        scene
            .patch("app", json!({ "metadata": { "annotations": again } }))
            .await?;
        scene.until("app", "its second run", is_at(2)).await?;
        assert_eq!(scene.made_of(RECLUSE)?.len(), 2);
        scene.nothing_twice()?;
    }
    Ok(())
}

#[tokio::test]
async fn a_right_to_list_that_is_missing_for_a_while_is_no_end_of_a_polled_run() -> Result<()> {
    let scene = Scene::begin("polled-blind").await?;
    scene.template(template(RECLUSE)).await?;
    let _controller = scene.controller(&["--poll-seconds", "1"]).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", confirmed).await?;
    scene.cluster.grant(&scene.account, &[]).await?;
    let refused = |r: &Runnable| {
        let reason = "FailedToListCreatedObjects";
        says(r, "RunTemplateReady", "False", reason)
    };
    scene.until("app", "told of", refused).await?;
    // Longer than a controller that misses a run waits for another's report.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let now = scene.now("app").await?;
    assert_eq!((current(&now)?.sequence, result(&now)), (1, None));
    scene.restore_rights().await?;
    scene.until("app", "well again", |r| !refused(r)).await?;
    let now = scene.now("app").await?;
    assert_eq!((current(&now)?.sequence, result(&now)), (1, None));
    assert_eq!(scene.made_of(RECLUSE)?.len(), 1);
    scene.nothing_twice()
}

#[tokio::test]
async fn old_runs_of_a_polled_kind_are_deleted_and_their_entries_leave() -> Result<()> {
    let scene = Scene::begin("polled-old").await?;
    scene.template(template(RECLUSE)).await?;
    let mut controller = scene.controller(&["--poll-seconds", "1"]).await?;
    let spec = json!({ "inputs": succeeds(1), "retentionPolicy": keep(1, 1) });
    scene.runnable_with("app", spec).await?;
    for value in 1..=5 {
        scene.change("app", succeeds(value)).await?;
        scene.gives("app", value).await?;
    }
    an_hour_passes(&scene, &mut controller, "app").await?;
    let kept = left_of(RECLUSE, &scene, "app", 1).await?;
    assert_eq!(kept, [5]);
    scene.change("app", succeeds(6)).await?;
    let end = scene.gives("app", 6).await?;
    let remembered = status(&end).history;
    let remembered: Vec<i64> = remembered.iter().map(|entry| entry.sequence).collect();
    assert_eq!(remembered, [5]);
    // Also those of a kind that is no longer the stamped one.
    scene.template(template(TRIAL)).await?;
    scene
        .until("app", "a run of another kind", is_at(7))
        .await?;
    scene.gives("app", 6).await?;
    an_hour_passes(&scene, &mut controller, "app").await?;
    assert!(left_of(RECLUSE, &scene, "app", 0).await?.is_empty());
    scene.nothing_twice()
}

#[tokio::test]
async fn rights_taken_away_and_given_back_make_one_run_and_lose_nothing() -> Result<()> {
    let scene = Scene::begin("rights").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.runnable("busy", hangs(1)).await?;
    scene.gives("app", 1).await?;
    scene.until("busy", "its run", confirmed).await?;

    scene.leave(TRIAL, &["list", "delete"]).await?;
    scene.change("app", succeeds(2)).await?;
    let second = |r: &Runnable| refused(r) && current(r).is_ok_and(|run| run.sequence == 2);
    let told = scene.until("app", "refused", second).await?;
    assert_eq!(output(&told), Some(1));
    // No rights at all: running work goes on, and nothing known is lost.
    scene.cluster.grant(&scene.account, &[]).await?;
    let busy = scene.sees("busy", 1).await?;
    scene.end(&busy, true).await?;
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(output(&scene.now("app").await?), Some(1));

    scene.restore_rights().await?;
    scene.gives("busy", 1).await?;
    let end = scene.gives("app", 2).await?;
    assert_eq!(current(&end)?.sequence, 2);
    assert_eq!(
        (scene.made("app")?, scene.made("busy")?),
        (vec![1, 2], vec![1])
    );
    scene.outputs_only_went_forward("app")?;
    scene.nothing_twice()
}

#[tokio::test]
async fn inputs_that_go_back_while_a_create_is_refused_make_no_run() -> Result<()> {
    let scene = Scene::begin("rights-back").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    scene.leave(TRIAL, &["list", "delete"]).await?;
    scene.change("app", succeeds(2)).await?;
    scene.until("app", "refused", refused).await?;
    scene.change("app", succeeds(3)).await?;
    let third = |r: &Runnable| {
        refused(r) && r.status.as_ref().and_then(|s| s.observed_generation) == r.metadata.generation
    };
    scene.until("app", "refused again", third).await?;
    scene.restore_rights().await?;
    scene.gives("app", 3).await?;
    assert_eq!(scene.made("app")?, [1, 3], "the refused inputs never ran");
    scene.nothing_twice()
}
