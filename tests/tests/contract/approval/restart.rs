//! Waiting runs, and restarts of the controller.

use anyhow::Result;
use cartouche_tests::{
    cluster::{AuditEvent, AuditLog, Cluster},
    control_plane::Options,
    controller::{Controller, Settings},
    fixture::Fixture,
};
use serde_json::{Value, json};

use super::{APPROVED, RECORDED, waits};
use crate::world::{DEMO, RUNNABLE, SOON, TEST_OBJ, answers, condition, install, text};

/// Waits until the Runnable waits for approval.
async fn asked(world: &Fixture, name: &str) -> Result<Value> {
    let what = "to wait for a person";
    world.observed(RUNNABLE, name, what, waits).await
}

async fn waiting(world: &Fixture, name: &str) -> Result<Value> {
    let spec = json!({ "inputs": { "foo": 1 }, "approval": "Manual" });
    world.runnable(name, spec).await?;
    asked(world, name).await
}

/// Makes a Runnable whose second run waits.
async fn waiting_after_a_run(world: &Fixture, name: &str) -> Result<Value> {
    world
        .runnable(name, json!({ "inputs": { "foo": 1 } }))
        .await?;
    let is_ready = |it: &Value| condition(it, "Ready")["status"] == "True";
    world.observed(RUNNABLE, name, "to run", is_ready).await?;
    let change = json!({ "spec": { "inputs": { "foo": 2 }, "approval": "Manual" } });
    world.patch(name, change).await?;
    asked(world, name).await
}

/// Counts dry runs of creates, and status writes of these Runnables.
fn done(audit: &AuditLog, world: &Fixture, names: &[&str]) -> Result<[usize; 2]> {
    let events = audit.in_namespace(&world.namespace)?;
    let own = |event: &&AuditEvent| event.is_of_an_account();
    let tried = events.iter().filter(own).filter(|event| {
        let is_tried = event.request_uri.contains("dryRun=");
        is_tried && event.resource() == TEST_OBJ.audited()
    });
    let written = events.iter().filter(own).filter(|event| {
        let is_written = event.resource() == "runnables.carto.run/status";
        is_written && names.contains(&event.name())
    });
    Ok([tried.count(), written.count()])
}

#[tokio::test]
async fn a_run_that_waits_is_not_asked_for_again_by_the_next_controller() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    install(&cluster).await?;
    let mut controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let world = Fixture::of(&cluster, cluster.namespace("restart").await?, SOON);
    let mut template = answers();
    template["outputs"].take();
    template["healthRule"] = json!({ "alwaysHealthy": {} });
    world.template(template).await?;
    let first = waiting(&world, "first").await?;
    let second = waiting_after_a_run(&world, "second").await?;
    tokio::time::sleep(RECORDED).await;
    let audit = cluster.audit()?;
    for restart in 1..=2 {
        controller.restart().await?;
        // Once it answers for another one, it has seen these too.
        waiting(&world, &format!("seen-{restart}")).await?;
    }
    tokio::time::sleep(RECORDED).await;
    let [tried, written] = done(&audit, &world, &["first", "second"])?;
    assert_eq!(tried, 2, "the server is asked about the other two only");
    assert_eq!(written, 0, "what was said stands");
    for (name, before) in [("first", first), ("second", second)] {
        let now = world.get(RUNNABLE, name).await?;
        assert_eq!(now["status"], before["status"]);
        let approval = text(&now["status"]["pending"]["approval"]);
        let annotations = json!({ APPROVED: approval });
        let approved = json!({ "metadata": { "annotations": annotations } });
        world.patch(name, approved).await?;
    }
    for (name, number) in [("first", 1), ("second", 2)] {
        let begins = |it: &Value| {
            let current = &it["status"]["currentRun"];
            current["sequence"] == number && current["phase"] == "Created"
        };
        world.observed(RUNNABLE, name, "to run", begins).await?;
    }
    Ok(())
}
