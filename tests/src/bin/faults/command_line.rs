//! The command line of the fault plans.

use std::path::PathBuf;

use cartouche_tests::{faults::scenario::Scenario, hidden::Hidden};
use clap::{Args, Parser, Subcommand};

use crate::soak;

/// Break the requests of a controller of Runnables and count the consequences.
///
/// This command starts a real API server and etcd on this machine. A proxy between them and the controller
/// loses, delays, repeats and refuses requests, or has the controller killed at a chosen one. The API
/// server's audit log shows what happened.
#[derive(Debug, Parser)]
#[command(
    name = "cargo faults",
    bin_name = "cargo faults",
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  cargo faults list\n  cargo faults run --every 10\n  \
        cargo faults run --scenario first-run --plan 'create trials.lab.test #1: reply lost'\n  \
        cargo faults run --docs docs/internals/fault-plans.md\n  cargo faults soak 10\n  \
        cargo faults soak 5 --kill-every 2"
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the plans: play each scenario without faults and break nothing.
    List {
        #[command(flatten)]
        which: Which,
    },
    /// Carry out plans. The exit code is 1 if one failed.
    Run {
        #[command(flatten)]
        which: Which,
        /// Write the table of results to this file.
        #[arg(long, value_name = "FILE")]
        docs: Option<PathBuf>,
        /// Repeat only the plans that failed the last time and replace their results.
        #[arg(long)]
        again: bool,
        /// Run only plans that have no result yet and add their results to those of the last time.
        #[arg(long, conflicts_with = "again")]
        rest: bool,
    },
    /// Run random faults, kills and changes for this many minutes. The exit code is 1 if a run was made twice
    /// or is missing at the end.
    Soak {
        #[command(flatten)]
        options: soak::Options,
    },
    #[command(flatten)]
    Hidden(Hidden),
}

/// Selection of plans.
#[derive(Clone, Debug, Args)]
pub(crate) struct Which {
    /// Select only this scenario; can be given more than once.
    #[arg(long, value_enum)]
    pub(crate) scenario: Vec<Scenario>,
    /// Select only plans whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) plan: Option<String>,
    /// Select only every n-th plan.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) every: usize,
    /// Select only the delays and partitions that last minutes. Without another selection they are played
    /// beside all plans.
    #[arg(long, conflicts_with_all = ["scenario", "plan", "every"])]
    pub(crate) long: bool,
    /// Carry out this many plans at the same time, each with its own controller.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    pub(crate) at_once: usize,
    /// Begin no further plan after this many minutes.
    #[arg(long, value_name = "COUNT")]
    pub(crate) minutes: Option<u64>,
}

impl Which {
    /// Returns true if the selection includes the faults that last minutes.
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
