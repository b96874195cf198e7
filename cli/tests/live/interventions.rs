//! Somebody suspends a Runnable, resumes it, and cancels a run.

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{cluster::Cluster, repository};

use super::{cartouche, contains, run_ends, well, why_says};

/// It is suspended, asked to run, and resumed.
pub fn held_back(cluster: &Cluster) -> Result<()> {
    contains(&well(cluster, &["suspend", "hello"])?, &["is suspended"])?;
    contains(
        &well(cluster, &["suspend", "hello"])?,
        &["was suspended already"],
    )?;
    let asked = cartouche(cluster, &["rerun", "hello", "--token", "held"]);
    ensure!(
        asked.code == 0 && asked.err.contains("it is suspended"),
        "{}{}",
        asked.out,
        asked.err
    );
    why_says(
        cluster,
        "hello",
        &[
            "Ready is Unknown (Suspended)",
            "no new run is made until it is resumed",
            "to do: resume it",
        ],
    )?;
    let waited = cartouche(cluster, &["wait", "hello", "--timeout", "1m"]);
    ensure!(
        waited.code == 1 && waited.err.contains("it is suspended"),
        "{}{}",
        waited.out,
        waited.err
    );
    contains(&well(cluster, &["get"])?, &["Suspended", "3 hello-"])?;
    contains(&well(cluster, &["resume", "hello"])?, &["is resumed"])?;
    contains(
        &well(cluster, &["resume", "hello"])?,
        &["was not suspended"],
    )?;
    run_ends(cluster, 4)?;
    Ok(())
}

/// A run that would never end is stopped in the way of its kind.
pub async fn cancelled(cluster: &Cluster) -> Result<()> {
    let ended = cartouche(cluster, &["cancel", "hello"]);
    ensure!(
        ended.code == 0 && ended.out.contains("has ended already: Succeeded"),
        "{}{}",
        ended.out,
        ended.err
    );
    let folder = tempfile::tempdir()?;
    let job = std::fs::read_to_string(repository().join("examples/job/template.yaml"))?;
    let endless = job
        .replace("name: greet\nspec:", "name: endless\nspec:")
        .replacen(
            "      template:\n",
            "      template:\n        metadata: {annotations: {play.carto.run/outcome: hang}}\n",
            1,
        );
    ensure!(
        endless.contains("hang") && endless.contains("endless"),
        "{endless}"
    );
    let runnable = std::fs::read_to_string(repository().join("examples/job/runnable.yaml"))?
        .replace("name: hello", "name: endless")
        .replace("name: greet\n", "name: endless\n");
    let file = folder.path().join("endless.yaml");
    std::fs::write(&file, format!("{endless}---\n{runnable}"))?;
    let file = file.to_str().context("a path of text")?;
    cluster.kubectl(&["apply", "--filename", file]).await?;
    why_says(cluster, "endless", &["run 1: Job", "Running"])?;
    contains(
        &well(cluster, &["cancel", "endless"])?,
        &["is to stop; run 1 of endless then counts as failed"],
    )?;
    why_says(
        cluster,
        "endless",
        &["Ready is False", "deadline", "Failed"],
    )?;
    contains(
        &well(cluster, &["explain", "greet"])?,
        &["Its tags read", "name"],
    )
}
