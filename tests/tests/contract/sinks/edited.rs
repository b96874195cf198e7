//! Edits of the content of sinks: of the template's outputs, and of the keys.

use anyhow::Result;
use serde_json::{Value, json};

use super::{CONFIG_MAP, SECRET, holds, sensitive::with_pin, to, world, writing};
use crate::world::{Subject, TEST_OBJ, World, answered, answers};

/// Returns a template with the outputs `answer` and `pin`, the second one from this path; these are
/// sensitive.
fn template(pin: &str, sensitive: &[&str]) -> Value {
    let mut template = answers();
    template["outputs"]["pin"] = json!(pin);
    template["sensitiveOutputs"] = json!(sensitive);
    template
}

/// Plays a run with values for both.
async fn says(world: &World, subject: &Subject) -> Result<Value> {
    let run = subject.run(1).await?;
    let mut status = answered("one");
    status["pin"] = json!("7731");
    status["other"] = json!("8842");
    world.play(&run, status).await?;
    subject.ready("True").await?;
    Ok(run)
}

async fn both(world: &World) -> Result<Subject> {
    world.template(template(".status.pin", &[])).await?;
    let subject = writing(world, json!([to(SECRET, "db"), to(CONFIG_MAP, "db")])).await?;
    Ok(subject)
}

const ALL: [(&str, &str); 2] = [("answer", "one"), ("pin", "7731")];

#[tokio::test]
async fn an_output_that_becomes_sensitive_leaves_all_but_the_secret_without_a_run() -> Result<()> {
    let world = world("becomes").await?;
    let subject = both(&world).await?;
    says(&world, &subject).await?;
    let all: Value = ALL.into_iter().collect();
    holds(&world, CONFIG_MAP, "db", all.clone()).await?;
    holds(&world, SECRET, "db", all.clone()).await?;
    world.template(template(".status.pin", &["pin"])).await?;
    subject.outputs(json!({ "answer": "one" })).await?;
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "one" })).await?;
    holds(&world, SECRET, "db", all).await?;
    let place = &subject.status().await?["sensitiveOutputs"]["pin"];
    assert_eq!(place["name"], "db");
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn no_config_map_keeps_what_has_become_sensitive_though_the_run_is_gone() -> Result<()> {
    let world = world("keeps").await?;
    let subject = both(&world).await?;
    let run = says(&world, &subject).await?;
    holds(&world, CONFIG_MAP, "db", ALL.into_iter().collect()).await?;
    let name = run["metadata"]["name"].as_str().unwrap_or_default();
    world.delete(TEST_OBJ, name).await?;
    world.gone(TEST_OBJ, name).await?;
    world.template(template(".status.pin", &["pin"])).await?;
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "one" })).await?;
    Ok(())
}

#[tokio::test]
async fn a_sensitive_output_whose_path_changes_is_read_anew_like_any_other() -> Result<()> {
    let world = with_pin("path").await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    says(&world, &subject).await?;
    holds(&world, SECRET, "db", ALL.into_iter().collect()).await?;
    let before = subject.status().await?["sensitiveOutputs"]["pin"].take();
    world.template(template(".status.other", &["pin"])).await?;
    let other = json!({ "answer": "one", "pin": "8842" });
    holds(&world, SECRET, "db", other.clone()).await?;
    let is_new = |object: &Value| object["status"]["sensitiveOutputs"]["pin"] != before;
    subject.until("another revision", is_new).await?;
    // It stays when the Secret is corrected later.
    let patch = json!({ "data": { "answer": "dHdv" } });
    world.patch_of(SECRET, "db", patch).await?;
    holds(&world, SECRET, "db", other).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn keys_that_are_added_are_filled_from_the_run_that_is_there() -> Result<()> {
    let world = with_pin("added").await?;
    let mut sink = to(SECRET, "db");
    sink["keys"] = json!({ "answer": "ANSWER" });
    let subject = writing(&world, json!([sink])).await?;
    says(&world, &subject).await?;
    holds(&world, SECRET, "db", json!({ "ANSWER": "one" })).await?;
    subject
        .edit(|it| it["spec"]["writeOutputsTo"][0]["keys"]["pin"] = json!("PIN"))
        .await?;
    let both = json!({ "ANSWER": "one", "PIN": "7731" });
    holds(&world, SECRET, "db", both).await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}
