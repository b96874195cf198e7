//! Runnables that only name an object, or another Runnable, in their spec.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{ALL, CONFIG_MAP, SECRET, to};
use crate::world::{RUNNABLE, TEST_OBJ, World, document};

async fn world(prefix: &str) -> Result<World> {
    let world = World::new(prefix).await?;
    let rights = [
        CONFIG_MAP.rights(ALL),
        SECRET.rights(ALL),
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

#[tokio::test]
async fn who_claims_what_another_namespace_reads_holds_back_nobody_but_itself() -> Result<()> {
    let (shared, victims) = (world("shared").await?, world("victims").await?);
    let metadata = json!({ "name": "settings" });
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "size": "1" },
    });
    shared.put(settings).await?;
    shared
        .let_read(CONFIG_MAP, "settings", &victims.namespace)
        .await?;
    let size = json!([{ "name": "size", "objectRef": {
        "apiVersion": "v1", "kind": "ConfigMap", "namespace": shared.namespace, "name": "settings",
        "path": ".data.size", "waitFor": "Nothing",
    } }]);
    let spec = json!({ "inputs": { "own": 1 }, "inputsFrom": size });
    let app = victims.runnable("app", spec).await?;
    app.answer(1, json!("one")).await?;
    let reference = json!({ "name": "app", "namespace": victims.namespace, "output": "answer" });
    let claims = json!({
        "inputsFrom": [{ "name": "foo", "runnableRef": reference }],
        "writeOutputsTo": [to(CONFIG_MAP, "settings")],
    });
    let claimant = shared.runnable("claimant", claims).await?;
    claimant
        .fails("SourceError", "may not get runnables.carto.run")
        .await?;
    app.input("own", 2).await?;
    app.answer(2, json!("two")).await?;
    // A Runnable that may read it derives from it, and would close the cycle: only that one is held back.
    victims.let_read(RUNNABLE, "app", &shared.namespace).await?;
    claimant
        .fails("DependencyCycle", "its inputs come from itself")
        .await?;
    app.input("own", 3).await?;
    app.answer(3, json!("three")).await?;
    claimant.stays_at(0).await?;
    let settings = shared.get(CONFIG_MAP, "settings").await?;
    ensure!(settings["data"]["size"] == "1", "{settings}");
    Ok(())
}
