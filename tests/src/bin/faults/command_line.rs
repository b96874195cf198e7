//! What can be said on the command line.

use std::path::PathBuf;

use cartouche_tests::{faults::scenario::Scenario, hidden::Hidden};
use clap::{Args, Parser, Subcommand};

use crate::soak;

/// Breaks the requests of a controller of Runnables, and counts what comes of it.
///
/// A real API server and etcd are started on this machine. Between them and the controller stands a
/// proxy that loses, delays, repeats and refuses requests, or has the controller killed at a chosen
/// one. What happened is read in the API server's own record.
#[derive(Debug, Parser)]
#[command(
    name = "cargo faults",
    bin_name = "cargo faults",
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  cargo faults list\n  cargo faults run --every 10\n  \
        cargo faults run --scenario first-run --plan 'create trials.lab.test #1: reply lost'\n  \
        cargo faults run --docs docs/fault-plans.md\n  cargo faults soak 10\n  \
        cargo faults soak 5 --kill-every 2"
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows the plans: plays each scenario without faults and breaks nothing.
    List {
        #[command(flatten)]
        which: Which,
    },
    /// Carries plans out. The exit code is 1 if one failed.
    Run {
        #[command(flatten)]
        which: Which,
        /// Write the table of results to this file.
        #[arg(long, value_name = "FILE")]
        docs: Option<PathBuf>,
        /// Only the plans that failed the last time; their results replace those of then.
        #[arg(long)]
        again: bool,
        /// Only plans without a result so far; theirs are added to those of the last time.
        #[arg(long, conflicts_with = "again")]
        rest: bool,
    },
    /// Random faults, kills and changes for so many minutes. The exit code is 1 if a run was made
    /// twice or is missing at the end.
    Soak {
        #[command(flatten)]
        options: soak::Options,
    },
    #[command(flatten)]
    Hidden(Hidden),
}

/// Which plans.
#[derive(Clone, Debug, Args)]
pub(crate) struct Which {
    /// Of this scenario only; can be given more than once.
    #[arg(long, value_enum)]
    pub(crate) scenario: Vec<Scenario>,
    /// Only plans whose name contains this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) plan: Option<String>,
    /// Only every so many-th of them.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) every: usize,
    /// Only the delays and partitions that last minutes. Without a choice among the plans they are played
    /// beside all of them.
    #[arg(long, conflicts_with_all = ["scenario", "plan", "every"])]
    pub(crate) long: bool,
    /// How many at the same time; each has a controller of its own.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    pub(crate) at_once: usize,
    /// Begin no further plan after so many minutes.
    #[arg(long, value_name = "COUNT")]
    pub(crate) minutes: Option<u64>,
}

impl Which {
    /// Whether what takes minutes is asked for.
    pub(crate) fn has_long(&self) -> bool {
        self.long || (self.scenario.is_empty() && self.plan.is_none() && self.every <= 1)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::CommandLine::command().debug_assert();
    }
}
