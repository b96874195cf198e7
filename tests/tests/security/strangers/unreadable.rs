//! Runnables and templates that are too deep to be read.

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Seen,
    controller::{Controller, Settings},
    lab::{self, TRIAL},
};
use serde_json::{Value, json};

use super::{
    DEEP, RUNNABLES, cluster, end_run, get, has_run, is_ready, nested, runnable, send, until,
    victim, with_a_run,
};
use crate::ground::{self, DEMO, SOON, apply, condition};

#[tokio::test]
async fn a_runnable_that_cannot_be_read_is_told_and_heals_where_it_was() -> Result<()> {
    let cluster = cluster().await?;
    let victim = victim(&cluster).await?;
    let mut controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let deep = format!(r#"{{"value":1,"play":"hang","deep":{}}}"#, nested(DEEP));
    let inputs = |inputs: &str| format!(r#"{{"spec":{{"inputs":{inputs}}}}}"#);
    let path = |name: &str| format!("{RUNNABLES}/{victim}/runnables/{name}");
    let app = (victim.as_str(), "app");
    apply(&cluster, &[runnable(&victim, "app", &lab::hangs(1))]).await?;
    until(&cluster, app, "a run", has_run).await?;
    end_run(&cluster, &victim, &TRIAL.resource()).await?;
    let before = until(&cluster, app, "its end", is_ready).await?;

    let is_told = |it: &Value| {
        let (ready, said) = (condition(it, "Ready"), condition(it, "RunTemplateReady"));
        ready["reason"] == "InvalidRunnable"
            && condition(it, "Stalled")["status"] == "True"
            && said["message"]
                .as_str()
                .is_some_and(|it| it.contains("deeper than 127 levels"))
            && it["status"]["observedGeneration"] == it["metadata"]["generation"]
    };
    send(&cluster, "PATCH", &path("app"), inputs(&deep)).await?;
    let told = until(&cluster, app, "a word about it", is_told).await?;
    for field in ["currentRun", "outputs", "outputsFrom", "history"] {
        ensure!(told["status"][field] == before["status"][field], "{told}");
    }
    // One that nobody could ever read, and after a restart.
    let new = runnable(&victim, "new", &json!("DEEP")).to_string();
    let new = new.replace(r#""DEEP""#, &deep);
    send(
        &cluster,
        "POST",
        &format!("{RUNNABLES}/{victim}/runnables"),
        new,
    )
    .await?;
    until(
        &cluster,
        (&victim, "new"),
        "a word about a new one",
        is_told,
    )
    .await?;
    controller.restart().await?;
    let version = |it: &Value| it["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let still = get(&cluster, &victim, "runnable", "app").await?;
    ensure!(
        version(&still) == version(&told),
        "it is told once: {still}"
    );

    let mended = r#"{"value":1,"play":"hang","deep":null}"#;
    send(&cluster, "PATCH", &path("app"), inputs(mended)).await?;
    let healed = until(&cluster, app, "it to be well", is_ready).await?;
    ensure!(
        healed["status"]["currentRun"] == before["status"]["currentRun"],
        "{healed}"
    );
    ensure!(condition(&healed, "Stalled").is_null(), "{healed}");
    send(&cluster, "PATCH", &path("app"), inputs(r#"{"value":2}"#)).await?;
    until(&cluster, app, "the next run", |it| {
        it["status"]["currentRun"]["sequence"] == 2 && has_run(it)
    })
    .await?;
    send(&cluster, "PATCH", &path("new"), inputs(mended)).await?;
    until(
        &cluster,
        (&victim, "new"),
        "the first run of the new one",
        has_run,
    )
    .await?;
    let runs = ground::all(&cluster, &victim, "trials").await?;
    ensure!(runs.len() == 3, "{runs:?}");
    Ok(())
}

#[tokio::test]
async fn a_template_that_cannot_be_read_is_told_and_heals() -> Result<()> {
    let cluster = cluster().await?;
    let victim = victim(&cluster).await?;
    let (_controller, made) = with_a_run(&cluster, &victim).await?;
    let app = (victim.as_str(), "app");
    let patch = |deep: &str| format!(r#"{{"spec":{{"template":{{"spec":{{"deep":{deep}}}}}}}}}"#);
    let uri = "/apis/carto.run/v1alpha1/clusterruntemplates/lab";
    send(&cluster, "PATCH", uri, patch(&nested(DEEP))).await?;
    cluster
        .eventually("a word about the template", SOON, || async {
            let template = get(&cluster, "default", "clusterruntemplate", "lab").await?;
            let accepted = condition(&template, "Accepted");
            let said = accepted["message"].to_string();
            Ok(
                if accepted["status"] == "False" && said.contains("deeper than 127") {
                    Seen::Done(())
                } else {
                    Seen::NotYet(accepted.to_string())
                },
            )
        })
        .await?;
    until(&cluster, app, "a word about its template", |it| {
        condition(it, "RunTemplateReady")["reason"] == "RunTemplateNotFound"
    })
    .await?;
    send(&cluster, "PATCH", uri, patch("null")).await?;
    end_run(&cluster, &victim, &TRIAL.resource()).await?;
    let ready = until(&cluster, app, "it to be well", is_ready).await?;
    ensure!(
        ready["status"]["currentRun"]["uid"] == made["status"]["currentRun"]["uid"],
        "{ready}"
    );
    Ok(())
}
