//! Two controllers at once.

use std::time::Duration;

use anyhow::Result;
use cartouche_crds::Runnable;
use cartouche_tests::cluster::Seen;
use kube::ResourceExt;
use tokio::time::sleep;

use crate::{
    engine::{TRIAL, hangs, succeeds},
    scene::{SOON, Scene},
    sight::{is_at, says},
};

#[tokio::test]
async fn two_controllers_make_each_run_once_even_when_one_is_killed_or_pauses() -> Result<()> {
    let scene = Scene::begin("two").await?;
    let mut one = scene.controller(&[]).await?;
    let other = scene.controller(&[]).await?;
    let names: Vec<String> = (0..30).map(|n| format!("app-{n}")).collect();
    for name in &names {
        scene.runnable(name, succeeds(0)).await?;
    }
    scene.all_give(&names, 0).await?;
    for round in 1..=4 {
        let changing = async {
            for name in &names {
                scene.change(name, succeeds(round)).await?;
            }
            anyhow::Ok(())
        };
        let failing = async {
            sleep(Duration::from_millis(100)).await;
            match round {
                2 => one.kill(),
                3 => one.restart().await,
                4 => other.pause(),
                _ => Ok(()),
            }
        };
        tokio::try_join!(changing, failing)?;
        scene.all_give(&names, round).await?;
    }
    // The one that slept wakes up with its old knowledge.
    other.resume()?;
    sleep(Duration::from_secs(3)).await;
    scene.all_give(&names, 4).await?;
    scene.nothing_twice()?;
    for name in &names {
        assert_eq!(scene.made(name)?, [0, 1, 2, 3, 4], "{name}");
        scene.outputs_only_went_forward(name)?;
    }
    Ok(())
}

/// The second begins when no create is on its way: one that arrives after the deletion of another's run may
/// make it again under its number, as `docs/concepts/exactly-once.md` says.
#[tokio::test]
async fn two_controllers_follow_one_deletion_with_one_run() -> Result<()> {
    let scene = Scene::begin("two-deleted").await?;
    let _one = scene.controller(&[]).await?;
    let names: Vec<String> = (0..10).map(|n| format!("app-{n}")).collect();
    for name in &names {
        scene.runnable(name, hangs(1)).await?;
    }
    for name in &names {
        scene.until(name, "its run", is_at(1)).await?;
    }
    let _other = scene.controller(&[]).await?;
    for name in &names {
        let run = scene.sees(name, 1).await?;
        scene.delete(TRIAL, &run).await?;
    }
    for name in &names {
        scene.until(name, "its second run", is_at(2)).await?;
    }
    sleep(Duration::from_secs(2)).await;
    for name in &names {
        assert_eq!(scene.made(name)?, [1, 1], "{name}");
    }
    scene.nothing_twice()
}

#[tokio::test]
async fn a_controller_that_begins_calls_nothing_lost_that_another_saw_go() -> Result<()> {
    let scene = Scene::begin("two-witness").await?;
    let one = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", is_at(1)).await?;
    let run = scene.sees("app", 1).await?;
    one.pause()?;
    scene.delete(TRIAL, &run).await?;
    let _other = scene.controller(&[]).await?;
    let looked_for = format!("get trials.lab.test {}", run.name_any());
    let looked = || async {
        let asked = scene.requests()?;
        Ok(if asked.iter().any(|asked| asked.ends_with(&looked_for)) {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{asked:?}"))
        })
    };
    scene
        .cluster
        .eventually("a look for the run", SOON, looked)
        .await?;
    one.resume()?;
    scene.until("app", "its second run", is_at(2)).await?;
    assert_eq!(scene.made("app")?, [1, 1]);
    scene.nothing_twice()
}

/// Each knows a failure of another time, after a different number of retries.
#[tokio::test]
async fn two_controllers_agree_on_what_they_say_of_a_run_that_is_refused() -> Result<()> {
    let scene = Scene::begin("two-refused").await?;
    scene.leave(TRIAL, &["get", "list"]).await?;
    let one = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    let refused = "StampedObjectRejectedByAPIServer";
    let is_refused = |r: &Runnable| says(r, "Ready", "False", refused);
    scene.until("app", "its refusal", is_refused).await?;
    sleep(Duration::from_secs(10)).await;
    let other = scene.controller(&[]).await?;
    let before = scene.chronicle.statuses("app")?.len();
    sleep(Duration::from_secs(30)).await;
    let writes = scene.chronicle.statuses("app")?.len() - before;
    assert!(
        writes <= 4,
        "{writes} writes of two controllers in half a minute"
    );
    drop((one, other));
    scene.nothing_twice()
}
