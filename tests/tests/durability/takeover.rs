//! The original controller is stopped and this one starts in its place.
//!
//! Its objects carry two labels, a random suffix and an owner reference that blocks the owner's deletion; its
//! status has conditions, outputs and `observedGeneration` and nothing else.

mod approval;
mod stranger;

use std::time::{Duration, SystemTime};

use anyhow::Result;
use cartouche_crds::Runnable;
use kube::{
    ResourceExt,
    api::{DynamicObject, PostParams},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    engine::{JOB, Kind, TRIAL, fails, hangs, succeeds},
    scene::{AFTER_QUIET, SOON, Scene},
    sight::{confirmed, current, output, ready, says, status},
};

/// Makes the object that the original would have made of a document.
async fn original_made(
    scene: &Scene,
    runnable: &Runnable,
    kind: Kind,
    suffix: &str,
    spec: Value,
) -> Result<DynamicObject> {
    let name = runnable.name_any();
    let resource = kind.resource();
    let object = serde_json::from_value(json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {
            "name": format!("{name}-{suffix}"), "generateName": format!("{name}-"),
            "labels": {
                "carto.run/runnable-name": name,
                "carto.run/run-template-name": scene.namespace,
            },
            "ownerReferences": [{
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": name,
                "uid": runnable.uid(), "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    }))?;
    Ok(scene
        .api(kind)
        .create(&PostParams::default(), &object)
        .await?)
}

/// Writes the status that the original left.
async fn original_left(
    scene: &Scene,
    name: &str,
    verdict: &str,
    outputs: Option<i64>,
) -> Result<()> {
    let reason = |own: &str| if verdict == "True" { "Ready" } else { own }.to_owned();
    let word = |kind: &str, status: &str, reason: String| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let engine = "SucceededCondition";
    let conditions = json!([
        word("RunTemplateReady", "True", "Ready".to_owned()),
        word("StampedObjectCondition", verdict, engine.to_owned()),
        word("Ready", verdict, reason(engine)),
    ]);
    let generation = scene.now(name).await?.metadata.generation;
    scene
        .edit_status(name, |status| {
            *status = json!({ "observedGeneration": generation, "conditions": conditions });
            if let Some(value) = outputs {
                status["outputs"] = json!({ "value": value });
            }
        })
        .await
}

/// Makes a Runnable with runs of the original, one each second, and its status.
async fn original(
    scene: &Scene,
    name: &str,
    runs: Vec<Value>,
    verdict: &str,
    outputs: Option<i64>,
) -> Result<()> {
    let last = runs.last().cloned().unwrap_or_default();
    let runnable = scene.runnable(name, last).await?;
    for (index, inputs) in runs.iter().enumerate() {
        if index > 0 {
            sleep(Duration::from_millis(1100)).await;
        }
        let suffix = ["x7k2p", "b9q4z", "m2m2m"][index % 3];
        original_made(scene, &runnable, TRIAL, suffix, inputs.clone()).await?;
    }
    for (index, inputs) in runs.iter().enumerate() {
        if inputs["play"] != "hang" {
            let run = format!("{name}-{}", ["x7k2p", "b9q4z", "m2m2m"][index % 3]);
            played(scene, &run).await?;
        }
    }
    original_left(scene, name, verdict, outputs).await
}

/// Waits until KWOK has played a run.
async fn played(scene: &Scene, run: &str) -> Result<()> {
    let done = |run: &DynamicObject| run.data.pointer("/status/phase").is_some();
    let (cluster, trials) = (&scene.cluster, scene.trials());
    cluster
        .wait_for(&trials, run, "the engine", SOON, done)
        .await
        .map(drop)
}

async fn taken_over(scene: &Scene, name: &str) -> Result<Runnable> {
    scene
        .within(AFTER_QUIET, name, "to be taken over", confirmed)
        .await
}

/// Checks that no status in between was without outputs.
fn kept_its_outputs(scene: &Scene, name: &str) -> Result<()> {
    for status in scene.statuses(name)? {
        assert!(
            status.pointer("/outputs/value").is_some(),
            "{name} lost its outputs: {status:#}"
        );
    }
    Ok(())
}

/// Makes Runnables of the original in all states.
async fn originals(scene: &Scene) -> Result<()> {
    let done = vec![succeeds(1), succeeds(2), succeeds(3)];
    let (busy, broken) = (vec![succeeds(1), hangs(2)], vec![succeeds(1), fails(2)]);
    tokio::try_join!(
        original(scene, "done", done, "True", Some(3)),
        original(scene, "busy", busy, "Unknown", Some(1)),
        original(scene, "broken", broken, "False", Some(1)),
        original(scene, "only-broken", vec![fails(1)], "False", None),
        original(scene, "first", vec![hangs(1)], "Unknown", None),
    )?;
    Ok(())
}

#[tokio::test]
async fn unchanged_runnables_get_no_new_run_and_keep_what_they_have() -> Result<()> {
    let scene = Scene::begin("takeover").await?;
    Box::pin(originals(&scene)).await?;
    let mut controller = scene.controller(&[]).await?;
    for name in ["done", "busy", "broken", "only-broken", "first"] {
        taken_over(&scene, name).await?;
    }
    scene.gives("done", 3).await?;
    let engines = "SucceededCondition";
    for (name, verdict, reason, outputs) in [
        ("busy", "Unknown", "RunInProgress", Some(1)),
        ("broken", "False", engines, Some(1)),
        ("only-broken", "False", engines, None),
    ] {
        let it = scene.now(name).await?;
        assert!(says(&it, "Ready", verdict, reason), "{it:?}");
        assert_eq!(output(&it), outputs);
    }
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(scene.made_of(TRIAL)?, []);
    assert_eq!(scene.retired(TRIAL)?.len(), 0);

    // They are followed like the controller's own runs, and the next change is the next sequence.
    for (name, value) in [("busy", 2), ("first", 1)] {
        let run = scene.sees(name, value).await?;
        scene.end(&run, true).await?;
        scene.gives(name, value).await?;
    }
    for (name, sequence) in [
        ("done", 4),
        ("busy", 3),
        ("broken", 3),
        ("only-broken", 2),
        ("first", 2),
    ] {
        scene.change(name, succeeds(9)).await?;
        let next = scene.gives(name, 9).await?;
        assert_eq!(current(&next)?.sequence, sequence, "{name}");
        assert_eq!(scene.made(name)?, [9], "{name}");
    }
    for name in ["done", "busy", "broken"] {
        kept_its_outputs(&scene, name)?;
    }
    scene.nothing_twice()
}

#[tokio::test]
async fn inputs_that_changed_while_nobody_served_make_exactly_one_run() -> Result<()> {
    let scene = Scene::begin("takeover-changed").await?;
    let (done, busy) = (vec![succeeds(1), succeeds(2)], vec![succeeds(1), hangs(2)]);
    tokio::try_join!(
        original(&scene, "done", done.clone(), "True", Some(2)),
        original(&scene, "busy", busy, "Unknown", Some(1)),
        original(&scene, "back", done, "True", Some(2)),
    )?;
    scene.change("done", succeeds(3)).await?;
    scene.change("busy", succeeds(3)).await?;
    scene.change("back", succeeds(1)).await?;
    let _controller = scene.controller(&[]).await?;
    for (name, value) in [("done", 3), ("busy", 3), ("back", 1)] {
        let done = |r: &Runnable| ready(r) && output(r) == Some(value);
        let end = scene.within(AFTER_QUIET, name, "its new run", done).await?;
        assert_eq!(current(&end)?.sequence, 3, "{name}");
        assert_eq!(scene.made(name)?, [value], "{name}");
        kept_its_outputs(&scene, name)?;
    }
    scene.is_served().await?;
    for (name, value) in [("done", 3), ("busy", 3), ("back", 1)] {
        assert_eq!(scene.made(name)?, [value], "{name}");
    }
    Ok(())
}

/// Returns a Job whose document the API server rewords.
fn job(processors: &str) -> Value {
    json!({
        "backoffLimit": 0,
        "template": { "spec": {
            "restartPolicy": "Never",
            "volumes": [],
            "nodeSelector": {},
            "containers": [{
                "name": "work", "image": "busybox", "args": [],
                "env": [{ "name": "VALUE", "value": "1" }],
                "resources": {
                    "requests": { "cpu": processors, "memory": "1024Mi" },
                    "limits": { "cpu": "2000m", "memory": "2048Mi" },
                },
            }],
        }},
    })
}

#[tokio::test]
async fn what_the_api_server_writes_in_other_words_is_no_change() -> Result<()> {
    let scene = Scene::begin("takeover-words").await?;
    let template = json!({
        "template": {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "generateName": "$(runnable.metadata.name)$-" },
            "spec": job("$(runnable.spec.inputs.processors)$"),
        },
        "outputs": { "value": ".status.succeeded" },
    });
    scene.template(template).await?;
    let inputs = json!({ "processors": "1000m" });
    for name in ["same", "other"] {
        let runnable = scene.runnable(name, inputs.clone()).await?;
        original_made(&scene, &runnable, JOB, "x7k2p", job("1000m")).await?;
    }
    let jobs = scene.api(JOB);
    for name in ["same", "other"] {
        let run = format!("{name}-x7k2p");
        let complete = |job: &DynamicObject| job.data.pointer("/status/succeeded").is_some();
        let made = scene
            .cluster
            .wait_for(&jobs, &run, "it to end", SOON, complete)
            .await?;
        let cpu = "/spec/template/spec/containers/0/resources/requests/cpu";
        assert_eq!(made.data.pointer(cpu), Some(&json!("1")));
        original_left(&scene, name, "True", Some(1)).await?;
    }
    scene
        .change("other", json!({ "processors": "1500m" }))
        .await?;
    let _controller = scene.controller(&[]).await?;
    taken_over(&scene, "same").await?;
    scene.gives("same", 1).await?;
    let second = |r: &Runnable| current(r).is_ok_and(|run| run.sequence == 2);
    scene
        .within(AFTER_QUIET, "other", "a second run", second)
        .await?;
    let made = scene.made_of(JOB)?;
    let made: Vec<&str> = made.iter().map(|run| run.runnable.as_str()).collect();
    assert_eq!(made, ["other"]);
    Ok(())
}

#[tokio::test]
async fn of_the_originals_runs_in_one_second_the_one_that_fits_is_the_newest() -> Result<()> {
    let scene = Scene::begin("takeover-ties").await?;
    let mut ties = 0;
    for (name, first, second) in [("up", "aaaaa", "zzzzz"), ("down", "zzzzz", "aaaaa")] {
        let runnable = scene.runnable(name, succeeds(2)).await?;
        let into = SystemTime::UNIX_EPOCH.elapsed()?.subsec_nanos();
        sleep(Duration::from_nanos(1_020_000_000 - u64::from(into))).await;
        let old = original_made(&scene, &runnable, TRIAL, first, succeeds(1)).await?;
        let new = original_made(&scene, &runnable, TRIAL, second, succeeds(2)).await?;
        ties += i32::from(old.creation_timestamp() == new.creation_timestamp());
        played(&scene, &format!("{name}-{second}")).await?;
        original_left(&scene, name, "True", Some(2)).await?;
    }
    assert!(ties > 0, "none were made in one second");
    let _controller = scene.controller(&[]).await?;
    for name in ["up", "down"] {
        taken_over(&scene, name).await?;
        let end = scene.gives(name, 2).await?;
        assert_eq!(current(&end)?.sequence, 2);
    }
    scene.is_served().await?;
    assert_eq!((scene.made("up")?, scene.made("down")?), (vec![], vec![]));
    Ok(())
}

#[tokio::test]
async fn a_runnable_with_more_than_a_hundred_runs_is_taken_over_without_a_run() -> Result<()> {
    let scene = Scene::begin("takeover-many").await?;
    let runnable = scene.runnable("app", succeeds(110)).await?;
    for value in 1..=110 {
        if value == 110 {
            sleep(Duration::from_millis(1100)).await;
        }
        let suffix = format!("{value:05}");
        original_made(&scene, &runnable, TRIAL, &suffix, succeeds(value)).await?;
    }
    played(&scene, "app-00110").await?;
    original_left(&scene, "app", "True", Some(110)).await?;
    let mut controller = scene.controller(&[]).await?;
    let end = taken_over(&scene, "app").await?;
    assert_eq!(current(&end)?.name, "app-00110");
    assert_eq!(status(&end).history.len(), 99, "the newest hundred");
    scene.gives("app", 110).await?;
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, Vec::<i64>::new());
    assert_eq!(scene.retired(TRIAL)?.len(), 0, "none is old enough");
    scene.change("app", succeeds(111)).await?;
    let next = scene.gives("app", 111).await?;
    assert_eq!(current(&next)?.sequence, 101);
    assert_eq!(scene.made("app")?, [111]);
    Ok(())
}

#[tokio::test]
async fn a_create_that_the_original_had_on_its_way_is_waited_for() -> Result<()> {
    let scene = Scene::begin("takeover-late").await?;
    let runnable = scene.runnable("app", succeeds(2)).await?;
    original_made(&scene, &runnable, TRIAL, "x7k2p", succeeds(1)).await?;
    original_left(&scene, "app", "True", Some(1)).await?;
    let _controller = scene.controller(&[]).await?;
    // The change was made, and the original's last request arrives long after it is gone.
    sleep(Duration::from_secs(15)).await;
    original_made(&scene, &runnable, TRIAL, "b9q4z", succeeds(2)).await?;
    let end = taken_over(&scene, "app").await?;
    assert_eq!(current(&end)?.name, "app-b9q4z");
    scene.gives("app", 2).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, Vec::<i64>::new());
    Ok(())
}
