//! `cartouche approve`.

mod answer;
mod by_status;
mod waiting;
mod write;

use std::{collections::BTreeSet, fmt::Write as _};

use anyhow::{anyhow, bail};
use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{Approval, MAX_REASON, Rejection, Runnable};
use clap::Args;
use kube::ResourceExt;

use crate::{
    cluster::{AccessDenied, Cluster, ClusterArgs},
    commands::{diff::Comparison, many},
    format::OutputFormat,
    live::{
        newer_release, pending,
        prospect::{self, Edited, Prospect},
        selection::plain,
    },
    outcome::{FAILED, FOUND, GOOD, Outcome, print_error},
};
use answer::ApproveAnswer;
use waiting::{ApprovalState, waiting};

/// Approve or reject a run that waits for approval
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche approve hello
  cartouche approve --all                        one after the other
  cartouche approve hello --yes -o json
  cartouche approve hello --approval \"$SEEN\"     what another user has checked
  cartouche approve hello --reject --reason \"not before Monday\"

A run waits for approval if spec.approval is Manual. The command shows what the run changes, asks, and sets the
annotation carto.run/approved of the Runnable. This approves the run with this number and everything it is made of,
and no other. If any of that changes meanwhile, nothing is approved.

A run that cannot be shown is not approved, for example if you may not read the template, the selected object or the
sources of the inputs. If another user has checked it, pass the value of status.pending.approval as --approval: it is
approved if it still waits. If you may not read a Secret that the template reads an input from, the displayed document
may differ from the one that waits. In these cases, --unverified approves the run in the status, without a need to
read anything else. If you may not read the last run, there is no comparison.

Without a terminal --yes or --approval is needed.

Exit code 0 also if no run waits for approval; 1 if you say no; 2 if it failed for one or more of them.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags that have nothing to do with each other"
)]
pub(crate) struct ApproveArgs {
    /// Names of the Runnables
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// All Runnables of the namespace with a run that waits for approval
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Approve (or reject) this run if it still waits, without showing it or asking; the value of
    /// status.pending.approval
    #[arg(long, value_name = "NUMBER:HASH", conflicts_with = "all", value_parser = approval)]
    approval: Option<Approval>,
    /// Approve the run in the status, although you may not read the template, or the Secrets that show whether it is
    /// the displayed run
    #[arg(long, conflicts_with = "approval")]
    unverified: bool,
    /// Reject the waiting run with the annotation carto.run/rejected: it does not run, and the controller asks again
    /// only about another run
    #[arg(long, requires = "reason", conflicts_with_all = ["all", "unverified", "yes"])]
    reject: bool,
    /// Reason of the rejection, which the status shows; at most 1,024 characters
    #[arg(long, value_name = "TEXT", requires = "reject", value_parser = reason)]
    reason: Option<String>,
    /// Show the run, and approve it without a question
    #[arg(short, long)]
    yes: bool,
    /// Show the run, and approve nothing
    #[arg(long)]
    dry_run: bool,
    /// Format of the result
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

fn approval(text: &str) -> Result<Approval, String> {
    let wrong =
        "it is not <number>:<hash>, such as 4:v1:0f3a…: copy all of status.pending.approval";
    Approval::parse(text).ok_or_else(|| wrong.to_owned())
}

fn reason(text: &str) -> Result<String, String> {
    let (text, length) = (text.trim(), text.trim().chars().count());
    match length {
        0 => Err("it says nothing".to_owned()),
        1..=MAX_REASON => Ok(text.to_owned()),
        _ => Err(format!(
            "it has {length} characters; at most {MAX_REASON} are allowed"
        )),
    }
}

pub(crate) async fn execute(args: &ApproveArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let names = names(args, cluster).await?;
    match names.as_slice() {
        [] => Ok(Outcome {
            out: args
                .output
                .write(&Vec::<ApproveAnswer>::new(), |_| String::new())?,
            err: format!(
                "nothing to approve: no run in the namespace {} waits for approval\n",
                cluster.namespace
            ),
            ..Outcome::default()
        }),
        [name] => {
            let answer = Box::pin(one(name, args, cluster)).await?;
            let code = answer.code;
            let out = args.output.write(&[answer], |all| answer::text(all))?;
            Ok(Outcome {
                code,
                ..Outcome::good(out)
            })
        }
        _ if args.approval.is_some() => bail!(
            "{} Runnables are named, and --approval is for one\nhint: name only the Runnable of that run",
            names.len()
        ),
        several => Box::pin(each(several, args, cluster)).await,
    }
}

/// Returns the named Runnables, each once, or all that ask for approval.
async fn names(args: &ApproveArgs, cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    if args.all {
        let all = cluster.runnables(false).await?;
        let asking = all.iter().filter(|it| waiting::waits_for_a_yes(it));
        return Ok(asking.map(ResourceExt::name_any).collect());
    }
    let mut seen = BTreeSet::new();
    let names = args.names.iter().map(|name| plain(name));
    Ok(names
        .filter(|name| seen.insert(*name))
        .map(str::to_owned)
        .collect())
}

/// Approves the Runnables one after the other, each with its own question. The text output reports each result
/// immediately.
async fn each(names: &[String], args: &ApproveArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let mut answers = Vec::new();
    let mut failures = 0;
    for name in names {
        let answer = Box::pin(one(name, args, cluster)).await;
        let answer = answer.unwrap_or_else(|error| {
            failures += 1;
            let failed = ApproveAnswer::failed(&cluster.namespace, name, &error);
            let _ = Outcome::failed(&error.context(name.clone())).print();
            failed
        });
        if args.output == OutputFormat::Text && answer.code != FAILED {
            let _ = Outcome::good(answer::text(std::slice::from_ref(&answer))).print();
        }
        answers.push(answer);
    }
    let count = names.len();
    let is_no = answers.iter().any(|answer| answer.code == FOUND);
    Ok(Outcome {
        out: match args.output {
            OutputFormat::Text => String::new(),
            format => format.write(&answers, |_| String::new())?,
        },
        err: match failures {
            0 => String::new(),
            _ => format!("{failures} of {count} failed\n"),
        },
        code: match failures {
            0 if is_no => FOUND,
            0 => GOOD,
            _ => FAILED,
        },
        ..Outcome::default()
    })
}

async fn one(name: &str, args: &ApproveArgs, cluster: &Cluster) -> anyhow::Result<ApproveAnswer> {
    let runnable = cluster.runnable(name).await?;
    print_error(&newer_release::beside(&runnable))?;
    if args.reject {
        return rejected(&runnable, args, cluster).await;
    }
    if let Some(given) = &args.approval {
        return as_given(&runnable, given, args, cluster).await;
    }
    let prospect = match prospect::of_named(cluster, name, &Edited::default()).await {
        Err(error) if AccessDenied::find(&error).is_some() => {
            return by_status::answer(&error, &runnable, args, cluster).await;
        }
        other => other.map_err(|error| unseen(&error, &runnable, cluster))?,
    };
    // The write uses the Runnable that was shown, not a later read of it.
    let read = prospect.live.as_ref().unwrap_or(&runnable);
    let waits = waiting(read, &prospect, args.unverified, &cluster.place());
    let waits = waits.map_err(|error| match prospect.unknown_hash() {
        Some(_) => unseen(&error, read, cluster),
        None => error,
    })?;
    // Unread Secrets get this far only if the user passes `--unverified`.
    let unverified = &prospect.unread;
    let approval = match waits {
        ApprovalState::ForPerson(approval) => approval,
        ApprovalState::Approved(approval) => {
            let answer = ApproveAnswer::already(&cluster.namespace, read, &approval);
            return Ok(answer.with_unverified(unverified));
        }
        ApprovalState::Nothing(why) => {
            return Ok(ApproveAnswer::nothing(&cluster.namespace, read, why));
        }
    };
    let compared = Comparison::compare(&prospect, false, cluster).await;
    let compared = compared.map_err(|error| unseen(&error, read, cluster))?;
    let shown = format_prospect(&compared, &prospect, (read, &approval), cluster);
    answered((read, &approval), (shown, unverified), args, cluster).await
}

/// Shows a run that waits, asks, and writes the answer.
async fn answered(
    (runnable, approval): (&Runnable, &Approval),
    (shown, unverified): (String, &BTreeSet<String>),
    args: &ApproveArgs,
    cluster: &Cluster,
) -> anyhow::Result<ApproveAnswer> {
    let namespace = &cluster.namespace;
    Outcome {
        err: shown,
        ..Outcome::default()
    }
    .print()?;
    let answer = if args.dry_run {
        ApproveAnswer::tried(namespace, runnable, approval)
    } else if !args.yes && !agreed((runnable, approval), unverified, cluster)? {
        ApproveAnswer::refused(namespace, runnable, approval)
    } else {
        write::approve(runnable, approval, cluster).await?;
        ApproveAnswer::approved(namespace, runnable, approval)
    };
    Ok(answer.with_unverified(unverified))
}

/// Approves the run given by `--approval`, if it is what waits.
async fn as_given(
    runnable: &Runnable,
    given: &Approval,
    args: &ApproveArgs,
    cluster: &Cluster,
) -> anyhow::Result<ApproveAnswer> {
    let namespace = &cluster.namespace;
    // An earlier approval that no longer waits says nothing about what waits now.
    waiting::is_asked_for(runnable, given, &cluster.place())?;
    if waiting::is_given(runnable, given) {
        return Ok(ApproveAnswer::already(namespace, runnable, given));
    }
    if args.dry_run {
        return Ok(ApproveAnswer::tried(namespace, runnable, given));
    }
    write::approve(runnable, given, cluster).await?;
    Ok(ApproveAnswer::approved(namespace, runnable, given))
}

/// Rejects the run that the status asks about.
async fn rejected(
    runnable: &Runnable,
    args: &ApproveArgs,
    cluster: &Cluster,
) -> anyhow::Result<ApproveAnswer> {
    let (namespace, place) = (&cluster.namespace, cluster.place());
    let waits = match &args.approval {
        Some(given) => {
            waiting::is_asked_for(runnable, given, &place)?;
            given.clone()
        }
        None => waiting::waits_now(runnable)?,
    };
    if args.dry_run {
        return Ok(ApproveAnswer::rejection_tried(namespace, runnable, &waits));
    }
    let rejection = Rejection {
        approval: waits.to_string(),
        by: cluster.user().await.unwrap_or_default(),
        reason: args.reason.clone().unwrap_or_default(),
    };
    write::reject(runnable, (&waits, &rejection), cluster).await?;
    Ok(ApproveAnswer::rejected(namespace, runnable, &waits))
}

/// Returns all that the user sees before the question. It goes to standard error, as the question does.
fn format_prospect(
    compared: &Comparison,
    prospect: &Prospect,
    (runnable, approval): (&Runnable, &Approval),
    cluster: &Cluster,
) -> String {
    let (namespace, name) = (&cluster.namespace, runnable.name_any());
    let mut out = format!("Runnable {namespace}/{name}:\n{}", compared.whole(prospect));
    let pending = pending::pending(runnable);
    let tried = pending
        .and_then(|pending| pending::describe_dry_run(pending, &name, Some(&cluster.place())));
    if let Some(answer) = tried {
        let _ = writeln!(out, "{}", in_one_line(&answer));
    }
    if let Some(profile) = &prospect.profile {
        let _ = writeln!(out, "it uses ClusterRunProfile {profile}");
    }
    if !prospect.unread.is_empty() {
        let _ = writeln!(
            out,
            "not verified: by the status, {approval} waits for approval, which may not be the run above"
        );
    }
    out
}

/// Asks the user; without a terminal, returns an error.
fn agreed(
    (runnable, approval): (&Runnable, &Approval),
    unverified: &BTreeSet<String>,
    cluster: &Cluster,
) -> anyhow::Result<bool> {
    let (namespace, name) = (&cluster.namespace, runnable.name_any());
    let sequence = approval.sequence;
    let how = if unverified.is_empty() {
        ""
    } else {
        ", not verified"
    };
    let question = format!("approve run {sequence} of {namespace}/{name}{how}? [y/N] ");
    let Some(agreed) = many::said_yes(&question)? else {
        let exactly = cluster
            .place()
            .command(&format!("approve {name} --approval {approval}"));
        bail!(
            "run {sequence} of {name} waits for approval, and without a terminal the command cannot ask you\n\
             hint: `{exactly}` approves exactly this run; --yes approves the run that is shown, without a question"
        );
    };
    Ok(agreed)
}

/// Explains why a run cannot be shown, and so is not approved.
fn unseen(error: &anyhow::Error, runnable: &Runnable, cluster: &Cluster) -> anyhow::Error {
    if waiting::asked_for(runnable).is_none() {
        return anyhow!("{error:#}");
    }
    let name = runnable.name_any();
    let elsewhere = cluster
        .place()
        .command(&format!("approve {name} --approval NUMBER:HASH"));
    let by_status = AccessDenied::find(error).map(|_| {
        let command = format!("approve {name} --unverified");
        let command = cluster.place().command(&command);
        format!("\nhint: `{command}` approves the run in the status, without showing it")
    });
    let by_status = by_status.unwrap_or_default();
    anyhow!(
        "{error:#}\nhint: a run that cannot be shown is not approved; if another user has checked it, use `{elsewhere}` with the value of status.pending.approval{by_status}"
    )
}
