//! Actions on one or many Runnables: selection, confirmation and result.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, BufRead, IsTerminal as _},
};

use anyhow::bail;
use cartouche_crds::Runnable;
use clap::Args;
use kube::ResourceExt as _;

use crate::{
    cluster::Cluster,
    live::{
        newer_release,
        selection::{SelectionArgs, plain},
    },
    outcome::{FAILED, FOUND, Outcome, print_error},
};

/// Most names shown above the question.
const NAMED: usize = 10;

/// Options that select Runnables and skip the question.
#[derive(Args, Debug)]
pub(crate) struct ManyArgs {
    /// Names of the Runnables
    #[arg(value_name = "NAME", required_unless_present_any = ["selector", "template", "failed", "all"])]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// All Runnables of the namespace
    #[arg(long, conflicts_with_all = ["names", "selector", "template", "failed"])]
    pub(crate) all: bool,
    /// Do not ask before changing more than one
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Plan of an action for a Runnable.
pub(crate) enum Plan {
    /// The action is to be done.
    Due,
    /// There is nothing to do, for this reason.
    Nothing(String),
    /// The action is impossible.
    Impossible(anyhow::Error),
}

/// Action on Runnables.
pub(crate) trait Deed {
    /// Returns the start of the question, such as `Re-run 2 Runnables`.
    fn title(&self, runnables: &str) -> String;
    /// Returns what would happen to one Runnable, such as `is to run again`.
    fn prospect(&self) -> &'static str;
    /// Returns what there is to do, judged by the Runnable alone.
    fn plan(&self, runnable: &Runnable) -> Plan;
    /// Performs the action. Reasons against it that need more than the Runnable are an error here.
    async fn perform(&self, runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Outcome>;
}

/// Name of a Runnable, and the Runnable or the reason why the action is impossible.
type BulkTarget = (String, anyhow::Result<Runnable>);

/// Performs the action on all selected Runnables.
pub(crate) async fn perform(
    deed: &impl Deed,
    args: &ManyArgs,
    cluster: &Cluster,
) -> anyhow::Result<Outcome> {
    let mut targets = match targets(deed, args, cluster).await? {
        Targets::Found(found) => found,
        Targets::None(why) => {
            return Ok(Outcome {
                err: why,
                ..Outcome::default()
            });
        }
    };
    let count = targets.len();
    if count == 1
        && let Some((_, one)) = targets.pop()
    {
        return one_alone(deed, &one?, args.dry_run, cluster).await;
    }
    let found = print_errors(targets);
    if found.is_empty() {
        return Ok(Outcome {
            err: format!("{count} of {count} failed\n"),
            code: FAILED,
            ..Outcome::default()
        });
    }
    let is_question = found.len() > 1 && !args.dry_run && !args.yes;
    if is_question && !agreed(&asked(deed, &found, cluster), found.len())? {
        return Ok(Outcome {
            err: "nothing was done\n".to_owned(),
            code: if found.len() < count { FAILED } else { FOUND },
            ..Outcome::default()
        });
    }
    Ok(each(deed, &found, count, args, cluster).await)
}

/// Selected Runnables, or the reason why there are none.
enum Targets {
    Found(Vec<BulkTarget>),
    None(String),
}

/// Returns the named Runnables, or of the selected ones those that need the action.
async fn targets(deed: &impl Deed, args: &ManyArgs, cluster: &Cluster) -> anyhow::Result<Targets> {
    if args.names.is_empty() {
        let listed = cluster.selected_runnables(&args.selection, false).await?;
        let (count, place) = (listed.len(), &cluster.namespace);
        let due: Vec<BulkTarget> = listed
            .into_iter()
            .filter(|it| !matches!(deed.plan(it), Plan::Nothing(_)))
            .map(|it| (it.name_any(), possible(deed, it)))
            .collect();
        return Ok(match count {
            0 => Targets::None(format!(
                "there are no such Runnables in the namespace {place}\n"
            )),
            _ if due.is_empty() => Targets::None(format!(
                "nothing to do: none of {count} in the namespace {place} needs it\n"
            )),
            _ => Targets::Found(due),
        });
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let names = args.names.iter().map(|name| plain(name));
    for name in names.filter(|name| seen.insert(*name)) {
        let runnable = cluster.runnable(name).await;
        let target = runnable.and_then(|runnable| possible(deed, runnable));
        found.push((name.to_owned(), target));
    }
    Ok(Targets::Found(found))
}

/// Returns the Runnable, or the error if the action is known to be impossible.
fn possible(deed: &impl Deed, runnable: Runnable) -> anyhow::Result<Runnable> {
    match deed.plan(&runnable) {
        Plan::Impossible(error) => Err(error),
        Plan::Due | Plan::Nothing(_) => Ok(runnable),
    }
}

/// Prints the errors of impossible targets before the question, and returns the others.
fn print_errors(targets: Vec<BulkTarget>) -> Vec<Runnable> {
    let mut found = Vec::new();
    for (name, target) in targets {
        match target {
            Ok(runnable) => found.push(runnable),
            Err(error) => _ = Outcome::failed(&error.context(name)).print(),
        }
    }
    found
}

async fn one_alone(
    deed: &impl Deed,
    runnable: &Runnable,
    dry_run: bool,
    cluster: &Cluster,
) -> anyhow::Result<Outcome> {
    match deed.plan(runnable) {
        Plan::Nothing(text) => Ok(Outcome::good(text)),
        Plan::Impossible(error) => Err(error),
        Plan::Due if dry_run => Ok(Outcome::good(would(deed, runnable))),
        Plan::Due => {
            let mut done = deed.perform(runnable, cluster).await?;
            done.err.push_str(&newer_release::beside(runnable));
            Ok(done)
        }
    }
}

fn would(deed: &impl Deed, runnable: &Runnable) -> String {
    format!(
        "{} {} (dry run: nothing was changed)\n",
        runnable.name_any(),
        deed.prospect()
    )
}

/// Performs the action on one Runnable after the other. Prints each result immediately, for a user who interrupts the
/// command. `count` includes the targets whose errors have been printed.
async fn each(
    deed: &impl Deed,
    found: &[Runnable],
    count: usize,
    args: &ManyArgs,
    cluster: &Cluster,
) -> Outcome {
    let (mut failures, mut left_alone) = (count - found.len(), 0);
    for runnable in found {
        let done = if args.dry_run {
            one_alone(deed, runnable, true, cluster).await
        } else {
            let again = one_again(deed, runnable, &args.selection, cluster).await;
            again.map(|done| {
                done.unwrap_or_else(|| {
                    left_alone += 1;
                    Outcome::good(format!(
                        "{} is skipped: it was replaced, or is no longer selected\n",
                        runnable.name_any()
                    ))
                })
            })
        };
        let result = done.unwrap_or_else(|error| {
            failures += 1;
            Outcome::failed(&error.context(runnable.name_any()))
        });
        // The action continues if the reader of the output is gone.
        let _ = result.print();
    }
    let mut outcome = Outcome::default();
    if failures > 0 {
        outcome.err = format!("{failures} of {count} failed\n");
        outcome.code = FAILED;
    } else if !args.dry_run {
        outcome.err = format!("{} of {count} done\n", count - left_alone);
    }
    outcome
}

/// Reads the Runnable again and performs the action: the question may have been open for long. Returns `None` if the
/// Runnable was replaced or is no longer selected.
async fn one_again(
    deed: &impl Deed,
    before: &Runnable,
    selection: &SelectionArgs,
    cluster: &Cluster,
) -> anyhow::Result<Option<Outcome>> {
    let name = before.name_any();
    let now = cluster.still_selected(selection, &name).await?;
    match now.filter(|now| now.uid() == before.uid()) {
        Some(now) => one_alone(deed, &now, false, cluster).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the names and the question.
fn asked(deed: &impl Deed, found: &[Runnable], cluster: &Cluster) -> String {
    let mut text = String::new();
    for runnable in found.iter().take(NAMED) {
        let _ = writeln!(text, "  {}", runnable.name_any());
    }
    match found.len().saturating_sub(NAMED) {
        0 => {}
        more => _ = writeln!(text, "  and {more} more"),
    }
    let title = deed.title(&format!("{} Runnables", found.len()));
    let _ = write!(text, "{title} in namespace {}? [y/N] ", cluster.namespace);
    text
}

fn agreed(question: &str, count: usize) -> anyhow::Result<bool> {
    let Some(agreed) = said_yes(question)? else {
        bail!(
            "{count} Runnables are selected, and without a terminal the command cannot ask you to confirm\n\
             hint: --yes skips the question, and --dry-run shows what would be done"
        );
    };
    Ok(agreed)
}

/// Asks the user; returns `None` without a terminal.
pub(crate) fn said_yes(question: &str) -> io::Result<Option<bool>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(None);
    }
    print_error(question)?;
    answer(io::stdin().lock()).map(Some)
}

fn answer(mut from: impl BufRead) -> io::Result<bool> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        let said = |text: &str| answer(text.as_bytes()).unwrap();
        for yes in ["y\n", "Y\n", "yes\n", " Yes \r\n"] {
            assert!(said(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yeah, no\n"] {
            assert!(!said(no), "{no:?}");
        }
    }
}
