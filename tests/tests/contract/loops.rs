//! Runs that change the objects that their own Runnable selects or reads, and runs that only follow others'
//! changes.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{
    CONFIG_MAP, RUNNABLE, Subject, TEST_OBJ, World, condition, config_map, document, stamps,
};

/// Runs of a loop before it is slowed.
const RUNS: usize = 30;

#[tokio::test]
async fn a_run_that_changes_what_is_selected_is_slowed_until_the_runnable_is_changed() -> Result<()>
{
    let world = World::new("loop").await?;
    let labels = json!({ "of": "loop" });
    let has =
        |count: usize| config_map("it", labels.clone(), json!({ "count": count.to_string() }));
    world.put(has(0)).await?;
    let template =
        json!({ "count": "$(selected.data.count)$", "input": "$(runnable.spec.inputs.i)$" });
    world.template(stamps(template)).await?;
    let resource = json!({ "apiVersion": CONFIG_MAP.api_version(), "kind": CONFIG_MAP.name });
    let spec = json!({
        "selector": { "resource": resource, "matchingLabels": labels }, "inputs": { "i": 1 },
    });
    let subject = world.runnable("r", spec).await?;
    // The effect of each run.
    for count in 1..=RUNS {
        subject.run(count).await?;
        world.put(has(count)).await?;
    }
    let said = subject.fails("RunawayDetected", "").await?;
    assert!(
        said.starts_with(&format!("{RUNS} runs were created without a change")),
        "{said}"
    );
    subject.stays_at(RUNS).await?;
    // A user repairs it: the last state of the selected object is served at once.
    subject.input("i", 2).await?;
    let last = json!({ "count": RUNS.to_string(), "input": 2 });
    assert_eq!(subject.run(RUNS + 1).await?["spec"], last);
    Ok(())
}

/// Makes a world whose runs show the inputs, and give an answer; the account may read and write the objects
/// of these scenarios.
async fn world(prefix: &str) -> Result<World> {
    let world = World::new(prefix).await?;
    let rights = [
        CONFIG_MAP.rights(&["get", "create", "update", "delete"]),
        RUNNABLE.rights(&["get"]),
    ];
    world.allow("default", &rights).await?;
    world
        .template(json!({
            "template": document(TEST_OBJ, json!({ "inputs": "$(runnable.spec.inputs)$" })),
            "outputs": { "answer": ".status.answer" },
        }))
        .await?;
    Ok(world)
}

fn from_map() -> Value {
    json!({ "name": "read", "configMapKeyRef": { "name": "it", "key": "count" } })
}

fn from_runnable(name: &str) -> Value {
    json!({ "name": "read", "runnableRef": { "name": name, "output": "answer" } })
}

async fn is_slowed(subject: &Subject, runs: usize) -> Result<()> {
    let said = subject.fails("RunawayDetected", "").await?;
    let begin = format!("{runs} runs were created without a change");
    assert!(said.starts_with(&begin), "{said}");
    subject.stays_at(runs).await
}

#[tokio::test]
async fn a_run_that_changes_the_config_map_that_an_input_comes_from_is_slowed() -> Result<()> {
    let world = world("loop-map").await?;
    let has = |count: usize| config_map("it", json!({}), json!({ "count": count.to_string() }));
    world.put(has(0)).await?;
    let spec = json!({ "inputsFrom": [from_map()] });
    let subject = world.runnable("r", spec).await?;
    for count in 1..=RUNS {
        subject.run(count).await?;
        world.put(has(count)).await?;
    }
    is_slowed(&subject, RUNS).await
}

#[tokio::test]
async fn a_chain_that_somebody_drives_twice_as_often_is_not_slowed() -> Result<()> {
    let world = world("driven").await?;
    let spec = json!({ "inputs": { "i": 1 } });
    let a = world.runnable("a", spec).await?;
    let spec = json!({ "inputsFrom": [from_runnable("a")] });
    let b = world.runnable("b", spec).await?;
    for count in 1..=2 * RUNS {
        a.input("i", count).await?;
        a.answer(count, json!(count)).await?;
        assert_eq!(b.run(count).await?["spec"]["inputs"]["read"], count);
    }
    b.answer(2 * RUNS, json!("end")).await?;
    assert_eq!(
        condition(&b.ready("True").await?, "Ready")["reason"],
        "Ready"
    );
    a.stays_at(2 * RUNS).await?;
    b.stays_at(2 * RUNS).await
}
