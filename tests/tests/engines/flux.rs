//! docs/how-to/flux.md with the real Flux: source-controller 1.9.6 and kustomize-controller 1.9.6, built from
//! their Go modules, by `just flux`. They fetch from a Git repository over HTTP, and apply as their own
//! accounts. The other controllers of Flux and its command are missing. Two settings differ from the release:
//! `--requeue-dependency` is 2 s, not 30, and source-controller has fluxcd/pkg/artifact 0.18.1, not 0.18.3.
//!
//! `resourceVersion` shows what came first, and the API server's audit log has the runs.

mod force;
mod held;
mod page;
mod people;
mod pruned;
mod record;
mod stage;
mod templates;

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::kind::{CONFIG_MAP, JOB};
use serde_json::{Value, json};

use record::DEPLOYMENT;
use stage::{Stage, for_version, reading};

/// Number of changes of a chain in one Kustomization.
const CHANGES: usize = 8;
/// Time without a controller after a change. Flux polls every 5 seconds while it waits.
const AWAY: Duration = Duration::from_secs(6);

/// Returns names of this many versions, none of which is in another one.
fn versions(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("v{number:02}")).collect()
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn the_pages_own_manifests_migrate_before_the_app_is_rolled_out_at_each_commit() -> Result<()>
{
    let Some(stage) = Stage::in_namespace("flux-system").await? else {
        return Ok(());
    };
    let versions = ["1.4.2", "1.4.3", "1.5.0", "1.5.1", "2.0.0"];
    stage
        .cluster
        .kubectl(&["create", "namespace", "orders"])
        .await?;
    for (index, version) in versions.iter().enumerate() {
        let mut files = page::files()?;
        for (_, text) in &mut files {
            *text = text.replace(versions[0], version);
        }
        files.extend(page::rest(version));
        let revision = stage.push(&files).await?;
        if index == 0 {
            let objects = page::objects(&stage.url())?;
            stage.cluster.apply_yaml("flux-system", &objects).await?;
        }
        let record = &stage.record;
        let migrated = record.ready("flux-system", "orders-migrate", &revision);
        let migrated = migrated.await?;
        let ended = record.ended("orders", "orders", version).await?;
        let is_rolled_out = |spec: &Value| spec.to_string().contains(version);
        let rolled_out = record.first("the app to be rolled out", |it| {
            it.is(DEPLOYMENT, "orders", "orders") && is_rolled_out(&it.object["spec"])
        });
        let rolled_out = rolled_out.await?;
        ensure!(ended < migrated, "{version}: ready {migrated}, run {ended}");
        ensure!(migrated < rolled_out, "{version}: app {rolled_out}");
        record.ready("flux-system", "orders", &revision).await?;
        ensure!(record.runs("orders", "orders", version) == 1, "{version}");
    }
    let made = stage.audit.creates("orders", &JOB.audited())?;
    ensure!(made == versions.len(), "{made} runs");
    println!("the page: {} of {made} commits in order", versions.len());
    Ok(())
}

/// Runs a chain of two Runnables in one Kustomization, of which each commit changes the first one.
async fn chain_in_one(first: &str, second: &str) -> Result<()> {
    let Some(stage) = Stage::set("chain").await? else {
        return Ok(());
    };
    let versions = versions(1 + CHANGES);
    let mut early = 0;
    for (index, version) in versions.iter().enumerate() {
        let files = [
            stage.file("chain", first, for_version(version)),
            stage.file("chain", second, reading(first)),
        ];
        let revision = stage.sync(&files, &[("chain", json!({}))]).await?;
        let (record, namespace) = (&stage.record, &stage.namespace);
        let ready = record.ready(namespace, "chain", &revision).await?;
        let begun = record.ended(namespace, first, version).await?;
        let ended = record.ended(namespace, second, version).await?;
        ensure!(begun < ready, "ready before {first} had run for {version}");
        // At the first sync both are new, and none has a success.
        ensure!(index > 0 || ended < ready, "ready before the first sync");
        early += usize::from(ready < ended);
    }
    stage.reconciled("chain", "once more").await?;
    stage.has_run_once_each(&[first, second], &versions)?;
    println!("{first}, {second} in one Kustomization: ready too early in {early} of {CHANGES}");
    // Flux may have read the second link just before the controller saw the change of the first.
    ensure!(early <= 1, "{early} of {CHANGES} too early");
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_chain_in_one_kustomization_runs_once_each_and_is_mostly_waited_for() -> Result<()> {
    chain_in_one("build", "release").await
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn so_does_one_whose_second_link_has_the_first_name() -> Result<()> {
    chain_in_one("first", "a-second").await
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_chain_in_two_kustomizations_is_waited_for_each_time() -> Result<()> {
    let Some(stage) = Stage::set("links").await? else {
        return Ok(());
    };
    let versions = versions(4);
    let depends = json!({ "dependsOn": [{ "name": "build" }] });
    let kustomizations = [("build", json!({})), ("release", depends)];
    for version in &versions {
        let files = [
            stage.file("build", "build", for_version(version)),
            stage.file("release", "release", reading("build")),
        ];
        let revision = stage.sync(&files, &kustomizations).await?;
        let (record, namespace) = (&stage.record, &stage.namespace);
        for link in ["build", "release"] {
            let ready = record.ready(namespace, link, &revision).await?;
            let ended = record.ended(namespace, link, version).await?;
            ensure!(ended < ready, "{link}: ready before {version} had run");
        }
    }
    stage.has_run_once_each(&["build", "release"], &versions)?;
    println!("two Kustomizations: {} of {0} in order", versions.len());
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_chain_in_two_kustomizations_is_waited_for_even_while_no_controller_works() -> Result<()>
{
    let Some((stage, controller)) = Stage::alone("away").await? else {
        return Ok(());
    };
    let versions = versions(5);
    let depends = json!({ "dependsOn": [{ "name": "make" }] });
    let kustomizations = [("chain", json!({})), ("make", json!({})), ("ship", depends)];
    let mut early = 0;
    for (index, version) in versions.iter().enumerate() {
        let files = [
            stage.file("chain", "build", for_version(version)),
            stage.file("chain", "release", reading("build")),
            stage.file("make", "make", for_version(version)),
            stage.file("ship", "ship", reading("make")),
        ];
        if index > 0 {
            controller.pause()?;
        }
        let revision = stage.sync(&files, &kustomizations).await?;
        if index > 0 {
            stage.applied("build", version).await?;
            stage.applied("make", version).await?;
            tokio::time::sleep(AWAY).await;
            controller.resume()?;
        }
        let (record, namespace) = (&stage.record, &stage.namespace);
        for link in ["make", "ship"] {
            let ready = record.ready(namespace, link, &revision).await?;
            let ended = record.ended(namespace, link, version).await?;
            ensure!(ended < ready, "{link}: ready before {version} had run");
        }
        let ready = record.ready(namespace, "chain", &revision).await?;
        let ended = record.ended(namespace, "release", version).await?;
        early += usize::from(ready < ended);
    }
    stage.has_run_once_each(&["build", "release", "make", "ship"], &versions)?;
    let changes = versions.len() - 1;
    println!("no controller for {AWAY:?}: too early in {early} of {changes}, in two in 0");
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn an_output_is_substituted_into_what_another_kustomization_applies() -> Result<()> {
    let Some(stage) = Stage::set("carry").await? else {
        return Ok(());
    };
    let versions = versions(4);
    let from = json!({ "kind": "ConfigMap", "name": "build-outputs" });
    let more = json!({
        "dependsOn": [{ "name": "build" }], "postBuild": { "substituteFrom": [from] },
    });
    let kustomizations = [("build", json!({})), ("app", more)];
    for version in &versions {
        let mut build = for_version(version);
        build["writeOutputsTo"] = json!([{ "kind": "ConfigMap", "name": "build-outputs" }]);
        let app = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "app" },
            "data": { "image": "registry.example.com/shop:${version}" },
        });
        let files = [
            stage.file("build", "build", build),
            ("app/app.yaml".to_owned(), app.to_string()),
        ];
        let revision = stage.sync(&files, &kustomizations).await?;
        let (record, namespace) = (&stage.record, &stage.namespace);
        let ready = record.ready(namespace, "app", &revision).await?;
        let app = record.at(ready, CONFIG_MAP, namespace, "app")?;
        let wanted = format!("registry.example.com/shop:{version}");
        ensure!(app["data"]["image"] == wanted, "{version}: {app:#}");
    }
    stage.has_run_once_each(&["build"], &versions)?;
    println!("an output carried: {} of {0} right", versions.len());
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn ten_reconciliations_without_a_change_write_nothing_and_run_nothing() -> Result<()> {
    let Some(stage) = Stage::set("still").await? else {
        return Ok(());
    };
    let files = [stage.file("still", "it", for_version("v00"))];
    let revision = stage.sync(&files, &[("still", json!({}))]).await?;
    let ready = stage.record.ready(&stage.namespace, "still", &revision);
    ready.await?;
    let audit = stage.cluster.audit()?;
    for number in 0..10 {
        stage.reconciled("still", &number.to_string()).await?;
    }
    let mut writes = audit.in_namespace(&stage.namespace)?;
    let dry = writes
        .iter()
        .filter(|it| it.request_uri.contains("dryRun="));
    let dry = dry.count();
    // Flux has looked.
    ensure!(dry >= 10, "{dry} dry runs");
    writes.retain(|it| {
        let is_read = ["get", "list", "watch"].contains(&it.verb.as_str());
        !is_read && it.took_effect() && it.resource().contains("carto.run")
    });
    ensure!(writes.is_empty(), "{writes:?}");
    stage.has_run_once_each(&["it"], &["v00".to_owned()])?;
    println!("10 reconciliations: 0 writes, 0 runs, {dry} dry runs of Flux");
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_failed_run_fails_the_kustomization_and_a_fix_mends_it_with_one_run() -> Result<()> {
    let Some(stage) = Stage::set("fails").await? else {
        return Ok(());
    };
    let good = [stage.file("fails", "it", for_version("v00"))];
    let revision = stage.sync(&good, &[("fails", json!({}))]).await?;
    let (record, namespace) = (&stage.record, &stage.namespace);
    record.ready(namespace, "fails", &revision).await?;

    let mut bad = for_version("v01");
    bad["inputs"]["outcome"] = json!("fail");
    let revision = stage.push(&[stage.file("fails", "it", bad)]).await?;
    record
        .failed(namespace, "fails", &revision, "HealthCheckFailed")
        .await?;
    let says = record.says(namespace, "fails");
    ensure!(
        says.contains(&format!("Runnable/{namespace}/it status: 'Failed'")),
        "{says}"
    );
    for number in 0..3 {
        stage.reconciled("fails", &number.to_string()).await?;
    }
    let revision = stage
        .push(&[stage.file("fails", "it", for_version("v02"))])
        .await?;
    let ready = record.ready(namespace, "fails", &revision).await?;
    let ended = record.ended(namespace, "it", "v02").await?;
    ensure!(ended < ready, "ready {ready}, run {ended}");
    let revision = stage.push(&good).await?;
    record.ready(namespace, "fails", &revision).await?;
    ensure!(record.runs(namespace, "it", "v01") == 1, "the failed one");
    ensure!(record.runs(namespace, "it", "v00") == 2, "reverted");
    let made = stage.audit.creates(namespace, &JOB.audited())?;
    ensure!(made == 4, "{made} runs");
    println!("a failed run: 1, a fix: 1, a revert: 1, further checks: 0");
    Ok(())
}
