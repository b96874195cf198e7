//! Runs that do not end by their engine.

use std::time::Duration;

use anyhow::Result;
use cartouche_crds::{RunResult, Runnable};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    engine::{JOB, TRIAL, ended, hangs, succeeds, template},
    scene::{AFTER_QUIET, Scene},
    sight::{condition, current, failed, is_at, output, ready, result, says},
};

const TOKEN: &str = "carto.run/rerun-token";

fn lost(runnable: &Runnable) -> bool {
    result(runnable) == Some(RunResult::Lost)
        && says(runnable, "StampedObjectCondition", "Unknown", "RunLost")
}

#[tokio::test]
async fn a_cancelled_run_is_a_failed_run_and_not_made_again() -> Result<()> {
    let scene = Scene::begin("cancelled").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    let run = scene.sees("app", 1).await?;
    let cancelled = json!({ "spec": { "status": "Cancelled" } });
    scene.patch_of(TRIAL, &run.name_any(), cancelled).await?;
    scene.end(&run, false).await?;
    let end = scene.until("app", "failed", failed).await?;
    assert!(condition(&end, "Stalled").is_some());
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1]);
    Ok(())
}

#[tokio::test]
async fn a_run_that_somebody_changed_is_the_same_run() -> Result<()> {
    let scene = Scene::begin("mutated").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    let run = scene.sees("app", 1).await?;
    let mutated =
        json!({ "spec": { "value": 7, "extra": [1] }, "metadata": { "labels": { "a": "b" } } });
    scene.patch_of(TRIAL, &run.name_any(), mutated).await?;
    controller.restart().await?;
    let run = scene.trials().get(&run.name_any()).await?;
    scene.end(&run, true).await?;
    scene.gives("app", 7).await?;
    scene
        .patch_of(TRIAL, &run.name_any(), json!({ "spec": null }))
        .await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1]);
    Ok(())
}

#[tokio::test]
async fn an_unfinished_run_that_is_deleted_is_made_again_once_per_deletion() -> Result<()> {
    let scene = Scene::begin("deleted").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    for sequence in 1..=3 {
        let now = scene.until("app", "the next run", is_at(sequence)).await?;
        let run = scene.trials().get(&current(&now)?.name).await?;
        scene.delete(TRIAL, &run).await?;
    }
    let now = scene.until("app", "the fourth run", is_at(4)).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 1, 1, 1]);
    let run = scene.trials().get(&current(&now)?.name).await?;
    scene.end(&run, true).await?;
    scene.gives("app", 1).await?;
    scene.nothing_twice()
}

#[tokio::test]
async fn a_finished_run_that_is_deleted_is_never_made_again() -> Result<()> {
    let scene = Scene::begin("finished").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("good", succeeds(1)).await?;
    scene.runnable("bad", crate::engine::fails(1)).await?;
    scene.gives("good", 1).await?;
    scene.until("bad", "failed", failed).await?;
    for name in ["good", "bad"] {
        let run = scene.sees(name, 1).await?;
        scene.delete(TRIAL, &run).await?;
    }
    scene.is_served().await?;
    controller.restart().await?;
    scene.is_served().await?;
    let (good, bad) = (scene.gives("good", 1).await?, scene.now("bad").await?);
    assert!(ready(&good) && failed(&bad));
    assert_eq!(
        (scene.made("good")?, scene.made("bad")?),
        (vec![1], vec![1])
    );
    // The next change is made as usual.
    scene.change("good", succeeds(2)).await?;
    scene.gives("good", 2).await?;
    assert_eq!(scene.made("good")?, [1, 2]);
    Ok(())
}

#[tokio::test]
async fn a_finished_run_that_is_deleted_while_nobody_looks_is_never_made_again() -> Result<()> {
    let scene = Scene::begin("unseen").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    controller.kill()?;
    let run = scene.sees("app", 1).await?;
    scene.delete(TRIAL, &run).await?;
    controller.restart().await?;
    scene.is_served().await?;
    scene.gives("app", 1).await?;
    assert_eq!(scene.made("app")?, [1]);
    Ok(())
}

/// Returns a template of Jobs whose pods complete as KWOK plays them.
fn jobs(ttl_seconds: i64, delay: &str) -> Value {
    json!({
        "template": {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "generateName": "$(runnable.metadata.name)$-" },
            "spec": {
                "backoffLimit": 0,
                "ttlSecondsAfterFinished": ttl_seconds,
                "template": {
                    "metadata": { "annotations": { "play.carto.run/delay": delay } },
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{
                            "name": "work", "image": "busybox",
                            "env": [{ "name": "VALUE", "value": "v$(runnable.spec.inputs.value)$" }],
                        }],
                    },
                },
            },
        },
        "outputs": { "value": ".status.succeeded" },
    })
}

#[tokio::test]
async fn a_job_that_expires_after_it_finished_is_never_made_again() -> Result<()> {
    let scene = Scene::begin("expired").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.template(jobs(1, "0s")).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    let gone = scene.made_of(JOB)?[0].name.clone();
    scene.gone(JOB, &gone).await?;
    scene.is_served().await?;
    controller.restart().await?;
    scene.is_served().await?;
    scene.gives("app", 1).await?;
    let made = scene.made_of(JOB)?;
    assert_eq!(made.iter().filter(|run| run.runnable == "app").count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_job_that_expired_while_nobody_looked_is_lost_and_runs_again_only_when_asked()
-> Result<()> {
    let scene = Scene::begin("expired-unseen").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.template(jobs(1, "2s")).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.until("app", "its run", is_at(1)).await?;
    controller.kill()?;
    let gone = scene.made_of(JOB)?[0].name.clone();
    scene.gone(JOB, &gone).await?;
    controller.restart().await?;
    let end = scene.until("app", "lost", lost).await?;
    let stamped = condition(&end, "StampedObjectCondition");
    assert!(
        stamped.is_some_and(|c| c.message.contains(TOKEN)),
        "{stamped:?}"
    );
    controller.restart().await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(scene.made_of(JOB)?.len(), 1);
    let again = json!({ "metadata": { "annotations": { TOKEN: "once more" } } });
    scene.patch("app", again).await?;
    scene.gives("app", 1).await?;
    assert_eq!(scene.made_of(JOB)?.len(), 2);
    scene.nothing_twice()
}

#[tokio::test]
async fn an_unfinished_run_found_missing_is_lost_until_the_inputs_change() -> Result<()> {
    let scene = Scene::begin("missing").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", is_at(1)).await?;
    controller.kill()?;
    let run = scene.sees("app", 1).await?;
    scene.delete(TRIAL, &run).await?;
    controller.restart().await?;
    let end = scene.until("app", "lost", lost).await?;
    assert!(says(&end, "RunTemplateReady", "True", "Ready"));
    controller.restart().await?;
    scene.is_served().await?;
    scene.goes_on_after_one_run("app").await
}

#[tokio::test]
async fn a_new_rerun_token_runs_once_and_taking_it_away_or_back_does_not() -> Result<()> {
    let scene = Scene::begin("token").await?;
    let mut controller = scene.controller(&[]).await?;
    let token = |value: Value| json!({ "metadata": { "annotations": { TOKEN: value } } });
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    scene.patch("app", token(json!("a"))).await?;
    scene.until("app", "a second run", is_at(2)).await?;
    for value in [json!(null), json!("a")] {
        scene.patch("app", token(value)).await?;
        scene.is_served().await?;
    }
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 1]);
    // A new token and a change at once are one run.
    let mut both = token(json!("b"));
    both["spec"] = json!({ "inputs": { "value": 2 } });
    scene.patch("app", both).await?;
    scene.gives("app", 2).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 1, 2]);
    scene.nothing_twice()
}

#[tokio::test]
async fn a_run_that_lost_its_label_is_no_deleted_run_and_is_followed_to_its_end() -> Result<()> {
    let scene = Scene::begin("unlabelled").await?;
    let _controller = scene.controller(&["--poll-seconds", "1"]).await?;
    scene.runnable("app", hangs(1)).await?;
    let now = scene.until("app", "its run", is_at(1)).await?;
    let name = current(&now)?.name;
    let unlabelled = json!({ "metadata": { "labels": { "carto.run/runnable-name": null } } });
    scene.patch_of(TRIAL, &name, unlabelled).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1]);
    let run = scene.trials().get(&name).await?;
    scene.end(&run, true).await?;
    scene.gives("app", 1).await?;
    assert_eq!(scene.made("app")?, [1]);
    Ok(())
}

#[tokio::test]
async fn a_deleted_run_held_by_a_finalizer_is_made_again_only_when_it_is_gone() -> Result<()> {
    let scene = Scene::begin("finalizer").await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    let now = scene.until("app", "its run", is_at(1)).await?;
    let name = current(&now)?.name;
    let held = |by: Value| json!({ "metadata": { "finalizers": by } });
    scene
        .patch_of(TRIAL, &name, held(json!(["lab.test/hold"])))
        .await?;
    let run = scene.trials().get(&name).await?;
    scene.delete(TRIAL, &run).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1], "it is still there");
    scene.patch_of(TRIAL, &name, held(json!(null))).await?;
    scene.until("app", "the next run", is_at(2)).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1, 1]);
    Ok(())
}

#[tokio::test]
async fn a_success_that_turns_into_a_failure_keeps_its_outputs_and_makes_no_run() -> Result<()> {
    let scene = Scene::begin("flips").await?;
    let _controller = scene.controller(&[]).await?;
    scene.template(template(TRIAL)).await?;
    scene.runnable("app", succeeds(1)).await?;
    scene.gives("app", 1).await?;
    let run = scene.sees("app", 1).await?;
    scene.end(&run, false).await?;
    let end = scene.until("app", "failed", failed).await?;
    assert_eq!(output(&end), Some(1));
    // While it is the current run, its outputs are followed.
    let status = json!({ "status": ended(true, &json!(5)) });
    let patch = Patch::Merge(status);
    let trials = scene.trials();
    trials
        .patch_status(&run.name_any(), &PatchParams::default(), &patch)
        .await?;
    scene.gives("app", 5).await?;
    assert_eq!(scene.made("app")?, [1]);
    Ok(())
}

#[tokio::test]
async fn runs_that_end_and_go_in_one_moment_are_neither_lost_nor_made_again() -> Result<()> {
    let scene = Scene::begin("moment").await?;
    let _controller = scene.controller(&[]).await?;
    let names: Vec<String> = (0..20).map(|n| format!("app-{n}")).collect();
    for name in &names {
        scene.runnable(name, hangs(1)).await?;
    }
    for name in &names {
        scene.until(name, "its run", is_at(1)).await?;
        let run = scene.sees(name, 1).await?;
        scene.end(&run, true).await?;
        scene.delete(TRIAL, &run).await?;
    }
    for name in &names {
        let end = scene.until(name, "an end", |r| result(r).is_some()).await?;
        assert_eq!(result(&end), Some(RunResult::Succeeded), "{name}");
    }
    scene.is_served().await?;
    let made = scene.made_of(TRIAL)?.len();
    assert_eq!(made, names.len());
    scene.nothing_twice()
}

#[tokio::test]
async fn a_run_that_lost_its_owner_is_followed_by_its_name() -> Result<()> {
    let scene = Scene::begin("disowned").await?;
    let _controller = scene.controller(&["--poll-seconds", "5"]).await?;
    for name in ["ends", "goes"] {
        scene.runnable(name, hangs(1)).await?;
        scene.until(name, "its run", is_at(1)).await?;
        let run = scene.sees(name, 1).await?;
        let nobody = json!({ "metadata": { "ownerReferences": null } });
        scene.patch_of(TRIAL, &run.name_any(), nobody).await?;
    }
    scene.is_served().await?;
    scene.end(&scene.sees("ends", 1).await?, true).await?;
    let gone = scene.sees("goes", 1).await?;
    scene.delete(TRIAL, &gone).await?;
    // The controller does not look for a run that its watch has not shown before a minute is over.
    let gives = |r: &Runnable| output(r) == Some(1);
    scene
        .within(AFTER_QUIET, "ends", "its output", gives)
        .await?;
    // No controller saw its end: a user decides.
    scene.within(AFTER_QUIET, "goes", "Lost", lost).await?;
    assert_eq!(
        (scene.made("ends")?, scene.made("goes")?),
        (vec![1], vec![1])
    );
    Ok(())
}

#[tokio::test]
async fn a_run_that_lost_its_label_and_goes_after_its_end_is_not_made_again() -> Result<()> {
    let scene = Scene::begin("unlabelled").await?;
    let _controller = scene.controller(&["--poll-seconds", "5"]).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", is_at(1)).await?;
    let run = scene.sees("app", 1).await?;
    let bare = json!({ "metadata": { "labels": { "carto.run/runnable-name": null } } });
    scene.patch_of(TRIAL, &run.name_any(), bare).await?;
    scene.is_served().await?;
    // Between two polls: the last state in the watch is that it went unfinished.
    scene.end(&run, true).await?;
    scene.delete(TRIAL, &run).await?;
    scene.within(AFTER_QUIET, "app", "Lost", lost).await?;
    scene.is_served().await?;
    assert_eq!(scene.made("app")?, [1]);
    Ok(())
}
