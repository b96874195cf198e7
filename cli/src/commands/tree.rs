//! `cartouche tree`.

use std::{collections::BTreeMap, fmt::Write as _};

use cartouche_authoring::{
    foreign::in_one_line,
    graph::{self, Edge},
};
use cartouche_crds::{ClusterRunTemplate, Runnable, Selector, SensitiveOutput, SinkStatus};
use clap::Args;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::Value;

use crate::outcome::Outcome;
use crate::{
    cluster::{Cluster, ClusterArgs, split, wanted_labels},
    commands::get::{colour, ready},
    format::OutputFormat,
    live::{
        runs::{self, LedgerRun},
        written,
    },
};

/// Show the template, account, sources and runs of a Runnable
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche tree
  cartouche tree hello --namespace demo
  cartouche tree -o json | jq '.[] | select(.template.state == \"Missing\").name'")]
pub(crate) struct TreeArgs {
    /// Name of the Runnable; by default all of the namespace
    name: Option<String>,
    /// Format of the output; JSON and YAML are always lists
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Runnable with all that it is made of.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunnableTree {
    name: String,
    namespace: String,
    /// Status of the condition Ready; `None` if no controller has observed the Runnable.
    ready: Option<String>,
    reason: String,
    template: TemplateNode,
    service_account: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    selects: Option<Selector>,
    /// Name of the object that is selected now.
    #[serde(skip_serializing_if = "Option::is_none")]
    selected: Option<String>,
    /// Reason why there is no such name.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_selected: Option<String>,
    /// Sources of the inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<Edge>,
    runs: Vec<LedgerRun>,
    outputs: BTreeMap<String, Value>,
    /// Places of sensitive outputs, as in the status.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sensitive_outputs: BTreeMap<String, SensitiveOutput>,
    /// Objects that outputs are written to, as in the status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sinks: Vec<SinkStatus>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TemplateNode {
    name: String,
    state: TemplateState,
    /// Reason why the template could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<String>,
}

/// State of a template.
#[derive(Clone, Copy, Serialize)]
enum TemplateState {
    Accepted,
    NotAccepted,
    /// The template has no status yet.
    NotObserved,
    Missing,
    /// The template could not be read.
    NotSeen,
}

impl TemplateState {
    fn as_text(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::NotAccepted => "not accepted",
            Self::NotObserved => "not observed yet",
            Self::Missing => "missing",
            Self::NotSeen => "not seen",
        }
    }
}

/// Line, with the lines below it.
struct Branch {
    text: String,
    below: Vec<Branch>,
}

/// Makes a leaf of a text that others have written.
fn leaf(text: &str) -> Branch {
    painted(in_one_line(text))
}

fn painted(text: String) -> Branch {
    Branch {
        text,
        below: Vec::new(),
    }
}

pub(crate) async fn execute(args: &TreeArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnables = match &args.name {
        Some(name) => vec![cluster.runnable(name).await?],
        None => cluster.runnables(false).await?,
    };
    let mut trees = Vec::new();
    for runnable in &runnables {
        trees.push(tree(runnable, cluster).await);
    }
    Ok(Outcome::good(args.output.write(&trees, |trees| {
        let mut out = String::new();
        for tree in trees {
            draw(&root(tree), "", "", &mut out);
        }
        out
    })?))
}

/// Collects the tree. Errors of reading are part of it: a user who may read a Runnable may not be allowed to read all
/// of its parts.
async fn tree(runnable: &Runnable, cluster: &Cluster) -> RunnableTree {
    let (status, reason) = ready(runnable);
    let spec = &runnable.spec;
    let name = spec.run_template_ref.name.clone();
    let stored = runnable.status.clone().unwrap_or_default();
    let selected = match &spec.selector {
        Some(selector) => Some(cluster.select(selector).await),
        None => None,
    };
    let (selected, not_selected) = split(selected.transpose());
    let (template, not_seen) = split(cluster.template(&name).await);
    RunnableTree {
        name: runnable.name_any(),
        namespace: cluster.namespace.clone(),
        ready: (!status.is_empty()).then(|| status.to_owned()),
        reason: reason.to_owned(),
        template: TemplateNode {
            state: match &not_seen {
                Some(_) => TemplateState::NotSeen,
                None => template_state(template.as_ref()),
            },
            not_seen,
            name,
        },
        service_account: spec.service_account().to_owned(),
        selects: spec.selector.clone(),
        selected: selected.map(|object| object.name_any()),
        not_selected,
        sources: graph::edges(runnable),
        runs: runs::runs(runnable),
        outputs: stored.outputs.unwrap_or_default(),
        sensitive_outputs: stored.sensitive_outputs,
        sinks: stored.sinks,
    }
}

/// Returns the state of a template, by its status.
fn template_state(template: Option<&ClusterRunTemplate>) -> TemplateState {
    let Some(template) = template else {
        return TemplateState::Missing;
    };
    let mut conditions = template.status.iter().flat_map(|status| &status.conditions);
    let accepted = conditions.find(|condition| condition.type_ == "Accepted");
    match accepted.map(|condition| condition.status.as_str()) {
        Some("True") => TemplateState::Accepted,
        Some(_) => TemplateState::NotAccepted,
        None => TemplateState::NotObserved,
    }
}

fn root(tree: &RunnableTree) -> Branch {
    let TemplateNode {
        name,
        state,
        not_seen,
    } = &tree.template;
    let state = state.as_text();
    let said = not_seen.as_ref().map_or_else(
        || format!("ClusterRunTemplate {name} ({state})"),
        |why| format!("ClusterRunTemplate {name} ({state}: {why})"),
    );
    let mut below = vec![
        leaf(&said),
        leaf(&format!("ServiceAccount {}", tree.service_account)),
    ];
    if let Some(selector) = &tree.selects {
        let labels = wanted_labels(selector);
        let kind = selector.resource.kind.as_deref().unwrap_or("?");
        let name = tree.selected.iter().map(|name| format!(" {name}"));
        let why = tree.not_selected.iter().map(|why| format!(": {why}"));
        let (name, why): (String, String) = (name.collect(), why.collect());
        let labels = labels.join(", ");
        below.push(leaf(&format!("selects {kind}{name} with {labels}{why}")));
    }
    below.extend(tree.sources.iter().map(|source| leaf(&source.describe())));
    below.push(Branch {
        text: format!("runs: {}", tree.runs.len()),
        below: tree.runs.iter().map(|run| painted(run_line(run))).collect(),
    });
    let outputs = tree.outputs.iter();
    let outputs = outputs.map(|(name, value)| leaf(&format!("{name}: {value}")));
    let sensitive = tree.sensitive_outputs.iter();
    let sensitive = sensitive
        .map(|(name, found)| leaf(&format!("{name}: sensitive, in {}", written::place(found))));
    let sinks = tree.sinks.iter().map(|sink| leaf(&written::sink(sink)));
    let lists = [
        ("outputs", outputs.chain(sensitive).collect::<Vec<_>>()),
        ("outputs are written to", sinks.collect()),
    ];
    let lists = lists.into_iter().filter(|(_, below)| !below.is_empty());
    below.extend(lists.map(|(text, below)| Branch {
        text: text.to_owned(),
        below,
    }));
    let status = in_one_line(tree.ready.as_deref().unwrap_or_default());
    Branch {
        text: format!(
            "Runnable {}  {paint}{status}{paint:#} {}",
            tree.name,
            in_one_line(&tree.reason),
            paint = colour(&status)
        ),
        below,
    }
}

fn run_line(run: &LedgerRun) -> String {
    let attempt = format!("attempt {}", run.attempt);
    let marks = [
        (run.attempt > 1, attempt.as_str()),
        (run.current, "current"),
        (run.gives_outputs, "outputs"),
    ];
    let marks: Vec<&str> = marks
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, mark)| *mark)
        .collect();
    let marks = if marks.is_empty() {
        String::new()
    } else {
        format!(" ({})", marks.join(", "))
    };
    let paint = colour(run.state.as_str());
    format!(
        "{} {} {}  {paint}{}{paint:#}{marks}",
        run.sequence,
        in_one_line(&run.kind),
        in_one_line(&run.name),
        run.state
    )
}

fn draw(branch: &Branch, first: &str, rest: &str, out: &mut String) {
    let _ = writeln!(out, "{first}{}", branch.text);
    for (index, below) in branch.below.iter().enumerate() {
        let last = index + 1 == branch.below.len();
        let (corner, line) = if last {
            ("└── ", "    ")
        } else {
            ("├── ", "│   ")
        };
        draw(
            below,
            &format!("{rest}{corner}"),
            &format!("{rest}{line}"),
            out,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(selected: Result<&str, &str>, not_seen: Option<&str>) -> String {
        let selector = serde_json::json!({
            "resource": { "apiVersion": "v1", "kind": "ConfigMap" },
            "matchingLabels": { "app": "shop", "tier": "" },
        });
        let tree = RunnableTree {
            name: "hello".to_owned(),
            namespace: "shop".to_owned(),
            ready: None,
            reason: String::new(),
            template: TemplateNode {
                name: "greet".to_owned(),
                state: if not_seen.is_some() {
                    TemplateState::NotSeen
                } else {
                    TemplateState::Accepted
                },
                not_seen: not_seen.map(str::to_owned),
            },
            service_account: "default".to_owned(),
            selects: Some(serde_json::from_value(selector).unwrap()),
            selected: selected.ok().map(str::to_owned),
            not_selected: selected.err().map(str::to_owned),
            sources: Vec::new(),
            runs: Vec::new(),
            outputs: BTreeMap::new(),
            sensitive_outputs: BTreeMap::new(),
            sinks: Vec::new(),
        };
        let mut out = String::new();
        draw(&root(&tree), "", "", &mut out);
        out
    }

    #[test]
    fn what_is_selected_is_named_or_why_nothing_is() {
        let named = tree(Ok("release"), None);
        let line = "selects ConfigMap release with app=shop, tier=\n";
        assert!(named.contains(line), "{named}");
        let none = tree(Err("the selector matches no ConfigMap"), None);
        let line = "with app=shop, tier=: the selector matches no ConfigMap\n";
        assert!(none.contains(line), "{none}");
    }

    #[test]
    fn a_template_that_may_not_be_read_is_named_with_what_is_missing() {
        let line = "ClusterRunTemplate greet (not seen: cannot get resource)\n";
        let seen = tree(Ok("release"), Some("cannot get resource"));
        assert!(seen.contains(line), "{seen}");
    }

    #[test]
    fn a_run_that_is_not_the_first_attempt_says_which_it_is() {
        let mut runs = crate::live::runs::tests::some_runs();
        runs[0].attempt = 1;
        let first = super::run_line(&runs[0]);
        assert!(!first.contains("attempt"), "{first}");
        runs[0].attempt = 3;
        let third = super::run_line(&runs[0]);
        assert!(third.contains("(attempt 3"), "{third}");
    }
}
