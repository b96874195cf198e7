//! The files that `init` writes work on a cluster, and so does each command that it names.

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::repository;

use crate::{story::Story, support};

/// The files are made, applied strictly, and give a run that succeeds.
pub async fn work(story: &Story) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path().join("first");
    let folder = folder.to_str().context("a path of text")?;
    let said = story.well(&["init", "first", "-o", folder])?;
    let steps: Vec<Vec<&str>> = said
        .lines()
        .filter_map(|line| Some(line.strip_prefix("  ")?.split_whitespace().collect()))
        .collect();
    ensure!(steps.len() == 5, "{said}");
    for step in steps {
        match step.as_slice() {
            ["kubectl", "apply", rest @ ..] => {
                let apply = [&["apply", "--validate=strict"], rest].concat();
                story.cluster.kubectl(&apply).await?;
            }
            ["cartouche", arguments @ ..] => {
                let mut command = support::command(&repository(), arguments);
                let done = support::finish(command.env("KUBECONFIG", story.cluster.kubeconfig()));
                ensure!(done.code == 0, "{step:?}: {}{}", done.out, done.err);
            }
            other => anyhow::bail!("what is {other:?}?"),
        }
    }
    story.says(&["get"], &["first", "True", "1 first-", "Succeeded"])?;
    let check = ["rbac", "-r", "first", "--check"];
    story.says(&check, &["may do all that it needs"])
}
