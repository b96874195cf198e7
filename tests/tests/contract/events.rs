//! Events for users.

use anyhow::Result;
use serde_json::json;

use crate::world::{
    CONFIG_MAP, SECRET, TEST_OBJ, World, answered, answers, name_of, specless, stamps, succeeded,
    text,
};

#[tokio::test]
async fn a_created_run_is_told() -> Result<()> {
    let (world, subject) = World::with("created", answers()).await?;
    let run = subject.run(1).await?;
    let wanted = format!("Created object [testobjs.test.run/{}]", name_of(&run));
    let event = subject
        .event("Normal", "StampedObjectApplied", &wanted)
        .await?;
    assert_eq!(event["message"], wanted);
    assert_eq!(event["source"]["component"], "Runnable");
    let involved = &event["involvedObject"];
    assert_eq!(involved["kind"], "Runnable");
    assert_eq!(involved["apiVersion"], "carto.run/v1alpha1");
    assert_eq!(involved["name"], "r");
    assert_eq!(involved["namespace"], world.namespace);
    assert!(!text(&event["firstTimestamp"]).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_kind_without_a_group_is_named_by_its_plural_alone() -> Result<()> {
    let world = World::new("core").await?;
    let template = specless(CONFIG_MAP, "data", json!({ "a": "b" }));
    world.template(json!({ "template": template })).await?;
    let subject = world.runnable("r", json!({})).await?;
    let run = subject.runs_of(CONFIG_MAP, 1).await?.remove(0);
    let wanted = format!("Created object [configmaps/{}]", name_of(&run));
    subject
        .event("Normal", "StampedObjectApplied", &wanted)
        .await?;
    Ok(())
}

#[tokio::test]
async fn new_outputs_are_told_with_the_run_that_gave_them() -> Result<()> {
    let (world, subject) = World::with("outputs", answers()).await?;
    subject.run(1).await?;
    subject.input("foo", 2).await?;
    let runs = subject.runs(2).await?;
    for run in [&runs[0], &runs[1]] {
        world.play(run, answered(name_of(run))).await?;
        let object = format!("testobjs.test.run/{}", name_of(run));
        let wanted = format!("Runnable [r] found a new output in [{object}]");
        let event = subject
            .event("Normal", "ResourceOutputChanged", &object)
            .await?;
        assert_eq!(event["message"], wanted);
    }
    Ok(())
}

#[tokio::test]
async fn the_same_outputs_are_told_once() -> Result<()> {
    let (_, subject) = World::with("same", answers()).await?;
    subject.answer(1, json!("same")).await?;
    subject.input("foo", 2).await?;
    subject.answer(2, json!("same")).await?;
    subject.ready("True").await?;
    subject.stays_at(2).await?;
    let events = subject.events().await?;
    let count = |reason: &str| {
        events
            .iter()
            .filter(|event| event["reason"] == reason)
            .count()
    };
    assert_eq!(count("ResourceOutputChanged"), 1);
    assert_eq!(count("StampedObjectApplied"), 2);
    assert_eq!(events.len(), 3, "{events:?}");
    Ok(())
}

#[tokio::test]
async fn without_outputs_nothing_is_said_of_them() -> Result<()> {
    let world = World::new("none").await?;
    world.template(stamps(json!({}))).await?;
    let subject = world.runnable("r", json!({})).await?;
    let run = subject.run(1).await?;
    world.play(&run, succeeded("True", "")).await?;
    subject.ready("True").await?;
    subject.stays_at(1).await?;
    let reasons = subject.events().await?;
    let reasons: Vec<&str> = reasons.iter().map(|event| text(&event["reason"])).collect();
    assert_eq!(reasons, ["StampedObjectApplied"]);
    Ok(())
}

#[tokio::test]
async fn a_condition_that_turns_false_is_a_warning_once() -> Result<()> {
    let (world, subject) = World::with("warning", answers()).await?;
    let run = subject.run(1).await?;
    world.play(&run, succeeded("False", "it burned")).await?;
    let event = subject
        .event("Warning", "SucceededCondition", "it burned")
        .await?;
    let cure =
        "look at the run (`cartouche logs`), change what is wrong, or run again: `cartouche rerun`";
    assert_eq!(event["message"], format!("it burned; to do: {cure}"));
    assert_eq!(event["source"]["component"], "Runnable");
    world.template(stamps(json!({ "x": "$()$" }))).await?;
    let said = subject.fails("TemplateStampFailure", "").await?;
    subject
        .event("Warning", "TemplateStampFailure", &said)
        .await?;
    // Repeated looks do not change it.
    for label in ["a", "b"] {
        subject
            .edit(|object| object["metadata"]["labels"] = json!({ label: "x" }))
            .await?;
    }
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let events = subject.events().await?;
    let warnings = events.iter().filter(|event| event["type"] == "Warning");
    assert_eq!(warnings.count(), 2, "{events:?}");
    Ok(())
}

#[tokio::test]
async fn a_long_message_is_cut_on_a_character_border() -> Result<()> {
    let (world, subject) = World::with("long", answers()).await?;
    let run = subject.run(1).await?;
    let long = format!("a{}", "é".repeat(2000));
    world.play(&run, succeeded("False", &long)).await?;
    let said = subject
        .says("Ready", "False", "SucceededCondition", "é")
        .await?;
    assert!(
        said.len() <= 1000 && said.len() > 900,
        "{} bytes",
        said.len()
    );
    assert!(said.ends_with("é…"), "{said}");
    let event = subject.event("Warning", "SucceededCondition", "é").await?;
    let message = event["message"].as_str().unwrap_or_default();
    assert!(
        message.len() <= 1000 && message.contains("é…; to do: look at the run"),
        "{message}"
    );
    Ok(())
}

#[tokio::test]
async fn values_that_hardly_mean_what_their_author_meant_are_a_warning() -> Result<()> {
    let world = World::new("doubtful").await?;
    let rights = [TEST_OBJ.rights_of_a_runnable(), SECRET.rights(&["get"])];
    world.allow("default", &rights).await?;
    let texts = ["version", "tag", "pin", "plain"]
        .map(|input| json!(format!("it is $(runnable.spec.inputs.{input})$")));
    world.template(stamps(json!({ "texts": texts }))).await?;
    let mut secret = specless(SECRET, "stringData", json!({ "pin": "7731-planted" }));
    secret["metadata"] = json!({ "name": "db" });
    world.put(secret).await?;
    let pin = json!({ "name": "pin", "secretKeyRef": { "name": "db", "key": "pin" } });
    let inputs = json!({ "version": 7.3, "tag": "v${NAMED}", "plain": 2.5 });
    let subject = world
        .runnable("r", json!({ "inputs": inputs, "inputsFrom": [pin] }))
        .await?;
    let run = subject.run(1).await?;
    world.play(&run, succeeded("True", "")).await?;
    subject.ready("True").await?;
    let event = subject.event("Warning", "DoubtfulValue", "").await?;
    let message = text(&event["message"]);
    for said in [
        "$(runnable.spec.inputs.version)$ is a number where a version belongs",
        "$(runnable.spec.inputs.tag)$ gives ${...}",
        "$(runnable.spec.inputs.pin)$ puts the name and key of a Secret into a text",
    ] {
        assert!(message.contains(said), "{message}");
    }
    for hidden in ["inputs.plain", "NAMED", "7.3", "db"] {
        assert!(!message.contains(hidden), "{hidden}: {message}");
    }
    // A run whose values are all intended has none.
    let spec = json!({ "inputs": { "version": "7.30", "tag": "v1", "pin": "1", "plain": 2.5 } });
    let other = world.runnable("other", spec).await?;
    let run = other.run(1).await?;
    world.play(&run, succeeded("True", "")).await?;
    other.ready("True").await?;
    let reasons = other.events().await?;
    let reasons: Vec<&str> = reasons.iter().map(|event| text(&event["reason"])).collect();
    assert_eq!(reasons, ["StampedObjectApplied"]);
    Ok(())
}
