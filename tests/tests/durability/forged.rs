//! Objects that claim to be runs, names that are taken, and Runnables that go.

use std::time::Duration;

use anyhow::{Context, Result};
use cartouche_crds::Runnable;
use cartouche_tests::{fixture::sequence, kind::RUNNABLE};
use kube::{
    ResourceExt,
    api::{DeleteParams, DynamicObject, PostParams},
};
use serde_json::{Value, json};

use crate::{
    engine::{TRIAL, end, hangs, succeeds},
    scene::Scene,
    sight::{confirmed, current, output, refused},
};

/// The garbage collector of Kubernetes looks for new kinds every half minute, and collects none meanwhile.
const COLLECTED: Duration = Duration::from_mins(3);

/// Writes what any account that may create Trials can write on one. It succeeds with the value 666.
async fn forge(
    scene: &Scene,
    name: &str,
    owner: &Runnable,
    labels: Value,
    annotations: Value,
) -> Result<DynamicObject> {
    let object = serde_json::from_value(json!({
        "apiVersion": "lab.test/v1", "kind": "Trial",
        "metadata": {
            "name": name, "labels": labels, "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "controller": true,
                "name": owner.name_any(), "uid": owner.uid(),
            }],
        },
        "spec": { "value": 666, "play": "hang" },
    }))?;
    let trials = scene.trials();
    let forged = trials.create(&PostParams::default(), &object).await?;
    end(&trials, &forged, true).await?;
    Ok(forged)
}

/// Makes three forgeries: without a number, with a high one, and with that of the present run.
async fn forgeries(scene: &Scene, name: &str) -> Result<()> {
    let owner = scene.now(name).await?;
    let run = current(&owner)?;
    let hash = json!({ "carto.run/input-hash": run.input_hash });
    let labels = |sequence: Option<i64>| {
        let mut labels = json!({
            "carto.run/runnable-name": name,
            "carto.run/run-template-name": scene.namespace,
            "carto.run/runnable-uid": owner.uid(),
        });
        if let Some(sequence) = sequence {
            labels["carto.run/run-sequence"] = json!(sequence.to_string());
        }
        labels
    };
    forge(
        scene,
        &format!("{name}-x7k2p"),
        &owner,
        labels(None),
        json!({}),
    )
    .await?;
    forge(
        scene,
        &format!("{name}-aaaaaaaaaa"),
        &owner,
        labels(Some(99)),
        hash.clone(),
    )
    .await?;
    let same = labels(Some(run.sequence));
    forge(scene, &format!("{name}-bbbbbbbbbb"), &owner, same, hash).await?;
    Ok(())
}

#[tokio::test]
async fn forged_runs_give_no_outputs_are_never_deleted_and_make_no_trouble() -> Result<()> {
    let scene = Scene::begin("forged").await?;
    let mut controller = scene.controller(&[]).await?;
    let few = json!({ "maxFailedRuns": 1, "maxSuccessfulRuns": 1 });
    for (name, inputs) in [("done", succeeds(1)), ("busy", hangs(1))] {
        let spec = json!({ "inputs": inputs, "retentionPolicy": few });
        scene.runnable_with(name, spec).await?;
        scene.until(name, "its run", confirmed).await?;
    }
    scene.gives("done", 1).await?;
    forgeries(&scene, "done").await?;
    forgeries(&scene, "busy").await?;
    scene.is_served().await?;
    controller.restart().await?;
    scene.is_served().await?;
    scene.gives("done", 1).await?;
    assert_eq!(output(&scene.now("busy").await?), None);
    let busy = scene.sees("busy", 1).await?;
    scene.end(&busy, true).await?;
    scene.gives("busy", 1).await?;
    for name in ["done", "busy"] {
        scene.change(name, succeeds(2)).await?;
        let next = scene.gives(name, 2).await?;
        assert_eq!(current(&next)?.sequence, 2, "{name}");
        assert_eq!(scene.made(name)?, [1, 2], "{name}");
        assert_eq!(scene.runs(TRIAL, name).await?.len(), 5, "{name}");
        for status in scene.statuses(name)? {
            assert_ne!(status.pointer("/outputs/value"), Some(&json!(666)));
        }
    }
    assert_eq!(scene.retired(TRIAL)?.len(), 0);
    scene.nothing_twice()
}

#[tokio::test]
async fn a_forged_run_is_told_of_in_a_warning_and_counted() -> Result<()> {
    let scene = Scene::begin("forged-told").await?;
    let controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    forgeries(&scene, "app").await?;
    scene.is_served().await?;
    let metrics = controller.get("/metrics").await?;
    let counted = metrics
        .lines()
        .find(|line| line.contains("unknown_runs_total "));
    assert!(
        counted.is_some_and(|line| !line.ends_with(" 0")),
        "{counted:?}"
    );
    scene.warns("app", "UnknownRun", "app-x7k2p").await
}

#[tokio::test]
async fn a_name_that_a_stranger_holds_costs_a_number_and_no_run() -> Result<()> {
    let scene = Scene::begin("stranger").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    // Refused first, so that the name is known before the run is made.
    scene.leave(TRIAL, &["list", "delete"]).await?;
    scene.change("app", succeeds(2)).await?;
    let name = current(&scene.until("app", "refused", refused).await?)?.name;
    let stranger = serde_json::from_value(json!({
        "apiVersion": "lab.test/v1", "kind": "Trial",
        "metadata": { "name": name }, "spec": { "value": 666, "play": "succeed" },
    }))?;
    let stranger = scene
        .trials()
        .create(&PostParams::default(), &stranger)
        .await?;
    scene.restore_rights().await?;
    scene.warns("app", "UnknownRun", &name).await?;
    let end = scene.gives("app", 2).await?;
    assert_ne!(current(&end)?.name, name);
    controller.restart().await?;
    scene.is_served().await?;
    assert!((9..17).contains(&current(&end)?.sequence));
    assert_eq!(scene.made("app")?, [1, 2]);
    // A foreign object is never deleted.
    let there = scene.trials().get(&name).await?;
    assert_eq!(there.uid(), stranger.uid());
    assert_eq!(scene.retired(TRIAL)?.len(), 0);
    scene.nothing_twice()
}

#[tokio::test]
async fn a_runnable_in_foreground_deletion_makes_no_run_for_those_that_go() -> Result<()> {
    let scene = Scene::begin("foreground").await?;
    let _controller = scene.controller(&[]).await?;
    let collected = async |name: &str| {
        scene.until(name, "its run", confirmed).await?;
        let runnables = scene.runnables();
        runnables.delete(name, &DeleteParams::foreground()).await?;
        let made = scene.made_of(TRIAL)?;
        let of_it = made.iter().find(|run| run.runnable == name);
        let run = &of_it.context("it had a run")?.name;
        scene
            .cluster
            .wait_until_gone(&scene.trials(), run, COLLECTED)
            .await
    };
    // The garbage collector learns both kinds by the first one. It would leave the second one's run if it met
    // the Runnable before it knew of Trials.
    scene.runnable("app", hangs(1)).await?;
    collected("app").await?;
    scene.gone(RUNNABLE, "app").await?;
    scene.runnable("held", hangs(1)).await?;
    let finalizer = json!({ "metadata": { "finalizers": ["lab.test/hold"] } });
    scene.patch("held", finalizer).await?;
    collected("held").await?;
    scene.is_served().await?;
    assert_eq!(
        (scene.made("app")?, scene.made("held")?),
        (vec![1], vec![1])
    );
    let free = json!({ "metadata": { "finalizers": null } });
    scene.patch("held", free).await?;
    scene.gone(RUNNABLE, "held").await
}

#[tokio::test]
async fn a_runnable_that_is_made_anew_runs_anew_beside_what_its_namesake_left() -> Result<()> {
    let scene = Scene::begin("anew").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    let runnables = scene.runnables();
    runnables.delete("app", &DeleteParams::orphan()).await?;
    scene.gone(RUNNABLE, "app").await?;
    scene.runnable("app", succeeds(1)).await?;
    let end = scene.gives("app", 1).await?;
    assert_eq!(current(&end)?.sequence, 1);
    assert_eq!(scene.made("app")?, [1, 1]);
    let runs = scene.runs(TRIAL, "app").await?;
    assert_eq!(runs.iter().map(sequence).collect::<Vec<_>>(), [1, 1]);
    // And at once, without waiting for the old one's runs to be collected.
    runnables.delete("app", &DeleteParams::background()).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", confirmed).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 1, 1]);
    Ok(())
}
