//! `cartouche why`: what made the last run, who is waited for, and what to do.

use std::fmt::Write as _;

use cartouche_crds::{RUN_SEQUENCE_LABEL, Runnable, RunnableStatus};
use cartouche_protocol::{
    advice::advice,
    ledger::{Due, RunState},
    status::{RUN_IN_PROGRESS, blocking},
};
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
        age, object_diff, requests,
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
    requests::add(&mut runs, &runnable, cluster).await?;
    let mut out = state(&runnable);
    out.push_str(&cause(&runs, cluster).await?);
    out.push_str(&next(args, cluster).await);
    Ok(Outcome::good(out))
}

/// Whether it is ready, and if not, what to do.
fn state(runnable: &Runnable) -> String {
    let (status, reason) = ready(runnable);
    let name = runnable.name_any();
    let paint = colour(status);
    let mut out = match status {
        "" => format!(
            "{name}: no controller has looked at it\n  to do: see that the controller runs and watches this namespace\n"
        ),
        _ => format!("{name}: Ready is {paint}{status}{paint:#} ({reason})\n"),
    };
    let Some(found) = &runnable.status else {
        return out;
    };
    if runnable.spec.suspend == Some(true) {
        out.push_str("  suspended: no new run is made until it is resumed\n");
    }
    if found.observed_generation != runnable.metadata.generation {
        out.push_str("  the controller has not observed the last change yet\n");
    }
    if reason == RUN_IN_PROGRESS {
        out.push_str(&in_progress(found));
    } else if status != "True"
        && let Some(blocking) = blocking(found)
    {
        let _ = writeln!(out, "  blocked by {}: {}", blocking.type_, blocking.message);
        let _ = writeln!(out, "  to do: {}", advice(blocking));
    }
    out
}

/// The run that is waited for, in the words of its engine.
fn in_progress(status: &RunnableStatus) -> String {
    let Some(current) = &status.current_run else {
        return String::new();
    };
    let mut out = match RunState::from(current) {
        RunState::Running => {
            let since = age::ago(current.started_at.as_ref());
            format!("  run {} running for {since}", current.sequence)
        }
        RunState::Pending | RunState::Rejected => {
            format!("  run {} is being made", current.sequence)
        }
        _ => return String::new(),
    };
    match blocking(status).map(|condition| condition.message.as_str()) {
        None | Some("") => {}
        Some(message) => _ = write!(out, ": {message}"),
    }
    out.push('\n');
    out
}

/// What the last run was made for.
async fn cause(runs: &[LedgerRun], cluster: &Cluster) -> anyhow::Result<String> {
    let Some(current) = runs.iter().find(|run| run.current) else {
        return Ok("no run yet\n".to_owned());
    };
    let paint = colour(current.state.as_str());
    let (begun, made) = match current.state {
        RunState::Pending | RunState::Rejected => ("decided on", "to be made"),
        _ => ("begun", "made"),
    };
    let mut out = format!(
        "run {}: {} {}, {paint}{}{paint:#}, {begun} {} ago\n",
        current.sequence,
        current.kind,
        current.name,
        current.state,
        age::ago(current.started_at.as_ref())
    );
    let because = match runs::before(runs, current) {
        None => "it is the first one\n".to_owned(),
        Some(earlier) if earlier.input_hash == current.input_hash => request(current)
            .unwrap_or_else(|| {
                format!(
                    "run {} was deleted before it had finished\n",
                    earlier.sequence
                )
            }),
        Some(earlier) => change(earlier, current, cluster).await?,
    };
    let _ = write!(out, "  {made} because {because}");
    if let Some(stopped) = requests::stopped(current) {
        let _ = writeln!(out, "  {stopped}");
    }
    Ok(out)
}

/// Who asked for a run that is like the one before it, and why.
fn request(current: &LedgerRun) -> Option<String> {
    let token = current.rerun_token.as_ref()?;
    let request = current.rerun_request.clone().unwrap_or_default();
    let by = match request.by.as_str() {
        "" => "somebody",
        by => by,
    };
    Some(match request.reason.as_str() {
        "" => format!("{by} asked for it: {token}\n"),
        reason => format!("{by} asked for it: {token} ({reason})\n"),
    })
}

/// What differs between two runs.
async fn change(
    earlier: &LedgerRun,
    current: &LedgerRun,
    cluster: &Cluster,
) -> anyhow::Result<String> {
    let differs = format!("what is rendered differs from run {}", earlier.sequence);
    let (old, new) = (
        object(earlier, cluster).await?,
        object(current, cluster).await?,
    );
    let Some((old, new)) = old.zip(new) else {
        return Ok(format!(
            "{differs} (its object is gone, so that the fields are not known)\n"
        ));
    };
    let mut out = format!("{differs}:\n");
    for line in object_diff::shown(&differences(&old, &new)).lines() {
        let _ = writeln!(out, "    {line}");
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
