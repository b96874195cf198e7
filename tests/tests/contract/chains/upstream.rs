//! One Runnable that reads another.

use anyhow::{Result, ensure};
use cartouche_tests::cluster::AuditLog;

use super::*;
use crate::world::{SECRET, answered, condition};

#[tokio::test]
async fn an_output_is_an_input_and_each_new_one_runs_once() -> Result<()> {
    let world = world("chain").await?;
    let (a, b) = (head(&world, "a").await?, reader(&world, "b", &["a"]).await?);
    b.says("Ready", "Unknown", "DependencyNotReady", "Runnable")
        .await?;
    b.stays_at(0).await?;
    a.answer(1, json!({ "tag": "1" })).await?;
    assert_eq!(given(&b.run(1).await?, "a"), &json!({ "tag": "1" }));
    b.answer(1, json!("b1")).await?;
    a.input("own", 2).await?;
    a.answer(2, json!({ "tag": "2" })).await?;
    assert_eq!(given(&b.run(2).await?, "a")["tag"], "2");
    b.stays_at(2).await
}

#[tokio::test]
async fn the_status_and_the_run_say_what_it_was_made_from() -> Result<()> {
    let world = world("provenance").await?;
    let (a, b) = (head(&world, "a").await?, reader(&world, "b", &["a"]).await?);
    a.answer(1, json!("a1")).await?;
    b.answer(1, json!("b1")).await?;
    let object = b.object().await?;
    let first = revision(&object, "currentRun", "a").clone();
    assert_eq!(first.as_str().map(str::len), Some(16), "{object}");
    assert_eq!(revision(&object, "outputsFrom", "a"), &first);
    let run = b.run(1).await?;
    let told: Value = serde_json::from_str(
        run["metadata"]["annotations"]["carto.run/sources"]
            .as_str()
            .unwrap_or_default(),
    )?;
    assert_eq!(told, object["status"]["currentRun"]["sources"]);
    // A Runnable whose inputs have no source has none.
    let object = a.object().await?;
    assert!(
        object["status"]["currentRun"].get("sources").is_none(),
        "{object}"
    );
    assert!(
        a.run(1).await?["metadata"]["annotations"]
            .get("carto.run/sources")
            .is_none()
    );
    a.input("own", 2).await?;
    a.answer(2, json!("a2")).await?;
    b.run(2).await?;
    let object = b.object().await?;
    assert_ne!(revision(&object, "currentRun", "a"), &first);
    assert_eq!(revision(&object, "outputsFrom", "a"), &first);
    Ok(())
}

#[tokio::test]
async fn a_source_that_gives_the_same_again_moves_nothing() -> Result<()> {
    let world = world("same").await?;
    let (a, b) = (head(&world, "a").await?, reader(&world, "b", &["a"]).await?);
    a.answer(1, json!("a1")).await?;
    b.answer(1, json!("b1")).await?;
    let before = b.object().await?["status"].clone();
    a.edit(|object| object["metadata"]["annotations"] = json!({ "carto.run/rerun-token": "1" }))
        .await?;
    b.says("Reconciling", "True", "SourceChanging", "about to change")
        .await?;
    a.answer(2, json!("a1")).await?;
    b.until("its status to be as before", |object| {
        object["status"] == before
    })
    .await?;
    b.stays_at(1).await
}

#[tokio::test]
async fn all_links_of_a_chain_are_under_way_until_the_last_has_run_at_one_write_each() -> Result<()>
{
    let world = world("way").await?;
    let (a, b) = (head(&world, "a").await?, reader(&world, "b", &["a"]).await?);
    let c = reader(&world, "c", &["b"]).await?;
    a.answer(1, json!("a1")).await?;
    b.answer(1, json!("b1")).await?;
    c.answer(1, json!("c1")).await?;
    recorded().await;
    let audit = world.cluster.audit()?;
    let before = (writes(&audit, &world, "b")?, writes(&audit, &world, "c")?);
    a.input("own", 2).await?;
    for follower in [&b, &c] {
        let says = "a Runnable upstream is about to change";
        follower
            .says("Reconciling", "True", "SourceChanging", says)
            .await?;
        follower.says("Ready", "True", "Ready", "").await?;
    }
    a.run(2).await?;
    recorded().await;
    let told = (writes(&audit, &world, "b")?, writes(&audit, &world, "c")?);
    assert_eq!((told.0 - before.0, told.1 - before.1), (1, 1));
    a.answer(2, json!("a2")).await?;
    b.run(2).await?;
    let reconciling = |object: &Value| !condition(object, "Reconciling").is_null();
    assert!(reconciling(&c.object().await?));
    b.answer(2, json!("b2")).await?;
    c.answer(2, json!("c2")).await?;
    for follower in [&b, &c] {
        follower
            .until("it to be at rest", |object| !reconciling(object))
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_source_that_moves_without_another_rendering_moves_the_revision_in_one_write()
-> Result<()> {
    let world = world("moves").await?;
    let two = json!({
        "template": document(TEST_OBJ, json!({ "inputs": "$(runnable.spec.inputs)$" })),
        "outputs": { "answer": ".status.answer", "other": ".status.other" },
    });
    let two = world.another_template("two", two).await?;
    let spec = json!({ "runTemplateRef": { "name": two }, "inputs": { "own": 1 } });
    let a = world.runnable("a", spec).await?;
    let b = reader(&world, "b", &["a"]).await?;
    let gives = |other: i64| {
        let mut status = answered("a1");
        status["other"] = json!(other);
        status
    };
    world.play(&a.run(1).await?, gives(1)).await?;
    b.answer(1, json!("b1")).await?;
    let before = revision(&b.object().await?, "currentRun", "a").clone();
    let audit = world.cluster.audit()?;
    recorded().await;
    let (reads, writes) = (reads(&audit, &world, "a")?, writes(&audit, &world, "b")?);
    a.input("own", 2).await?;
    world.play(&a.run(2).await?, gives(2)).await?;
    let object = b
        .until("its sources to move", |object| {
            *revision(object, "currentRun", "a") != before
        })
        .await?;
    assert_eq!(
        revision(&object, "outputsFrom", "a"),
        revision(&object, "currentRun", "a")
    );
    b.stays_at(1).await?;
    recorded().await;
    assert_eq!(self::reads(&audit, &world, "a")? - reads, 1);
    // One write for the pending change, and one for its arrival.
    assert_eq!(self::writes(&audit, &world, "b")? - writes, 2);
    Ok(())
}

#[tokio::test]
async fn a_run_of_a_source_costs_one_read() -> Result<()> {
    let world = world("reads").await?;
    let (a, b) = (head(&world, "a").await?, reader(&world, "b", &["a"]).await?);
    a.answer(1, json!("a1")).await?;
    b.answer(1, json!("b1")).await?;
    let audit = world.cluster.audit()?;
    recorded().await;
    let before = reads(&audit, &world, "a")?;
    a.input("own", 2).await?;
    a.answer(2, json!("a2")).await?;
    b.answer(2, json!("b2")).await?;
    recorded().await;
    assert_eq!(reads(&audit, &world, "a")? - before, 1);
    Ok(())
}

#[tokio::test]
async fn a_sensitive_output_is_a_reference_to_the_secret_that_has_it_and_runs_once_for_each_value()
-> Result<()> {
    let world = world("sensitive").await?;
    let rights = [
        RUNNABLE.rights(&["get"]),
        SECRET.rights(&["get", "create", "update", "delete"]),
    ];
    world.allow("default", &rights).await?;
    let mut gives = shows_inputs();
    gives["outputs"]["pin"] = json!(".status.pin");
    gives["sensitiveOutputs"] = json!(["pin"]);
    let gives = world.another_template("gives", gives).await?;
    let to = json!([{ "kind": "Secret", "name": "db", "keys": { "pin": "PIN" } }]);
    let spec = json!({ "runTemplateRef": { "name": gives }, "inputs": { "own": 1 }, "writeOutputsTo": to });
    let a = world.runnable("a", spec).await?;
    let source = json!({ "name": "pin", "runnableRef": { "name": "a", "output": "pin" } });
    let b = world
        .runnable("b", json!({ "inputsFrom": [source] }))
        .await?;
    for (count, pin, runs) in [
        (1, "planted-1", 1),
        (2, "planted-1", 1),
        (3, "planted-2", 2),
    ] {
        a.input("own", count).await?;
        let mut status = answered("a1");
        status["pin"] = json!(pin);
        world.play(&a.run(count).await?, status).await?;
        a.ready("True").await?;
        let run = b.run(runs).await?;
        assert_eq!(*given(&run, "pin"), json!({ "name": "db", "key": "PIN" }));
        ensure!(!run.to_string().contains("planted"), "{run}");
        b.answer(runs, json!("b")).await?;
        b.stays_at(runs).await?;
    }
    Ok(())
}

/// Returns the number of reads of a Runnable by accounts.
fn reads(audit: &AuditLog, world: &World, name: &str) -> Result<usize> {
    let events = audit.in_namespace(&world.namespace)?;
    let of_it = events.iter().filter(|event| {
        event.verb == "get" && event.resource() == RUNNABLE.audited() && event.name() == name
    });
    Ok(of_it.filter(|event| event.is_of_an_account()).count())
}

/// Returns the number of writes of the status of a Runnable.
pub(super) fn writes(audit: &AuditLog, world: &World, name: &str) -> Result<usize> {
    let events = audit.in_namespace(&world.namespace)?;
    let of_it = events.iter().filter(|event| {
        event.verb == "update"
            && event
                .request_uri
                .contains(&format!("/runnables/{name}/status"))
    });
    Ok(of_it.count())
}

/// Waits until every request so far is in the audit log.
pub(super) async fn recorded() {
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
}
