//! Every change is one run, and the newest gives the outputs.

use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use kube::ResourceExt;
use serde_json::json;

use crate::{
    engine::{TRIAL, fails, hangs, succeeds, template},
    scene::Scene,
    sight::{failed, output},
};

#[tokio::test]
async fn going_back_to_earlier_inputs_is_a_change_like_any_other() -> Result<()> {
    let scene = Scene::begin("aba").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    for value in [1, 2, 1, 2, 1] {
        scene.change("app", succeeds(value)).await?;
        scene.gives("app", value).await?;
    }
    assert_eq!(scene.made("app")?, [1, 2, 1, 2, 1]);
    scene.nothing_twice()
}

#[tokio::test]
async fn going_back_while_the_run_between_is_under_way_is_a_third_run() -> Result<()> {
    let scene = Scene::begin("aba-busy").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    scene.change("app", hangs(2)).await?;
    let between = scene.sees("app", 2).await?;
    scene.change("app", succeeds(1)).await?;
    let third = |r: &_| crate::sight::current(r).is_ok_and(|run| run.sequence == 3);
    scene.until("app", "a third run", third).await?;
    scene.gives("app", 1).await?;
    // The outputs of the older run come too late.
    scene.end(&between, true).await?;
    scene.is_served().await?;
    scene.gives("app", 1).await?;
    assert_eq!(scene.made("app")?, [1, 2, 1]);
    scene.outputs_only_went_forward("app")
}

/// Maximum number of runs, two for each attempt to have them made within one second.
const MOST_RUNS: i64 = 200;

#[tokio::test]
async fn of_two_runs_made_within_one_second_the_later_gives_the_outputs() -> Result<()> {
    let scene = Scene::begin("second").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(0)).await?;
    scene.gives("app", 0).await?;
    let (mut ties, mut last) = (0, 0);
    // A busy machine may need more than a second for two runs, so this repeats until it does not.
    while ties < 3 && last < MOST_RUNS {
        beginning_of_a_second().await?;
        let (one, other) = (last + 1, last + 2);
        scene.change("app", hangs(one)).await?;
        let first = scene.sees("app", one).await?;
        scene.change("app", hangs(other)).await?;
        let second = scene.sees("app", other).await?;
        ties += i64::from(first.creation_timestamp() == second.creation_timestamp());
        // The later ends first: the output of the earlier comes after it, in time.
        for run in [&second, &first] {
            scene.end(run, true).await?;
        }
        scene.gives("app", other).await?;
        last = other;
    }
    ensure!(
        ties > 0,
        "not reached: in {} tries no two runs were made within one second",
        last / 2
    );
    scene.is_served().await?;
    scene.gives("app", last).await?;
    scene.nothing_twice()?;
    scene.outputs_only_went_forward("app")
}

async fn beginning_of_a_second() -> Result<()> {
    let into = SystemTime::UNIX_EPOCH.elapsed()?.subsec_nanos();
    tokio::time::sleep(Duration::from_nanos(1_020_000_000 - u64::from(into))).await;
    Ok(())
}

#[tokio::test]
async fn a_change_while_a_run_is_under_way_runs_beside_it() -> Result<()> {
    let scene = Scene::begin("beside").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    scene.change("app", hangs(2)).await?;
    let second = scene.sees("app", 2).await?;
    scene.change("app", hangs(3)).await?;
    let third = scene.sees("app", 3).await?;
    // An earlier run that succeeds while the newest is under way is the newest success.
    scene.end(&second, true).await?;
    let told = |r: &_| output(r) == Some(2);
    scene.until("app", "the output of the second", told).await?;
    // A failure loses nothing, and the next change is still made.
    scene.end(&third, false).await?;
    let end = scene.until("app", "the third failed", failed).await?;
    assert_eq!(output(&end), Some(2));
    scene.change("app", succeeds(4)).await?;
    scene.gives("app", 4).await?;
    assert_eq!(scene.made("app")?, [1, 2, 3, 4]);
    scene.outputs_only_went_forward("app")
}

#[tokio::test]
async fn of_changes_faster_than_anybody_looks_the_last_wins() -> Result<()> {
    let scene = Scene::begin("rapid").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(0)).await?;
    for value in 1..=20 {
        scene.change("app", succeeds(value)).await?;
    }
    scene.gives("app", 20).await?;
    scene.is_served().await?;
    let made = scene.made("app")?;
    assert!(made.is_sorted_by(|a, b| a < b), "{made:?}");
    assert_eq!(made.last(), Some(&20));
    scene.nothing_twice()?;
    scene.outputs_only_went_forward("app")
}

#[tokio::test]
async fn an_edited_template_runs_each_of_its_fifty_runnables_once() -> Result<()> {
    let scene = Scene::begin("edit").await?;
    let _controller = scene.controller(&[]).await?;
    let names: Vec<String> = (0..50).map(|n| format!("app-{n}")).collect();
    for name in &names {
        scene.runnable(name, succeeds(1)).await?;
    }
    scene.all_give(&names, 1).await?;
    let mut edited = template(TRIAL);
    edited["template"]["spec"]["value"] = json!(2);
    scene.template(edited.clone()).await?;
    scene.all_give(&names, 2).await?;
    // A change of the outputs that are read, or of the rule, is no change of the run.
    edited["outputs"] = json!({ "value": ".spec.value", "phase": ".status.phase" });
    edited["healthRule"] = json!({ "singleConditionType": "Succeeded" });
    scene.template(edited).await?;
    for name in &names {
        let both = |r: &_| {
            crate::sight::status(r)
                .outputs
                .is_some_and(|o| o.len() == 2)
        };
        scene.until(name, "both outputs", both).await?;
        assert_eq!(scene.made(name)?, [1, 2]);
    }
    scene.nothing_twice()
}

#[tokio::test]
async fn a_change_of_labels_alone_runs_once_and_one_of_no_effect_not_at_all() -> Result<()> {
    let scene = Scene::begin("labels").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    let mut same = template(TRIAL);
    same["template"]["metadata"]["labels"] = json!({ "team": "blue" });
    scene.template(same).await?;
    let second = |r: &_| crate::sight::current(r).is_ok_and(|run| run.sequence == 2);
    scene.until("app", "a run with the label", second).await?;
    scene
        .patch(
            "app",
            json!({ "metadata": { "annotations": { "note": "x" } } }),
        )
        .await?;
    let unread = json!({ "spec": { "inputs": { "unread": true } } });
    scene.patch("app", unread).await?;
    scene.gives("app", 1).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 1]);
    Ok(())
}

#[tokio::test]
async fn of_a_hundred_changes_as_fast_as_runs_finish_each_shows_its_output() -> Result<()> {
    let scene = Scene::begin("hundred").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(0)).await?;
    for value in 0..=100 {
        scene.change("app", succeeds(value)).await?;
        scene.gives("app", value).await?;
    }
    assert_eq!(scene.made("app")?, (0..=100).collect::<Vec<_>>());
    scene.outputs_only_went_forward("app")
}

#[tokio::test]
async fn a_failing_run_is_not_tried_again() -> Result<()> {
    let scene = Scene::begin("failing").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", fails(1)).await?;
    scene.until("app", "failed", failed).await?;
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1]);
    Ok(())
}
