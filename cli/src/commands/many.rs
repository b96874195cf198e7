//! What is done to one Runnable or to many: which are meant, the question before, and how it went.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, BufRead, IsTerminal as _, Write},
};

use anyhow::bail;
use cartouche_crds::Runnable;
use clap::Args;
use kube::ResourceExt as _;

use crate::{
    cluster::Cluster,
    live::selection::SelectionArgs,
    outcome::{FOUND, Outcome},
};

/// How many names stand above the question.
const NAMED: usize = 10;

/// Which Runnables, and whether to ask.
#[derive(Args, Debug)]
pub(crate) struct ManyArgs {
    /// The Runnables
    #[arg(value_name = "NAME", required_unless_present_any = ["selector", "template", "failed", "all"])]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// All of the namespace
    #[arg(long, conflicts_with_all = ["names", "selector", "template", "failed"])]
    pub(crate) all: bool,
    /// Do not ask before more than one is changed
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What may be done to a Runnable.
pub(crate) enum Plan {
    /// It is to be done.
    Due,
    /// There is nothing to do, as this says.
    Nothing(String),
    /// It cannot be done.
    Impossible(anyhow::Error),
}

/// Something that is done to Runnables.
pub(crate) trait Deed {
    /// `Re-run 2 Runnables`.
    fn title(&self, runnables: &str) -> String;
    /// What would happen to one: `is to run again`.
    fn prospect(&self) -> &'static str;
    /// What there is to do.
    fn plan(&self, runnable: &Runnable) -> Plan;
    /// Does it. What could not be seen without a look at more than the Runnable is an error here.
    async fn perform(&self, runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Outcome>;
}

/// A Runnable that was asked for by its name, or why there is none.
type Target = (String, anyhow::Result<Runnable>);

/// Does it to all that are meant.
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
    if targets.len() == 1
        && let Some((_, one)) = targets.pop()
    {
        return one_alone(deed, &one?, args.dry_run, cluster).await;
    }
    if !args.dry_run && !args.yes && !agreed(&asked(deed, &targets, cluster), targets.len())? {
        return Ok(Outcome {
            err: "nothing was done\n".to_owned(),
            code: FOUND,
            ..Outcome::default()
        });
    }
    Ok(each(deed, targets, args.dry_run, cluster).await)
}

/// The Runnables that are meant, or why there are none.
enum Targets {
    Found(Vec<Target>),
    None(String),
}

/// By what they have in common only those to which something is to be done.
async fn targets(deed: &impl Deed, args: &ManyArgs, cluster: &Cluster) -> anyhow::Result<Targets> {
    if args.names.is_empty() {
        let listed = cluster.selected_runnables(&args.selection, false).await?;
        let (count, place) = (listed.len(), &cluster.namespace);
        let due = |runnable: &Runnable| matches!(deed.plan(runnable), Plan::Due);
        let due: Vec<Target> = listed
            .into_iter()
            .filter(due)
            .map(|it| (it.name_any(), Ok(it)))
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
    for name in args.names.iter().filter(|name| seen.insert(*name)) {
        found.push((name.clone(), cluster.runnable(name).await));
    }
    Ok(Targets::Found(found))
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
        Plan::Due => deed.perform(runnable, cluster).await,
    }
}

fn would(deed: &impl Deed, runnable: &Runnable) -> String {
    format!(
        "{} {} (dry run: nothing was changed)\n",
        runnable.name_any(),
        deed.prospect()
    )
}

/// One after the other. What is done is told at once: who ends the command knows how far it came.
async fn each(deed: &impl Deed, targets: Vec<Target>, dry_run: bool, cluster: &Cluster) -> Outcome {
    let count = targets.len();
    let mut failures = 0;
    for (name, runnable) in targets {
        let done = match runnable {
            Ok(runnable) => one_alone(deed, &runnable, dry_run, cluster).await,
            Err(error) => Err(error),
        };
        let told = done.unwrap_or_else(|error| {
            failures += 1;
            Outcome::failed(&error.context(name))
        });
        // Who reads no more still wants it done.
        let _ = told.print();
    }
    let mut outcome = Outcome::default();
    if failures > 0 {
        outcome.err = format!("{failures} of {count} failed\n");
        outcome.code = FOUND;
    } else if !dry_run {
        outcome.err = format!("{count} of {count} done\n");
    }
    outcome
}

/// The names, and the question.
fn asked(deed: &impl Deed, targets: &[Target], cluster: &Cluster) -> String {
    let mut text = String::new();
    for (name, _) in targets.iter().take(NAMED) {
        let _ = writeln!(text, "  {name}");
    }
    match targets.len().saturating_sub(NAMED) {
        0 => {}
        more => _ = writeln!(text, "  and {more} more"),
    }
    let title = deed.title(&format!("{} Runnables", targets.len()));
    let _ = write!(text, "{title} in namespace {}? [y/N] ", cluster.namespace);
    text
}

/// Asks, where there is somebody to ask.
fn agreed(question: &str, count: usize) -> anyhow::Result<bool> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        bail!(
            "{count} Runnables are meant, and without a terminal nobody can be asked whether they all are\n\
             hint: --yes does it without a question, and --dry-run says what would be done"
        );
    }
    Ok(answer(question, io::stdin().lock(), io::stderr())?)
}

fn answer(question: &str, mut from: impl BufRead, mut to: impl Write) -> io::Result<bool> {
    to.write_all(question.as_bytes())?;
    to.flush()?;
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        let said = |text: &str| answer("all? ", text.as_bytes(), Vec::new()).unwrap();
        for yes in ["y\n", "Y\n", "yes\n", " Yes \r\n"] {
            assert!(said(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yeah, no\n"] {
            assert!(!said(no), "{no:?}");
        }
    }
}
