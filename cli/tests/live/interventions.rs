//! A user suspends a Runnable, resumes it, and cancels a run.

use anyhow::{Result, ensure};

use crate::story::{Story, example_job};

/// A Runnable is suspended, gets a request to run, and is resumed.
pub async fn held_back(story: &Story) -> Result<()> {
    story.says(&["suspend", "hello"], &["is suspended"])?;
    story.says(&["suspend", "hello"], &["is already suspended"])?;
    let asked = ["rerun", "hello", "--token", "held"];
    story.warns(&asked, 0, "it is suspended")?;
    let parts = [
        "Ready is Unknown (Suspended)",
        "no new run starts until you resume it",
        "to do: run `cartouche resume hello -n cartouche-examples`",
    ];
    story.why_says("hello", &parts).await?;
    let wait = ["wait", "hello", "--timeout", "1m"];
    story.warns(&wait, 1, "it is suspended")?;
    story.says(&["get"], &["Suspended", "3 hello-"])?;
    story.says(&["resume", "hello"], &["is resumed"])?;
    story.says(&["resume", "hello"], &["is not suspended"])?;
    story.run_ends(4).await.map(drop)
}

/// Returns a template of the example whose pods never end, and a Runnable of it.
pub(super) fn endless() -> Result<String> {
    let hang = "        metadata: {annotations: {play.carto.run/outcome: hang}}\n";
    example_job("endless", &format!("      template:\n{hang}"))
}

/// A run that would never end is stopped in the way of its kind.
pub async fn cancelled(story: &Story) -> Result<()> {
    let ended = "has already ended: Succeeded";
    story.says(&["cancel", "hello"], &[ended])?;
    let (cluster, namespace) = (&story.cluster, &story.namespace);
    cluster.apply_yaml(namespace, &endless()?).await?;
    let parts = ["run 1: Job", "Running"];
    story.why_says("endless", &parts).await?;
    let stops = "has been asked to stop; run 1 of endless then counts as failed";
    let why = "the wrong branch";
    story.says(&["cancel", "endless", "--reason", why], &[stops])?;
    let stopped = format!("stopped by {}: {why}", story.user()?);
    let parts = ["Ready is False", "deadline", "Failed", &stopped];
    story.why_says("endless", &parts).await?;
    let ended = "run 1 of endless has already ended: Failed";
    story.says(&["cancel", "endless"], &[ended])?;
    // The annotation on the run starts no new run.
    let history = story.json(&["history", "endless", "-o", "json"])?;
    ensure!(
        history.as_array().map(Vec::len) == Some(1),
        "one run: {history}"
    );
    let request = &history[0]["cancelRequest"];
    ensure!(
        request["reason"] == why && request["at"].is_string(),
        "{history}"
    );
    story.says(&["history", "endless"], &[&stopped])?;
    story.says(&["explain", "greet"], &["Its tags read", "name"])
}

/// Several Runnables at once, one of which does not exist.
pub async fn of_many(story: &Story) -> Result<()> {
    let both = ["rerun", "hello", "endless", "--token", "both"];
    story.warns(&both, 2, "hint: --yes skips the question")?;
    let dry = [&both[..], &["--dry-run"]].concat();
    let parts = ["hello would run again", "endless would run again"];
    story.says(&dry, &parts)?;
    let failed = ["rerun", "--failed", "--dry-run"];
    let would = "endless would run again (dry run: nothing was changed)\n";
    ensure!(story.well(&failed)? == would, "{}", story.well(&failed)?);
    let with_missing = [&both[..], &["nobody", "--yes"]].concat();
    let done = story.cartouche(&with_missing);
    ensure!(
        done.code == 2 && done.err.ends_with("1 of 3 failed\n"),
        "{}",
        done.err
    );
    ensure!(
        done.err.contains("nobody: there is no Runnable nobody"),
        "{}",
        done.err
    );
    ensure!(
        done.out == "hello will run again: both\nendless will run again: both\n",
        "{}",
        done.out
    );
    story.run_ends(5).await?;
    story
        .why_says("endless", &["run 2: Job", "Running"])
        .await?;
    // Only one of them has a running run, so there is no question.
    story.says(&["cancel", "--all"], &["run 2 of endless then counts"])?;
    let suspend = ["suspend", "--all", "--yes"];
    story.says(
        &suspend,
        &["hello is suspended\n", "endless is suspended\n"],
    )?;
    let nothing = "nothing to do: none of 2";
    story.warns(&suspend, 0, nothing)?;
    let of_template = ["resume", "--template", "greet"];
    ensure!(story.well(&of_template)? == "hello is resumed\n");
    let none = "there are no such Runnables";
    story.warns(&["resume", "-l", "no=such"], 0, none)?;
    story.says(&["resume", "--all"], &["endless is resumed\n"])
}
