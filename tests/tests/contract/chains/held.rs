//! Conditions that hold a pending run back, and their ends.

use std::sync::Arc;

use anyhow::Result;
use cartouche_tests::{control_plane::ControlPlane, controller::Controller};
use tokio::sync::OnceCell;

use super::*;
use crate::world::{condition, succeeded};

const HELD: &str = "DependencyNotReady";

/// A controller that allows no references to other namespaces.
static STRICT: OnceCell<(Arc<ControlPlane>, Controller)> = OnceCell::const_new();

/// Makes `b`, which reads `a`; both have run once.
async fn pair(prefix: &str) -> Result<(World, Subject, Subject)> {
    pair_that_waits(prefix, "Settled").await
}

async fn pair_that_waits(prefix: &str, wait_for: &str) -> Result<(World, Subject, Subject)> {
    let world = world(prefix).await?;
    let a = head(&world, "a").await?;
    let mut source = from("a");
    source["runnableRef"]["waitFor"] = json!(wait_for);
    let spec = json!({ "inputs": { "own": 1 }, "inputsFrom": [source] });
    let b = world.runnable("b", spec).await?;
    a.answer(1, json!("a1")).await?;
    b.answer(1, json!("b1")).await?;
    Ok((world, a, b))
}

#[tokio::test]
async fn its_own_change_waits_while_the_source_is_at_work_and_both_run_once() -> Result<()> {
    let (_, a, b) = pair("own").await?;
    a.input("own", 2).await?;
    a.run(2).await?;
    b.input("own", 2).await?;
    b.says("Ready", "Unknown", HELD, "a run of Runnable")
        .await?;
    let status = b.status().await?;
    assert_eq!(status["pending"]["reason"], HELD);
    assert_eq!(status["pending"]["sequence"], 2);
    b.stays_at(1).await?;
    a.answer(2, json!("a2")).await?;
    let run = b.run(2).await?;
    assert_eq!(
        (given(&run, "a"), given(&run, "own")),
        (&json!("a2"), &json!(2))
    );
    b.stays_at(2).await
}

#[tokio::test]
async fn a_short_wait_is_not_told() -> Result<()> {
    let (_, a, b) = pair("short").await?;
    a.input("own", 2).await?;
    let run = a.run(2).await?;
    b.input("own", 2).await?;
    b.world.play(&run, crate::world::answered("a2")).await?;
    b.run(2).await?;
    let conditions = b.events().await?;
    assert!(
        conditions.iter().all(|event| event["reason"] != HELD),
        "{conditions:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_last_output_counts_when_the_source_has_failed() -> Result<()> {
    let (world, a, b) = pair("fails").await?;
    a.input("own", 2).await?;
    world
        .play(&a.run(2).await?, succeeded("False", "no"))
        .await?;
    a.ready("False").await?;
    b.stays_at(1).await?;
    b.input("own", 2).await?;
    assert_eq!(given(&b.run(2).await?, "a"), "a1");
    Ok(())
}

#[tokio::test]
async fn where_it_has_to_have_succeeded_nothing_runs_until_it_has() -> Result<()> {
    let (world, a, b) = pair_that_waits("succeeds", "Succeeded").await?;
    a.input("own", 2).await?;
    world
        .play(&a.run(2).await?, succeeded("False", "no"))
        .await?;
    a.ready("False").await?;
    // There is no pending change, and no report.
    b.stays_at(1).await?;
    assert_eq!(condition(&b.object().await?, "Ready")["status"], "True");
    b.input("own", 2).await?;
    b.fails("DependencyFailed", "has not succeeded").await?;
    assert_eq!(condition(&b.object().await?, "Stalled")["status"], "True");
    a.input("own", 3).await?;
    a.answer(3, json!("a3")).await?;
    assert_eq!(given(&b.run(2).await?, "a"), "a3");
    Ok(())
}

#[tokio::test]
async fn nobody_waits_for_one_that_is_suspended() -> Result<()> {
    let (_, a, b) = pair("suspended").await?;
    a.edit(|object| {
        object["spec"]["suspend"] = json!(true);
        object["spec"]["inputs"]["own"] = json!(2);
    })
    .await?;
    a.observed().await?;
    b.input("own", 2).await?;
    assert_eq!(given(&b.run(2).await?, "a"), "a1");
    Ok(())
}

#[tokio::test]
async fn where_nothing_is_waited_for_the_output_is_taken_as_it_is() -> Result<()> {
    let (_, a, b) = pair_that_waits("nothing", "Nothing").await?;
    a.input("own", 2).await?;
    a.run(2).await?;
    b.input("own", 2).await?;
    assert_eq!(given(&b.run(2).await?, "a"), "a1");
    a.answer(2, json!("a2")).await?;
    assert_eq!(given(&b.run(3).await?, "a"), "a2");
    Ok(())
}

#[tokio::test]
async fn a_source_that_is_deleted_is_waited_for_until_it_gives_again() -> Result<()> {
    let (world, _, b) = pair("deleted").await?;
    world.delete(RUNNABLE, "a").await?;
    b.says("Ready", "Unknown", HELD, "Runnable a, which is not there")
        .await?;
    b.stays_at(1).await?;
    assert_eq!(b.status().await?["outputs"], json!({ "answer": "b1" }));
    let a = head(&world, "a").await?;
    a.answer(1, json!("a1")).await?;
    b.until("that it is well", |object| {
        condition(object, "RunTemplateReady")["status"] == "True"
    })
    .await?;
    // It gives the same.
    b.stays_at(1).await
}

#[tokio::test]
async fn an_optional_output_is_left_out_until_it_is_there() -> Result<()> {
    let world = world("optional").await?;
    let mut source = from("a");
    source["optional"] = json!(true);
    let spec = json!({ "inputs": { "own": 1 }, "inputsFrom": [source] });
    let b = world.runnable("b", spec).await?;
    assert!(b.run(1).await?["spec"]["inputs"].get("a").is_none());
    let a = head(&world, "a").await?;
    a.answer(1, json!("a1")).await?;
    assert_eq!(given(&b.run(2).await?, "a"), "a1");
    b.stays_at(2).await
}

#[tokio::test]
async fn an_output_that_nobody_gives_is_named() -> Result<()> {
    let world = world("misspelt").await?;
    let a = head(&world, "a").await?;
    a.answer(1, json!("a1")).await?;
    let mut source = from("a");
    source["runnableRef"]["output"] = json!("anwser");
    let b = world
        .runnable("b", json!({ "inputsFrom": [source] }))
        .await?;
    b.says(
        "Ready",
        "Unknown",
        HELD,
        "output anwser of Runnable a, which gives no such output",
    )
    .await?;
    b.stays_at(0).await
}

#[tokio::test]
async fn a_right_that_is_missing_is_named_and_never_taken_for_an_absence() -> Result<()> {
    let world = World::new("rights").await?;
    world.template(shows_inputs()).await?;
    let a = head(&world, "a").await?;
    a.answer(1, json!("a1")).await?;
    let mut source = from("a");
    source["optional"] = json!(true);
    let b = world
        .runnable("b", json!({ "inputsFrom": [source] }))
        .await?;
    b.fails("SourceError", "may not get runnables.carto.run")
        .await?;
    b.stays_at(0).await?;
    world.allow("default", &[RUNNABLE.rights(&["get"])]).await?;
    assert_eq!(given(&b.run(1).await?, "a"), "a1");
    Ok(())
}

#[tokio::test]
async fn one_in_another_namespace_takes_a_right_there() -> Result<()> {
    let (there, here) = (world("there").await?, world("here").await?);
    let a = head(&there, "a").await?;
    a.answer(1, json!("a1")).await?;
    let mut source = from("a");
    source["runnableRef"]["namespace"] = json!(there.namespace);
    let b = here
        .runnable("b", json!({ "inputsFrom": [source] }))
        .await?;
    b.fails("SourceError", "may not get runnables.carto.run")
        .await?;
    there.let_read(RUNNABLE, "a", &here.namespace).await?;
    assert_eq!(given(&b.run(1).await?, "a"), "a1");
    a.input("own", 2).await?;
    a.answer(2, json!("a2")).await?;
    assert_eq!(given(&b.run(2).await?, "a"), "a2");
    let key = format!("Runnable/{}/a", there.namespace);
    assert!(b.status().await?["currentRun"]["sources"][key].is_string());
    Ok(())
}

#[tokio::test]
async fn a_controller_may_forbid_all_other_namespaces() -> Result<()> {
    let strict = ["--no-cross-namespace-refs"];
    let world = World::apart(&STRICT, "strict", &strict).await?;
    world.template(shows_inputs()).await?;
    world.allow("default", &[RUNNABLE.rights(&["get"])]).await?;
    let a = head(&world, "a").await?;
    a.answer(1, json!("a1")).await?;
    let elsewhere = |namespace: &str| {
        let mut source = from("a");
        source["runnableRef"]["namespace"] = json!(namespace);
        json!({ "inputsFrom": [source] })
    };
    let b = world.runnable("b", elsewhere("default")).await?;
    b.fails(
        "SourceError",
        "the controller allows only the Runnable's own",
    )
    .await?;
    let c = world.runnable("c", elsewhere(&world.namespace)).await?;
    assert_eq!(given(&c.run(1).await?, "a"), "a1");
    b.stays_at(0).await
}

#[tokio::test]
async fn a_cycle_of_two_edits_is_told_with_the_way_round_and_ends_with_it() -> Result<()> {
    let (_, a, b) = pair("cycle").await?;
    a.edit(|object| object["spec"]["inputsFrom"] = json!([from("b")]))
        .await?;
    a.fails("DependencyCycle", "which reads Runnable").await?;
    b.input("own", 2).await?;
    b.fails("DependencyCycle", "its inputs come from itself")
        .await?;
    a.stays_at(1).await?;
    a.edit(|object| object["spec"]["inputsFrom"] = json!(null))
        .await?;
    a.ready("True").await?;
    b.run(2).await?;
    Ok(())
}

#[tokio::test]
async fn one_that_reads_itself_never_runs() -> Result<()> {
    let world = world("itself").await?;
    let a = reader(&world, "a", &["a"]).await?;
    a.fails("DependencyCycle", "its inputs come from itself")
        .await?;
    a.stays_at(0).await?;
    Ok(())
}
