//! Runs of the original, of a template whose runs need approval from now on.

use anyhow::{Context as _, Result};
use cartouche_crds::Runnable;
use cartouche_tests::cluster::Seen;
use serde_json::json;

use super::{original, original_made, played, taken_over};
use crate::{
    engine::{TRIAL, succeeds, template},
    scene::{AFTER_QUIET, Scene},
    sight::{current, output, says, status},
};

/// Makes a scene of the original's, whose template asks for approvals.
async fn scene(name: &str) -> Result<Scene> {
    let scene = Scene::begin(name).await?;
    let mut template = template(TRIAL);
    template["approval"] = "Manual".into();
    scene.template(template).await?;
    Ok(scene)
}

/// Waits until a run of this number waits for approval, and returns the value that approves it.
async fn asked(scene: &Scene, name: &str, sequence: i64) -> Result<String> {
    let is_asked = |it: &Runnable| {
        let pending = status(it).pending;
        let is_due = pending.is_some_and(|pending| pending.sequence == sequence);
        is_due && says(it, "Ready", "Unknown", "ApprovalRequired")
    };
    let what = "to wait for a person";
    let it = scene.within(AFTER_QUIET, name, what, is_asked).await?;
    let approval = status(&it).pending.and_then(|pending| pending.approval);
    approval.context("it does not say what approves it")
}

async fn approve(scene: &Scene, name: &str, approval: &str) -> Result<()> {
    let annotations = json!({ "carto.run/approved": approval });
    let patch = json!({ "metadata": { "annotations": annotations } });
    scene.patch(name, patch).await
}

#[tokio::test]
async fn what_the_original_has_run_needs_nobodys_yes_and_what_has_changed_does() -> Result<()> {
    let scene = scene("takeover-manual").await?;
    let runs = vec![succeeds(1), succeeds(2)];
    tokio::try_join!(
        original(&scene, "same", runs.clone(), "True", Some(2)),
        original(&scene, "changed", runs, "True", Some(2)),
    )?;
    scene.change("changed", succeeds(3)).await?;
    let mut controller = scene.controller(&[]).await?;
    taken_over(&scene, "same").await?;
    scene.gives("same", 2).await?;
    let approval = asked(&scene, "changed", 3).await?;
    let requests = async |name| scene.events(name, "Normal", "ApprovalRequested").await;
    // The event is sent after the status, and a controller that is killed before that does not send it again.
    let look = || async {
        let events = requests("changed").await?;
        Ok(if events.is_empty() {
            Seen::NotYet("there is no event".to_owned())
        } else {
            Seen::Done(())
        })
    };
    scene
        .eventually("the event that asks a person", look)
        .await?;
    controller.restart().await?;
    scene.is_served().await?;
    let changed = scene.now("changed").await?;
    assert_eq!(output(&changed), Some(2), "what there was stays");
    assert_eq!(asked(&scene, "changed", 3).await?, approval);
    assert_eq!(scene.made_of(TRIAL)?, []);
    approve(&scene, "changed", &approval).await?;
    scene.gives("changed", 3).await?;
    assert_eq!(scene.made("changed")?, [3]);
    assert_eq!(requests("same").await?, Vec::<String>::new());
    assert_eq!(requests("changed").await?.len(), 1);
    assert_eq!(scene.made("same")?, Vec::<i64>::new());
    Ok(())
}

/// Without a status the controller looks for no runs before an approval; those that it finds then count.
#[tokio::test]
async fn a_yes_for_what_has_run_already_makes_no_run() -> Result<()> {
    let scene = scene("takeover-unseen").await?;
    let runnable = scene.runnable("app", succeeds(1)).await?;
    original_made(&scene, &runnable, TRIAL, "x7k2p", succeeds(1)).await?;
    played(&scene, "app-x7k2p").await?;
    let _controller = scene.controller(&[]).await?;
    let approval = asked(&scene, "app", 1).await?;
    approve(&scene, "app", &approval).await?;
    let end = scene.gives("app", 1).await?;
    assert_eq!(current(&end)?.name, "app-x7k2p");
    assert!(status(&end).pending.is_none());
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, Vec::<i64>::new());
    Ok(())
}
