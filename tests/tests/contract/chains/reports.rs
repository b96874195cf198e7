//! Number of reports of the sources that a Runnable waits for, and of the provenance of its run.

use anyhow::{Result, ensure};
use std::time::Duration;

use super::{
    upstream::{recorded, writes},
    *,
};
use crate::world::{CONFIG_MAP, RUNNABLE, condition, specless};

async fn size(world: &World, value: usize) -> Result<()> {
    let mut map = specless(CONFIG_MAP, "data", json!({ "small": value.to_string() }));
    map["metadata"] = json!({ "name": "sizes" });
    world.put(map).await.map(drop)
}

/// Makes `b`, which reads a key of a `ConfigMap` but does not use it, and `d`, which reads both. Each has run
/// once.
async fn that_makes_nothing_of_it(world: &World) -> Result<(Subject, Subject)> {
    let rights = [CONFIG_MAP.rights(&["get"]), RUNNABLE.rights(&["get"])];
    world.allow("default", &rights).await?;
    size(world, 0).await?;
    let of_own = json!({
        "template": document(TEST_OBJ, json!({ "own": "$(runnable.spec.inputs.own)$" })),
        "outputs": { "answer": ".status.answer" },
    });
    let of_own = world.another_template("own", of_own).await?;
    let from_size =
        json!({ "name": "size", "configMapKeyRef": { "name": "sizes", "key": "small" } });
    let spec = json!({
        "runTemplateRef": { "name": of_own }, "inputs": { "own": 1 }, "inputsFrom": [from_size],
    });
    let b = world.runnable("b", spec.clone()).await?;
    let mut both = spec;
    both["inputsFrom"] = json!([from_size, from("b")]);
    let d = world.runnable("d", both).await?;
    b.answer(1, json!("b1")).await?;
    d.answer(1, json!("d1")).await?;
    d.ready("True").await?;
    Ok((b, d))
}

#[tokio::test]
async fn that_sources_move_again_and_again_is_written_now_and_then_and_at_once_for_a_run()
-> Result<()> {
    const CHANGES: usize = 20;
    let world = world("storm").await?;
    let (b, d) = that_makes_nothing_of_it(&world).await?;
    let audit = world.cluster.audit()?;
    recorded().await;
    let before = writes(&audit, &world, "b")?;
    for change in 1..=CHANGES {
        size(&world, change).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // A wait is reported when it has lasted: no Runnable may have waited for `b` that long.
    d.input("own", 2).await?;
    let has_begun = |it: &Value| it["status"]["currentRun"]["sequence"] == 2;
    let is_told = |it: &Value| it["status"]["pending"] != Value::Null;
    let d = d
        .until("to begin or to wait", |it| has_begun(it) || is_told(it))
        .await?;
    ensure!(has_begun(&d), "{d:#}");
    let source = format!("ConfigMap/{}/sizes/small", world.namespace);
    let last = &d["status"]["currentRun"]["sources"][&source];
    ensure!(last.is_string(), "{d:#}");
    let b = b.object().await?;
    assert_eq!(&b["status"]["currentRun"]["sources"][&source], last);
    recorded().await;
    let written = writes(&audit, &world, "b")? - before;
    ensure!(
        written < CHANGES / 2,
        "{written} writes of {CHANGES} changes"
    );
    Ok(())
}

/// A source at work interrupts a wait for approval, and no second request follows.
#[tokio::test]
async fn a_person_is_asked_once_though_a_source_holds_back_meanwhile_what_waits() -> Result<()> {
    let world = world("asked-once").await?;
    let (a, b) = (head(&world, "a").await?, reader(&world, "b", &["a"]).await?);
    a.answer(1, json!("a1")).await?;
    b.answer(1, json!("b1")).await?;
    b.edit(|object| {
        object["spec"]["approval"] = json!("Manual");
        object["spec"]["inputs"]["own"] = json!(2);
    })
    .await?;
    let asks = |it: &Value| it["status"]["pending"]["approval"].is_string();
    let asked = b.until("to ask", asks).await?["status"]["pending"]["approval"].clone();
    a.edit(|object| object["metadata"]["annotations"] = json!({ "carto.run/rerun-token": "1" }))
        .await?;
    a.run(2).await?;
    b.says(
        "Ready",
        "Unknown",
        "DependencyNotReady",
        "a run of Runnable",
    )
    .await?;
    a.answer(2, json!("a1")).await?;
    let again = b.until("to ask again", asks).await?;
    assert_eq!(again["status"]["pending"]["approval"], asked);
    assert_eq!(condition(&again, "Ready")["reason"], "ApprovalRequired");
    b.edit(|object| object["metadata"]["annotations"] = json!({ "carto.run/approved": asked }))
        .await?;
    b.run(2).await?;
    // Events are sent one after the other.
    b.answer(2, json!("b2")).await?;
    b.event("Normal", "ResourceOutputChanged", "").await?;
    let events = b.events().await?;
    let requests = events
        .iter()
        .filter(|it| it["reason"] == "ApprovalRequested");
    assert_eq!(requests.count(), 1);
    Ok(())
}
