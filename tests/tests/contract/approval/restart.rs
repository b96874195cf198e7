//! What waits, and a controller that comes and goes.

use anyhow::Result;
use cartouche_tests::{
    cluster::Cluster,
    control_plane::Options,
    controller::{Controller, Settings},
    fixture::Fixture,
};
use serde_json::{Value, json};

use super::{APPROVED, RECORDED, waits};
use crate::world::{DEMO, RUNNABLE, SOON, TEST_OBJ, answers, install, text};

#[tokio::test]
async fn a_run_that_waits_is_not_asked_for_again_by_the_next_controller() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    install(&cluster).await?;
    let mut controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let world = Fixture::of(&cluster, cluster.namespace("restart").await?, SOON);
    world.template(answers()).await?;
    let spec = json!({ "inputs": { "foo": 1 }, "approval": "Manual" });
    world.runnable("r", spec).await?;
    let object = world
        .observed(RUNNABLE, "r", "to wait for a person", waits)
        .await?;
    let approval = text(&object["status"]["pending"]["approval"]).to_owned();
    tokio::time::sleep(RECORDED).await;
    let audit = cluster.audit()?;
    for _ in 0..2 {
        controller.restart().await?;
        // Once it answers for another one, it has seen this one too.
        let marker = format!("seen-{}", audit.in_namespace(&world.namespace)?.len());
        let spec = json!({ "inputs": { "foo": 1 }, "approval": "Manual" });
        world.runnable(&marker, spec).await?;
        world
            .observed(RUNNABLE, &marker, "to wait for a person", waits)
            .await?;
    }
    tokio::time::sleep(RECORDED).await;
    let own = |event: &&cartouche_tests::cluster::AuditEvent| event.is_of_an_account();
    let events = audit.in_namespace(&world.namespace)?;
    let written = events
        .iter()
        .filter(own)
        .filter(|event| event.resource() == "runnables.carto.run/status" && event.name() == "r");
    assert_eq!(written.count(), 0, "what it says stands");
    let tried = events
        .iter()
        .filter(own)
        .filter(|event| event.verb == "create" && event.resource() == TEST_OBJ.audited());
    assert_eq!(
        tried.count(),
        2,
        "the server is asked of the other two only"
    );
    let after = world.get(RUNNABLE, "r").await?;
    assert_eq!(after["status"], object["status"]);
    world
        .patch(
            "r",
            json!({ "metadata": { "annotations": { APPROVED: approval } } }),
        )
        .await?;
    let begins = |it: &Value| it["status"]["currentRun"]["phase"] == "Created";
    world.observed(RUNNABLE, "r", "to run", begins).await?;
    Ok(())
}
