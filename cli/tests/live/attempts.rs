//! A run fails and is tried again, until its last attempt.

use anyhow::{Context as _, Result, ensure};

use crate::story::{Story, example_job};

/// Returns a template of the example whose pods fail, and a Runnable of it with one further attempt.
fn failing(pause: &str) -> Result<String> {
    let of_job = "      backoffLimit: 0\n      template:\n        metadata: {annotations: {play.carto.run/outcome: fail}}\n";
    let example = example_job("failing", of_job)?;
    // The last spec is that of the Runnable.
    let (before, spec) = example.rsplit_once("\nspec:\n").context(example.clone())?;
    let retry = format!("  retry: {{limit: 1, backoff: {{initial: {pause}, max: {pause}}}}}\n");
    Ok(format!("{before}\nspec:\n{retry}{spec}"))
}

pub async fn are_told_and_waited_for(story: &Story) -> Result<()> {
    let (cluster, namespace) = (&story.cluster, &story.namespace);
    cluster.apply_yaml(namespace, &failing("1h")?).await?;
    let ahead = "attempt 2 of 2 begins at";
    story.why_says("failing", &[ahead, "Failed"]).await?;
    story.says(&["get", "failing"], &["RetryScheduled"])?;
    let failed = story.well(&["get", "--failed"])?;
    ensure!(!failed.contains("failing"), "{failed}");
    let wait = ["wait", "failing", "--for", "finished", "--timeout", "2s"];
    let ended = story.cartouche(&wait);
    ensure!(
        ended.code != 0,
        "an attempt is ahead: {}{}",
        ended.out,
        ended.err
    );
    story.warns(&["cancel", "failing"], 2, "will be retried")?;

    // It is asked for instead, with the next attempt soon after.
    cluster.apply_yaml(namespace, &failing("2s")?).await?;
    let first = "is attempt 1 itself";
    let asked = story.cartouche(&["rerun", "failing"]);
    ensure!(
        asked.code == 0 && format!("{}{}", asked.out, asked.err).contains(first),
        "{}{}",
        asked.out,
        asked.err
    );
    let last = [
        "it was the last attempt, 2 of 2",
        "made because run 2 failed",
    ];
    story.why_says("failing", &last).await?;
    let history = story.json(&["history", "failing", "-o", "json"])?;
    let attempts: Vec<i64> = history
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|run| run["attempt"].as_i64())
        .collect();
    ensure!(attempts == [2, 1, 1], "{history}");
    story.says(&["history", "failing"], &["ATTEMPT"])?;
    story.says(&["get", "--failed"], &["failing"])
}
