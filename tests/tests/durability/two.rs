//! Two controllers at once.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::{
    engine::{Kind, hangs, succeeds},
    scene::Scene,
    sight::current,
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
    // The one that slept wakes up with what it knew then.
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

#[tokio::test]
async fn two_controllers_follow_one_deletion_with_one_run() -> Result<()> {
    let scene = Scene::begin("two-deleted").await?;
    let _one = scene.controller(&[]).await?;
    let _other = scene.controller(&[]).await?;
    let names: Vec<String> = (0..10).map(|n| format!("app-{n}")).collect();
    for name in &names {
        scene.runnable(name, hangs(1)).await?;
    }
    for sequence in 1..=2 {
        for name in &names {
            let now = scene
                .until(name, "its run", |r| {
                    current(r).is_ok_and(|run| run.sequence == sequence && run.uid.is_some())
                })
                .await?;
            let run = scene.trials().get(&current(&now)?.name).await?;
            scene.delete(Kind::Trial, &run).await?;
        }
    }
    for name in &names {
        scene
            .until(name, "its third run", |r| {
                current(r).is_ok_and(|run| run.sequence == 3 && run.uid.is_some())
            })
            .await?;
    }
    sleep(Duration::from_secs(2)).await;
    for name in &names {
        assert_eq!(scene.made(name)?, [1, 1, 1], "{name}");
    }
    scene.nothing_twice()
}
