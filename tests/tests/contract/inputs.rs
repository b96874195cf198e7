//! Inputs that a template declares: defaults, and the handling of those that do not fit.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{World, answers, text};

fn declaring(schema: Value) -> Value {
    let mut spec = answers();
    spec["inputSchema"] = schema;
    spec
}

fn count(least: i64) -> Value {
    json!({ "type": "object", "properties": { "foo": { "type": "integer", "minimum": least, "default": 5 } } })
}

#[tokio::test]
async fn a_default_stands_for_an_input_that_is_not_given() -> Result<()> {
    let world = World::new("defaults").await?;
    world.template(declaring(count(1))).await?;
    let subject = world.runnable("r", json!({})).await?;
    let run = subject.run(1).await?;
    assert_eq!(run["spec"]["foo"], 5, "{run}");
    // Writing the default value explicitly is no change.
    subject.input("foo", 5).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn an_input_that_does_not_fit_makes_no_run_and_takes_no_output_away() -> Result<()> {
    let (world, subject) = World::with("misfits", declaring(count(1))).await?;
    subject.answer(1, json!("first")).await?;
    subject.outputs(json!({ "answer": "first" })).await?;
    subject.input("foo", "many").await?;
    let told = subject
        .fails(
            "TemplateStampFailure",
            "runnable.spec.inputs.foo: it has to be an integer, and is a string",
        )
        .await?;
    assert!(!told.contains("many"), "{told}");
    subject
        .says("Stalled", "True", "TemplateStampFailure", "")
        .await?;
    subject.stays_at(1).await?;
    assert_eq!(
        subject.status().await?["outputs"],
        json!({ "answer": "first" })
    );
    // A schema that allows it is the other cure.
    subject.input("foo", 0).await?;
    subject
        .fails("TemplateStampFailure", "it has to be at least 1")
        .await?;
    world.template(declaring(count(0))).await?;
    subject.run(2).await?;
    Ok(())
}

#[tokio::test]
async fn a_schema_alone_makes_no_run() -> Result<()> {
    let (world, subject) = World::with("declares", answers()).await?;
    subject.answer(1, json!("first")).await?;
    subject.ready("True").await?;
    world.template(declaring(count(1))).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_is_told_to_the_template_and_to_its_runnables() -> Result<()> {
    let world = World::new("unusable").await?;
    let mut schema = count(1);
    schema["properties"]["foo"]["default"] = json!("five");
    schema["properties"]["bar"] = json!({ "tpye": "string" });
    world.template(declaring(schema)).await?;
    let (status, reason, message) = world.accepted(&world.template_name()).await?;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Invalid"));
    let path = "inputSchema.properties.bar.tpye: there is no such keyword in a schema";
    assert!(message.contains(path), "{message}");
    let subject = world.runnable("r", json!({})).await?;
    let told = subject.fails("TemplateStampFailure", path).await?;
    assert!(
        text(&json!(told)).contains(&world.template_name()),
        "{told}"
    );
    subject.stays_at(0).await
}
