//! The commands and patches of the pages, as readers copy them.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::repository;
use serde_json::Value;

/// The user and the group that the page adds to the list of writers.
pub(super) const LISTED_USER: &str = "system:serviceaccount:team-a:cartouche-controller";
pub(super) const LISTED_GROUP: &str = "backup-operators";

fn page(path: &str) -> Result<String> {
    let path = repository().join(path);
    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

/// Returns the first block of this language after these words.
fn block(text: &str, after: &str, language: &str) -> Result<String> {
    let begin = format!("```{language}\n");
    let rest = text.split_once(after).map(|(_, rest)| rest);
    let rest = rest.and_then(|rest| rest.split_once(&begin));
    let block = rest.and_then(|(_, rest)| rest.split_once("```"));
    let (block, _) = block.with_context(|| format!("no block of {language} after {after:?}"))?;
    Ok(block.to_owned())
}

/// Returns the JSON patch with which the page of the policies adds writers.
pub(super) fn patch_of_the_list() -> Result<String> {
    let text = page("config/policies/README.md")?;
    let kustomization = block(&text, "## Further writers", "yaml")?;
    let kustomization: Value = serde_saphyr::from_str(&kustomization)?;
    let patch = &kustomization["patches"][0]["patch"];
    let steps: Value = serde_saphyr::from_str(patch.as_str().context("no patch")?)?;
    let steps = steps.to_string();
    for listed in [LISTED_USER, LISTED_GROUP] {
        ensure!(steps.contains(listed), "{listed}: {steps}");
    }
    Ok(steps)
}

/// Returns the commands with which the page of upgrades removes everything, each as its words after
/// `kubectl`.
pub(super) fn uninstall() -> Result<Vec<Vec<String>>> {
    let text = page("docs/how-to/upgrade-and-uninstall.md")?;
    let commands = block(&text, "## Uninstall", "console")?.replace("\\\n", " ");
    let commands = commands.lines().map(|line| {
        let words = line.strip_prefix("$ kubectl ").context("no command")?;
        Ok(words.split_whitespace().map(str::to_owned).collect())
    });
    commands.collect()
}

/// Returns the words with the paths of folders for this process.
pub(super) fn at_home(words: &[String]) -> Vec<String> {
    let at_home = |word: &String| {
        if word.starts_with("config/") {
            repository().join(word).display().to_string()
        } else {
            word.clone()
        }
    };
    words.iter().map(at_home).collect()
}
