//! Somebody suspends a Runnable, resumes it, and cancels a run.

use std::fs;

use anyhow::{Result, ensure};
use cartouche_tests::repository;

use crate::story::Story;

/// It is suspended, asked to run, and resumed.
pub async fn held_back(story: &Story) -> Result<()> {
    story.says(&["suspend", "hello"], &["is suspended"])?;
    story.says(&["suspend", "hello"], &["was suspended already"])?;
    let asked = ["rerun", "hello", "--token", "held"];
    story.warns(&asked, 0, "it is suspended")?;
    let parts = [
        "Ready is Unknown (Suspended)",
        "no new run is made until it is resumed",
        "to do: resume it",
    ];
    story.why_says("hello", &parts).await?;
    let wait = ["wait", "hello", "--timeout", "1m"];
    story.warns(&wait, 1, "it is suspended")?;
    story.says(&["get"], &["Suspended", "3 hello-"])?;
    story.says(&["resume", "hello"], &["is resumed"])?;
    story.says(&["resume", "hello"], &["was not suspended"])?;
    story.run_ends(4).await.map(drop)
}

/// A template of the example whose pods never end, and a Runnable of it.
fn endless() -> Result<String> {
    let example = repository().join("examples/job");
    let job = fs::read_to_string(example.join("template.yaml"))?;
    let named = job.replace("name: greet\nspec:", "name: endless\nspec:");
    let hang = "        metadata: {annotations: {play.carto.run/outcome: hang}}\n";
    let template = format!("      template:\n{hang}");
    let endless = named.replacen("      template:\n", &template, 1);
    ensure!(
        endless.contains("hang") && endless.contains("endless"),
        "{endless}"
    );
    let runnable = fs::read_to_string(example.join("runnable.yaml"))?
        .replace("name: hello", "name: endless")
        .replace("name: greet\n", "name: endless\n");
    Ok(format!("{endless}---\n{runnable}"))
}

/// A run that would never end is stopped in the way of its kind.
pub async fn cancelled(story: &Story) -> Result<()> {
    let ended = "has ended already: Succeeded";
    story.says(&["cancel", "hello"], &[ended])?;
    let (cluster, namespace) = (&story.cluster, &story.namespace);
    cluster.apply_yaml(namespace, &endless()?).await?;
    let parts = ["run 1: Job", "Running"];
    story.why_says("endless", &parts).await?;
    let stops = "is to stop; run 1 of endless then counts as failed";
    story.says(&["cancel", "endless"], &[stops])?;
    let parts = ["Ready is False", "deadline", "Failed"];
    story.why_says("endless", &parts).await?;
    story.says(&["explain", "greet"], &["Its tags read", "name"])
}
