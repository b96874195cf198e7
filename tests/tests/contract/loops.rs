//! Runs that change what their Runnable selects.

use anyhow::Result;
use serde_json::json;

use crate::world::{CONFIG_MAP, World, config_map, stamps};

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
    // What each run does.
    for count in 1..=RUNS {
        subject.run(count).await?;
        world.put(has(count)).await?;
    }
    let said = subject.fails("RunawayDetected", "").await?;
    assert!(
        said.starts_with(&format!("{RUNS} runs were made without a change")),
        "{said}"
    );
    subject.stays_at(RUNS).await?;
    // Somebody mends it: the last state of what is selected is served at once.
    subject.input("i", 2).await?;
    let last = json!({ "count": RUNS.to_string(), "input": 2 });
    assert_eq!(subject.run(RUNS + 1).await?["spec"], last);
    Ok(())
}
