//! Many Runnables change together and few reconciles run at the same time: runs are made first, and confirmed
//! later, with their results if they have ended by then.

use std::time::Duration;

use anyhow::Result;
use futures::future::try_join_all;
use serde_json::Value;
use tokio::time::sleep;

use crate::{
    engine::{hangs, succeeds},
    scene::{Scene, names},
    sight::{confirmed, current},
};

/// Three reconciles at a time; the fourth place turns all others away, so that they are seen to wait.
const FEW_LOOKS: [&str; 2] = ["--concurrency", "4"];

async fn change_all(scene: &Scene, names: &[String], inputs: &Value) -> Result<()> {
    let changes = names.iter().map(|name| scene.change(name, inputs.clone()));
    try_join_all(changes).await.map(drop)
}

/// Returns the number of writes that brought the current run from Pending to Created with its result.
fn confirmed_with_result(statuses: &[Value]) -> usize {
    let steps = statuses.windows(2).filter(|pair| {
        let (before, after) = (&pair[0]["currentRun"], &pair[1]["currentRun"]);
        before["phase"] == "Pending"
            && after["phase"] == "Created"
            && after["sequence"] == before["sequence"]
            && after["result"] == "Succeeded"
    });
    steps.count()
}

#[tokio::test]
async fn what_has_ended_before_it_is_confirmed_costs_one_write_less() -> Result<()> {
    // Its engine ends a run as soon as it sees it.
    let scene = Scene::with_servers_of_its_own("put-off").await?;
    let _controller = scene.controller(&FEW_LOOKS).await?;
    let names = names(30);
    for name in &names {
        scene.runnable(name, succeeds(0)).await?;
    }
    scene.all_give(&names, 0).await?;
    for value in 1..=4 {
        change_all(&scene, &names, &succeeds(value)).await?;
        scene.all_give(&names, value).await?;
    }
    scene.nothing_twice()?;
    let mut spared = 0;
    for name in &names {
        assert_eq!(scene.made(name)?, [0, 1, 2, 3, 4]);
        scene.outputs_only_went_forward(name)?;
        spared += confirmed_with_result(&scene.statuses(name)?);
    }
    assert!(spared > 0, "every run was confirmed before it ended");
    Ok(())
}

#[tokio::test]
async fn a_kill_before_the_confirmation_that_was_put_off_makes_no_second_run() -> Result<()> {
    let scene = Scene::begin("put-off-kills").await?;
    let mut controller = scene.controller(&FEW_LOOKS).await?;
    let second = scene.controller(&FEW_LOOKS).await?;
    let names = names(30);
    for name in &names {
        scene.runnable(name, succeeds(0)).await?;
    }
    for value in 1..=4 {
        change_all(&scene, &names, &succeeds(value)).await?;
        for pause in [400, 700] {
            sleep(Duration::from_millis(pause)).await;
            controller.kill()?;
            controller.restart().await?;
        }
    }
    drop(second);
    scene.all_give(&names, 4).await?;
    scene.nothing_twice()?;
    for name in &names {
        assert_eq!(scene.made(name)?.last(), Some(&4));
        scene.outputs_only_went_forward(name)?;
    }
    Ok(())
}

#[tokio::test]
async fn a_run_that_goes_on_is_confirmed_and_followed_all_the_same() -> Result<()> {
    let scene = Scene::begin("put-off-hangs").await?;
    let _controller = scene.controller(&FEW_LOOKS).await?;
    let names = names(20);
    for name in &names {
        scene.runnable(name, hangs(1)).await?;
    }
    for name in &names {
        let run = scene.sees(name, 1).await?;
        let uid = run.metadata.uid.clone();
        let confirmed = scene.until(name, "confirmed", confirmed).await?;
        assert_eq!(current(&confirmed)?.uid, uid);
        scene.end(&run, true).await?;
    }
    scene.all_give(&names, 1).await?;
    scene.nothing_twice()
}
