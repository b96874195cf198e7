//! The commands that ask a cluster, on a real API server with a running controller.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod approvals;
mod attempts;
mod causes;
mod chains;
mod completion;
mod first_day;
mod first_steps;
mod interventions;
mod mistakes;
mod objects;
mod optional_outputs;
mod people;
mod reading;
mod roles;
mod story;
#[path = "../support/mod.rs"]
mod support;
mod tutorials;
mod watching;

use std::fs;

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{fixture::current, repository};
use story::Story;

#[tokio::test]
async fn the_story_of_a_runnable_is_told_by_the_commands() -> Result<()> {
    let (story, _controller) = Story::begin("examples/job").await?;
    first_run(&story)?;
    second_run(&story).await?;
    third_run(&story).await?;
    interventions::held_back(&story).await?;
    interventions::cancelled(&story).await?;
    interventions::of_many(&story).await?;
    attempts::are_told_and_waited_for(&story).await?;
    watching::lists(&story).await?;
    mistakes::against_schemas_of_the_cluster(&story).await?;
    mistakes::are_told(&story).await
}

#[tokio::test]
async fn a_role_and_a_first_template_are_written_that_work() -> Result<()> {
    let (story, _controller) = Story::begin("examples/namespace").await?;
    roles::are_enough_and_no_more(&story).await?;
    roles::are_needed_in_every_part(&story).await?;
    roles::reach_beyond_the_namespace(&story).await?;
    roles::may_not_be_asked_for_by_everybody(&story).await?;
    roles::hide_no_more_than_they_must(&story).await?;
    optional_outputs::are_named(&story).await?;
    first_steps::work(&story).await?;
    completion::knows_names(&story).await
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_is_shown_and_approved() -> Result<()> {
    let (story, _controller) = Story::begin("examples/job").await?;
    approvals::are_given_to_what_was_shown(&story).await
}

#[tokio::test]
async fn people_of_a_namespace_work_with_nothing_but_the_roles_that_are_shipped() -> Result<()> {
    let (story, _controller) = Story::begin("examples/job").await?;
    people::live_a_day(&story).await
}

#[tokio::test]
async fn causes_of_runs_are_what_makes_them() -> Result<()> {
    let (story, _controller) = Story::begin("examples/namespace").await?;
    causes::are_those_that_make_runs(&story).await
}

#[tokio::test]
async fn a_chain_of_runnables_is_shown_and_explained() -> Result<()> {
    let (story, _controller) = Story::begin("examples/job").await?;
    chains::are_told(&story).await?;
    objects::are_named(&story).await
}

#[tokio::test]
async fn the_tutorials_work_as_they_are_written() -> Result<()> {
    let (story, _controller) = Story::begin("examples/namespace").await?;
    tutorials::work(&story).await
}

#[tokio::test]
async fn a_bad_first_day_is_explained() -> Result<()> {
    let story = Story::without_cartouche().await?;
    first_day::nothing_is_installed(&story).await?;
    let _controller = first_day::logs_are_followed_from_the_start(&story).await?;
    first_day::a_health_rule_never_matches(&story).await?;
    first_day::a_name_is_taken(&story).await
}

fn first_run(story: &Story) -> Result<()> {
    story.says(&["wait", "hello", "--timeout", "2m"], &["ready"])?;
    story.says(
        &["get"],
        &["NAME", "hello", "True", "1 hello-", "Succeeded", "pods=1"],
    )?;
    story.says(
        &["get", "--all-namespaces", "-o", "wide"],
        &["NAMESPACE", "cartouche-examples", "greet", "v1:"],
    )?;
    let json = story.json(&["get", "-o", "json"])?;
    ensure!(json["items"][0]["kind"] == "Runnable", "{json}");
    ensure!(story.well(&["outputs", "hello", "pods"])? == "1\n");
    let env = ["outputs", "hello", "-o", "env"];
    story.says(&env, &["PODS='1'", "JOB='hello-"])?;
    story.warns(&["outputs", "hello", "pod"], 2, "did you mean 'pods'?")?;
    story.says(
        &["why", "hello"],
        &["Ready is True", "it is the first run", "nothing to run"],
    )?;
    let same = "nothing to run: run 1 is the same";
    story.says(&["diff", "hello"], &[same])?;
    story.says(
        &["tree", "hello"],
        &[
            "ClusterRunTemplate greet (accepted)",
            "ServiceAccount greeter",
            "(current, outputs)",
            "└── outputs",
        ],
    )?;
    let tree = &story.json(&["tree", "-o", "json"])?[0];
    ensure!(tree["template"]["state"] == "Accepted", "{tree}");
    ensure!(tree["runs"][0]["givesOutputs"] == true, "{tree}");
    let render = ["render", "--cluster", "-r", "hello"];
    story.says(&render, &["is the present run", "Hello, world!"])?;
    let served = "Cartouche serves it already";
    story.says(&["migrate", "check"], &[served])
}

/// An input changes: the output of the commands before and after.
async fn second_run(story: &Story) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let edited = folder.path().join("runnable.yaml");
    let text = fs::read_to_string(repository().join("examples/job/runnable.yaml"))?;
    fs::write(&edited, text.replace("world", "moon"))?;
    let edited = edited.to_str().context("a path of text")?;
    let diff = ["diff", "hello", "-r", edited, "--server-dry-run"];
    for arguments in [&diff[..4], &diff] {
        let diff = story.cartouche(arguments);
        ensure!(diff.code == 1, "{}{}", diff.out, diff.err);
        let expected = "- spec.template.spec.containers[0].command[1]: \"Hello, world!\"\n\
                        + spec.template.spec.containers[0].command[1]: \"Hello, moon!\"\n\
                        this would be run 2";
        let shown = diff.out.starts_with(expected);
        ensure!(shown, "{arguments:?}: {}", diff.out);
    }
    refused(story, &text)?;
    files(story, edited)?;
    let apply = ["-n", &story.namespace, "apply", "-f", edited];
    story.cluster.kubectl(&apply).await?;
    let second = |it: &_| current(it).is_some_and(|run| run.sequence == 2);
    story.until("hello", "a second run", second).await?;
    story.well(&["wait", "hello", "--timeout", "2m"])?;
    story.says(
        &["why", "hello"],
        &[
            "differs from run 1",
            "- spec.template.spec.containers[0].command[1]: \"Hello, world!\"",
            "Hello, moon!",
        ],
    )?;
    let why = story.json(&["why", "hello", "-o", "json"])?;
    let because = &why["run"]["because"];
    ensure!(
        because["cause"] == "Changed" && because["run"] == 1,
        "{why}"
    );
    ensure!(because["changes"][0]["new"] == "Hello, moon!", "{why}");
    let all_is_well = why["ready"] == "True" && why["next"]["due"] == "Nothing";
    ensure!(all_is_well && why["toDo"].is_null(), "{why}");
    Ok(())
}

/// A run that the API server would refuse: its message, and no Job of it.
fn refused(story: &Story, runnable: &str) -> Result<()> {
    let example = repository().join("examples/job/template.yaml");
    let template = fs::read_to_string(example)?;
    let wrong = template.replace("backoffLimit: ", "parallelism: -3\n      backoffLimit: ");
    ensure!(wrong != template, "{template}");
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("template.yaml"), wrong)?;
    fs::write(folder.path().join("runnable.yaml"), runnable)?;
    let folder = folder.path().to_str().context("a path of text")?;
    let said = "spec.parallelism: Invalid value: -3: must be greater than or equal to 0";
    story.warns(&["diff", "-f", folder, "--server-dry-run"], 2, said)?;
    let runs = story.json(&["get", "hello", "-o", "json"])?;
    ensure!(
        runs["items"][0]["status"]["currentRun"]["sequence"] == 1,
        "{runs}"
    );
    Ok(())
}

/// Files with an edited Runnable, a new one and one that stays as it is, and a template that is not applied yet.
fn files(story: &Story, edited: &str) -> Result<()> {
    let example = repository().join("examples/job");
    let folder = tempfile::tempdir()?;
    let runnable = fs::read_to_string(edited)?;
    let named = |name: &str| runnable.replace("name: hello", &format!("name: {name}"));
    let new = named("newcomer").replace("name: greet\n", "name: newest\n");
    let lost = named("lost").replace("name: greet\n", "name: nowhere\n");
    let template = fs::read_to_string(example.join("template.yaml"))?;
    let template = template.replace("name: greet\nspec:", "name: newest\nspec:");
    ensure!(template.contains("name: newest"), "{template}");
    fs::write(
        folder.path().join("all.yaml"),
        [runnable.as_str(), &new, &template].join("---\n"),
    )?;
    let path = folder.path().to_str().context("a path of text")?;
    let diff = |more: &[&str], code: i32| {
        let arguments = [&["diff", "-f", path], more].concat();
        let done = story.cartouche(&arguments);
        ensure!(done.code == code, "{arguments:?}: {}{}", done.out, done.err);
        anyhow::Ok(done)
    };
    let newcomer = diff(&["newcomer"], 1)?.out;
    let parts = [
        "+ kind: Job\n",
        "Hello, moon!",
        "not in the cluster yet",
        "this would be run 1 (",
    ];
    story::contains(&newcomer, &parts)?;
    let all: serde_json::Value = serde_json::from_str(&diff(&["-o", "json"], 1)?.out)?;
    ensure!(
        all[0]["name"] == "hello" && all[0]["sequence"] == 2,
        "{all}"
    );
    ensure!(
        all[0]["last"]["changes"][0]["new"] == "Hello, moon!",
        "{all}"
    );
    ensure!(
        all[1]["last"]["state"] == "None" && all[1]["wouldRun"] == true,
        "{all}"
    );
    // One that cannot be compared hides none of the others.
    let unchanged = fs::read_to_string(example.join("runnable.yaml"))?;
    let lost = lost.replace("  inputs:\n", "  inputs:\n    yes: x\n");
    fs::write(
        folder.path().join("all.yaml"),
        [unchanged, new, template, lost].join("---\n"),
    )?;
    let failed = diff(&["-o", "markdown"], 2)?;
    ensure!(
        failed.out.starts_with("**1 of 3 Runnables would run**\n"),
        "{}",
        failed.out
    );
    let parts = [
        "newcomer`: `this would be run 1",
        "lost`: unknown",
        "- `cartouche-examples/hello`: `nothing to run",
    ];
    story::contains(&failed.out, &parts)?;
    story::contains(
        &failed.err,
        &[
            "warning[yaml]: kubectl reads the key yes as \"true\"",
            "lost: there is no ClusterRunTemplate nowhere",
        ],
    )
}

/// A user requests a re-run, twice with one token.
async fn third_run(story: &Story) -> Result<()> {
    let why = "the registry was down";
    let rerun = ["rerun", "hello", "--token", "again", "--reason", why];
    story.says(&rerun, &["will run again: again"])?;
    story.says(&rerun[..4], &["was already requested"])?;
    let history = story.run_ends(3).await?;
    let count = history.as_array().map(Vec::len);
    ensure!(count == Some(3), "{history}");
    ensure!(history[0]["rerunToken"] == "again", "{history}");
    ensure!(history[0]["endedAt"].is_string(), "{history}");
    let request = &history[0]["rerunRequest"];
    ensure!(request["reason"] == why, "{history}");
    let user = request["by"].as_str().context("who asked")?;
    ensure!(!user.is_empty(), "{history}");
    let made = format!("made because {user} requested it: again ({why})");
    story.says(&["why", "hello"], &[&made])?;
    let asked = format!("{user}: {why}");
    let parts = ["SEQUENCE", "RE-RUN FOR", "*o", "Succeeded", &asked];
    story.says(&["history", "hello"], &parts)
}
