//! Runs that exceed their timeout, while controllers die or are two.

use std::time::Duration;

use anyhow::Result;
use cartouche_crds::{RunResult, Runnable, StopReason};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    engine::{TRIAL, hangs, template},
    scene::{Scene, names},
    sight::current,
};

/// Makes a scene whose runs may work for a few seconds, and end when they are stopped.
async fn scene(name: &str) -> Result<Scene> {
    let scene = Scene::begin(name).await?;
    scene
        .leave(TRIAL, &["get", "list", "create", "delete", "patch"])
        .await?;
    let mut bounded = template(TRIAL);
    bounded["timeout"] = "4s".into();
    bounded["stop"] = json!({ "mergePatch": { "spec": { "play": "fail" } } });
    scene.template(bounded).await?;
    Ok(scene)
}

fn stopped(attempt: i64) -> impl Fn(&Runnable) -> bool {
    move |runnable| {
        current(runnable).is_ok_and(|run| {
            let stop = run.stop.as_ref().map(|stop| &stop.reason);
            run.attempt == attempt
                && run.result == Some(RunResult::Failed)
                && run.retry_at.is_none()
                && stop == Some(&StopReason::TimedOut)
        })
    }
}

async fn hang(scene: &Scene, names: &[String], spec: Value) -> Result<()> {
    for name in names {
        let mut spec = spec.clone();
        spec["inputs"] = hangs(1);
        scene.runnable_with(name, spec).await?;
    }
    Ok(())
}

/// Checks that each was stopped at this attempt, the last one, and that none was made twice.
async fn all_were_stopped(scene: &Scene, names: &[String], attempts: usize) -> Result<()> {
    let last = stopped(i64::try_from(attempts)?);
    for name in names {
        scene.until(name, "to have been stopped", &last).await?;
    }
    sleep(Duration::from_secs(2)).await;
    scene.nothing_twice()?;
    let all = scene.all_made()?;
    for name in names {
        assert_eq!(all[name], vec![1; attempts], "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn runs_are_stopped_whenever_their_controller_dies() -> Result<()> {
    let scene = scene("overdue").await?;
    let mut controller = scene.controller(&[]).await?;
    let names = names(10);
    hang(&scene, &names, json!({})).await?;
    // Before, while and after they are stopped.
    for _ in 0..6 {
        sleep(Duration::from_millis(900)).await;
        controller.kill()?;
        controller.restart().await?;
    }
    all_were_stopped(&scene, &names, 1).await
}

#[tokio::test]
async fn two_controllers_stop_each_attempt_and_make_it_once() -> Result<()> {
    let scene = scene("two-overdue").await?;
    let mut one = scene.controller(&[]).await?;
    let _other = scene.controller(&[]).await?;
    let names = names(8);
    let retry = json!({ "limit": 1, "backoff": { "initial": "1s", "max": "1s" } });
    hang(&scene, &names, json!({ "retry": retry })).await?;
    sleep(Duration::from_secs(5)).await;
    one.kill()?;
    sleep(Duration::from_secs(1)).await;
    one.restart().await?;
    all_were_stopped(&scene, &names, 2).await
}
