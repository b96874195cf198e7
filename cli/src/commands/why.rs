//! `cartouche why`: what made the last run, who is waited for, and what to do.

use std::fmt::Write as _;

use cartouche_crds::{RUN_SEQUENCE_LABEL, Runnable};
use cartouche_protocol::{advice::advice, ledger::Due, status::blocking};
use clap::Args;
use kube::ResourceExt as _;
use serde_json::Value;

use crate::outcome::Outcome;
use crate::{
    cluster::{Cluster, ClusterArgs},
    commands::{
        diff::{self, Edited, differences},
        get::{colour, ready},
    },
    live::{
        age, object_diff, rerun_request,
        runs::{self, LedgerRun},
    },
};

/// Say why a Runnable is as it is: what made its last run, what it waits for, what to do
#[derive(Args, Debug)]
#[command(
    visible_alias = "describe",
    after_help = "\
Examples:
  cartouche why hello
  cartouche describe hello --namespace demo"
)]
pub(crate) struct WhyArgs {
    /// The Runnable
    name: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

pub(crate) async fn execute(args: &WhyArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnable = cluster.runnable(&args.name).await?;
    let mut runs = runs::runs(&runnable);
    rerun_request::add(&mut runs, &runnable, cluster).await?;
    let mut out = state(&runnable);
    out.push_str(&cause(&runs, cluster).await?);
    out.push_str(&next(args, cluster).await);
    Ok(Outcome::good(out))
}

/// Whether it is ready, and if not, what to do.
fn state(runnable: &Runnable) -> String {
    let (status, reason) = ready(runnable);
    let name = runnable.name_any();
    let Some(found) = &runnable.status else {
        return format!(
            "{name}: no controller has looked at it\n  to do: see that the controller runs and watches this namespace\n"
        );
    };
    let paint = colour(status);
    let mut out = match status {
        "" => format!(
            "{name}: no controller has looked at it\n  to do: see that the controller runs and watches this namespace\n"
        ),
        _ => format!("{name}: Ready is {paint}{status}{paint:#} ({reason})\n"),
    };
    if runnable.spec.suspend == Some(true) {
        out.push_str("  suspended: no new run is made until it is resumed\n");
    }
    if found.observed_generation != runnable.metadata.generation {
        out.push_str("  the controller has not looked at the last change yet\n");
    }
    if status != "True"
        && let Some(blocking) = blocking(found)
    {
        let _ = writeln!(out, "  blocked by {}: {}", blocking.type_, blocking.message);
        let _ = writeln!(out, "  to do: {}", advice(blocking));
    }
    out
}

/// What the last run was made for.
async fn cause(runs: &[LedgerRun], cluster: &Cluster) -> anyhow::Result<String> {
    let Some(current) = runs.iter().find(|run| run.current) else {
        return Ok("no run yet\n".to_owned());
    };
    let paint = colour(current.state);
    let mut out = format!(
        "run {}: {} {}, {paint}{}{paint:#}, begun {} ago\n",
        current.sequence,
        current.kind,
        current.name,
        current.state,
        age::ago(current.started_at.as_ref())
    );
    let earlier = runs.iter().find(|run| run.sequence < current.sequence);
    let Some(earlier) = earlier else {
        out.push_str("  made because it is the first one\n");
        return Ok(out);
    };
    if earlier.input_hash == current.input_hash {
        let because = match &current.rerun_token {
            Some(token) => {
                let request = current.rerun_request.clone().unwrap_or_default();
                let by = Some(request.by).filter(|by| !by.is_empty());
                let mut because = format!(
                    "{} asked for it: {token}",
                    by.as_deref().unwrap_or("somebody")
                );
                if !request.reason.is_empty() {
                    let _ = write!(because, " ({})", request.reason);
                }
                because
            }
            None => format!(
                "run {} was deleted before it had finished",
                earlier.sequence
            ),
        };
        let _ = writeln!(out, "  made because {because}");
        return Ok(out);
    }
    let (old, new) = (
        object(earlier, cluster).await?,
        object(current, cluster).await?,
    );
    match (old, new) {
        (Some(old), Some(new)) => {
            let _ = writeln!(
                out,
                "  made because what is rendered differs from run {}:",
                earlier.sequence
            );
            for line in object_diff::shown(&differences(&old, &new)).lines() {
                let _ = writeln!(out, "    {line}");
            }
        }
        _ => {
            let _ = writeln!(
                out,
                "  made because what is rendered differs from run {} (its object is gone, so that the fields are not known)",
                earlier.sequence
            );
        }
    }
    Ok(out)
}

/// The object of a run, if there is one that is it.
async fn object(run: &LedgerRun, cluster: &Cluster) -> anyhow::Result<Option<Value>> {
    let found = cluster
        .object(&run.api_version, &run.kind, &run.name)
        .await?;
    let found = found.filter(|object| {
        object.labels().get(RUN_SEQUENCE_LABEL) == Some(&run.sequence.to_string())
    });
    found
        .map(|object| Ok(serde_json::to_value(object)?))
        .transpose()
}

/// Whether there is anything to run now.
async fn next(args: &WhyArgs, cluster: &Cluster) -> String {
    match diff::prospect(cluster, &args.name, &Edited::default()).await {
        Ok(prospect) => match prospect.due {
            Due::New(next) => format!(
                "what is rendered now has not run yet: run {next} is to come\n  `cartouche diff {}` shows what differs\n",
                args.name
            ),
            Due::Pending(present) => {
                format!("what is rendered now has not run yet: run {present} is to be made\n")
            }
            Due::Nothing(_) => "nothing to run: what is rendered now has run\n".to_owned(),
            Due::OtherHash(present) => {
                format!(
                    "whether run {present} is of what is rendered now, the controller finds out\n"
                )
            }
        },
        Err(error) => format!(
            "what would run now cannot be told: {}\n",
            first_line(&format!("{error:#}"))
        ),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
