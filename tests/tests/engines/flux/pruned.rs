//! Objects that Flux prunes: a Runnable, a whole Kustomization, a template.

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Seen,
    kind::{JOB, Kind, RUNNABLE, TEMPLATE},
};
use serde_json::{Value, json};

use super::{
    record::KUSTOMIZATION,
    stage::{self, Stage, for_version},
};
use crate::scene::condition;

const ACCOUNT: Kind = Kind::new("", "v1", "ServiceAccount", "serviceaccounts");

/// Returns the kustomization that lists the files of a folder.
fn listed(folder: &str, files: &[&str]) -> (String, String) {
    let list = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": files,
    });
    (format!("{folder}/kustomization.yaml"), list.to_string())
}

/// Returns the spec of a Runnable whose run does not end.
fn endless(account: &str) -> Value {
    let mut spec = for_version("v00");
    spec["inputs"]["outcome"] = json!("hang");
    spec["serviceAccountName"] = json!(account);
    spec
}

/// Waits until there are this many Jobs of a Runnable.
async fn jobs(stage: &Stage, runnable: &str, count: usize) -> Result<()> {
    let label = format!("carto.run/runnable-name={runnable}");
    stage
        .eventually(&format!("{count} Jobs of {runnable}"), || async {
            let jobs = stage.list(JOB, &label).await?.len();
            Ok(if jobs == count {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{jobs}"))
            })
        })
        .await
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn what_is_pruned_goes_with_its_runs_and_nothing_else_does() -> Result<()> {
    let Some(stage) = Stage::set("pruned").await? else {
        return Ok(());
    };
    let (record, namespace) = (&stage.record, &stage.namespace);
    let name = format!("{namespace}-pruned");
    let template = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": name }, "spec": stage::template(),
    });
    // Kustomize refuses an empty list.
    let other = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "other" } });
    let mut left = for_version("v00");
    left["runTemplateRef"] = json!({ "name": name });
    let without_wait = json!({ "wait": false });
    let kustomizations = ["crew", "whole", "templates"].map(|it| (it, without_wait.clone()));
    let files = [
        listed("crew", &["goes.yaml", "left.yaml", "stays.yaml"]),
        stage.file("crew", "goes", endless("default")),
        stage.file("crew", "stays", endless("default")),
        stage.file("crew", "left", left),
        stage.account_file("whole", "maker"),
        stage.file("whole", "whole", endless("maker")),
        listed("templates", &["other.yaml", "template.yaml"]),
        ("templates/other.yaml".to_owned(), other.to_string()),
        ("templates/template.yaml".to_owned(), template.to_string()),
    ];
    stage.sync(&files, &kustomizations).await?;
    record.ended(namespace, "left", "v00").await?;
    for runnable in ["goes", "stays", "whole"] {
        jobs(&stage, runnable, 1).await?;
    }
    let before = stage.get(RUNNABLE, "stays").await?;

    let files = [
        listed("crew", &["left.yaml", "stays.yaml"]),
        listed("templates", &["other.yaml"]),
    ];
    stage.push(&files).await?;
    stage.gone(RUNNABLE, "goes").await?;
    jobs(&stage, "goes", 0).await?;
    stage.gone(TEMPLATE, &name).await?;
    let lacks = |it: &Value| condition(it, "RunTemplateReady")["reason"] == "RunTemplateNotFound";
    stage
        .observed(RUNNABLE, "left", "to lack its template", lacks)
        .await?;

    // With the account, while the run is at work.
    stage.delete(KUSTOMIZATION, "whole").await?;
    for (kind, name) in [
        (RUNNABLE, "whole"),
        (ACCOUNT, "maker"),
        (KUSTOMIZATION, "whole"),
    ] {
        stage.gone(kind, name).await?;
    }
    jobs(&stage, "whole", 0).await?;

    jobs(&stage, "stays", 1).await?;
    let after = stage.get(RUNNABLE, "stays").await?;
    assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
    let made = stage.audit.creates(namespace, &JOB.audited())?;
    ensure!(made == 4, "{made} runs");
    println!(
        "pruned: a Runnable and a Kustomization with their runs at work, a template; 0 further runs"
    );
    Ok(())
}
