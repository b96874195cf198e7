//! The examples and the story of the demo: `examples/*/` and `examples/demo.yaml`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use cartouche_tests::repository;
use serde::Deserialize;
use serde_json::Value;

/// Content of `examples/demo.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Script {
    /// Namespace of the examples. Every Runnable in it takes part.
    pub(crate) namespace: String,
    /// Examples whose engine exists only where KWOK plays it.
    #[serde(default)]
    pub(crate) played_only: Vec<String>,
    /// Examples whose containers must do real work, which KWOK only plays.
    #[serde(default)]
    pub(crate) not_played: Vec<String>,
    /// The story on a real node.
    pub(crate) containers: OnRealNode,
    /// Changes to make, one after the other, once every output is there.
    pub(crate) changes: Vec<Change>,
}

/// The story where containers do real work.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnRealNode {
    /// The only examples that are played.
    pub(crate) examples: Vec<String>,
    /// Changes that replace those of the story.
    pub(crate) changes: Vec<Change>,
}

/// A change that a user makes.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Change {
    /// Text that the screen shows for the change.
    pub(crate) say: String,
    /// The Runnable that runs again because of the change.
    pub(crate) new_run_of: String,
    /// The action of the change.
    #[serde(flatten)]
    pub(crate) action: Action,
}

/// An action of a user.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    /// Patches an object.
    Patch {
        /// Name of the object as kubectl takes it: `runnable/hello`.
        object: String,
        /// A JSON merge patch.
        merge: Value,
    },
    /// Copies an output of one Runnable into an input of another.
    CopyOutput {
        /// The Runnable that has the output.
        from: String,
        /// The name of the output.
        output: String,
        /// The Runnable that gets the input.
        to: String,
        /// The name of the input.
        input: String,
    },
    /// Approves the pending run of this Runnable.
    Approve(String),
}

impl Script {
    /// Returns the Runnables whose next run the story approves.
    pub(crate) fn approved(&self) -> impl Iterator<Item = &str> {
        self.changes
            .iter()
            .filter_map(|change| match &change.action {
                Action::Approve(runnable) => Some(runnable.as_str()),
                Action::Patch { .. } | Action::CopyOutput { .. } => None,
            })
    }
}

/// An example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

/// Reads the script of the story.
pub(crate) fn script() -> Result<Script> {
    let file = repository().join("examples/demo.yaml");
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("reading {}", file.display()))
}

/// Returns all examples in the order of their names: each folder with a kustomization and a Runnable.
pub(crate) fn all() -> Result<Vec<Example>> {
    in_folder(&repository().join("examples"))
}

fn in_folder(folder: &Path) -> Result<Vec<Example>> {
    let reading = || format!("reading {}", folder.display());
    let mut examples = Vec::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        let folder = entry.with_context(reading)?.path();
        if folder.join("kustomization.yaml").is_file() && has_runnable(&folder)? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            examples.push(Example {
                name: name.into_owned(),
                folder: folder.clone(),
            });
        }
    }
    ensure!(!examples.is_empty(), "{} has no examples", folder.display());
    examples.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(examples)
}

/// Returns false for a folder that only serves others, such as the one of the namespace.
fn has_runnable(folder: &Path) -> Result<bool> {
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        let yaml = file
            .extension()
            .is_some_and(|extension| extension == "yaml");
        if yaml && fs::read_to_string(&file)?.contains("\nkind: Runnable\n") {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_changes_only_runnables_of_the_examples() {
        let script = script().unwrap();
        let mut manifests = String::new();
        for example in all().unwrap() {
            for file in fs::read_dir(&example.folder).unwrap() {
                manifests += &fs::read_to_string(file.unwrap().path()).unwrap_or_default();
            }
        }
        for change in script.changes.iter().chain(&script.containers.changes) {
            let name = format!("name: {}\n", change.new_run_of);
            assert!(manifests.contains(&name), "{change:?}");
        }
        let examples = all().unwrap();
        let some = [
            &script.played_only,
            &script.not_played,
            &script.containers.examples,
        ];
        for name in some.into_iter().flatten() {
            assert!(examples.iter().any(|e| e.name == *name), "{name}");
        }
    }

    #[test]
    fn a_folder_without_a_runnable_is_no_example() {
        let examples = all().unwrap();
        assert!(examples.iter().any(|e| e.name == "job"));
        assert!(!examples.iter().any(|e| e.name == "namespace"));
    }
}
