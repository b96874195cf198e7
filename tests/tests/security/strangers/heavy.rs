//! Runnables and objects with a small text and a large tree: maps of one entry in each other.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Cluster,
    controller::{Controller, Settings},
    fixture::Fixture,
    kind::CONFIG_MAP,
    lab::TRIAL,
};
use serde_json::{Value, json};

use super::{MIB, cluster, has_a_run, has_run, runnables, send, trials, until, victim};
use crate::ground::{DEMO, condition, text};

/// Runnables of each sort.
const COUNT: usize = 10;
/// Objects that one of them takes inputs from.
const SOURCES: usize = 8;
/// Chains of maps that have 600 KB of text, and 65 MiB as a tree. An API server on a busy machine cannot take
/// more of them in time.
const REFUSED: usize = 1_700;
/// Number that just fits, with a tree of 15 MiB.
const TAKEN: usize = 390;
/// Number within the limit of values of a JSON input: 100 KB of text, and 13 MiB as a tree.
const AS_JSON: usize = 330;
/// Maximum memory of the process, in MiB: half of its shipped limit.
const MOST: u64 = 256;

/// Returns this many chains of maps in each other. They are in a list, for which the API server notes no
/// owner field by field: that would take it longer than a request may.
fn chains(count: usize) -> String {
    let chain = format!("{}1{}", r#"{"a":"#.repeat(58), "}".repeat(58));
    let chains = (0..count).map(|at| format!(r#""c{at}":{chain}"#));
    format!("[{{{}}}]", chains.collect::<Vec<_>>().join(","))
}

/// Makes a Runnable with this input.
async fn runnable(tenant: &Fixture, name: &str, mut spec: Value, heavy: &str) -> Result<()> {
    spec["inputs"] = json!({ "value": 1, "play": "hang", "heavy": "HEAVY" });
    let text = tenant.manifest(name, spec).to_string();
    let text = text.replace(r#""HEAVY""#, heavy);
    create(tenant, &runnables(tenant), text).await
}

/// Creates an object, and retries after a timeout of the API server.
async fn create(tenant: &Fixture, path: &str, text: String) -> Result<()> {
    for _ in 0..5 {
        match send(&tenant.cluster, "POST", path, text.clone()).await {
            Err(error) if format!("{error:?}").contains("Timeout") => {}
            Err(error) if format!("{error:?}").contains("AlreadyExists") => return Ok(()),
            answered => return answered,
        }
    }
    send(&tenant.cluster, "POST", path, text).await
}

/// Makes the objects that inputs come from.
async fn sources(tenant: &Fixture, prefix: &str, heavy: &str) -> Result<()> {
    for index in 0..SOURCES {
        let object = format!(
            r#"{{"apiVersion":"lab.test/v1","kind":"Trial","metadata":{{"name":"{prefix}-{index}"}},"spec":{{"a":{heavy}}}}}"#
        );
        create(tenant, &trials(tenant), object).await?;
    }
    Ok(())
}

/// Returns the spec of a Runnable that takes inputs from all of these.
fn reads(prefix: &str) -> Value {
    let from = (0..SOURCES).map(|index| {
        json!({ "name": format!("s{index}"), "objectRef": {
            "apiVersion": "lab.test/v1", "kind": "Trial", "name": format!("{prefix}-{index}"), "path": ".spec.a",
        } })
    });
    json!({ "inputsFrom": from.collect::<Value>() })
}

/// Makes a `ConfigMap` with this text.
async fn text_of(tenant: &Fixture, name: &str, heavy: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/configmaps", tenant.namespace);
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "text": heavy },
    });
    create(tenant, &path, object.to_string()).await
}

/// Returns the spec of a Runnable that reads this text as JSON.
fn reads_json(name: &str) -> Value {
    let from = json!({ "name": name, "key": "text", "as": "JSON" });
    json!({ "inputsFrom": [{ "name": "tree", "configMapKeyRef": from }] })
}

fn named(sort: &str) -> Vec<String> {
    (0..COUNT).map(|index| format!("{sort}-{index}")).collect()
}

/// Returns true if a Runnable reports that there is no room for something.
fn is_refused(runnable: &Value, reason: &str, what: &str) -> bool {
    let said = text(&condition(runnable, "RunTemplateReady")["message"]);
    condition(runnable, "Ready")["reason"] == reason
        && said.contains(what)
        && said.contains("MiB of memory as a tree of values, more than 16 MiB")
}

/// Waits for the run of a new Runnable of the victim, and returns the time.
async fn served(victim: &Fixture, name: &str) -> Result<Duration> {
    let began = Instant::now();
    has_a_run(victim, name).await?;
    Ok(began.elapsed())
}

/// Starts a controller again, with all these objects. Returns its peak memory, in MiB.
async fn after_a_restart(cluster: &Cluster, victim: &Fixture) -> Result<u64> {
    let controller = Controller::start(DEMO, cluster, &Settings::default()).await?;
    served(victim, "late").await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    Ok(controller.peak_memory()? / MIB)
}

#[tokio::test]
#[ignore = "the API server needs minutes for these objects: just nightly"]
async fn inputs_that_are_heavy_as_a_tree_take_no_memory_of_others() -> Result<()> {
    let cluster = cluster().await?;
    let (other, tenant) = (victim(&cluster).await?, victim(&cluster).await?);
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let quiet = served(&other, "before").await?;
    let before = controller.peak_memory()? / MIB;
    for (sort, count) in [("refused", REFUSED), ("taken", TAKEN)] {
        let heavy = chains(count);
        for name in named(sort) {
            runnable(&tenant, &name, json!({ "suspend": true }), &heavy).await?;
        }
    }
    let meanwhile = served(&other, "app").await?;
    for name in named("refused") {
        let told = |it: &Value| {
            is_refused(
                it,
                "TemplateStampFailure",
                "what the Runnable gives takes 65",
            )
        };
        until(&tenant, &name, "a word about it", told).await?;
    }
    for name in named("taken") {
        let rendered = |it: &Value| condition(it, "Ready")["reason"] == "Suspended";
        until(&tenant, &name, "its turn", rendered).await?;
    }
    let peak = controller.peak_memory()? / MIB;
    drop(controller);
    let again = after_a_restart(&cluster, &other).await?;
    eprintln!(
        "at most {peak} and {again} MiB, {before} without; {quiet:?}, {meanwhile:?} meanwhile"
    );
    ensure!(peak < MOST && again < MOST, "{peak} and {again} MiB");
    Ok(())
}

#[tokio::test]
async fn sources_that_are_heavy_as_a_tree_take_no_memory_of_others() -> Result<()> {
    let cluster = cluster().await?;
    let (other, tenant) = (victim(&cluster).await?, victim(&cluster).await?);
    let rights = TRIAL.rights(&["get", "list", "create", "delete"]);
    tenant.allow("runner", &[rights]).await?;
    sources(&tenant, "refused", &chains(REFUSED)).await?;
    sources(&tenant, "many", &chains(TAKEN / 4)).await?;
    sources(&tenant, "taken", &chains(TAKEN / SOURCES)).await?;
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let quiet = served(&other, "before").await?;
    let before = controller.peak_memory()? / MIB;
    for sort in ["refused", "many", "taken"] {
        for name in named(sort) {
            runnable(&tenant, &name, reads(sort), "1").await?;
        }
    }
    let meanwhile = served(&other, "app").await?;
    for name in named("refused") {
        // Each alone is too much.
        let told = |it: &Value| is_refused(it, "SourceError", "the object takes 65");
        until(&tenant, &name, "a word about it", told).await?;
    }
    for name in named("many") {
        // Four fit, and the next one does not.
        let told = |it: &Value| is_refused(it, "SourceError", "many-4");
        until(&tenant, &name, "a word about them", told).await?;
    }
    for name in named("taken") {
        until(&tenant, &name, "its run", has_run).await?;
    }
    let peak = controller.peak_memory()? / MIB;
    drop(controller);
    let again = after_a_restart(&cluster, &other).await?;
    eprintln!(
        "at most {peak} and {again} MiB, {before} without; {quiet:?}, {meanwhile:?} meanwhile"
    );
    ensure!(peak < MOST && again < MOST, "{peak} and {again} MiB");
    Ok(())
}

#[tokio::test]
async fn texts_that_are_heavy_as_json_take_no_memory_of_others() -> Result<()> {
    let cluster = cluster().await?;
    let (other, tenant) = (victim(&cluster).await?, victim(&cluster).await?);
    let runs = TRIAL.rights(&["get", "list", "create", "delete"]);
    let maps = CONFIG_MAP.rights(&["get"]);
    tenant.allow("runner", &[runs, maps]).await?;
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    served(&other, "before").await?;
    let before = controller.peak_memory()? / MIB;
    for (sort, count) in [("refused", REFUSED), ("taken", AS_JSON)] {
        text_of(&tenant, sort, &chains(count)).await?;
        for name in named(sort) {
            runnable(&tenant, &name, reads_json(sort), "1").await?;
        }
    }
    let meanwhile = served(&other, "app").await?;
    for name in named("refused") {
        let told =
            |it: &Value| is_refused(it, "SourceError", "what is read of ConfigMap refused of 6");
        until(&tenant, &name, "a word about it", told).await?;
    }
    for name in named("taken") {
        until(&tenant, &name, "its run", has_run).await?;
    }
    let peak = controller.peak_memory()? / MIB;
    drop(controller);
    let again = after_a_restart(&cluster, &other).await?;
    eprintln!("at most {peak} and {again} MiB, {before} without; {meanwhile:?} meanwhile");
    ensure!(peak < MOST && again < MOST, "{peak} and {again} MiB");
    Ok(())
}
