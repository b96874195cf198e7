//! Small texts of large trees: maps of one entry in each other.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{AT_ONCE, ground::Ground};
use crate::{
    api,
    kinds::RunKind,
    load::{SeenRun, name},
};

/// Chains of maps of which a tree has 15 MiB: the maximum of one reconcile.
pub(super) const FITTING: usize = 390;
/// Number of chains that have 1 MB of text, and more than 100 MiB as a tree.
pub(super) const MEGABYTE: usize = 2_800;
/// Number of chains that have 1 MB of text where each quote is escaped.
const HIDDEN: usize = 2_100;
const MANY: usize = 300;
/// Number of chains that may be rendered beside themselves as inputs: 6 MiB, and not too deep.
const RENDERED: usize = 245;
/// Labels with 1 MB of text, and 12 MB as a tree.
const LABELS: usize = 85_000;
/// Numbers with 0.95 MB of text.
const NUMBERS: usize = 475_000;
/// Inputs that read one text.
const TEXTS: usize = 32;
/// Number of chains that fit into outputs: less than 1 MiB.
const OUTPUT: usize = 29;
/// Depths of maps in each other: where only their number counts, and where documents may not be deeper.
const DEEP: usize = 58;
const SHALLOW: usize = 40;
const PATIENCE: Duration = Duration::from_mins(3);

/// Returns this many chains. They are in a list, for which the API server notes no owner field by field: that
/// would take it longer than a request may.
fn chains(count: usize, levels: usize) -> String {
    let chain = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let chains = (0..count).map(|at| format!(r#""c{at}":{chain}"#));
    format!("[{{{}}}]", chains.collect::<Vec<_>>().join(","))
}

fn plain(inputs: &Value) -> Value {
    let mut inputs = inputs.clone();
    inputs["change"] = json!(1);
    inputs["repository"] = json!("r");
    inputs["source"] = json!({});
    json!({ "runTemplateRef": { "name": "bench" }, "inputs": inputs })
}

/// Makes this many objects.
pub(super) async fn objects(ground: &Ground<'_>, count: usize, chain: usize) -> Result<()> {
    let heavy = chains(chain, DEEP);
    let (api_version, kind) = (RunKind::api_version(), RunKind::number(0).kind);
    for index in 0..count {
        let text = format!(
            r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"heavy-{index}"}},"spec":{{"a":{heavy}}}}}"#
        );
        ground.create(&ground.runs(), &text).await?;
    }
    Ok(())
}

/// Makes Runnables that read this many objects.
pub(super) async fn sources(ground: &Ground<'_>, count: usize, chain: usize) -> Result<()> {
    objects(ground, count, chain).await?;
    let mut spec = plain(&json!({}));
    spec["inputsFrom"] = inputs_of(count).into();
    ground.many(AT_ONCE, |_| spec.clone()).await
}

fn inputs_of(objects: usize) -> Vec<Value> {
    let (api_version, kind) = (RunKind::api_version(), RunKind::number(0).kind);
    let from = (0..objects).map(|index| {
        json!({ "name": format!("s{index}"), "objectRef": {
            "apiVersion": api_version, "kind": kind, "name": format!("heavy-{index}"), "path": ".spec.a",
        } })
    });
    from.collect()
}

/// Makes Runnables that read objects which just fit, and a `ConfigMap` that changes again and again.
pub(super) async fn sources_that_change(
    ground: &Ground<'_>,
    tasks: &mut JoinSet<Result<()>>,
) -> Result<()> {
    const OBJECTS: usize = 8;
    objects(ground, OBJECTS, FITTING / OBJECTS).await?;
    ground.changing_map(tasks).await?;
    let mut from = inputs_of(OBJECTS);
    from.push(json!({ "name": "count", "configMapKeyRef": { "name": "it", "key": "count" } }));
    let mut spec = plain(&json!({}));
    spec["inputsFrom"] = from.into();
    ground.many(AT_ONCE, |_| spec.clone()).await
}

/// Makes Runnables that read each of their inputs out of the same text of JSON.
pub(super) async fn texts(ground: &Ground<'_>) -> Result<()> {
    for (sort, chain) in [("fits", FITTING / TEXTS), ("large", MEGABYTE)] {
        let text = chains(chain, DEEP);
        for index in 0..AT_ONCE {
            let name = format!("{sort}-{index}");
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": text },
            });
            let maps = ground.config_maps();
            ground.create(&maps, &map.to_string()).await?;
            let from = (0..TEXTS).map(|input| {
                let key = json!({ "name": name, "key": "k", "as": "JSON" });
                json!({ "name": format!("s{input}"), "configMapKeyRef": key })
            });
            let mut spec = plain(&json!({}));
            spec["inputsFrom"] = from.collect();
            ground.runnable(&name, spec, "").await?;
        }
    }
    Ok(())
}

/// Makes Runnables that read each of their inputs out of one text of numbers, and annotates each of them
/// again and again.
pub(super) async fn texts_that_change(
    ground: &Ground<'_>,
    tasks: &mut JoinSet<Result<()>>,
) -> Result<()> {
    let numbers = format!("[{}1]", "1,".repeat(NUMBERS));
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "numbers" }, "data": { "k": numbers },
    });
    ground
        .create(&ground.config_maps(), &map.to_string())
        .await?;
    let from = (0..TEXTS).map(|input| {
        let key = json!({ "name": "numbers", "key": "k", "as": "JSON" });
        json!({ "name": format!("s{input}"), "configMapKeyRef": key })
    });
    let mut spec = plain(&json!({}));
    spec["inputsFrom"] = from.collect();
    ground.many(AT_ONCE, |_| spec.clone()).await?;
    let (client, runnables) = (ground.client.clone(), ground.runnables());
    tasks.spawn(async move {
        let mut ticks = tokio::time::interval(super::many::FIFTIETH);
        for count in 0_usize.. {
            ticks.tick().await;
            let path = format!("{runnables}/{}", name(count % AT_ONCE));
            let body = json!({ "metadata": { "annotations": { "count": count.to_string() } } });
            api::send::<serde::de::IgnoredAny>(&client, "PATCH", &path, &body).await?;
        }
        Ok(())
    });
    Ok(())
}

/// Makes Runnables and `ConfigMap`s with as many short labels as fit into 1 MB of text, and one Runnable that
/// selects among them.
pub(super) async fn labels(ground: &Ground<'_>) -> Result<()> {
    let labels: Vec<_> = (0..LABELS).map(|at| format!(r#""a{at:05}":"""#)).collect();
    let labels = format!("{{{}}}", labels.join(","));
    // The managed fields would be another 1 MB.
    let metadata =
        |name: &str| format!(r#"{{"name":"{name}","managedFields":[{{}}],"labels":{labels}}}"#);
    let mut picking = plain(&json!({}));
    picking["selector"] = json!({
        "resource": { "apiVersion": "v1", "kind": "ConfigMap" }, "matchingLabels": { "a00001": "" },
    });
    ground.runnable("picks", picking, "").await?;
    for index in 0..AT_ONCE {
        let metadata = metadata(&name(index));
        let map = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{metadata}}}"#);
        ground.create(&ground.config_maps(), &map).await?;
        let spec = plain(&json!({}));
        let runnable = format!(
            r#"{{"apiVersion":"carto.run/v1alpha1","kind":"Runnable","metadata":{metadata},"spec":{spec}}}"#
        );
        ground.create(&ground.runnables(), &runnable).await?;
    }
    Ok(())
}

/// Makes suspended Runnables with these inputs.
pub(super) async fn inputs(ground: &Ground<'_>, chain: usize) -> Result<()> {
    suspended(ground, chain, 0..AT_ONCE).await
}

async fn suspended(ground: &Ground<'_>, chain: usize, which: Range<usize>) -> Result<()> {
    let heavy = chains(chain, DEEP);
    let mut spec = plain(&json!({ "heavy": "HEAVY" }));
    spec["suspend"] = json!(true);
    for index in which {
        ground.runnable(&name(index), spec.clone(), &heavy).await?;
    }
    Ok(())
}

/// Makes suspended Runnables with these inputs, and a watch of them. While the others are made, the attacker
/// writes the status of the first one, as a controller does at that time.
pub(super) async fn inputs_written(
    ground: &Ground<'_>,
    tasks: &mut JoinSet<Result<()>>,
) -> Result<()> {
    let events = ground.watch_runnables().await?;
    tasks.spawn(async move {
        futures::io::copy(events, &mut futures::io::sink()).await?;
        Ok(())
    });
    suspended(ground, MEGABYTE, 0..1).await?;
    let path = format!("{}/{}/status", ground.runnables(), name(0));
    let status = json!({ "status": { "conditions": [] } }).to_string();
    tokio::try_join!(
        suspended(ground, MEGABYTE, 1..AT_ONCE),
        ground.patch(&path, status),
    )?;
    Ok(())
}

/// Makes suspended Runnables with maps in each other inside a text, behind the key with which `serde_json`
/// reads a text as JSON.
pub(super) async fn hidden(ground: &Ground<'_>) -> Result<()> {
    const KEY: &str = "$serde_json::private::RawValue";
    for (sort, count, chain) in [("large", AT_ONCE, HIDDEN), ("many", MANY, HIDDEN / 66)] {
        let mut spec = plain(&json!({ "heavy": { KEY: chains(chain, DEEP) } }));
        spec["suspend"] = json!(true);
        for index in 0..count {
            let name = format!("{sort}-{index}");
            ground.runnable(&name, spec.clone(), "").await?;
        }
    }
    Ok(())
}

/// Returns a template of runs that have this, and give some of it.
fn template(of_run: &Value, outputs: &Value) -> Value {
    json!({
        "template": {
            "apiVersion": RunKind::api_version(), "kind": RunKind::number(0).kind,
            "metadata": { "generateName": "work-" },
            "spec": { "change": "$(runnable.spec.inputs.change)$", "heavy": of_run },
        },
        "outputs": outputs,
    })
}

/// Makes templates that render what just fits, and templates that would render far more.
pub(super) async fn templates(ground: &Ground<'_>) -> Result<()> {
    let tag = "$(runnable.spec.inputs.heavy)$";
    for (sort, tags, chain) in [("fits", 1, RENDERED), ("bomb", 900, RENDERED / 2)] {
        let heavy = chains(chain, SHALLOW);
        for index in 0..AT_ONCE {
            let name = format!("{sort}-{index}");
            ground
                .template(&name, &template(&json!(vec![tag; tags]), &json!({})))
                .await?;
            let mut spec = plain(&json!({ "heavy": "HEAVY" }));
            spec["runTemplateRef"]["name"] = json!(name);
            ground.runnable(&name, spec, &heavy).await?;
        }
    }
    Ok(())
}

/// Ends runs with this in their status.
async fn end_all(ground: &Ground<'_>, runs: usize, heavy: impl Fn(&str) -> String) -> Result<()> {
    let since = Instant::now();
    let mut ended = std::collections::HashSet::new();
    while ended.len() < runs {
        let (listed, _) = api::list::<SeenRun>(&ground.client, &ground.runs()).await?;
        let begun = listed.iter().filter(|run| !run.has_ended());
        for run in begun
            .filter(|run| !ended.contains(run.uid()))
            .collect::<Vec<_>>()
        {
            let path = format!("{}/{}/status", ground.runs(), run.name());
            let heavy = heavy(run.of());
            let condition = r#"{"type":"Succeeded","status":"True","reason":"Done","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}"#;
            let text = format!(r#"{{"status":{{"change":1,{heavy},"conditions":[{condition}]}}}}"#);
            ground.patch(&path, text).await?;
            ended.insert(run.uid().to_owned());
        }
        if since.elapsed() > PATIENCE {
            bail!("{} of {runs} runs were made", ended.len());
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    Ok(())
}

/// Makes outputs of four texts of 60 KB and some maps, which fit; and of 1 MB, which does not.
pub(super) async fn outputs(ground: &Ground<'_>) -> Result<()> {
    let names = ["a", "b", "c", "d", "tree"];
    let paths = names.map(|name| (name.to_owned(), json!(format!(".status.{name}"))));
    let outputs: Value = paths.into_iter().collect::<serde_json::Map<_, _>>().into();
    ground
        .template("gives", &template(&json!(1), &outputs))
        .await?;
    for sort in ["fits", "large"] {
        for index in 0..AT_ONCE {
            let mut spec = plain(&json!({}));
            spec["runTemplateRef"]["name"] = json!("gives");
            ground
                .runnable(&format!("{sort}-{index}"), spec, "")
                .await?;
        }
    }
    let (fits, large) = (chains(OUTPUT, SHALLOW), chains(MEGABYTE, DEEP));
    let text = "x".repeat(60_000);
    let heavy = |of: &str| {
        let tree = if of.starts_with("fits") {
            &fits
        } else {
            &large
        };
        let texts = ["a", "b", "c", "d"].map(|name| format!(r#""{name}":"{text}""#));
        format!(r#"{},"tree":{tree}"#, texts.join(","))
    };
    end_all(ground, 2 * AT_ONCE, heavy).await
}

/// Makes runs that have 1 MB outside their outputs.
pub(super) async fn runs(ground: &Ground<'_>) -> Result<()> {
    let outputs = json!({ "change": ".status.change" });
    ground
        .template("large", &template(&json!(1), &outputs))
        .await?;
    let mut spec = plain(&json!({}));
    spec["runTemplateRef"]["name"] = json!("large");
    ground.many(AT_ONCE, |_| spec.clone()).await?;
    let large = chains(MEGABYTE, DEEP);
    end_all(ground, AT_ONCE, |_| format!(r#""tree":{large}"#)).await
}
