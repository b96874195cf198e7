//! Commits that change a template or a `ConfigMap`, and no Runnable.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{
    stage::{self, Stage},
    versions,
};

/// Number of commits after the first one.
const EDITS: usize = 4;

/// Returns the file of a template whose runs are for this version and have this outcome.
fn template(folder: &str, name: &str, version: &str, outcome: &str) -> (String, String) {
    let object = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": name }, "spec": stage::template(),
    });
    let text = object.to_string();
    let text = text.replace("$(runnable.spec.inputs.version)$", version);
    let text = text.replace("$(runnable.spec.inputs.outcome)$", outcome);
    (format!("{folder}/template.yaml"), text)
}

/// Returns the spec of a Runnable of a template.
fn of(template: &str, account: &str) -> Value {
    json!({ "runTemplateRef": { "name": template }, "serviceAccountName": account })
}

/// Counts the Runnables that had not run for a version when their Kustomization was ready for it.
async fn too_early(
    stage: &Stage,
    (kustomization, revision): (&str, &str),
    runnables: &[&str],
    version: &str,
) -> Result<usize> {
    let (record, namespace) = (&stage.record, &stage.namespace);
    let ready = record.ready(namespace, kustomization, revision).await?;
    let mut early = 0;
    for runnable in runnables {
        let ended = record.ended(namespace, runnable, version).await?;
        early += usize::from(ready < ended);
    }
    Ok(early)
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn an_edit_of_a_template_is_waited_for_in_its_own_folder_and_in_that_of_its_runnables()
-> Result<()> {
    let Some(stage) = Stage::set("edited").await? else {
        return Ok(());
    };
    let versions = versions(1 + EDITS);
    let (apart, beside) = (
        format!("{}-apart", stage.namespace),
        format!("{}-beside", stage.namespace),
    );
    let depends = json!({ "dependsOn": [{ "name": "templates" }] });
    let kustomizations = [
        ("templates", json!({})),
        ("apart", depends),
        ("beside", json!({})),
    ];
    let (mut in_its_own, mut in_one) = (0, 0);
    for (index, version) in versions.iter().enumerate() {
        // With the account, its Role and its RoleBinding in one folder.
        let files = [
            template("templates", &apart, version, "succeed"),
            stage.file("apart", "apart", of(&apart, "default")),
            template("beside", &beside, version, "succeed"),
            stage.account_file("beside", "maker"),
            stage.file("beside", "one", of(&beside, "maker")),
            stage.file("beside", "two", of(&beside, "maker")),
        ];
        let revision = stage.sync(&files, &kustomizations).await?;
        let seen = too_early(&stage, ("apart", &revision), &["apart"], version);
        in_its_own += seen.await?;
        let seen = too_early(&stage, ("beside", &revision), &["one", "two"], version);
        in_one += seen.await?;
        ensure!(index > 0 || in_its_own + in_one == 0, "the first sync");
    }
    stage.has_run_once_each(&["apart", "one", "two"], &versions)?;
    println!(
        "a template: ready too early for {in_its_own} of {EDITS} runs in its own folder, for {in_one} of {} in one",
        2 * EDITS
    );
    ensure!(in_its_own + in_one <= 1, "{in_its_own} and {in_one}");
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_failure_that_the_template_mends_is_ready_after_its_run() -> Result<()> {
    let Some(stage) = Stage::set("mended").await? else {
        return Ok(());
    };
    let versions = versions(4);
    let name = format!("{}-mended", stage.namespace);
    let (record, namespace) = (&stage.record, &stage.namespace);
    // Flux looks once it has applied the template, and may be faster than the controller.
    let kustomization = [("mended", json!({ "retryInterval": "5s" }))];
    let mut told = 0;
    for (index, version) in versions.iter().enumerate() {
        let fails = index % 2 == 0;
        let outcome = if fails { "fail" } else { "succeed" };
        let files = [
            template("mended", &name, version, outcome),
            stage.file("mended", "it", of(&name, "default")),
        ];
        let revision = stage.sync(&files, &kustomization).await?;
        let failed = "HealthCheckFailed";
        if fails {
            record
                .failed(namespace, "mended", &revision, failed)
                .await?;
        } else {
            let ready = record.ready(namespace, "mended", &revision).await?;
            let ended = record.ended(namespace, "it", version).await?;
            ensure!(ended < ready, "ready {ready}, run {ended}");
            told += usize::from(record.has_failed(namespace, "mended", &revision, failed));
        }
    }
    stage.has_run_once_each(&["it"], &versions)?;
    println!("mended by the template: 2 of 2, the former failure told {told} times");
    ensure!(told <= 1, "{told}");
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_change_of_a_config_map_alone_runs_once_and_is_not_always_waited_for() -> Result<()> {
    let Some(stage) = Stage::set("mapped").await? else {
        return Ok(());
    };
    let names = ["one", "two", "three"];
    let versions = versions(1 + EDITS);
    let kustomizations = names.map(|name| (name, json!({})));
    let mut early = 0;
    for (index, version) in versions.iter().enumerate() {
        let mut files = Vec::new();
        for name in names {
            let key = json!({ "name": name, "key": "version" });
            let from = json!([{ "name": "version", "configMapKeyRef": key }]);
            let spec = json!({ "inputs": { "outcome": "succeed" }, "inputsFrom": from });
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
                "data": { "version": version },
            });
            files.push(stage.file(name, name, spec));
            files.push((format!("{name}/map.yaml"), map.to_string()));
        }
        let revision = stage.sync(&files, &kustomizations).await?;
        for name in names {
            early += too_early(&stage, (name, &revision), &[name], version).await?;
        }
        ensure!(index > 0 || early == 0, "ready before the first sync");
    }
    stage.has_run_once_each(&names, &versions)?;
    let changes = names.len() * EDITS;
    println!("a ConfigMap alone: ready too early in {early} of {changes}");
    Ok(())
}
