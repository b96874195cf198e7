//! `cartouche diff`.

mod comparison;
mod markdown;
mod unread;

use std::{fmt::Write as _, path::PathBuf};

use anyhow::bail;
use cartouche_authoring::{finding::report, objects::Objects, validate::keys};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, ClusterArgs},
    files::FileArgs,
    live::{
        prospect::{self, Edited, Prospect},
        selection::plain,
    },
    outcome::{FAILED, FOUND, GOOD, Outcome},
};

pub(crate) use comparison::Comparison;

/// Compare the next run of a Runnable with its last one
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche diff hello
  cartouche diff hello -t template.yaml          with an edited template
  cartouche diff hello -r runnable.yaml          with an edited Runnable
  cartouche diff hello -r runnable.yaml --server-dry-run
  cartouche diff -f manifests/                   all Runnables in these files, new ones too
  cartouche diff -f manifests/ -o markdown       the same as a comment for a pull request

A dry run of the API server adds its defaults, so that both sides have them. With --server-dry-run it is made as the
ServiceAccount of the Runnable, which you need permission to impersonate; otherwise as you, if you may create runs.

Exit code 1 if there would be a new run; 2 if that is unknown for one of them, for example because you may not read
the template, or a Secret that the template reads an input from. Without the template, the command shows what the
status says; -t takes the template from a file.")]
pub(crate) struct DiffArgs {
    /// Name of the Runnable, or a file with Runnables and templates to be applied; without a name, all in the files
    #[arg(required_unless_present = "files")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// File with an edited template
    #[arg(short, long, value_name = "FILE", conflicts_with = "files")]
    template: Option<PathBuf>,
    /// File with an edited Runnable
    #[arg(short, long, value_name = "FILE", conflicts_with = "files")]
    runnable: Option<PathBuf>,
    /// Make the dry run as the ServiceAccount of the Runnable, and fail if it is refused
    #[arg(long)]
    server_dry_run: bool,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: DiffFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Format of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    #[default]
    Text,
    Json,
    /// Comment for a pull request, of at most 60,000 bytes
    Markdown,
}

/// Runnable, with its comparison or the error.
struct Compared {
    name: String,
    namespace: String,
    found: anyhow::Result<Comparison>,
}

pub(crate) async fn execute(args: &DiffArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let mut warnings = Vec::new();
    let name = args.name.as_deref().map(plain);
    let all = match name {
        Some(name) if args.files.is_empty() => {
            let edited = Edited {
                template: args.template.clone(),
                runnable: args.runnable.clone(),
            };
            let prospect = prospect::of_named(cluster, name, &edited).await;
            vec![Box::pin(compared(args, name, prospect, cluster)).await]
        }
        _ => {
            if args.template.is_some() || args.runnable.is_some() {
                bail!(
                    "--template and --runnable are for a Runnable that is named, and these are files"
                );
            }
            // If a file were left out, another template or Runnable would be compared: that of the cluster, or none.
            let files = Objects::load_all(&args.files.files)?;
            let read = files.templates.iter().chain(&files.runnables);
            warnings.extend(read.flat_map(keys::warnings));
            Box::pin(of_files(args, &files, cluster)).await?
        }
    };
    let warnings = report::write(&report::in_order(warnings), report::Format::Text);
    let several = all.len() > 1;
    if !several && args.output == DiffFormat::Text {
        let one = all.into_iter().map(|compared| compared.found).collect();
        let one: anyhow::Result<Vec<Comparison>> = one;
        let one = one?;
        let out: String = one.iter().map(Comparison::text).collect();
        let code = code(one.iter().map(|found| found.would_run));
        let err = warnings;
        let outcome = Outcome {
            out,
            err,
            code,
            ..Outcome::default()
        };
        return Ok(outcome);
    }
    let would_run = all.iter().map(|compared| match &compared.found {
        Ok(found) => found.would_run,
        Err(_) => None,
    });
    let code = code(would_run);
    let outcome = Outcome {
        out: match args.output {
            DiffFormat::Text => one_after_the_other(&all),
            DiffFormat::Json => format!("{:#}\n", all.iter().map(as_json).collect::<Value>()),
            DiffFormat::Markdown => markdown::text(&all),
        },
        err: warnings + &errors(&all),
        code,
        ..Outcome::default()
    };
    Ok(outcome)
}

/// Returns the exit code: 2 if it is unknown for a Runnable, 1 if there would be a run, else 0.
fn code(would_run: impl Iterator<Item = Option<bool>>) -> u8 {
    let would_run: Option<Vec<bool>> = would_run.collect();
    match would_run {
        None => FAILED,
        Some(all) if all.contains(&true) => FOUND,
        Some(_) => GOOD,
    }
}

async fn compared(
    args: &DiffArgs,
    name: &str,
    prospect: anyhow::Result<Prospect>,
    cluster: &Cluster,
) -> Compared {
    let found = match prospect {
        Ok(prospect) => Comparison::compare(&prospect, args.server_dry_run, cluster)
            .await
            .map_err(|error| prospect.mark(error)),
        Err(error) => Err(unread::by_status(error, name, cluster).await),
    };
    Compared {
        name: name.to_owned(),
        namespace: cluster.namespace.clone(),
        found,
    }
}

/// Compares the Runnables of the files, or only the named one, which may exist on the cluster only.
async fn of_files(
    args: &DiffArgs,
    files: &Objects,
    cluster: &Cluster,
) -> anyhow::Result<Vec<Compared>> {
    let mut all = Vec::new();
    let wanted = args.name.as_deref().map(plain);
    for document in &files.runnables {
        let name = document.name();
        if wanted.is_some_and(|wanted| wanted != name) {
            continue;
        }
        let cluster = match document.namespace() {
            "" => cluster,
            namespace => &cluster.in_namespace(namespace),
        };
        let prospect = prospect::of_files(cluster, files, document).await;
        all.push(Box::pin(compared(args, name, prospect, cluster)).await);
    }
    match wanted {
        Some(name) if all.is_empty() => {
            let prospect = prospect::with_template_of(cluster, files, name).await;
            all.push(Box::pin(compared(args, name, prospect, cluster)).await);
        }
        None if all.is_empty() => bail!(
            "these files hold no Runnable\nhint: name one of the cluster: cartouche diff NAME -f FILE"
        ),
        _ => {}
    }
    Ok(all)
}

fn one_after_the_other(all: &[Compared]) -> String {
    let mut out = String::new();
    for compared in all {
        if let Ok(found) = &compared.found {
            let Compared {
                namespace, name, ..
            } = compared;
            let _ = write!(out, "Runnable {namespace}/{name}:\n{}", found.text());
        }
    }
    out
}

fn as_json(compared: &Compared) -> Value {
    match &compared.found {
        Ok(found) => json!(found),
        Err(error) => json!({
            "name": compared.name,
            "namespace": compared.namespace,
            "error": format!("{error:#}"),
        }),
    }
}

/// Returns the errors of the Runnables that could not be compared.
fn errors(all: &[Compared]) -> String {
    let failed = all.iter().filter_map(|compared| {
        let Compared {
            namespace, name, ..
        } = compared;
        let error = compared.found.as_ref().err()?;
        let error = anyhow::anyhow!("Runnable {namespace}/{name}: {error:#}");
        Some(Outcome::failed(&error).err)
    });
    failed.collect()
}
