//! Inputs that come from other objects.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::cluster::AuditLog;
use serde_json::{Value, json};

use crate::world::{CONFIG_MAP, RUNNABLE, SECRET, Subject, World, specless, stamps};

/// A value that may only appear in its Secret.
const PIN: &str = "7731-planted";

/// Makes a world whose template shows its inputs in the run; the account may read their sources.
async fn world(prefix: &str) -> Result<World> {
    let world = unprivileged(prefix).await?;
    let rights = [CONFIG_MAP.rights(&["get"]), SECRET.rights(&["get"])];
    world.allow("default", &rights).await?;
    Ok(world)
}

async fn unprivileged(prefix: &str) -> Result<World> {
    let world = World::new(prefix).await?;
    world
        .template(stamps(json!({ "inputs": "$(runnable.spec.inputs)$" })))
        .await?;
    Ok(world)
}

async fn size(world: &World, value: &str) -> Result<()> {
    let mut map = specless(CONFIG_MAP, "data", json!({ "small": value, "other": "1" }));
    map["metadata"] = json!({ "name": "sizes" });
    world.put(map).await.map(drop)
}

async fn pin(world: &World, value: &str) -> Result<()> {
    let mut secret = specless(SECRET, "stringData", json!({ "pin": value }));
    secret["metadata"] = json!({ "name": "db" });
    world.put(secret).await.map(drop)
}

fn from_size() -> Value {
    json!({ "name": "size", "configMapKeyRef": { "name": "sizes", "key": "small" } })
}

fn from_pin() -> Value {
    json!({ "name": "pin", "secretKeyRef": { "name": "db", "key": "pin" } })
}

async fn sourced(world: &World, from: Value) -> Result<Subject> {
    world
        .runnable("r", json!({ "inputs": { "own": 1 }, "inputsFrom": from }))
        .await
}

fn inputs(run: &Value) -> &Value {
    &run["spec"]["inputs"]
}

#[tokio::test]
async fn each_source_gives_its_value_and_a_secret_only_its_name() -> Result<()> {
    let world = world("values").await?;
    size(&world, "{\"cpu\": 2}").await?;
    pin(&world, PIN).await?;
    let mut parsed = from_size();
    parsed["name"] = json!("parsed");
    parsed["configMapKeyRef"]["as"] = json!("JSON");
    let subject = sourced(&world, json!([from_size(), parsed, from_pin()])).await?;
    assert_eq!(
        *inputs(&subject.run(1).await?),
        json!({
            "own": 1, "size": "{\"cpu\": 2}", "parsed": { "cpu": 2 }, "pin": { "name": "db", "key": "pin" },
        })
    );
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_change_of_a_value_runs_once_and_one_of_anything_else_of_its_object_does_not()
-> Result<()> {
    let world = world("changes").await?;
    size(&world, "s").await?;
    pin(&world, PIN).await?;
    let subject = sourced(&world, json!([from_size(), from_pin()])).await?;
    subject.run(1).await?;
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    let neighbour = json!({ "data": { "other": "2" } });
    for patch in [&labels, &neighbour] {
        world.patch_of(CONFIG_MAP, "sizes", patch.clone()).await?;
    }
    world.patch_of(SECRET, "db", labels).await?;
    subject.stays_at(1).await?;
    size(&world, "m").await?;
    assert_eq!(inputs(&subject.run(2).await?)["size"], "m");
    subject.stays_at(2).await?;
    pin(&world, "another").await?;
    subject.run(3).await?;
    subject.stays_at(3).await
}

#[tokio::test]
async fn a_secret_that_is_made_anew_counts_as_changed() -> Result<()> {
    let world = world("anew").await?;
    pin(&world, PIN).await?;
    let subject = sourced(&world, json!([from_pin()])).await?;
    subject.run(1).await?;
    world.delete(SECRET, "db").await?;
    subject
        .says(
            "Ready",
            "Unknown",
            "DependencyNotReady",
            "Secret db, which is not there",
        )
        .await?;
    pin(&world, PIN).await?;
    subject.run(2).await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn what_is_not_there_is_waited_for_and_named() -> Result<()> {
    let world = world("absent").await?;
    let subject = sourced(&world, json!([from_size(), from_pin()])).await?;
    for kind in ["Ready", "RunTemplateReady"] {
        let said = subject
            .says(
                kind,
                "Unknown",
                "DependencyNotReady",
                "Secret db, which is not there",
            )
            .await?;
        ensure!(
            said.contains("input size comes from ConfigMap sizes"),
            "{said}"
        );
    }
    subject
        .says("Reconciling", "True", "SourceMissing", "")
        .await?;
    size(&world, "s").await?;
    let mut other = specless(SECRET, "stringData", json!({ "other": "x" }));
    other["metadata"] = json!({ "name": "db" });
    world.put(other).await?;
    subject
        .says(
            "Ready",
            "Unknown",
            "DependencyNotReady",
            "key pin of Secret db, which has no such key",
        )
        .await?;
    subject.stays_at(0).await?;
    pin(&world, PIN).await?;
    subject.run(1).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn an_optional_value_is_left_out_until_it_is_there() -> Result<()> {
    let world = world("optional").await?;
    let mut template = stamps(json!({ "size": "$(runnable.spec.inputs.size)$" }));
    template["inputSchema"] = json!({ "type": "object", "properties": { "size": { "type": "string", "default": "tiny" } } });
    world.template(template).await?;
    let mut optional = from_size();
    optional["optional"] = json!(true);
    let subject = sourced(&world, json!([optional])).await?;
    assert_eq!(subject.run(1).await?["spec"]["size"], "tiny");
    size(&world, "s").await?;
    assert_eq!(subject.run(2).await?["spec"]["size"], "s");
    world.delete(CONFIG_MAP, "sizes").await?;
    assert_eq!(subject.run(3).await?["spec"]["size"], "tiny");
    subject.stays_at(3).await
}

#[tokio::test]
async fn what_cannot_be_used_is_told_and_ends_with_its_correction() -> Result<()> {
    let world = world("wrong").await?;
    size(&world, "not json").await?;
    let mut parsed = from_size();
    parsed["configMapKeyRef"]["as"] = json!("JSON");
    let subject = sourced(&world, json!([parsed])).await?;
    let said = subject
        .fails(
            "SourceError",
            "key small of ConfigMap sizes: it cannot be read as JSON",
        )
        .await?;
    ensure!(!said.contains("not json"), "{said}");
    size(&world, "[1]").await?;
    assert_eq!(inputs(&subject.run(1).await?)["size"], json!([1]));
    subject
        .edit(|object| object["spec"]["inputs"]["size"] = json!("own"))
        .await?;
    subject
        .fails("SourceError", "input size is given twice")
        .await?;
    subject
        .edit(|object| object["spec"]["inputsFrom"] = json!([]))
        .await?;
    assert_eq!(inputs(&subject.run(2).await?)["size"], "own");
    subject.stays_at(2).await
}

#[tokio::test]
async fn a_value_that_does_not_fit_the_schema_runs_nothing() -> Result<()> {
    let world = world("misfit").await?;
    let mut template = stamps(json!({ "pin": "$(runnable.spec.inputs.pin)$" }));
    template["inputSchema"] =
        json!({ "type": "object", "properties": { "pin": { "type": "string" } } });
    world.template(template).await?;
    pin(&world, PIN).await?;
    let subject = sourced(&world, json!([from_pin()])).await?;
    let said = subject.fails("TemplateStampFailure", "pin").await?;
    ensure!(!said.contains(PIN), "{said}");
    subject.stays_at(0).await
}

#[tokio::test]
async fn the_rights_that_are_missing_are_named_and_what_is_granted_is_read() -> Result<()> {
    let world = unprivileged("rights").await?;
    size(&world, "s").await?;
    pin(&world, PIN).await?;
    let subject = sourced(&world, json!([from_size(), from_pin()])).await?;
    let said = subject.fails("SourceError", "may not").await?;
    for denied in ["get configmaps \"sizes\"", "get secrets \"db\""] {
        ensure!(said.contains(denied), "{said}");
    }
    ensure!(said.contains("cartouche rbac"), "{said}");
    // The one that it may read by its name is no longer among them.
    world.let_read(SECRET, "db", &world.namespace).await?;
    let alone = "may not get configmaps \"sizes\"; to do";
    subject.fails("SourceError", alone).await?;
    let rights = [CONFIG_MAP.rights(&["get"]), SECRET.rights(&["get"])];
    world.allow("default", &rights).await?;
    subject.run(1).await?;
    world.allow("default", &[]).await?;
    subject.input("own", 2).await?;
    subject.fails("SourceError", "may not").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_secret_value_stands_nowhere_but_in_its_secret() -> Result<()> {
    let world = world("planted").await?;
    pin(&world, PIN).await?;
    let subject = sourced(&world, json!([from_pin()])).await?;
    subject.run(1).await?;
    subject.input("own", 2).await?;
    subject.run(2).await?;
    let runnable = subject.object().await?;
    let mut seen = vec![runnable.to_string()];
    for run in subject.runs(2).await? {
        seen.push(run.to_string());
    }
    for event in subject.events().await? {
        seen.push(event.to_string());
    }
    for text in seen {
        ensure!(!text.contains(PIN), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_schema_refuses_a_source_of_no_kind_or_of_two() -> Result<()> {
    let world = world("schema").await?;
    let mut both = from_size();
    both["secretKeyRef"] = from_pin()["secretKeyRef"].clone();
    for from in [json!([both]), json!([{ "name": "none" }])] {
        let manifest = world.manifest("r", json!({ "inputsFrom": from }));
        let refused = world.refused(&manifest).await?;
        ensure!(refused.contains("spec.inputsFrom[0]"), "{refused}");
    }
    let twice = world.manifest("r", json!({ "inputsFrom": [from_size(), from_size()] }));
    let refused = world.refused(&twice).await?;
    ensure!(refused.contains("Duplicate value"), "{refused}");
    Ok(())
}

/// Returns the number of reads of `ConfigMaps` of the world by accounts so far.
fn reads(audit: &AuditLog, world: &World) -> Result<usize> {
    let events = audit.in_namespace(&world.namespace)?;
    let own = events.iter().filter(|event| event.is_of_an_account());
    Ok(own
        .filter(|event| event.verb == "get" && event.resource() == CONFIG_MAP.audited())
        .count())
}

/// Waits until every request so far is in the audit log.
async fn recorded() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

#[tokio::test]
async fn an_object_is_read_once_for_each_of_its_events_and_once_before_a_run_for_another_reason()
-> Result<()> {
    let world = world("reads").await?;
    let audit = world.cluster.audit()?;
    size(&world, "s").await?;
    // From now on they are watched.
    let mut first = from_size();
    first["configMapKeyRef"]["key"] = json!("other");
    let warm = world
        .runnable("warm", json!({ "inputsFrom": [first] }))
        .await?;
    warm.run(1).await?;
    recorded().await;
    let before = reads(&audit, &world)?;
    let twice = json!([from_size(), { "name": "again", "configMapKeyRef": { "name": "sizes", "key": "other" } }]);
    let subject = sourced(&world, twice).await?;
    subject.run(1).await?;
    recorded().await;
    let looked = reads(&audit, &world)?;
    assert_eq!(looked - before, 1, "at the first look");
    for label in ["a", "b", "c"] {
        let labels = json!({ "labels": { "looked": label } });
        subject
            .edit(|it| it["metadata"]["labels"] = labels["labels"].clone())
            .await?;
        subject.observed().await?;
    }
    subject.stays_at(1).await?;
    recorded().await;
    assert_eq!(reads(&audit, &world)?, looked, "nothing has changed of it");
    subject.input("own", 2).await?;
    subject.run(2).await?;
    recorded().await;
    let before_run = reads(&audit, &world)?;
    assert_eq!(before_run - looked, 1, "before the run");
    world.delete(RUNNABLE, "warm").await?;
    size(&world, "m").await?;
    subject.run(3).await?;
    subject.stays_at(3).await?;
    recorded().await;
    let changed = reads(&audit, &world)?;
    assert_eq!(changed - before_run, 1, "for the event");
    Ok(())
}
