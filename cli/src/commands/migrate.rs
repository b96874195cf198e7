//! `cartouche migrate check`: what becomes of Runnables and templates of Cartographer.

mod adoption;
mod remarks;

use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use cartouche_crds::{ClusterRunTemplate, Runnable};
use clap::{Args, Subcommand, ValueEnum};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::cluster::{Cluster, ClusterArgs};
use crate::{
    objects::Objects,
    outcome::{FOUND, GOOD, Outcome},
    template_file,
};
use remarks::{Level, Remark};

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    Check(CheckArgs),
}

/// Say what Cartouche makes of Runnables and templates of Cartographer
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche migrate check gitops/            manifests: what differs, what needs a change
  cartouche migrate check --all-namespaces   a cluster: also which runs are taken over, and what runs anew

It changes nothing. Exit code 1 if something needs a change.")]
pub(crate) struct CheckArgs {
    /// Files or folders; without any, the cluster is read
    pub(crate) paths: Vec<PathBuf>,
    /// Runnables of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ReportFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// How the report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    #[default]
    Text,
    Json,
}

/// What is said of one object.
struct ObjectRemarks {
    object: String,
    remarks: Vec<Remark>,
}

/// Manifests: nothing is known of runs.
pub(crate) fn check_files(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let objects = Objects::load_all(&args.paths)?;
    let mut entries = Vec::new();
    for document in &objects.templates {
        let remarks =
            template_file::spec(document).map_or_else(Vec::new, |spec| remarks::of_template(&spec));
        entries.push(ObjectRemarks {
            object: format!("ClusterRunTemplate {}", document.name()),
            remarks,
        });
    }
    for document in &objects.runnables {
        let mut found = remarks::of_runnable(&document.value);
        if objects.template_of(document).is_none() {
            found.push(Remark::new(
                Level::Same,
                "its template is not among these files, so that it was not looked at",
            ));
        }
        entries.push(ObjectRemarks {
            object: format!("Runnable {}", document.name()),
            remarks: found,
        });
    }
    entries.extend(objects.others.iter().filter_map(|document| {
        let kind = remarks::not_served(document.api_version(), document.kind())?;
        Some(ObjectRemarks {
            object: format!("{} {}", document.kind(), document.name()),
            remarks: vec![kind],
        })
    }));
    if entries.is_empty() {
        bail!("there are no objects of carto.run in these files");
    }
    Ok(report(&entries, args.output))
}

/// A cluster: also what happens to the runs that exist.
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
        let found = cluster.template(name).await?;
        let remarks = match &found {
            Some(template) => remarks::of_template(&template.spec),
            None => vec![Remark::new(Level::Change, "there is no such template")],
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
        bail!("there are no Runnables here\nhint: --all-namespaces looks at every namespace");
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
    if let Some(template) = template {
        remarks.push(adoption::of(runnable, template, &here).await?);
    }
    Ok(ObjectRemarks {
        object: format!("Runnable {namespace}/{}", runnable.name_any()),
        remarks,
    })
}

fn report(entries: &[ObjectRemarks], format: ReportFormat) -> Outcome {
    let count = |level: Level| {
        let remarks = entries.iter().flat_map(|entry| &entry.remarks);
        remarks.filter(|remark| remark.level == level).count()
    };
    let (changes, differences) = (count(Level::Change), count(Level::Differs));
    let out = match format {
        ReportFormat::Json => {
            let entries: Vec<_> = entries.iter().map(as_json).collect();
            format!("{:#}\n", json!(entries))
        }
        ReportFormat::Text => {
            let entries: String = entries.iter().map(as_text).collect();
            format!("{entries}{changes} to change, {differences} that differ\n")
        }
    };
    Outcome {
        out,
        code: if changes > 0 { FOUND } else { GOOD },
        ..Outcome::default()
    }
}

fn as_json(entry: &ObjectRemarks) -> Value {
    let remarks = entry.remarks.iter();
    let remarks =
        remarks.map(|remark| json!({ "level": remark.level.as_str(), "text": remark.text }));
    json!({ "object": entry.object, "remarks": remarks.collect::<Vec<_>>() })
}

fn as_text(entry: &ObjectRemarks) -> String {
    let line = |Remark { level, text }: &Remark| {
        let style = style(*level);
        format!("  {style}{:<8}{style:#} {text}\n", level.as_str())
    };
    let lines: String = match entry.remarks.as_slice() {
        [] => line(&Remark::new(Level::Same, "works as before")),
        remarks => remarks.iter().map(line).collect(),
    };
    format!("{}\n{lines}", entry.object)
}

fn style(level: Level) -> Style {
    match level {
        Level::Same => AnsiColor::Green.on_default(),
        Level::Differs => AnsiColor::Yellow.on_default(),
        Level::Change => AnsiColor::Red.on_default(),
    }
}
