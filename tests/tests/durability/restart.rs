//! The controller, the API server and etcd die and come back.

use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use cartouche_crds::RunResult;
use cartouche_tests::control_plane::Part;
use tokio::time::sleep;

use crate::{
    engine::{TRIAL, fails, hangs, succeeds},
    scene::{Scene, names},
    sight::{current, failed, result, status},
};

/// Random moments.
pub struct Chance(u64);

impl Chance {
    pub fn new() -> Result<Self> {
        let seed = SystemTime::UNIX_EPOCH.elapsed()?.subsec_nanos();
        println!("seed {seed}");
        Ok(Self(u64::from(seed) | 1))
    }

    fn below(&mut self, limit: u64) -> u64 {
        // Xorshift: good enough to spread kills over the steps of a run.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    pub async fn moment(&mut self, at_most_milliseconds: u64) {
        sleep(Duration::from_millis(self.below(at_most_milliseconds))).await;
    }
}

#[tokio::test]
async fn a_restart_at_rest_makes_no_run_and_no_write_and_not_even_a_read() -> Result<()> {
    let scene = Scene::begin("rest").await?;
    let mut controller = scene.controller(&[]).await?;
    let settled = names(10);
    for name in &settled {
        scene.runnable(name, succeeds(1)).await?;
    }
    scene.runnable("broken", fails(1)).await?;
    scene.runnable("busy", hangs(1)).await?;
    let lost = serde_json::json!({ "inputs": { "no-value": 1 } });
    scene.runnable_with("unrenderable", lost).await?;
    scene.all_give(&settled, 1).await?;
    scene.until("broken", "failed", failed).await?;
    let busy = scene.sees("busy", 1).await?;
    sleep(Duration::from_secs(2)).await;

    let before = scene.requests()?.len();
    let asked = Instant::now();
    assert!(controller.stop().await?.success());
    assert!(asked.elapsed() < Duration::from_secs(5), "slow to stop");
    controller.restart().await?;
    sleep(Duration::from_secs(2)).await;
    controller.kill()?;
    controller.restart().await?;
    sleep(Duration::from_secs(3)).await;
    let since = scene.requests()?.split_off(before);
    assert_eq!(since, Vec::<String>::new());

    // It was still at work.
    scene.end(&busy, true).await?;
    scene.gives("busy", 1).await?;
    assert_eq!(scene.made_of(TRIAL)?.len(), 12);
    Ok(())
}

#[tokio::test]
async fn two_hundred_changes_and_three_kills_make_exactly_two_hundred_runs() -> Result<()> {
    let scene = Scene::begin("changes").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(0)).await?;
    scene.gives("app", 0).await?;
    let mut chance = Chance::new()?;
    let kills: Vec<i64> = [10, 70, 130]
        .map(|from| from + i64::try_from(chance.below(50)).unwrap_or_default())
        .into();
    for value in 1..=200 {
        scene.change("app", succeeds(value)).await?;
        if kills.contains(&value) {
            chance.moment(150).await;
            controller.kill()?;
            controller.restart().await?;
        }
        scene.sees("app", value).await?;
    }
    scene.gives("app", 200).await?;
    assert_eq!(scene.made("app")?, (0..=200).collect::<Vec<_>>());
    scene.nothing_twice()?;
    scene.outputs_only_went_forward("app")?;
    let all = |result| result == Some(RunResult::Succeeded);
    let end = scene
        .until("app", "every result known", |r| {
            let status = status(r);
            status.history.len() == 200 && status.history.iter().all(|entry| all(entry.result))
        })
        .await?;
    assert!(all(result(&end)));
    Ok(())
}

#[tokio::test]
async fn a_kill_every_second_while_twenty_runnables_change_makes_no_run_twice() -> Result<()> {
    let scene = Scene::begin("kills").await?;
    let mut controller = scene.controller(&[]).await?;
    let names = names(20);
    for name in &names {
        scene.runnable(name, succeeds(0)).await?;
    }
    let killing = async {
        for _ in 0..8 {
            sleep(Duration::from_secs(1)).await;
            controller.kill()?;
            controller.restart().await?;
        }
        anyhow::Ok(())
    };
    let changing = async {
        for value in 1..=6 {
            for name in &names {
                scene.change(name, succeeds(value)).await?;
                sleep(Duration::from_millis(60)).await;
            }
        }
        anyhow::Ok(())
    };
    tokio::try_join!(killing, changing)?;
    scene.all_give(&names, 6).await?;
    scene.nothing_twice()?;
    let all_made = scene.all_made()?;
    for name in &names {
        let made = &all_made[name];
        assert!(
            made.is_sorted_by(|a, b| a < b),
            "{name} ran {made:?}: one value twice, or an older after a newer"
        );
        assert_eq!(made.last(), Some(&6), "{name}");
        scene.outputs_only_went_forward(name)?;
    }
    Ok(())
}

#[tokio::test]
async fn asked_to_stop_amid_work_it_ends_well_within_the_grace_of_a_pod() -> Result<()> {
    let scene = Scene::begin("stop").await?;
    let mut controller = scene.controller(&[]).await?;
    let names = names(10);
    for name in &names {
        scene.runnable(name, hangs(1)).await?;
    }
    let asked = Instant::now();
    let status = controller.stop().await?;
    assert!(asked.elapsed() < Duration::from_secs(10), "slow to stop");
    assert_eq!(status.code(), Some(0));
    controller.restart().await?;
    for name in &names {
        let run = scene.sees(name, 1).await?;
        scene.end(&run, true).await?;
    }
    scene.all_give(&names, 1).await?;
    assert_eq!(scene.made_of(TRIAL)?.len(), 10);
    scene.nothing_twice()
}

/// Kills and restarts a server while runs are under way and inputs change.
async fn a_server_dies(part: Part) -> Result<()> {
    let scene = Scene::with_servers_of_its_own("servers").await?;
    let controller = scene.controller(&[]).await?;
    let plane = scene.cluster.control_plane()?;
    let names = names(5);
    for name in &names {
        scene.runnable(name, hangs(0)).await?;
        scene.sees(name, 0).await?;
    }
    plane.kill(part)?;
    sleep(Duration::from_secs(1)).await;
    plane.restart(part).await?;
    for name in &names {
        let run = scene.sees(name, 0).await?;
        scene.end(&run, true).await?;
    }
    scene.all_give(&names, 0).await?;

    let mut chance = Chance::new()?;
    let changing = async {
        for name in &names {
            scene.change(name, succeeds(1)).await?;
        }
        anyhow::Ok(())
    };
    let dying = async {
        chance.moment(120).await;
        plane.restart(part).await
    };
    tokio::try_join!(changing, dying)?;
    scene.all_give(&names, 1).await?;
    // A killed server may not have logged its writes: the runs themselves count.
    for name in &names {
        let runs = scene.runs(TRIAL, name).await?;
        assert_eq!(runs.len(), 2, "{name}");
        let now = current(&scene.now(name).await?)?;
        assert_eq!(now.sequence, 2);
    }
    assert!(controller.runs()?);
    Ok(())
}

#[tokio::test]
async fn nothing_is_lost_or_made_twice_when_the_api_server_dies() -> Result<()> {
    a_server_dies(Part::ApiServer).await
}

#[tokio::test]
async fn nothing_is_lost_or_made_twice_when_etcd_dies() -> Result<()> {
    a_server_dies(Part::Etcd).await
}
