//! `cartouche migrate check`: the effects of a move on Runnables and templates of Cartographer.

mod adoption;
mod remarks;
mod report;

use std::path::PathBuf;

use anyhow::bail;
use cartouche_crds::{ClusterRunTemplate, Runnable};
use clap::{Args, Subcommand};
use kube::ResourceExt as _;

use crate::{
    cluster::{AccessDenied, Cluster, ClusterArgs, first_line},
    files::FileArgs,
    outcome::Outcome,
};
use remarks::{Level, Remark};
use report::{ObjectRemarks, ReportFormat, report};

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    Check(CheckArgs),
}

/// Report what a move from Cartographer changes
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche migrate check gitops/            manifests: what differs, what needs a change
  cartouche migrate check --all-namespaces   a cluster: also which runs are adopted, and what runs again

Changes nothing. Exit code 1 if something needs a change. What could not be checked is reported as unknown, and does
not count as a change.")]
pub(crate) struct CheckArgs {
    /// Files or folders; without any, the cluster is read
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Check Runnables of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: ReportFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Checks manifests, without knowledge of runs.
pub(crate) fn check_files(args: &CheckArgs) -> anyhow::Result<Outcome> {
    report::of_files(&args.paths, args.output)
}

/// Checks a cluster, also for what happens to existing runs.
pub(crate) async fn check_cluster(args: &CheckArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnables = cluster.runnables(args.all_namespaces).await?;
    let mut names: Vec<&str> = runnables
        .iter()
        .map(|runnable| runnable.spec.run_template_ref.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut entries = Vec::new();
    let mut templates = Vec::new();
    for name in names {
        let (found, remarks) = match cluster.template(name).await {
            Ok(Some(template)) => {
                let remarks = remarks::of_template(&template.spec);
                (Some(template), remarks)
            }
            Ok(None) => {
                let none = Remark::new(Level::Change, "there is no such template");
                (None, vec![none])
            }
            Err(error) if AccessDenied::find(&error).is_some() => {
                let unread = Remark::new(Level::Unknown, first_line(&error));
                (None, vec![unread])
            }
            Err(error) => return Err(error),
        };
        entries.push(ObjectRemarks {
            object: format!("ClusterRunTemplate {name}"),
            remarks,
        });
        templates.extend(found);
    }
    for runnable in &runnables {
        entries.push(live_entry(runnable, &templates, cluster).await?);
    }
    if entries.is_empty() {
        bail!("there are no Runnables here\nhint: --all-namespaces checks every namespace");
    }
    Ok(report(&entries, args.output))
}

async fn live_entry(
    runnable: &Runnable,
    templates: &[ClusterRunTemplate],
    cluster: &Cluster,
) -> anyhow::Result<ObjectRemarks> {
    let namespace = runnable.namespace().unwrap_or_default();
    let mut remarks = remarks::of_runnable(&serde_json::to_value(runnable)?);
    let template = templates
        .iter()
        .find(|template| template.name_any() == runnable.spec.run_template_ref.name);
    let here = cluster.in_namespace(&namespace);
    remarks.push(match template {
        Some(template) => adoption::compare(runnable, template, &here).await?,
        None => Remark::new(
            Level::Unknown,
            "its template does not exist or cannot be read, so its runs were not checked",
        ),
    });
    Ok(ObjectRemarks {
        object: format!("Runnable {namespace}/{}", runnable.name_any()),
        remarks,
    })
}
