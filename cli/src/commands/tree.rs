//! `cartouche tree`.

use std::fmt::Write as _;

use cartouche_crds::Runnable;
use clap::Args;
use kube::ResourceExt as _;

use crate::outcome::Outcome;
use crate::{
    cluster::{Cluster, ClusterArgs, wanted_labels},
    commands::get::{colour, ready},
    live::runs::{self, LedgerRun},
};

/// Show what a Runnable is made of: template, account, selected object, runs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche tree
  cartouche tree hello --namespace demo")]
pub(crate) struct TreeArgs {
    /// The Runnable; all of the namespace without a name
    name: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// A line and what hangs on it.
struct Branch {
    text: String,
    below: Vec<Branch>,
}

fn leaf(text: String) -> Branch {
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
    let mut out = String::new();
    for runnable in &runnables {
        let accepted = accepted(runnable, cluster).await?;
        draw(&root(runnable, accepted), "", "", &mut out);
    }
    Ok(Outcome::good(out))
}

/// What its template's status says.
async fn accepted(runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<&'static str> {
    let Some(template) = cluster
        .template(&runnable.spec.run_template_ref.name)
        .await?
    else {
        return Ok("missing");
    };
    let conditions = template.status.iter().flat_map(|status| &status.conditions);
    let accepted = conditions
        .filter(|condition| condition.type_ == "Accepted")
        .map(|condition| condition.status.as_str())
        .next();
    Ok(match accepted {
        Some("True") => "accepted",
        Some(_) => "not accepted",
        None => "not looked at yet",
    })
}

fn root(runnable: &Runnable, accepted: &str) -> Branch {
    let (status, reason) = ready(runnable);
    let spec = &runnable.spec;
    let mut below = vec![
        leaf(format!(
            "ClusterRunTemplate {} ({accepted})",
            spec.run_template_ref.name
        )),
        leaf(format!("ServiceAccount {}", spec.service_account())),
    ];
    if let Some(selector) = &spec.selector {
        let labels = wanted_labels(selector);
        let kind = selector.resource.kind.as_deref().unwrap_or("?");
        below.push(leaf(format!("selects {kind} with {}", labels.join(", "))));
    }
    let runs = runs::runs(runnable);
    below.push(Branch {
        text: format!("runs: {}", runs.len()),
        below: runs.iter().map(|run| leaf(run_line(run))).collect(),
    });
    let outputs = runnable
        .status
        .iter()
        .filter_map(|status| status.outputs.as_ref())
        .flatten();
    let outputs: Vec<Branch> = outputs
        .map(|(name, value)| leaf(format!("{name}: {value}")))
        .collect();
    if !outputs.is_empty() {
        below.push(Branch {
            text: "outputs".to_owned(),
            below: outputs,
        });
    }
    Branch {
        text: format!(
            "Runnable {}  {paint}{status}{paint:#} {reason}",
            runnable.name_any(),
            paint = colour(status)
        ),
        below,
    }
}

fn run_line(run: &LedgerRun) -> String {
    let marks = [(run.current, "current"), (run.gives_outputs, "outputs")];
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
        run.sequence, run.kind, run.name, run.state
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
