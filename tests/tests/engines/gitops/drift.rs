//! Runs are not in Git: tools that synchronise a cluster with Git must neither report them as drift nor
//! delete them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use serde_json::json;

use super::tools::Tools;

#[tokio::test]
async fn kubectl_takes_runs_neither_for_drift_nor_prunes_them() -> Result<()> {
    let Some(tools) = Tools::beside_others().await? else {
        return Ok(());
    };
    tools.apply("succeed").await?;
    tools.wait("90s").await?;
    let manifests = tools.manifests("succeed");
    let kubectl = async |arguments: &[&str]| {
        let arguments = [&["-n", &tools.namespace], arguments].concat();
        let cluster = &tools.cluster;
        cluster.kubectl_with_input(&arguments, &manifests).await
    };

    // No difference between Git and the cluster: otherwise kubectl's exit code would be 1.
    assert_eq!(kubectl(&["diff", "-f", "-"]).await?, "");

    // The template copied the labels and annotations of its Runnable to the Job; kubectl deletes objects that
    // have the label, were applied before, and are not in the manifests.
    let job = one_job(&tools).await?;
    let labels = job.metadata.labels.unwrap_or_default();
    let label = labels.get("example.com/app").map(String::as_str);
    assert_eq!(label, Some("shop"));
    let kinds = "--prune-allowlist=batch/v1/Job";
    let prune = [
        "apply",
        "--prune",
        "-l",
        "example.com/app=shop",
        kinds,
        "-f",
        "-",
    ];
    let said = kubectl(&prune).await?;
    assert!(!said.contains("pruned"), "{said}");
    assert_eq!(one_job(&tools).await?.metadata.uid, job.metadata.uid);

    // Applied by another tool in another way: that is no change, so no run.
    kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(one_job(&tools).await?.metadata.uid, job.metadata.uid);
    Ok(())
}

/// The template copies all labels and annotations of its Runnable, so that its runs have the mark of the
/// application too.
#[tokio::test]
async fn argo_cd_takes_runs_neither_for_drift_nor_prunes_them() -> Result<()> {
    for tracking in ["label", "annotation"] {
        let Some(tools) = Tools::beside_others().await? else {
            return Ok(());
        };
        let names = [
            format!("ClusterRunTemplate/{}", tools.namespace),
            "Runnable/it".to_owned(),
        ];
        let objects = tools.objects("succeed")?;
        let sync = async || tools.argo_cd_sync(tracking, &objects).await;
        let first = sync().await?;
        assert_eq!(first.out_of_sync, names, "{first:?}");
        tools.wait("90s").await?;
        let job = one_job(&tools).await?;

        // Self-healing compares again and again: nothing differs, and nothing is pruned.
        let second = sync().await?;
        let run = format!("Job/{}", job.metadata.name.as_deref().unwrap_or_default());
        assert!(
            second.carrying.contains(&run),
            "the run has the mark: {second:?}"
        );
        assert!(!second.managed.contains(&run), "{second:?}");
        assert_eq!(second.out_of_sync, Vec::<String>::new(), "{second:?}");
        let done: Vec<&String> = second.results.values().collect();
        assert_eq!(done, ["Synced", "Synced"], "{second:?}");
        unharmed(&tools, &job).await?;

        // It does heal: a change by hand is reverted, which makes a run.
        tools
            .change(json!({ "inputs": { "outcome": "succeed-2" } }))
            .await?;
        tools.wait("90s").await?;
        let healed = sync().await?;
        assert_eq!(healed.out_of_sync, ["Runnable/it"], "{healed:?}");
        tools.runs(3).await?;

        // And it does prune: the runs of a Runnable that Git no longer has go with it.
        let pruned = tools.argo_cd_sync(tracking, &objects[..1]).await?;
        assert_eq!(pruned.results["Runnable/it"], "Pruned", "{pruned:?}");
        assert!(
            !pruned.results.keys().any(|name| name.starts_with("Job/")),
            "{pruned:?}"
        );
        tools.runs(0).await?;
    }
    Ok(())
}

#[tokio::test]
async fn flux_takes_runs_neither_for_drift_nor_prunes_them() -> Result<()> {
    let Some(tools) = Tools::beside_others().await? else {
        return Ok(());
    };
    let runnable = "Runnable/it";
    let objects = tools.objects("succeed")?;
    let first = tools.flux_sync(&[], &objects).await?;
    assert_eq!(first.applied[runnable], "created", "{first:?}");
    tools.wait("90s").await?;
    let job = one_job(&tools).await?;
    let labels = job.metadata.labels.clone().unwrap_or_default();
    let mark = labels.get("kustomize.toolkit.fluxcd.io/name");
    assert_eq!(
        mark.map(String::as_str),
        Some(tools.application()),
        "the run has the mark"
    );

    let second = tools.flux_sync(&first.inventory, &objects).await?;
    ensure!(
        second.applied.values().all(|action| action == "unchanged"),
        "{second:?}"
    );
    assert!(second.pruned.is_empty(), "{second:?}");
    assert_eq!(second.inventory, first.inventory);
    unharmed(&tools, &job).await?;

    tools
        .change(json!({ "inputs": { "outcome": "succeed-2" } }))
        .await?;
    tools.wait("90s").await?;
    let healed = tools.flux_sync(&second.inventory, &objects).await?;
    assert_eq!(healed.applied[runnable], "configured", "{healed:?}");
    tools.runs(3).await?;

    let pruned = tools.flux_sync(&healed.inventory, &objects[..1]).await?;
    assert_eq!(
        pruned.pruned.iter().collect::<Vec<_>>(),
        [(&runnable.to_owned(), &"deleted".to_owned())]
    );
    tools.runs(0).await
}

/// A template that names the labels it copies gives its runs no mark of any tool.
#[tokio::test]
async fn runs_carry_the_mark_of_a_tool_only_if_their_template_copies_it() -> Result<()> {
    for tracking in ["label", "annotation"] {
        let Some(tools) = Tools::beside_others().await? else {
            return Ok(());
        };
        let mut objects = tools.objects("succeed")?;
        objects[0]["spec"]["template"]["metadata"] = json!({
            "generateName": "$(runnable.metadata.name)$-",
            "labels": { "example.com/app": r"$(runnable.metadata.labels['example\.com/app'])$" },
        });
        tools.argo_cd_sync(tracking, &objects).await?;
        tools.wait("90s").await?;
        let job = one_job(&tools).await?;
        let labels = job.metadata.labels.unwrap_or_default();
        assert_eq!(
            labels.get("example.com/app").map(String::as_str),
            Some("shop")
        );
        let marked = tools.argo_cd_sync(tracking, &objects).await?.carrying;
        assert_eq!(marked, ["Runnable/it"]);
    }
    Ok(())
}

/// Checks that the Job is the same, that it is the only one, and that nothing was written to it.
async fn unharmed(tools: &Tools, job: &Job) -> Result<()> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let there = one_job(tools).await?;
    assert_eq!(
        there.metadata.resource_version,
        job.metadata.resource_version
    );
    Ok(())
}

async fn one_job(tools: &Tools) -> Result<Job> {
    let jobs = tools.cluster.api::<Job>(&tools.namespace);
    let mut jobs = jobs.list(&ListParams::default()).await?.items;
    assert_eq!(jobs.len(), 1);
    jobs.pop().context("no Job")
}
