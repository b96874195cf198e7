//! Writes of a newer release: words for its requirements, and fields of specs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cartouche_crds::{RunResult, Runnable};
use kube::ResourceExt;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    definitions::{DEFINITION, define, definition},
    engine::{TRIAL, hangs, succeeds, template},
    scene::Scene,
    sight::{condition, current, is_at, ready, result, says},
};

/// Longer than the controller takes for its work.
const A_WHILE: Duration = Duration::from_secs(4);

/// Waits for the report that a newer release is needed.
async fn is_told(scene: &Scene, name: &str, of: &str) -> Result<()> {
    scene.warns(name, "NewerRelease", of).await
}

#[tokio::test]
async fn nothing_is_done_for_a_runnable_that_needs_what_this_release_does_not_know() -> Result<()> {
    let scene = Scene::begin("needs").await?;
    let mut controller = scene.controller(&[]).await?;
    for (name, inputs) in [("app", succeeds(1)), ("busy", hangs(1))] {
        scene.runnable(name, inputs).await?;
        scene.until(name, "its run", is_at(1)).await?;
    }
    scene.gives("app", 1).await?;
    let needs = |needs: Value| move |status: &mut Value| status["needs"] = needs.clone();
    scene.edit_status("app", needs(json!(["ticks"]))).await?;
    scene.edit_status("busy", needs(json!(["ticks"]))).await?;
    for name in ["app", "busy"] {
        scene.change(name, succeeds(2)).await?;
    }
    let busy = scene.sees("busy", 1).await?;
    scene.end(&busy, true).await?;
    is_told(&scene, "app", "ticks").await?;
    is_told(&scene, "busy", "ticks").await?;
    let versions = || async {
        let mut versions = Vec::new();
        for name in ["app", "busy"] {
            versions.push(scene.now(name).await?.resource_version());
        }
        anyhow::Ok(versions)
    };
    let before = versions().await?;
    controller.restart().await?;
    scene.is_served().await?;
    sleep(A_WHILE).await;
    assert_eq!(versions().await?, before, "nothing is written");
    for name in ["app", "busy"] {
        assert_eq!(scene.made(name)?, [1], "{name}");
    }
    let told = scene.events("app", "Warning", "NewerRelease").await?;
    ensure!(told.len() <= 2, "one of each process: {told:?}");
    // The status lets it go on, not a report of the controller.
    let knows = |status: &mut Value| drop(status.as_object_mut().unwrap().remove("needs"));
    scene.edit_status("app", knows).await?;
    scene.gives("app", 2).await?;
    scene.edit_status("busy", knows).await?;
    scene.gives("busy", 2).await?;
    scene.nothing_twice()
}

/// Returns the shipped definition with one more field of the spec and one more value of another, of a later
/// number.
fn later(shipped: &Value) -> Result<Value> {
    let mut later = shipped.clone();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let spec = later.pointer_mut(spec).context("no spec")?;
    spec["tick"] = json!({ "type": "string" });
    let values = spec["concurrencyPolicy"]["enum"].as_array_mut();
    values.context("no values")?.push(json!("Newest"));
    later["metadata"]["annotations"]["carto.run/schema"] = json!("2");
    Ok(later)
}

#[tokio::test]
async fn a_field_of_a_newer_release_holds_the_next_run_and_not_the_present_one() -> Result<()> {
    let scene = Scene::with_servers_of_its_own("newer").await?;
    let shipped = definition(&scene, DEFINITION).await?;
    define(&scene, &later(&shipped)?).await?;
    let controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", is_at(1)).await?;
    let run = scene.sees("app", 1).await?;
    let ticking = |inputs: Value| json!({ "spec": { "tick": "hourly", "inputs": inputs } });
    // The API server may need a moment until it serves the definition.
    let has_tick = |object: &Value| object["spec"]["tick"] == json!("hourly");
    for _ in 0..100 {
        scene.patch("app", ticking(succeeds(2))).await?;
        if has_tick(&scene.get(cartouche_tests::kind::RUNNABLE, "app").await?) {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    let held = |r: &Runnable| says(r, "Ready", "False", "NewerRelease");
    let now = scene.until("app", "held", held).await?;
    let message = &condition(&now, "Ready").context("not ready")?.message;
    ensure!(message.contains("tick"), "{message}");
    ensure!(says(&now, "Stalled", "True", "NewerRelease"), "{now:?}");
    is_told(&scene, "app", "tick").await?;
    scene.end(&run, true).await?;
    let ended = |r: &Runnable| result(r) == Some(RunResult::Succeeded);
    let now = scene.until("app", "the result of its run", ended).await?;
    ensure!(held(&now) && current(&now)?.sequence == 1, "{now:?}");
    sleep(A_WHILE).await;
    assert_eq!(scene.made("app")?, [1]);
    ensure!(controller.get("/readyz").await?.starts_with("ok\n"));

    scene
        .patch("app", json!({ "spec": { "tick": null } }))
        .await?;
    let done = |r: &Runnable| ready(r) && crate::sight::output(r) == Some(2);
    scene.until("app", "output 2", done).await?;
    assert_eq!(scene.made("app")?, [1, 2]);
    scene.template(template(TRIAL)).await?;
    scene.nothing_twice()
}

/// The present release cannot read such a Runnable, and leaves the status to the release that can.
#[tokio::test]
async fn a_value_of_a_newer_release_leaves_the_status_to_that_release() -> Result<()> {
    let scene = Scene::with_servers_of_its_own("newer-value").await?;
    let shipped = definition(&scene, DEFINITION).await?;
    define(&scene, &later(&shipped)?).await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    let newest = json!({ "spec": { "concurrencyPolicy": "Newest", "inputs": succeeds(2) } });
    // Retried until the API server serves the definition.
    scene.patch("app", newest).await?;
    let before = scene.get(cartouche_tests::kind::RUNNABLE, "app").await?;
    is_told(&scene, "app", "Newest").await?;
    controller.restart().await?;
    sleep(A_WHILE).await;
    ensure!(controller.get("/readyz").await?.starts_with("ok\n"));
    let after = scene.get(cartouche_tests::kind::RUNNABLE, "app").await?;
    assert_eq!(after["status"], before["status"], "nothing is written");
    assert_eq!(scene.made("app")?, [1]);

    scene
        .patch("app", json!({ "spec": { "concurrencyPolicy": null } }))
        .await?;
    let done = |r: &Runnable| ready(r) && crate::sight::output(r) == Some(2);
    scene.until("app", "output 2", done).await?;
    scene.nothing_twice()
}
