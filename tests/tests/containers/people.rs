//! Users' actions on containers at work, with the command.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::scene::{Scene, message, pod};

#[tokio::test]
async fn a_container_is_asked_to_end_when_its_run_is_cancelled() -> Result<()> {
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    scene.start(pod(&["sleep"]), json!({}), json!({})).await?;
    let mut logs = scene.cartouche(&["logs", "it", "--follow"]).await?;
    let lines = logs.stdout.take().context("no standard output")?;
    let mut lines = BufReader::new(lines).lines();
    while let Some(line) = lines.next_line().await? {
        if line.contains("sleeps") {
            break;
        }
    }
    let cancel = scene
        .cartouche(&["cancel", "it", "--reason", "a test"])
        .await?;
    let cancelled = cancel.wait_with_output().await?;
    ensure!(cancelled.status.success(), "{cancelled:?}");
    let mut last = String::new();
    while let Some(line) = lines.next_line().await? {
        last = line;
    }
    // The program prints this last, after SIGTERM.
    assert!(last.contains("was asked to end"), "{last}");
    let it = scene.ready("False").await?;
    let said = message(&it, "Ready");
    assert!(said.contains("a test"), "{said}");
    scene.nothing_runs().await
}

#[tokio::test]
async fn lines_are_followed_while_a_container_prints_them() -> Result<()> {
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    scene
        .start(pod(&["print", "6"]), json!({}), json!({}))
        .await?;
    let mut logs = scene.cartouche(&["logs", "it", "--follow"]).await?;
    let lines = logs.stdout.take().context("no standard output")?;
    let mut lines = BufReader::new(lines).lines();
    let first = lines.next_line().await?.context("nothing was printed")?;
    assert!(first.contains("line 1 of 6"), "{first}");
    let states = scene.states().await?;
    assert!(states[0]["running"].is_object(), "{states:?}");
    let mut last = first;
    while let Some(line) = lines.next_line().await? {
        last = line;
    }
    assert!(last.contains("line 6 of 6"), "{last}");
    ensure!(logs.wait().await?.success(), "the command failed");
    Ok(())
}
