//! An example on a cluster of its own, and the command as an administrator of that cluster calls it.

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    control_plane::Options,
    controller::{Controller, Settings},
    fixture::Fixture,
    repository,
};
use serde_json::Value;

use crate::support::{self, Output};

/// The namespace of the examples.
pub struct Story(Fixture);

impl Deref for Story {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.0
    }
}

/// Returns template and Runnable of the example of a Job under another name, with this in the place of the line where
/// the template of its pods begins.
pub fn example_job(name: &str, of_job: &str) -> Result<String> {
    let example = repository().join("examples/job");
    let template = fs::read_to_string(example.join("template.yaml"))?
        .replace("name: greet\nspec:", &format!("name: {name}\nspec:"))
        .replacen("      template:\n", of_job, 1);
    ensure!(
        template.contains(of_job) && template.contains(name),
        "{template}"
    );
    let runnable = fs::read_to_string(example.join("runnable.yaml"))?
        .replace("name: hello", &format!("name: {name}"))
        .replace("name: greet\n", &format!("name: {name}\n"));
    Ok(format!("{template}---\n{runnable}"))
}

impl Story {
    /// Starts a full control plane with the controller and this example.
    pub async fn begin(example: &str) -> Result<(Self, Controller)> {
        let story = Self::without_cartouche().await?;
        story.cluster.install_cartouche().await?;
        // The command needs nothing that they refuse.
        let policies = repository().join("config/policies");
        story.cluster.apply_kustomization(&policies).await?;
        let controller = story.controller().await?;
        story
            .cluster
            .apply_kustomization(&repository().join(example))
            .await?;
        Ok((story, controller))
    }

    /// Starts a full control plane with nothing in it.
    pub async fn without_cartouche() -> Result<Self> {
        let demo = demo()?;
        let demo = demo.to_str().context("a path of text")?;
        let cluster = Cluster::start(demo, &Options::full()).await?;
        let patience = Duration::from_mins(1);
        Ok(Self(Fixture::of(&cluster, "cartouche-examples", patience)))
    }

    /// Starts the controller, and waits until it is ready.
    pub async fn controller(&self) -> Result<Controller> {
        Controller::start(demo()?, &self.cluster, &Settings::default()).await
    }

    /// Starts the controller without waiting for it.
    pub async fn unready_controller(&self) -> Result<Controller> {
        Controller::start_without_waiting(demo()?, &self.cluster, &Settings::default()).await
    }

    /// Returns the command as it would be called.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = support::command(&repository(), arguments);
        command.env("KUBECONFIG", self.cluster.kubeconfig());
        if !arguments.contains(&"--all-namespaces") {
            command.args(["--namespace", &self.namespace]);
        }
        command
    }

    /// Calls the command.
    pub fn cartouche(&self, arguments: &[&str]) -> Output {
        support::finish(&mut self.command(arguments))
    }

    /// Fails unless the command succeeded. Returns its output.
    pub fn well(&self, arguments: &[&str]) -> Result<String> {
        let Output { out, err, code } = self.cartouche(arguments);
        ensure!(code == 0, "{arguments:?}: {out}{err}");
        Ok(out)
    }

    /// Fails unless the command did well and has printed all of this.
    pub fn says(&self, arguments: &[&str], parts: &[&str]) -> Result<()> {
        contains(&self.well(arguments)?, parts)
    }

    /// Fails unless the command ended so and has this on standard error.
    pub fn warns(&self, arguments: &[&str], ended: i32, part: &str) -> Result<()> {
        let Output { out, err, code } = self.cartouche(arguments);
        ensure!(code == ended, "{arguments:?}: {code}: {out}{err}");
        contains(&err, &[part])
    }

    /// Returns the output of the command, read as JSON.
    pub fn json(&self, arguments: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.well(arguments)?)?)
    }

    /// Returns the user who requested the last re-run of `hello`: the user of these tests.
    pub fn user(&self) -> Result<String> {
        let history = self.json(&["history", "hello", "-o", "json"])?;
        let by = history[0]["rerunRequest"]["by"].as_str();
        Ok(by.context("who asked")?.to_owned())
    }

    /// Calls the command, which must succeed each time, until it prints what is wanted.
    pub async fn soon<T>(
        &self,
        arguments: &[&str],
        wanted: impl Fn(&str) -> Result<T>,
    ) -> Result<T> {
        let wanted = &wanted;
        self.eventually(&format!("{arguments:?}"), || async move {
            let printed = match self.well(arguments) {
                Ok(printed) => printed,
                Err(wrong) => return Ok(Seen::Done(Err(wrong))),
            };
            Ok(match wanted(&printed) {
                Ok(found) => Seen::Done(Ok(found)),
                Err(why) => Seen::NotYet(format!("{why:#}")),
            })
        })
        .await?
    }

    /// Waits until `why` says all of this.
    pub async fn why_says(&self, name: &str, parts: &[&str]) -> Result<()> {
        self.soon(&["why", name], |why| contains(why, parts)).await
    }

    /// Waits until the newest run of `hello` has this number and has succeeded. Returns the history.
    pub async fn run_ends(&self, sequence: i64) -> Result<Value> {
        self.soon(&["history", "hello", "-o", "json"], |printed| {
            let history: Value = serde_json::from_str(printed)?;
            let done = history[0]["state"] == "Succeeded" && history[0]["sequence"] == sequence;
            ensure!(done, "no run {sequence}: {history}");
            Ok(history)
        })
        .await
    }
}

/// Returns the program of the harness. `cargo test --workspace` builds it beside this one.
fn demo() -> Result<PathBuf> {
    let demo = Path::new(env!("CARGO_BIN_EXE_cartouche")).with_file_name("demo");
    if !demo.is_file() {
        let harness = ["--package", "cartouche-tests", "--bin", "demo"];
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet"])
            .args(harness)
            .current_dir(repository())
            .status()?;
        ensure!(built.success(), "the harness cannot be built");
    }
    Ok(demo)
}

pub fn contains(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "'{part}' is missing in:\n{text}");
    }
    Ok(())
}
