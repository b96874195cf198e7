//! Suspended Runnables.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{Subject, World, answered, answers, condition};

async fn suspend(subject: &Subject, suspend: bool) -> Result<()> {
    subject
        .edit(|object| object["spec"]["suspend"] = suspend.into())
        .await
}

fn types(object: &Value) -> Vec<&str> {
    let conditions = object["status"]["conditions"].as_array();
    let types = conditions.into_iter().flatten();
    types.filter_map(|one| one["type"].as_str()).collect()
}

#[tokio::test]
async fn what_changes_while_it_is_suspended_runs_when_it_is_resumed() -> Result<()> {
    let (world, subject) = World::with("held", answers()).await?;
    let first = subject.run(1).await?;
    suspend(&subject, true).await?;
    subject.input("foo", 2).await?;
    subject
        .says(
            "Ready",
            "Unknown",
            "Suspended",
            "or set spec.suspend to false",
        )
        .await?;
    subject.stays_at(1).await?;
    // The run at work is followed, and its outputs come.
    world.play(&first, answered("of the first")).await?;
    subject.outputs(json!({ "answer": "of the first" })).await?;
    let object = subject.observed().await?;
    assert_eq!(
        types(&object),
        ["RunTemplateReady", "StampedObjectCondition", "Ready"],
        "nothing is under way, and nothing is wrong"
    );
    assert_eq!(
        condition(&object, "StampedObjectCondition")["status"],
        "True"
    );
    subject.input("foo", 3).await?;
    suspend(&subject, false).await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["foo"], 3, "what came in between has not run");
    subject.stays_at(2).await
}

#[tokio::test]
async fn suspending_and_resuming_alone_makes_no_run() -> Result<()> {
    let mut spec = answers();
    spec["template"]["spec"]["all"] = json!("$(runnable.spec)$");
    let (_, subject) = World::with("paused", spec).await?;
    subject.answer(1, json!("first")).await?;
    subject.ready("True").await?;
    for suspended in [true, false] {
        suspend(&subject, suspended).await?;
        subject.stays_at(1).await?;
        subject.ready("True").await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_runnable_that_is_made_suspended_has_no_run_until_it_is_resumed() -> Result<()> {
    let world = World::new("dormant").await?;
    world.template(answers()).await?;
    let subject = world
        .runnable("r", json!({ "suspend": true, "inputs": { "foo": 1 } }))
        .await?;
    subject.says("Ready", "Unknown", "Suspended", "").await?;
    subject.stays_at(0).await?;
    suspend(&subject, false).await?;
    subject.run(1).await?;
    Ok(())
}

#[tokio::test]
async fn a_rerun_that_is_asked_for_meanwhile_waits_for_the_end_of_the_suspension() -> Result<()> {
    let (_, subject) = World::with("waits", answers()).await?;
    subject.answer(1, json!("first")).await?;
    subject.ready("True").await?;
    suspend(&subject, true).await?;
    subject
        .edit(|object| {
            object["metadata"]["annotations"]["carto.run/rerun-token"] = "again".into();
        })
        .await?;
    subject.says("Ready", "Unknown", "Suspended", "").await?;
    subject.stays_at(1).await?;
    suspend(&subject, false).await?;
    subject.run(2).await?;
    Ok(())
}
