//! `cartouche get`.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use cartouche_crds::Runnable;
use cartouche_protocol::{reconcile_error::Category, status::READY};
use clap::{Args, ValueEnum};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::{
    cluster::{Cluster, ClusterArgs, as_json},
    commands::outputs::plain,
    live::{
        age,
        runs::{self, LedgerRun},
        table,
    },
};

/// List Runnables with their run, result and outputs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche get
  cartouche get hello --namespace demo
  cartouche get --all-namespaces --output wide
  cartouche get -o json | jq '.items[].status.outputs'")]
pub(crate) struct GetArgs {
    /// Only these
    names: Vec<String>,
    /// Those of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// How lists are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    #[default]
    Table,
    /// A table with template, hash and where the outputs come from
    Wide,
    Json,
}

/// Characters of a value in a table.
const VALUE: usize = 24;

pub(crate) async fn execute(args: &GetArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnables = if args.names.is_empty() {
        cluster.runnables(args.all_namespaces).await?
    } else {
        let mut found = Vec::new();
        for name in &args.names {
            found.push(cluster.runnable(name).await?);
        }
        found
    };
    if args.output == ListFormat::Json {
        let items = runnables
            .iter()
            .map(as_json)
            .collect::<anyhow::Result<Vec<_>>>()?;
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        return Ok(Outcome::good(format!("{list:#}\n")));
    }
    if runnables.is_empty() {
        let place = if args.all_namespaces {
            "the cluster".to_owned()
        } else {
            format!("the namespace {}", cluster.namespace)
        };
        return Ok(Outcome {
            err: format!("there are no Runnables in {place}\n"),
            ..Outcome::default()
        });
    }
    Ok(Outcome::good(list(
        &runnables,
        args.all_namespaces,
        args.output == ListFormat::Wide,
    )))
}

fn list(runnables: &[Runnable], namespaces: bool, wide: bool) -> String {
    let mut header = vec!["NAME", "READY", "REASON", "RUN", "RESULT", "AGE", "OUTPUTS"];
    if namespaces {
        header.insert(0, "NAMESPACE");
    }
    if wide {
        header.extend(["TEMPLATE", "HASH", "OUTPUTS FROM"]);
    }
    let rows: Vec<_> = runnables
        .iter()
        .map(|runnable| row(runnable, namespaces, wide))
        .collect();
    table::table(&header, &rows)
}

fn row(runnable: &Runnable, namespaces: bool, wide: bool) -> Vec<String> {
    let runs = runs::runs(runnable);
    let current = runs.iter().find(|run| run.current);
    let (status, reason) = ready(runnable);
    let outputs = runnable.status.as_ref();
    let outputs = outputs.and_then(|status| status.outputs.as_ref());
    // The reason of a run that is held back, and the word for a Runnable that would hold one back.
    let suspended = Category::Suspended.as_str();
    let numbered = |run: &LedgerRun| format!("{} {}", run.sequence, run.name);
    let mut row = vec![
        runnable.name_any(),
        format!("{0}{status}{0:#}", colour(status)),
        match runnable.spec.suspend {
            Some(true) if reason != suspended => format!("{reason}, {suspended}"),
            _ => reason.to_owned(),
        },
        current.map_or(String::new(), numbered),
        current.map_or("", |run| run.state.as_str()).to_owned(),
        age::ago(runnable.metadata.creation_timestamp.as_ref()),
        outputs.map_or(String::new(), shortened),
    ];
    if namespaces {
        row.insert(0, runnable.namespace().unwrap_or_default());
    }
    if wide {
        let from = runs.iter().find(|run| run.gives_outputs);
        row.push(runnable.spec.run_template_ref.name.clone());
        row.push(current.map_or(String::new(), |run| short_hash(&run.input_hash)));
        row.push(from.map_or(String::new(), numbered));
    }
    row
}

/// Status and reason of the condition Ready.
pub(crate) fn ready(runnable: &Runnable) -> (&str, &str) {
    let ready = runs::condition(runnable, READY);
    ready.map_or(("", ""), |ready| (&ready.status, &ready.reason))
}

pub(crate) fn colour(status: &str) -> Style {
    match status {
        "True" | "Succeeded" => AnsiColor::Green.on_default(),
        "False" | "Failed" | "Lost" | "Rejected" => AnsiColor::Red.on_default(),
        _ => AnsiColor::Yellow.on_default(),
    }
}

/// The beginning of a hash: enough to see whether two are the same.
pub(crate) fn short_hash(hash: &str) -> String {
    const SHOWN: usize = 11;
    hash.get(..SHOWN).unwrap_or(hash).to_owned()
}

/// `name=value`, long values cut.
fn shortened(outputs: &BTreeMap<String, Value>) -> String {
    let cut = |text: String| match text.char_indices().nth(VALUE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    };
    let shown = outputs
        .iter()
        .map(|(name, value)| format!("{name}={}", cut(plain(value))));
    shown.collect::<Vec<_>>().join(", ")
}
