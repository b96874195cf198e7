//! `cartouche tree`.

use std::{collections::BTreeMap, fmt::Write as _};

use cartouche_crds::{Runnable, Selector};
use clap::Args;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::Value;

use crate::outcome::Outcome;
use crate::{
    cluster::{Cluster, ClusterArgs, wanted_labels},
    commands::get::{colour, ready},
    foreign::in_one_line,
    format::Format,
    live::runs::{self, LedgerRun},
};

/// Show what a Runnable is made of: template, account, selected object, runs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche tree
  cartouche tree hello --namespace demo
  cartouche tree -o json | jq '.[] | select(.template.state == \"Missing\").name'")]
pub(crate) struct TreeArgs {
    /// The Runnable; all of the namespace without a name
    name: Option<String>,
    /// Format; for programs it is always a list
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// What a Runnable is made of.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tree {
    name: String,
    namespace: String,
    /// Status of the condition Ready; nothing where no controller has looked at it.
    ready: Option<String>,
    reason: String,
    template: TemplateNode,
    service_account: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    selects: Option<Selector>,
    runs: Vec<LedgerRun>,
    outputs: BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct TemplateNode {
    name: String,
    state: TemplateState,
}

/// What is said of a template.
#[derive(Clone, Copy, Serialize)]
enum TemplateState {
    Accepted,
    NotAccepted,
    /// It has no status yet.
    NotObserved,
    Missing,
}

impl TemplateState {
    fn as_text(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::NotAccepted => "not accepted",
            Self::NotObserved => "not looked at yet",
            Self::Missing => "missing",
        }
    }
}

/// A line and what hangs on it.
struct Branch {
    text: String,
    below: Vec<Branch>,
}

/// Of what others have written.
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
        trees.push(tree(runnable, cluster).await?);
    }
    Ok(Outcome::good(args.output.write(&trees, |trees| {
        let mut out = String::new();
        for tree in trees {
            draw(&root(tree), "", "", &mut out);
        }
        out
    })?))
}

async fn tree(runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Tree> {
    let (status, reason) = ready(runnable);
    let spec = &runnable.spec;
    let name = spec.run_template_ref.name.clone();
    let outputs = runnable.status.as_ref();
    let outputs = outputs.and_then(|status| status.outputs.clone());
    Ok(Tree {
        name: runnable.name_any(),
        namespace: cluster.namespace.clone(),
        ready: (!status.is_empty()).then(|| status.to_owned()),
        reason: reason.to_owned(),
        template: TemplateNode {
            state: template_state(&name, cluster).await?,
            name,
        },
        service_account: spec.service_account().to_owned(),
        selects: spec.selector.clone(),
        runs: runs::runs(runnable),
        outputs: outputs.unwrap_or_default(),
    })
}

/// What its status says of a template.
async fn template_state(name: &str, cluster: &Cluster) -> anyhow::Result<TemplateState> {
    let Some(template) = cluster.template(name).await? else {
        return Ok(TemplateState::Missing);
    };
    let mut conditions = template.status.iter().flat_map(|status| &status.conditions);
    let accepted = conditions.find(|condition| condition.type_ == "Accepted");
    Ok(match accepted.map(|condition| condition.status.as_str()) {
        Some("True") => TemplateState::Accepted,
        Some(_) => TemplateState::NotAccepted,
        None => TemplateState::NotObserved,
    })
}

fn root(tree: &Tree) -> Branch {
    let TemplateNode { name, state } = &tree.template;
    let mut below = vec![
        leaf(&format!("ClusterRunTemplate {name} ({})", state.as_text())),
        leaf(&format!("ServiceAccount {}", tree.service_account)),
    ];
    if let Some(selector) = &tree.selects {
        let labels = wanted_labels(selector);
        let kind = selector.resource.kind.as_deref().unwrap_or("?");
        below.push(leaf(&format!("selects {kind} with {}", labels.join(", "))));
    }
    below.push(Branch {
        text: format!("runs: {}", tree.runs.len()),
        below: tree.runs.iter().map(|run| painted(run_line(run))).collect(),
    });
    let outputs = tree.outputs.iter();
    let outputs: Vec<Branch> = outputs
        .map(|(name, value)| leaf(&format!("{name}: {value}")))
        .collect();
    if !outputs.is_empty() {
        below.push(Branch {
            text: "outputs".to_owned(),
            below: outputs,
        });
    }
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
