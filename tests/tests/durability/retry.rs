//! Retries of failed runs, while controllers die, are two, or are of an earlier release.

use std::time::Duration;

use anyhow::Result;
use cartouche_crds::{RunResult, Runnable};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    engine::{TRIAL, fails},
    scene::{Scene, names},
    sight::{current, status, without_ledger},
};

/// Returns a policy of this many retries, this many seconds apart.
fn retry(limit: i64, seconds: u64) -> Value {
    let pause = format!("{seconds}s");
    json!({ "limit": limit, "backoff": { "initial": pause, "max": pause } })
}

fn failing(retry: &Value) -> Value {
    json!({ "inputs": fails(1), "retry": retry })
}

/// Returns a sign that this attempt has failed and is the last one.
fn exhausted(attempt: i64) -> impl Fn(&Runnable) -> bool {
    move |runnable| {
        current(runnable).is_ok_and(|run| {
            run.attempt == attempt
                && run.result == Some(RunResult::Failed)
                && run.retry_at.is_none()
        })
    }
}

/// Checks that each had this many attempts, and that no attempt was made twice.
async fn all_were_made_once(scene: &Scene, names: &[String], attempts: usize) -> Result<()> {
    let last = i64::try_from(attempts)?;
    for name in names {
        scene
            .until(name, "the last attempt", exhausted(last))
            .await?;
    }
    sleep(Duration::from_secs(2)).await;
    scene.nothing_twice()?;
    let all = scene.all_made()?;
    for name in names {
        assert_eq!(all[name], vec![1; attempts], "{name}");
    }
    Ok(())
}

fn scheduled(runnable: &Runnable) -> bool {
    current(runnable).is_ok_and(|run| run.retry_at.is_some())
}

#[tokio::test]
async fn attempts_that_are_ahead_outlive_a_kill_and_are_made_once() -> Result<()> {
    let scene = Scene::begin("ahead").await?;
    let mut controller = scene.controller(&[]).await?;
    let names = names(10);
    for name in &names {
        scene.runnable_with(name, failing(&retry(1, 4))).await?;
    }
    for name in &names {
        scene.until(name, "an attempt ahead", scheduled).await?;
    }
    controller.kill()?;
    // The time of some comes before it is back.
    sleep(Duration::from_secs(3)).await;
    controller.restart().await?;
    all_were_made_once(&scene, &names, 2).await
}

#[tokio::test]
async fn two_controllers_make_each_attempt_once() -> Result<()> {
    let scene = Scene::begin("two-retry").await?;
    let mut one = scene.controller(&[]).await?;
    let _other = scene.controller(&[]).await?;
    let names = names(10);
    for name in &names {
        scene.runnable_with(name, failing(&retry(3, 1))).await?;
    }
    sleep(Duration::from_secs(2)).await;
    one.kill()?;
    sleep(Duration::from_secs(1)).await;
    one.restart().await?;
    all_were_made_once(&scene, &names, 4).await
}

/// A release that does not know of attempts drops unknown fields with its next write.
#[tokio::test]
async fn a_failure_of_which_nothing_says_when_it_is_tried_again_stays_one() -> Result<()> {
    let scene = Scene::begin("earlier").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable_with("app", failing(&retry(3, 2))).await?;
    scene.until("app", "an attempt ahead", scheduled).await?;
    controller.kill()?;
    scene
        .edit_status("app", |status| {
            if let Value::Object(run) = &mut status["currentRun"] {
                run.remove("retryAt");
            }
        })
        .await?;
    controller.restart().await?;
    sleep(Duration::from_secs(5)).await;
    scene.goes_on_after_one_run("app").await
}

#[tokio::test]
async fn an_attempt_costs_what_a_run_costs_and_waiting_for_it_nothing() -> Result<()> {
    let scene = Scene::begin("cost").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable_with("app", failing(&retry(1, 8))).await?;
    scene.until("app", "an attempt ahead", scheduled).await?;
    sleep(Duration::from_millis(1_500)).await;
    let first = scene.requests()?;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(scene.requests()?.len(), first.len(), "while it waits");
    scene.until("app", "the last attempt", exhausted(2)).await?;
    sleep(Duration::from_millis(1_500)).await;
    let second = scene.requests()?.split_off(first.len());
    let of_runs = |all: &[String]| {
        let mut kinds: Vec<String> = all
            .iter()
            .filter(|request| !request.contains("serviceaccounts"))
            .map(|request| {
                request
                    .split_whitespace()
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        kinds.sort();
        kinds
    };
    println!("first: {first:#?}\nsecond: {second:#?}");
    assert!(of_runs(&second).len() <= of_runs(&first).len());
    Ok(())
}

#[tokio::test]
async fn a_status_that_was_lost_while_an_attempt_was_ahead_tries_nothing_again() -> Result<()> {
    let scene = Scene::begin("lost-retry").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable_with("app", failing(&retry(3, 30))).await?;
    scene.until("app", "an attempt ahead", scheduled).await?;
    scene.edit_status("app", without_ledger).await?;
    let found = |runnable: &Runnable| {
        current(runnable).is_ok_and(|run| run.result == Some(RunResult::Failed))
    };
    let found = scene
        .within(
            crate::scene::AFTER_QUIET,
            "app",
            "its run to be found again",
            found,
        )
        .await?;
    let run = current(&found)?;
    assert_eq!((run.sequence, run.attempt, run.retry_at), (1, 1, None));
    assert!(status(&found).history.is_empty());
    assert_eq!(scene.made_of(TRIAL)?.len(), 1);
    Ok(())
}
