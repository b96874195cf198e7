//! Runnables whose inputs come from other Runnables.

mod diamond;
mod held;
mod reports;
mod unnamed;
mod upstream;

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{RUNNABLE, Subject, TEST_OBJ, World, document};

/// Makes a world whose template shows its inputs in the run, and gives the answer of the run. The account may
/// read Runnables.
async fn world(prefix: &str) -> Result<World> {
    let world = World::new(prefix).await?;
    world.template(shows_inputs()).await?;
    world.allow("default", &[RUNNABLE.rights(&["get"])]).await?;
    Ok(world)
}

fn shows_inputs() -> Value {
    json!({
        "template": document(TEST_OBJ, json!({ "inputs": "$(runnable.spec.inputs)$" })),
        "outputs": { "answer": ".status.answer" },
    })
}

/// Returns the answer of another Runnable, as the input of its name.
fn from(name: &str) -> Value {
    json!({ "name": name, "runnableRef": { "name": name, "output": "answer" } })
}

/// Makes a Runnable at the head of chains.
async fn head(world: &World, name: &str) -> Result<Subject> {
    world
        .runnable(name, json!({ "inputs": { "own": 1 } }))
        .await
}

/// Makes a Runnable that reads these.
async fn reader(world: &World, name: &str, sources: &[&str]) -> Result<Subject> {
    let from: Vec<Value> = sources.iter().map(|source| from(source)).collect();
    world
        .runnable(name, json!({ "inputs": { "own": 1 }, "inputsFrom": from }))
        .await
}

/// Returns an input of a run.
fn given<'a>(run: &'a Value, input: &str) -> &'a Value {
    &run["spec"]["inputs"][input]
}

/// Returns the revision of a source in the status, of the current run or of the outputs.
fn revision<'a>(runnable: &'a Value, of: &str, source: &str) -> &'a Value {
    let namespace = runnable["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default();
    &runnable["status"][of]["sources"][format!("Runnable/{namespace}/{source}")]
}
