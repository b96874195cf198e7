//! Runnables that derive from each other through objects that outputs go to.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{ALL, CONFIG_MAP, SECRET, holds, to, world};
use crate::world::{RUNNABLE, Subject, World};

/// Makes the same world for Runnables that read each other as well.
async fn chained(prefix: &str) -> Result<World> {
    let world = world(prefix).await?;
    let rights = [
        CONFIG_MAP.rights(ALL),
        SECRET.rights(ALL),
        RUNNABLE.rights(&["get"]),
    ];
    world.allow("default", &rights).await?;
    Ok(world)
}

fn of_runnable(name: &str) -> Value {
    json!([{ "name": "foo", "runnableRef": { "name": name, "output": "answer" } }])
}

fn of_map(name: &str) -> Value {
    json!([{ "name": "foo", "configMapKeyRef": { "name": name, "key": "answer" } }])
}

async fn is_on_a_cycle(subject: &Subject, round: &[&str]) -> Result<()> {
    let said = subject
        .fails("DependencyCycle", "its inputs come from itself")
        .await?;
    let namespace = &subject.world.namespace;
    let round: Vec<String> = round
        .iter()
        .map(|of| of.replace('/', &format!(" {namespace}/")))
        .collect();
    let round = round
        .join(", which reads ")
        .replace("which reads <", "which has outputs of ")
        .replace('>', "");
    ensure!(said.contains(&round), "{said}: {round}");
    Ok(())
}

/// An unwritten sink is a claim: it holds back the Runnable that makes it, so that it never becomes a cycle.
#[tokio::test]
async fn a_cycle_that_is_closed_at_its_far_end_is_told_there_and_ends_with_that_edit() -> Result<()>
{
    let world = chained("far").await?;
    let a = world
        .runnable("a", json!({ "inputsFrom": of_map("of-b") }))
        .await?;
    let b = world
        .runnable("b", json!({ "inputsFrom": of_runnable("a") }))
        .await?;
    a.says("RunTemplateReady", "Unknown", "DependencyNotReady", "of-b")
        .await?;
    b.edit(|it| it["spec"]["writeOutputsTo"] = json!([to(CONFIG_MAP, "of-b")]))
        .await?;
    is_on_a_cycle(
        &b,
        &["Runnable/b", "Runnable/a", "ConfigMap/of-b", "<Runnable/b>"],
    )
    .await?;
    a.says("RunTemplateReady", "Unknown", "DependencyNotReady", "of-b")
        .await?;
    a.stays_at(0).await?;
    b.stays_at(0).await?;
    // Another one takes its place in the object, and nothing is left to hold any of them up.
    b.edit(|it| it["spec"]["writeOutputsTo"] = json!([]))
        .await?;
    for subject in [&a, &b] {
        subject
            .says("RunTemplateReady", "Unknown", "DependencyNotReady", "")
            .await?;
    }
    let head = json!({ "inputs": { "foo": 1 }, "writeOutputsTo": [to(CONFIG_MAP, "of-b")] });
    world
        .runnable("head", head)
        .await?
        .answer(1, json!("one"))
        .await?;
    a.answer(1, json!("two")).await?;
    b.run(1).await.map(drop)
}

#[tokio::test]
async fn who_writes_to_each_other_runs_no_more_once_that_is_a_circle() -> Result<()> {
    let world = chained("each-other").await?;
    let spec = |from: Value, sink: &str| json!({ "inputs": { "own": 1 }, "inputsFrom": from, "writeOutputsTo": [to(CONFIG_MAP, sink)] });
    let mut map = of_map("of-b");
    map[0]["optional"] = json!(true);
    world
        .template(json!({
            "template": crate::world::document(crate::world::TEST_OBJ, json!({ "spec": "$(runnable.spec)$" })),
            "outputs": { "answer": ".status.answer" },
        }))
        .await?;
    let a = world.runnable("a", spec(map, "of-a")).await?;
    a.answer(1, json!("one")).await?;
    holds(&world, CONFIG_MAP, "of-a", json!({ "answer": "one" })).await?;
    let b = world.runnable("b", spec(json!([]), "of-b")).await?;
    b.answer(1, json!("two")).await?;
    a.answer(2, json!("three")).await?;
    // The edit that closes it: each answer would be the cause of the next one.
    let from = json!([{
        "name": "foo",
        "objectRef": { "apiVersion": "v1", "kind": "ConfigMap", "name": "of-a", "path": ".data.answer" },
    }]);
    b.edit(|it| it["spec"]["inputsFrom"] = from.clone()).await?;
    b.fails("DependencyCycle", "which has outputs of").await?;
    a.input("own", 2).await?;
    a.fails("DependencyCycle", "which has outputs of").await?;
    a.stays_at(2).await?;
    b.stays_at(1).await?;
    b.edit(|it| it["spec"]["inputsFrom"] = json!([])).await?;
    a.run(3).await.map(drop)
}

#[tokio::test]
async fn a_sink_that_is_a_source_of_the_same_runnable_is_a_cycle_however_it_is_read() -> Result<()>
{
    let world = chained("own").await?;
    let by_object = json!([{
        "name": "foo",
        "objectRef": { "apiVersion": "v1", "kind": "ConfigMap", "name": "own", "path": ".data.answer" },
    }]);
    let by_secret = json!([{ "name": "foo", "secretKeyRef": { "name": "own", "key": "answer" } }]);
    for (name, from, kind) in [
        ("by-key", of_map("own"), CONFIG_MAP),
        ("by-object", by_object, CONFIG_MAP),
        ("by-secret", by_secret, SECRET),
    ] {
        let spec = json!({ "inputsFrom": from, "writeOutputsTo": [to(kind, "own")] });
        let subject = world.runnable(name, spec).await?;
        let object = format!("{}/own", kind.name);
        let me = format!("Runnable/{name}");
        is_on_a_cycle(&subject, &[&me, &object, &format!("<{me}>")]).await?;
        subject.stays_at(0).await?;
        world.delete(RUNNABLE, name).await?;
        world.gone(RUNNABLE, name).await?;
    }
    Ok(())
}
