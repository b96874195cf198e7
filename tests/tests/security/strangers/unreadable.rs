//! Runnables and templates that are too deep to be read.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::{cluster::Seen, fixture::Fixture, lab::TRIAL};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    DEEP, cluster, end_runs, get, has_run, inputs, nested, runnables, send, until, victim,
    with_a_run,
};
use crate::ground::{condition, is_ready, text};

/// Returns inputs too deep to read, as text.
fn deep() -> String {
    format!(r#"{{"value":1,"play":"hang","deep":{}}}"#, nested(DEEP))
}

/// Returns inputs that repair them.
fn mended() -> Value {
    json!({ "value": 1, "play": "hang", "deep": null })
}

/// Returns true if a Runnable reports that it cannot be read.
fn is_told(runnable: &Value) -> bool {
    let said = text(&condition(runnable, "RunTemplateReady")["message"]);
    condition(runnable, "Ready")["reason"] == "InvalidRunnable"
        && condition(runnable, "Stalled")["status"] == "True"
        && said.contains("deeper than 127 levels")
        && runnable["status"]["observedGeneration"] == runnable["metadata"]["generation"]
}

/// Gives a Runnable unreadable inputs, and waits for the report.
async fn spoil(victim: &Fixture, name: &str) -> Result<Value> {
    let path = format!("{}/{name}", runnables(victim));
    let deep = format!(r#"{{"spec":{{"inputs":{}}}}}"#, deep());
    send(&victim.cluster, "PATCH", &path, deep).await?;
    until(victim, name, "a word about it", is_told).await
}

/// Makes a Runnable that was never readable, and waits for the report.
async fn make_spoiled(victim: &Fixture, name: &str) -> Result<()> {
    let new = victim.manifest(name, inputs("DEEP")).to_string();
    let new = new.replace(r#""DEEP""#, &deep());
    send(&victim.cluster, "POST", &runnables(victim), new).await?;
    until(victim, name, "a word about a new one", is_told)
        .await
        .map(drop)
}

#[tokio::test]
async fn a_runnable_that_cannot_be_read_is_told_and_heals_where_it_was() -> Result<()> {
    let victim = victim(&cluster().await?).await?;
    let (mut controller, _) = with_a_run(&victim).await?;
    end_runs(&victim).await?;
    let before = until(&victim, "app", "its end", is_ready).await?;

    let told = spoil(&victim, "app").await?;
    for field in [
        "currentRun",
        "outputs",
        "outputsFrom",
        "unfinishedRuns",
        "history",
    ] {
        ensure!(told["status"][field] == before["status"][field], "{told}");
    }
    make_spoiled(&victim, "new").await?;
    // And after a restart.
    controller.restart().await?;
    let version = |it: &Value| it["metadata"]["resourceVersion"].clone();
    sleep(Duration::from_secs(3)).await;
    let still = get(&victim, "runnable", "app").await?;
    ensure!(
        version(&still) == version(&told),
        "it is told once: {still}"
    );

    victim.change("app", mended()).await?;
    let healed = until(&victim, "app", "it to be well", is_ready).await?;
    ensure!(
        healed["status"]["currentRun"] == before["status"]["currentRun"],
        "{healed}"
    );
    ensure!(condition(&healed, "Stalled").is_null(), "{healed}");
    victim.change("app", json!({ "value": 2 })).await?;
    until(&victim, "app", "the next run", |it| {
        it["status"]["currentRun"]["sequence"] == 2 && has_run(it)
    })
    .await?;
    victim.change("new", mended()).await?;
    until(&victim, "new", "the first run of the new one", has_run).await?;
    let runs = victim.list(TRIAL, "").await?;
    ensure!(runs.len() == 3, "{runs:?}");
    Ok(())
}

#[tokio::test]
async fn a_template_that_cannot_be_read_is_told_and_heals() -> Result<()> {
    let victim = victim(&cluster().await?).await?;
    let (_controller, made) = with_a_run(&victim).await?;
    let template = &victim.namespace;
    let uri = format!("/apis/carto.run/v1alpha1/clusterruntemplates/{template}");
    let patch = |deep: &str| format!(r#"{{"spec":{{"template":{{"spec":{{"deep":{deep}}}}}}}}}"#);
    send(&victim.cluster, "PATCH", &uri, patch(&nested(DEEP))).await?;
    let look = || async {
        let template = get(&victim, "clusterruntemplate", template).await?;
        let accepted = condition(&template, "Accepted");
        let said = text(&accepted["message"]).contains("deeper than 127");
        Ok(if accepted["status"] == "False" && said {
            Seen::Done(())
        } else {
            Seen::NotYet(accepted.to_string())
        })
    };
    victim.eventually("a word about the template", look).await?;
    until(&victim, "app", "a word about its template", |it| {
        condition(it, "RunTemplateReady")["reason"] == "RunTemplateNotFound"
    })
    .await?;
    send(&victim.cluster, "PATCH", &uri, patch("null")).await?;
    end_runs(&victim).await?;
    let ready = until(&victim, "app", "it to be well", is_ready).await?;
    ensure!(
        ready["status"]["currentRun"]["uid"] == made["status"]["currentRun"]["uid"],
        "{ready}"
    );
    Ok(())
}
