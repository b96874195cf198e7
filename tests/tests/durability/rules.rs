//! The rules that judge a run when its template is edited, mistyped or gone meanwhile.

use anyhow::{Context, Result};
use cartouche_crds::{ClusterRunTemplate, Runnable};
use kube::{ResourceExt, api::DeleteParams};
use serde_json::json;

use crate::{
    engine::{TRIAL, hangs, template},
    scene::Scene,
    sight::{current, is_at, output, result, says, status},
};

fn no_template(runnable: &Runnable) -> bool {
    says(runnable, "RunTemplateReady", "False", "RunTemplateNotFound")
}

#[tokio::test]
async fn what_happens_to_runs_while_their_templates_name_is_mistyped_is_heard() -> Result<()> {
    let scene = Scene::begin("mistyped").await?;
    let _controller = scene.controller(&[]).await?;
    for name in ["ended", "deleted"] {
        scene.runnable(name, hangs(1)).await?;
        scene.until(name, "its run", is_at(1)).await?;
    }
    // By then the watch has shown them unfinished, which was believed afterwards.
    scene.is_served().await?;
    let template = |name: &str| json!({ "spec": { "runTemplateRef": { "name": name } } });
    for name in ["ended", "deleted"] {
        scene.patch(name, template("mistyped")).await?;
        scene.until(name, "no template", no_template).await?;
    }
    happens(&scene).await?;
    scene.is_served().await?;
    for name in ["ended", "deleted"] {
        scene.patch(name, template(&scene.namespace)).await?;
    }
    was_heard(&scene).await
}

/// Ends the run of one Runnable, and deletes that of another one.
async fn happens(scene: &Scene) -> Result<()> {
    scene.end(&scene.sees("ended", 1).await?, true).await?;
    let gone = scene.sees("deleted", 1).await?;
    scene.delete(TRIAL, &gone).await?;
    scene.gone(TRIAL, &gone.name_any()).await
}

/// Checks that the first gives its outputs, and that the second, which was seen to go unfinished, is made
/// again once.
async fn was_heard(scene: &Scene) -> Result<()> {
    scene.gives("ended", 1).await?;
    scene.until("deleted", "its second run", is_at(2)).await?;
    assert_eq!(scene.made("ended")?, [1]);
    assert_eq!(scene.made("deleted")?, [1, 1]);
    Ok(())
}

#[tokio::test]
async fn what_happens_to_runs_while_their_template_is_gone_is_heard() -> Result<()> {
    let scene = Scene::begin("replaced").await?;
    let _controller = scene.controller(&[]).await?;
    for name in ["ended", "deleted"] {
        scene.runnable(name, hangs(1)).await?;
        scene.until(name, "its run", is_at(1)).await?;
    }
    scene.is_served().await?;
    let templates = scene.cluster.all::<ClusterRunTemplate>();
    templates
        .delete(&scene.namespace, &DeleteParams::default())
        .await?;
    for name in ["ended", "deleted"] {
        scene.until(name, "no template", no_template).await?;
    }
    happens(&scene).await?;
    scene.template(template(TRIAL)).await?;
    was_heard(&scene).await
}

#[tokio::test]
async fn a_superseded_run_at_work_is_not_ended_by_the_rules_of_a_newer_template() -> Result<()> {
    let scene = Scene::begin("newer-rules").await?;
    let mut controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", is_at(1)).await?;
    let mut newer = template(TRIAL);
    newer["healthRule"] = json!({ "alwaysHealthy": {} });
    newer["template"]["spec"]["value"] = json!(2);
    scene.template(newer).await?;
    scene.until("app", "its second run", is_at(2)).await?;
    let first = scene.sees("app", 1).await?;
    let touch = json!({ "metadata": { "annotations": { "lab.test/touched": "" } } });
    let name = first.name_any();
    scene.patch_of(TRIAL, &name, touch).await?;
    scene.is_served().await?;
    let earlier = |r: &Runnable| status(r).history.first().cloned();
    let app = scene.now("app").await?;
    let entry = earlier(&app).context("the first run is in the history")?;
    assert_eq!((entry.sequence, entry.result), (1, None));
    controller.restart().await?;
    scene.is_served().await?;
    let entry = earlier(&scene.now("app").await?).context("it stays there")?;
    assert_eq!((entry.sequence, entry.result), (1, None));
    // Its own condition reports its end.
    scene.end(&first, false).await?;
    let ended = |r: &Runnable| earlier(r).is_some_and(|entry| entry.result.is_some());
    let app = scene.until("app", "the first run ended", ended).await?;
    let entry = earlier(&app).context("it stays there")?;
    assert_eq!(entry.result, Some(cartouche_crds::RunResult::Failed));
    assert_eq!(entry.rules_hash, None);
    assert_eq!(current(&app)?.sequence, 2);
    assert!(result(&app).is_some() && output(&app).is_none_or(|value| value == 2));
    Ok(())
}
