//! Outputs that a run may lack.

use anyhow::Result;
use cartouche_protocol::messages::format::MessageParts;
use serde_json::{Value, json};

use crate::world::{
    JOB, Subject, TEMPLATE, World, answered, answers, document, name_of, succeeded,
};

/// Returns a template with the outputs `answer` and `question`, of which `question` is optional.
fn optional_question() -> Value {
    let mut spec = answers();
    spec["outputs"] = json!({ "answer": ".status.answer", "question": ".status.question" });
    spec["optionalOutputs"] = json!(["question"]);
    spec
}

/// Waits for `count` runs, and has the newest succeed with all outputs.
async fn gives_all(subject: &Subject, count: usize) -> Result<()> {
    let mut full = answered(count);
    full["question"] = "6x7".into();
    let run = subject.run(count).await?;
    subject.world.play(&run, full).await?;
    let outputs = json!({ "answer": count, "question": "6x7" });
    subject.outputs(outputs).await
}

#[tokio::test]
async fn a_run_without_an_optional_output_gives_the_others_and_no_older_value_of_it() -> Result<()>
{
    let (world, subject) = World::with("optional", optional_question()).await?;
    gives_all(&subject, 1).await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    world.play(&run, answered(2)).await?;
    subject.outputs(json!({ "answer": 2 })).await?;
    subject.says("Ready", "True", "Ready", "").await?;
    assert_eq!(
        subject.status().await?["outputsFrom"]["name"],
        name_of(&run)
    );
    subject.stays_at(2).await?;
    subject.outputs(json!({ "answer": 2 })).await
}

#[tokio::test]
async fn a_run_without_a_required_output_gives_none_and_the_condition_names_it_alone() -> Result<()>
{
    let (world, subject) = World::with("required", optional_question()).await?;
    gives_all(&subject, 1).await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    world.play(&run, succeeded("True", "")).await?;
    let said = subject.fails("OutputPathNotSatisfied", "").await?;
    let told = MessageParts::parse(&said);
    let wanted = format!(
        "run {} succeeded, but gives no outputs: output \"answer\" has no value at .status.answer: jsonpath returned empty list: .status.answer",
        name_of(&run)
    );
    assert_eq!(told.what, wanted);
    assert!(
        told.to_do
            .is_some_and(|to_do| to_do.contains("optionalOutputs")),
        "{said}"
    );
    assert!(!said.contains("question"), "{said}");
    subject
        .outputs(json!({ "answer": 1, "question": "6x7" }))
        .await
}

#[tokio::test]
async fn making_an_output_optional_reads_the_run_that_lacks_it_again_and_makes_no_run() -> Result<()>
{
    let mut spec = optional_question();
    spec["optionalOutputs"].take();
    let (world, subject) = World::with("made-optional", spec).await?;
    let run = subject.run(1).await?;
    world.play(&run, answered(42)).await?;
    subject.fails("OutputPathNotSatisfied", "question").await?;
    assert_eq!(subject.status().await?["outputs"], Value::Null);
    world.template(optional_question()).await?;
    subject.outputs(json!({ "answer": 42 })).await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_run_that_lacks_all_of_its_outputs_leaves_none_if_all_are_optional() -> Result<()> {
    let mut spec = optional_question();
    spec["optionalOutputs"] = json!(["answer", "question"]);
    let (world, subject) = World::with("all-optional", spec).await?;
    gives_all(&subject, 1).await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    world.play(&run, succeeded("True", "")).await?;
    subject.outputs(json!({})).await?;
    subject.ready("True").await?;
    subject.stays_at(2).await?;
    let before = subject.object().await?;
    subject.stays_at(2).await?;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&subject.object().await?), version(&before));
    Ok(())
}

/// Returns a template of a Job with this last message.
fn job_saying(message: &str) -> Value {
    let annotations = json!({ "play.carto.run/message": message });
    let container = json!({ "name": "work", "image": "busybox" });
    let pod = json!({ "restartPolicy": "Never", "containers": [container] });
    let template = json!({ "metadata": { "annotations": annotations }, "spec": pod });
    json!({
        "template": document(JOB, json!({ "backoffLimit": 0, "template": template })),
        "outputs": { "digest": ".terminationMessage.digest", "size": ".terminationMessage.size", "done": ".status.succeeded" },
        "optionalOutputs": ["size", "digest"],
    })
}

#[tokio::test]
async fn of_a_job_what_it_did_not_say_at_its_end_may_be_missing() -> Result<()> {
    let world = World::new("part").await?;
    let message = r#"{"digest":"sha256:1"}"#;
    world.template(job_saying(message)).await?;
    let subject = world.runnable("r", json!({})).await?;
    subject
        .outputs(json!({ "digest": "sha256:1", "done": 1 }))
        .await?;
    subject.ready("True").await?;
    Ok(())
}

#[tokio::test]
async fn of_a_job_a_last_word_that_is_no_object_is_told_and_not_taken_for_nothing() -> Result<()> {
    let world = World::new("a-text").await?;
    world.template(job_saying("done")).await?;
    let subject = world.runnable("r", json!({})).await?;
    let said = subject.fails("OutputPathNotSatisfied", "digest").await?;
    assert!(said.contains("a JSON object"), "{said}");
    Ok(())
}

#[tokio::test]
async fn an_optional_output_that_is_no_output_makes_the_template_unacceptable() -> Result<()> {
    let mut spec = optional_question();
    spec["optionalOutputs"] = json!(["answer", "qestion"]);
    let (_, subject) = World::with("misspelt", spec).await?;
    let wanted = "optionalOutputs[1]: there is no 'qestion' in outputs";
    let said = subject.fails("TemplateStampFailure", wanted).await?;
    assert!(said.contains("did you mean 'question'?"), "{said}");
    subject.stays_at(0).await
}

#[tokio::test]
async fn the_schema_refuses_an_optional_output_that_is_named_twice() -> Result<()> {
    let world = World::new("twice").await?;
    let mut spec = optional_question();
    spec["optionalOutputs"] = json!(["question", "question"]);
    let template = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": TEMPLATE.name,
        "metadata": { "name": world.template_name() }, "spec": spec,
    });
    let said = world.refused(&template).await?;
    assert!(said.contains("Duplicate value: \"question\""), "{said}");
    Ok(())
}
