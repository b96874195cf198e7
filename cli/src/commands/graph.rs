//! `cartouche graph`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, anyhow};
use cartouche_authoring::{
    graph::{self, Graph, Id, NodeKnowledge},
    objects::{DEFAULT_NAMESPACE, Objects},
};
use cartouche_crds::Runnable;
use cartouche_language::suggestion;
use clap::{Args, ValueEnum};

use crate::{
    cluster::{Cluster, ClusterArgs},
    files::FileArgs,
    live::selection::plain,
    outcome::{FOUND, GOOD, Outcome},
};

/// Most Runnables of other namespaces that are looked up one by one.
const MOST_LOOKED_UP: usize = 256;

/// Show the graph of Runnables and the sources of their inputs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche graph
  cartouche graph release -n shop           its ancestors and descendants
  cartouche graph -A -o dot | dot -Tsvg > chains.svg
  cartouche graph -f examples/supply-chain -o mermaid
  cartouche graph -o json | jq '.nodes[] | select(.pending == \"DependencyNotReady\").name'

Shows the objects in spec.inputsFrom: Runnables, ConfigMaps, Secrets and others, sources before their readers, without
values.
For a Runnable it shows if it is ready, what its run waits for, and the revision of its outputs; for an input, the
revision that the current run was made from. Runnables in other namespaces are looked up if they are read, 256 at most,
and shown as not visible if you may not read them. Readers in other namespaces are shown only with -A.

Exit code 1 if Runnables take inputs from each other in a circle: none of these ever runs.")]
pub(crate) struct GraphArgs {
    /// Show only this Runnable with its ancestors and descendants; or a file with Runnables
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Show Runnables of all namespaces
    #[arg(short = 'A', long, conflicts_with = "files")]
    all_namespaces: bool,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: GraphFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Format of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    #[default]
    Text,
    /// Input for Graphviz
    Dot,
    Mermaid,
    Json,
}

/// Shows the graph of Runnables in files, without a cluster.
pub(crate) fn from_files(args: &GraphArgs) -> anyhow::Result<Outcome> {
    let objects = Objects::load_rest(&args.files.files)?;
    let namespace = args.cluster.namespace.as_deref();
    let namespace = namespace.unwrap_or(DEFAULT_NAMESPACE);
    let mut runnables = Vec::new();
    for document in &objects.runnables {
        let read = serde_json::from_value(document.value.clone());
        let mut runnable: Runnable = read.with_context(|| {
            let (name, file) = (document.name(), &document.source.name);
            format!(
                "the Runnable {name} in {file} cannot be read\nhint: cartouche validate says why"
            )
        })?;
        let its = runnable.metadata.namespace.take();
        let its = its.filter(|it| !it.is_empty());
        runnable.metadata.namespace = Some(its.unwrap_or_else(|| namespace.to_owned()));
        runnables.push(runnable);
    }
    let outcome = written(args, namespace, &runnables, &BTreeMap::new())?;
    Ok(outcome.with_unreadable(&objects))
}

pub(crate) async fn execute(args: &GraphArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let mut runnables = cluster.runnables(args.all_namespaces).await?;
    let known = if args.all_namespaces {
        BTreeMap::new()
    } else {
        look_up(&mut runnables, cluster).await?
    };
    written(args, &cluster.namespace, &runnables, &known)
}

/// Adds the Runnables of other namespaces that are read. Returns why others are missing.
async fn look_up(
    runnables: &mut Vec<Runnable>,
    cluster: &Cluster,
) -> anyhow::Result<BTreeMap<Id, NodeKnowledge>> {
    let mut known = BTreeMap::new();
    let (mut next, mut looked_up) = (0, 0);
    let mut met: BTreeSet<Id> = runnables.iter().map(Id::from_runnable).collect();
    while let Some(runnable) = runnables.get(next) {
        next += 1;
        for id in graph::reads(runnable) {
            // The Runnables of the own namespace are all there.
            if id.namespace == cluster.namespace || !met.insert(id.clone()) {
                continue;
            }
            if looked_up == MOST_LOOKED_UP {
                known.insert(id, NodeKnowledge::NotLookedAt);
                continue;
            }
            looked_up += 1;
            match cluster.visible_runnable(&id.namespace, &id.name).await? {
                Some(Some(found)) => runnables.push(found),
                Some(None) => drop(known.insert(id, NodeKnowledge::Absent)),
                None => drop(known.insert(id, NodeKnowledge::NotVisible)),
            }
        }
    }
    Ok(known)
}

fn written(
    args: &GraphArgs,
    namespace: &str,
    runnables: &[Runnable],
    known: &BTreeMap<Id, NodeKnowledge>,
) -> anyhow::Result<Outcome> {
    let mut graph = Graph::new(runnables, known);
    if let Some(name) = &args.name {
        let centre = Id::runnable(namespace, plain(name));
        if !runnables.iter().any(|it| Id::from_runnable(it) == centre) {
            return Err(unknown(&centre, runnables));
        }
        graph = graph.around(&centre);
    }
    let code = if graph.cycles.is_empty() { GOOD } else { FOUND };
    let (out, is_empty) = (
        match args.output {
            GraphFormat::Text => graph::text(&graph),
            GraphFormat::Dot => graph::dot(&graph),
            GraphFormat::Mermaid => graph::mermaid(&graph),
            GraphFormat::Json => graph::json(&graph),
        },
        graph.nodes.is_empty(),
    );
    let err = match &args.name {
        Some(name) if is_empty => {
            format!("{name} reads no other object, and is read by none\n")
        }
        None if is_empty && graph.alone == 0 => "there is no Runnable\n".to_owned(),
        _ => String::new(),
    };
    Ok(Outcome {
        out,
        err,
        code,
        ..Outcome::default()
    })
}

fn unknown(centre: &Id, runnables: &[Runnable]) -> anyhow::Error {
    let Id {
        namespace, name, ..
    } = centre;
    let others = runnables
        .iter()
        .filter(|it| Id::from_runnable(it).namespace == *namespace);
    let names: Vec<String> = others.map(kube::ResourceExt::name_any).collect();
    let names = names.iter().map(String::as_str);
    let hint = suggestion::hint(name, "the Runnables are", names);
    let hint = hint
        .map(|hint| format!("\nhint: {hint}"))
        .unwrap_or_default();
    anyhow!("there is no Runnable {name} in the namespace {namespace}{hint}")
}
