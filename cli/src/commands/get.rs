//! `cartouche get`.

mod watch;

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use cartouche_authoring::{foreign::in_one_line, yaml};
use cartouche_crds::{GROUP, Runnable, RunnableStatus, conditions::READY};
use cartouche_protocol::category::Category;
use clap::{Args, ValueEnum};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::{
    cluster::{Cluster, ClusterArgs, as_json, within},
    commands::outputs::plain,
    live::{
        age, newer_release,
        runs::{self, LedgerRun},
        selection::SelectionArgs,
        table, written,
    },
};

/// List Runnables with their run, result and outputs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche get
  cartouche get hello --namespace demo
  cartouche get --all-namespaces --output wide
  cartouche get --failed --template image-build
  cartouche get -l team=shop --watch
  cartouche get -o json | jq '.items[].status.outputs'

--watch prints a row for each Runnable, and a new one whenever a cell other than AGE changes. REASON of a deleted
Runnable is Deleted. With -o json each change is one object on a line, with -o yaml one document. The watch
continues until Ctrl-C, also if the API server ends it.")]
pub(crate) struct GetArgs {
    /// Names of the Runnables
    #[arg(conflicts_with = "all_namespaces")]
    names: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// List Runnables of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Watch, and print each change
    #[arg(short, long)]
    watch: bool,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

impl GetArgs {
    /// Returns true if the Runnable is to be listed. The API server has filtered by labels already.
    fn picks(&self, runnable: &Runnable) -> bool {
        let named = self.names.is_empty() || self.names.contains(&runnable.name_any());
        named && self.selection.lists(runnable)
    }
}

/// Format of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    #[default]
    Table,
    /// Table with attempt, template, profile, hash, and the run and the sinks of the outputs
    Wide,
    Json,
    Yaml,
    /// One runnable.carto.run/NAME a line
    Name,
}

/// Characters of a value in a table.
const VALUE: usize = 24;

pub(crate) async fn execute(args: &GetArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnables = if args.names.is_empty() {
        let labels = args.selection.selector.as_deref();
        let listed = cluster.runnables_with(labels, args.all_namespaces);
        let mut listed = listed.await?;
        listed.retain(|runnable| args.picks(runnable));
        listed
    } else {
        let mut found = Vec::new();
        for name in &args.names {
            found.push(cluster.runnable(name).await?);
        }
        found
    };
    if args.watch {
        return watch::watch(args, &runnables, cluster).await;
    }
    let out = match args.output {
        ListFormat::Json => format!("{:#}\n", list_object(&runnables)?),
        ListFormat::Yaml => yaml::text(&list_object(&runnables)?)?,
        ListFormat::Name => runnables.iter().map(name_line).collect(),
        ListFormat::Table | ListFormat::Wide if runnables.is_empty() => String::new(),
        ListFormat::Table | ListFormat::Wide => {
            let layout = Layout::from_args(args);
            let rows: Vec<_> = runnables.iter().map(|it| layout.row(it)).collect();
            table::table(&layout.header(), &rows)
        }
    };
    if runnables.is_empty() && !args.all_namespaces && is_no_namespace(cluster).await {
        bail!(
            "there is no namespace {}\nhint: --namespace names another one",
            cluster.namespace
        );
    }
    Ok(Outcome {
        err: nothing(args, out.is_empty(), cluster),
        ..Outcome::good(out)
    })
}

/// Returns true if the namespace certainly does not exist; not every user may read it.
async fn is_no_namespace(cluster: &Cluster) -> bool {
    let api = cluster.cluster_api::<Namespace>();
    let name = &cluster.namespace;
    let read = within("reading the namespace", api.get_metadata_opt(name)).await;
    matches!(read, Ok(None))
}

fn list_object(runnables: &[Runnable]) -> anyhow::Result<Value> {
    let items: anyhow::Result<Vec<_>> = runnables.iter().map(as_json).collect();
    Ok(json!({ "apiVersion": "v1", "kind": "List", "items": items? }))
}

/// Returns a name as kubectl takes it.
fn name_line(runnable: &Runnable) -> String {
    format!("runnable.{GROUP}/{}\n", runnable.name_any())
}

/// Returns the message for an empty list.
fn nothing(args: &GetArgs, is_empty: bool, cluster: &Cluster) -> String {
    if !is_empty {
        return String::new();
    }
    let place = if args.all_namespaces {
        "the cluster".to_owned()
    } else {
        format!("the namespace {}", cluster.namespace)
    };
    let which = if args.selection.is_empty() {
        ""
    } else {
        "such "
    };
    format!("there are no {which}Runnables in {place}\n")
}

/// Choice of columns.
#[derive(Clone, Copy)]
struct Layout {
    namespaces: bool,
    wide: bool,
}

impl Layout {
    fn from_args(args: &GetArgs) -> Self {
        Self {
            namespaces: args.all_namespaces,
            wide: args.output == ListFormat::Wide,
        }
    }

    fn header(self) -> Vec<&'static str> {
        let mut header = vec!["NAME", "READY", "REASON", "RUN", "RESULT", AGE, "OUTPUTS"];
        if self.namespaces {
            header.insert(0, "NAMESPACE");
        }
        if self.wide {
            header.extend([
                "ATTEMPT",
                "TEMPLATE",
                "PROFILE",
                "HASH",
                "OUTPUTS FROM",
                "WRITTEN TO",
            ]);
        }
        header
    }

    fn row(self, runnable: &Runnable) -> Vec<String> {
        row(runnable, self.namespaces, self.wide)
    }
}

/// Column that changes by itself.
const AGE: &str = "AGE";

fn row(runnable: &Runnable, namespaces: bool, wide: bool) -> Vec<String> {
    let runs = runs::runs(runnable);
    let current = runs.iter().find(|run| run.current);
    let (status, reason) = ready(runnable);
    let stored = runnable.status.as_ref();
    let reason = runs::retry_scheduled(runnable).map_or(reason, |scheduled| &scheduled.reason);
    let newer = newer_release::left_alone(runnable).map(|newer| newer.category.as_str());
    // `Suspended` is the reason of a run held back, and marks a Runnable that would hold one back.
    let suspended = Category::Suspended.as_str();
    let numbered = |run: &LedgerRun| format!("{} {}", run.sequence, run.name);
    let mut row = vec![
        runnable.name_any(),
        status.to_owned(),
        match (newer, runnable.spec.suspend) {
            (Some(newer), _) if reason.is_empty() => newer.to_owned(),
            (Some(newer), _) => format!("{reason}, {newer}"),
            (None, Some(true)) if reason != suspended => format!("{reason}, {suspended}"),
            _ => reason.to_owned(),
        },
        current.map_or(String::new(), numbered),
        current.map_or("", |run| run.state.as_str()).to_owned(),
        age::ago(runnable.metadata.creation_timestamp.as_ref()),
        stored.map_or(String::new(), shortened),
    ];
    if namespaces {
        row.insert(0, runnable.namespace().unwrap_or_default());
    }
    if wide {
        let from = runs.iter().find(|run| run.gives_outputs);
        row.push(current.map_or(String::new(), |run| run.attempt.to_string()));
        row.push(runnable.spec.run_template_ref.name.clone());
        let status = runnable.status.as_ref();
        let profile = status.and_then(|status| status.profile.as_ref());
        row.push(profile.map_or(String::new(), |profile| profile.name.clone()));
        row.push(current.map_or(String::new(), |run| short_hash(&run.input_hash)));
        row.push(from.map_or(String::new(), numbered));
        let sinks = stored.iter().flat_map(|status| &status.sinks);
        row.push(sinks.map(written::sink).collect::<Vec<_>>().join(", "));
    }
    let mut row: Vec<String> = row.iter().map(|cell| in_one_line(cell)).collect();
    if let Some(cell) = row.get_mut(1 + usize::from(namespaces)) {
        *cell = format!("{0}{cell}{0:#}", colour(status));
    }
    row
}

/// Returns the status and the reason of the condition Ready.
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

/// Returns the beginning of a hash, long enough to tell hashes apart.
pub(crate) fn short_hash(hash: &str) -> String {
    const SHOWN: usize = 11;
    hash.get(..SHOWN).unwrap_or(hash).to_owned()
}

/// Returns the outputs as `name=value`, with long values cut. A sensitive output shows its Secret instead.
fn shortened(status: &RunnableStatus) -> String {
    let cut = |text: String| match text.char_indices().nth(VALUE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    };
    let outputs = status.outputs.iter().flatten();
    let shown = outputs.map(|(name, value)| format!("{name}={}", cut(plain(value))));
    let sensitive = status.sensitive_outputs.iter();
    let sensitive = sensitive.map(|(name, found)| format!("{name} in Secret {}", found.name));
    shown.chain(sensitive).collect::<Vec<_>>().join(", ")
}
