//! A mistake in the scope of an approval.

use anyhow::{Context, Result};
use cartouche_controller::mutants::Mutant;
use cartouche_crds::{APPROVED_ANNOTATION, Runnable};
use cartouche_tests::{
    faults::{
        plan::quiet,
        scenario::made,
        stage::{APP, Stage},
    },
    fixture::condition,
    lab::{TRIAL, fails, succeeds, template},
};
use serde_json::json;

use super::is_noticed;

fn waits(runnable: &Runnable) -> bool {
    condition(runnable, "Ready").is_some_and(|ready| ready.reason == "ApprovalRequired")
}

async fn approve(stage: &Stage, text: &str) -> Result<()> {
    let annotation = json!({ APPROVED_ANNOTATION: text });
    let patch = json!({ "metadata": { "annotations": annotation } });
    stage.patch(APP, patch).await
}

#[tokio::test]
async fn a_run_of_another_document_than_the_one_that_was_approved_is_noticed() -> Result<()> {
    is_noticed(Mutant::ApprovedByNumber, |stage| async move {
        let spec = json!({ "inputs": succeeds(1), "approval": "Manual" });
        stage.runnable(APP, spec).await?;
        let first = stage.until(APP, "to wait", waits).await?;
        let pending = first.status.and_then(|status| status.pending);
        let approval = pending.and_then(|pending| pending.approval);
        let approval = approval.context("it says what approves it")?;
        stage.change(APP, succeeds(2)).await?;
        let is_another = |r: &Runnable| {
            let pending = r.status.as_ref().and_then(|status| status.pending.as_ref());
            waits(r) && pending.is_some_and(|it| it.approval.as_ref() != Some(&approval))
        };
        stage.until(APP, "to wait with another", is_another).await?;
        approve(&stage, &approval).await?;
        let says_so = |r: &Runnable| {
            condition(r, "Ready").is_some_and(|it| it.message.contains("another document"))
        };
        let over = |r: &Runnable| says_so(r) || made(r, 1);
        stage.until(APP, "a word, or a run", over).await?;
        quiet(&stage).await?;
        let made = stage.end(APP).await?.made.len();
        let noticed = (made > 0).then(|| "it ran unapproved".to_owned());
        Ok(noticed.into_iter().collect())
    })
    .await
}

/// Makes a profile that puts an annotation of the Runnable into its runs.
async fn reading(stage: &Stage) -> Result<()> {
    let arg = "$(runnable.metadata.annotations.arg)$";
    let patch = json!({
        "apiVersion": TRIAL.api_version(), "kind": TRIAL.name,
        "patch": { "metadata": { "annotations": { "arg": arg } } },
    });
    let profile = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile",
        "metadata": { "name": stage.namespace },
        "spec": { "rules": [{ "templates": [stage.namespace] }], "patches": [patch] },
    });
    stage.put(profile).await.map(drop)
}

#[tokio::test]
async fn an_attempt_at_something_else_than_was_approved_is_noticed() -> Result<()> {
    is_noticed(Mutant::ApprovedUncompared, |stage| async move {
        let mut template = template(TRIAL);
        template["approval"] = json!("Manual");
        template["profile"] = json!("Required");
        template["retry"] = json!({ "limit": 1, "backoff": { "initial": "8s", "max": "8s" } });
        stage.template(template).await?;
        reading(&stage).await?;
        stage.runnable(APP, json!({ "inputs": fails(1) })).await?;
        let says = |arg: &str| json!({ "metadata": { "annotations": { "arg": arg } } });
        stage.patch(APP, says("good")).await?;
        let first = stage.until(APP, "to wait", waits).await?;
        let pending = first.status.and_then(|status| status.pending);
        let approval = pending.and_then(|pending| pending.approval);
        approve(&stage, &approval.context("it says what approves it")?).await?;
        stage.until(APP, "a run", |r| made(r, 1)).await?;
        stage.patch(APP, says("EVIL")).await?;
        let over = |r: &Runnable| waits(r) || made(r, 2);
        stage.until(APP, "a word, or an attempt", over).await?;
        quiet(&stage).await?;
        let made = stage.end(APP).await?.made.len();
        let noticed = (made > 1).then(|| "it was tried again unapproved".to_owned());
        Ok(noticed.into_iter().collect())
    })
    .await
}
