//! A debounce: the rendered object must stay the same for a while before it runs.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{Subject, World, answered, answers, condition};

/// Time that a change has to stay the same.
const PAUSE: &str = "4s";

async fn world(prefix: &str) -> Result<World> {
    let world = World::new(prefix).await?;
    world.template(answers()).await?;
    Ok(world)
}

async fn paused(world: &World, spec: Value) -> Result<Subject> {
    let mut spec = spec;
    spec["start"] = json!({ "debounce": PAUSE });
    world.runnable("r", spec).await
}

#[tokio::test]
async fn of_changes_that_follow_each_other_the_last_one_runs() -> Result<()> {
    let world = world("settle").await?;
    let subject = paused(&world, json!({ "inputs": { "foo": 1 } })).await?;
    subject
        .says("Ready", "Unknown", "Debouncing", "stayed the same for 4s")
        .await?;
    subject
        .says("Reconciling", "True", "Debouncing", "the next run begins")
        .await?;
    let first = subject.run(1).await?;
    world.play(&first, answered("first")).await?;
    subject.ready("True").await?;
    for value in 2..=4 {
        subject.input("foo", value).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    subject.says("Ready", "Unknown", "Debouncing", "").await?;
    let status = subject.status().await?;
    assert_eq!(status["pending"]["reason"], "Debouncing");
    assert_eq!(status["pending"]["sequence"], 2);
    subject.outputs(json!({ "answer": "first" })).await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["foo"], 4, "what came between does not run");
    world.play(&second, answered("last")).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"]["pending"], Value::Null);
    subject.stays_at(2).await
}

#[tokio::test]
async fn what_goes_back_before_it_has_settled_makes_no_run() -> Result<()> {
    let world = world("back").await?;
    let subject = paused(&world, json!({ "inputs": { "foo": 1 } })).await?;
    let first = subject.run(1).await?;
    world.play(&first, answered("first")).await?;
    subject.ready("True").await?;
    subject.input("foo", 2).await?;
    subject.says("Ready", "Unknown", "Debouncing", "").await?;
    subject.input("foo", 1).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"]["pending"], Value::Null);
    tokio::time::sleep(Duration::from_secs(5)).await;
    subject.stays_at(1).await
}

#[tokio::test]
async fn taking_the_pause_away_lets_begin_what_waits() -> Result<()> {
    let world = world("away").await?;
    let spec = json!({ "inputs": { "foo": 1 }, "start": { "debounce": "1h" } });
    let subject = world.runnable("r", spec).await?;
    subject
        .says("Ready", "Unknown", "Debouncing", "for 3600s")
        .await?;
    subject.edit(|it| it["spec"]["start"] = Value::Null).await?;
    subject.run(1).await?;
    Ok(())
}

#[tokio::test]
async fn the_longer_pause_of_template_and_runnable_counts() -> Result<()> {
    let world = World::new("longer").await?;
    let mut template = answers();
    template["start"] = json!({ "debounce": "1h" });
    world.template(template).await?;
    let subject = paused(&world, json!({ "inputs": { "foo": 1 } })).await?;
    subject
        .says("Ready", "Unknown", "Debouncing", "for 3600s")
        .await?;
    assert_ne!(
        condition(&subject.object().await?, "Stalled")["status"],
        "True"
    );
    Ok(())
}

#[tokio::test]
async fn a_pause_of_no_use_is_named_and_makes_no_run() -> Result<()> {
    let world = world("bad-pause").await?;
    for (index, pause) in [
        "",
        "4",
        "1 s",
        "-1s",
        "1d",
        "99999999999999999s",
        "0s",
        "1ms",
        "9000h",
    ]
    .into_iter()
    .enumerate()
    {
        let spec = json!({ "inputs": { "foo": 1 }, "start": { "debounce": pause } });
        let subject = world.runnable(&format!("r{index}"), spec).await?;
        let said = subject
            .fails("PolicyInvalid", "spec.start.debounce")
            .await?;
        assert!(said.contains(pause), "{said}");
        subject.says("Stalled", "True", "PolicyInvalid", "").await?;
    }
    Ok(())
}
