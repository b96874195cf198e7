//! The commands that ask a cluster, on a real API server with the controller at work.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod interventions;
mod mistakes;
#[path = "../support/mod.rs"]
mod support;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use cartouche_crds::Runnable;
use cartouche_tests::{
    cluster::Cluster,
    control_plane::Options,
    controller::{Controller, Settings},
    repository,
};
use support::Output;

/// The program of the harness. `cargo test --workspace` builds it beside this one.
fn demo() -> Result<PathBuf> {
    let demo = Path::new(env!("CARGO_BIN_EXE_cartouche")).with_file_name("demo");
    if !demo.is_file() {
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--package",
                "cartouche-tests",
                "--bin",
                "demo",
            ])
            .current_dir(repository())
            .status()?;
        ensure!(built.success(), "the harness cannot be built");
    }
    Ok(demo)
}

/// Calls the command as an administrator of the cluster.
fn cartouche(cluster: &Cluster, arguments: &[&str]) -> Output {
    let mut command = support::command(&repository(), arguments);
    command.env("KUBECONFIG", cluster.kubeconfig());
    if !arguments.contains(&"--namespace") && !arguments.contains(&"--all-namespaces") {
        command.args(["--namespace", "cartouche-examples"]);
    }
    support::finish(&mut command)
}

/// Fails unless the command did well; what it printed.
fn well(cluster: &Cluster, arguments: &[&str]) -> Result<String> {
    let output = cartouche(cluster, arguments);
    ensure!(
        output.code == 0,
        "{arguments:?}: {}{}",
        output.out,
        output.err
    );
    Ok(output.out)
}

fn contains(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "'{part}' is missing in:\n{text}");
    }
    Ok(())
}

#[tokio::test]
async fn the_story_of_a_runnable_is_told_by_the_commands() -> Result<()> {
    let demo = demo()?;
    let demo_path = demo.to_str().context("a path of text")?;
    let cluster = Cluster::start(demo_path, &Options::full()).await?;
    cluster.install_cartouche().await?;
    let _controller = Controller::start(&demo, &cluster, &Settings::with_arguments(&[])).await?;
    cluster
        .apply_kustomization(&repository().join("examples/job"))
        .await?;

    first_run(&cluster)?;
    second_run(&cluster).await?;
    third_run(&cluster)?;
    interventions::held_back(&cluster)?;
    interventions::cancelled(&cluster).await?;
    mistakes::against_schemas_of_the_cluster(&cluster).await?;
    mistakes::are_told(&cluster).await
}

fn first_run(cluster: &Cluster) -> Result<()> {
    contains(
        &well(cluster, &["wait", "hello", "--timeout", "2m"])?,
        &["ready"],
    )?;
    contains(
        &well(cluster, &["get"])?,
        &["NAME", "hello", "True", "1 hello-", "Succeeded", "pods=1"],
    )?;
    contains(
        &well(cluster, &["get", "--all-namespaces", "-o", "wide"])?,
        &["NAMESPACE", "cartouche-examples", "greet", "v1:"],
    )?;
    let json: serde_json::Value = serde_json::from_str(&well(cluster, &["get", "-o", "json"])?)?;
    ensure!(json["items"][0]["kind"] == "Runnable", "{json}");
    ensure!(well(cluster, &["outputs", "hello", "pods"])? == "1\n");
    contains(
        &well(cluster, &["outputs", "hello", "-o", "env"])?,
        &["PODS='1'", "JOB='hello-"],
    )?;
    let absent = cartouche(cluster, &["outputs", "hello", "pod"]);
    ensure!(
        absent.code == 2 && absent.err.contains("did you mean 'pods'?"),
        "{}",
        absent.err
    );
    contains(
        &well(cluster, &["why", "hello"])?,
        &["Ready is True", "the first one", "nothing to run"],
    )?;
    contains(
        &well(cluster, &["diff", "hello"])?,
        &["nothing to run: run 1 is the same"],
    )?;
    let tree = well(cluster, &["tree", "hello"])?;
    contains(
        &tree,
        &[
            "ClusterRunTemplate greet (accepted)",
            "ServiceAccount greeter",
            "(current, outputs)",
            "└── outputs",
        ],
    )?;
    contains(
        &well(cluster, &["render", "--cluster", "-r", "hello"])?,
        &["is the present run", "Hello, world!"],
    )?;
    contains(
        &well(cluster, &["migrate", "check"])?,
        &["Cartouche serves it already"],
    )
}

/// An input changes: what is told before and after.
async fn second_run(cluster: &Cluster) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let edited = folder.path().join("runnable.yaml");
    let text = std::fs::read_to_string(repository().join("examples/job/runnable.yaml"))?;
    std::fs::write(&edited, text.replace("world", "moon"))?;
    let edited = edited.to_str().context("a path of text")?;
    for dry_run in [false, true] {
        let mut arguments = vec!["diff", "hello", "-r", edited];
        if dry_run {
            arguments.push("--server-dry-run");
        }
        let diff = cartouche(cluster, &arguments);
        ensure!(diff.code == 1, "{}{}", diff.out, diff.err);
        let expected = "- spec.template.spec.containers[0].command[1]: \"Hello, world!\"\n\
                        + spec.template.spec.containers[0].command[1]: \"Hello, moon!\"\n\
                        this would be run 2";
        ensure!(
            diff.out.starts_with(expected),
            "dry run {dry_run}: {}",
            diff.out
        );
    }
    cluster
        .kubectl(&[
            "apply",
            "--namespace",
            "cartouche-examples",
            "--filename",
            edited,
        ])
        .await?;
    let api = cluster.api::<Runnable>("cartouche-examples");
    cluster
        .wait_for(
            &api,
            "hello",
            "a second run",
            Duration::from_mins(1),
            |runnable: &Runnable| {
                let current = runnable
                    .status
                    .as_ref()
                    .and_then(|status| status.current_run.as_ref());
                current.is_some_and(|run| run.sequence == 2)
            },
        )
        .await?;
    well(cluster, &["wait", "hello", "--timeout", "2m"])?;
    contains(
        &well(cluster, &["why", "hello"])?,
        &[
            "differs from run 1",
            "- spec.template.spec.containers[0].command[1]: \"Hello, world!\"",
            "Hello, moon!",
        ],
    )
}

/// Somebody asks to run again, twice with one token.
fn third_run(cluster: &Cluster) -> Result<()> {
    contains(
        &well(
            cluster,
            &[
                "rerun",
                "hello",
                "--token",
                "again",
                "--reason",
                "the registry was down",
            ],
        )?,
        &["is to run again: again"],
    )?;
    contains(
        &well(cluster, &["rerun", "hello", "--token", "again"])?,
        &["was asked for this run already"],
    )?;
    let history = run_ends(cluster, 3)?;
    ensure!(
        history.as_array().is_some_and(|runs| runs.len() == 3),
        "{history}"
    );
    ensure!(history[0]["rerunToken"] == "again", "{history}");
    let request = &history[0]["rerunRequest"];
    ensure!(request["reason"] == "the registry was down", "{history}");
    let user = request["by"].as_str().context("who asked")?;
    ensure!(!user.is_empty(), "{history}");
    contains(
        &well(cluster, &["why", "hello"])?,
        &[&format!(
            "made because {user} asked for it: again (the registry was down)"
        )],
    )?;
    contains(
        &well(cluster, &["history", "hello"])?,
        &[
            "SEQUENCE",
            "RE-RUN FOR",
            "*o",
            "Succeeded",
            &format!("{user}: the registry was down"),
        ],
    )
}

/// Waits until the newest run of `hello` has this number and has succeeded; the history.
fn run_ends(cluster: &Cluster, sequence: i64) -> Result<serde_json::Value> {
    until(|| {
        let history: serde_json::Value =
            serde_json::from_str(&well(cluster, &["history", "hello", "-o", "json"])?)?;
        let done = history[0]["state"] == "Succeeded" && history[0]["sequence"] == sequence;
        Ok(if done {
            Ok(history)
        } else {
            Err(format!("no run {sequence}: {history}"))
        })
    })
}

/// Asks again and again until something is as wanted.
fn until<T>(look: impl Fn() -> Result<Result<T, String>>) -> Result<T> {
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    loop {
        match look()? {
            Ok(found) => return Ok(found),
            Err(why) => ensure!(std::time::Instant::now() < deadline, "{why}"),
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Waits until `why` says all of this.
fn why_says(cluster: &Cluster, name: &str, parts: &[&str]) -> Result<()> {
    until(|| {
        let why = well(cluster, &["why", name])?;
        Ok(contains(&why, parts).map_err(|error| format!("{error:#}")))
    })
}
