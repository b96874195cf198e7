//! What can be said on the command line.

use std::{path::PathBuf, str::FromStr};

use cartouche_tests::hidden::Hidden;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{measure::Subject, scenarios::Attack};

/// Measures a controller of Runnables (carto.run/v1alpha1) beside the ceiling of this machine.
///
/// A Kubernetes API server and etcd are started on this machine (built from source at the first
/// start), Runnables are created and changed, an engine marks every run as succeeded at once, and
/// watches tell when runs and outputs appear. Two unsafe reference controllers, which are part of the
/// benchmark, take turns with the controller under test: what matters are the ratios.
#[derive(Debug, Parser)]
#[command(
    name = "cargo bench-cluster",
    bin_name = "cargo bench-cluster",
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  cargo bench-cluster alone\n  cargo bench-cluster together 100 1000 --json together.json\n  \
        cargo bench-cluster scale 1000x2 10000x5 --kinds 1,200\n  \
        cargo bench-cluster together --controller ./cartographer --args=-metrics-port=9998\n\n\
        The control plane needs Go 1.26, or KUBEBUILDER_ASSETS set to a folder with ready-made programs.\n\
        CPU and memory are read in /proc: Linux only."
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// What holds for every scenario.
#[derive(Clone, Debug, Args)]
pub(crate) struct Settings {
    /// The controller to measure. Without it: Cartouche, as built with this benchmark.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) controller: Option<PathBuf>,

    /// Arguments of the controller, once for each.
    #[arg(
        long,
        global = true,
        value_name = "ARGUMENT",
        allow_hyphen_values = true
    )]
    pub(crate) args: Vec<String>,

    /// Measure this running process instead of starting a controller.
    #[arg(long, global = true, requires = "kubeconfig")]
    pub(crate) pid: Option<u32>,

    /// As whom the process of --pid speaks to the API server, as the audit log names it.
    #[arg(long, global = true, requires = "pid")]
    pub(crate) user: Option<String>,

    /// Use the cluster of this kubeconfig instead of starting one. Requests are then not counted.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig.
    #[arg(long, global = true, value_name = "NAME", requires = "kubeconfig")]
    pub(crate) context: Option<String>,

    /// Install Cartouche's kinds and roles on the cluster of --kubeconfig.
    #[arg(long, global = true, requires = "kubeconfig")]
    pub(crate) install: bool,

    /// How long each measurement changes inputs.
    #[arg(long, global = true, default_value_t = 12)]
    pub(crate) seconds: u64,

    /// How often the controller and the references take turns.
    #[arg(long, global = true, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub(crate) repeat: u8,

    /// Measure without the reference controllers.
    #[arg(long, global = true)]
    pub(crate) no_references: bool,

    /// Runnables that a reference works on at the same time.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 16)]
    pub(crate) reference_concurrency: usize,

    /// Finished runs that each Runnable keeps. What has more from the start keeps those.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=200))]
    pub(crate) keep: u8,

    /// Runs that each Runnable has behind it before it is measured, whoever is measured.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) earlier: u8,

    /// How long a run lasts, in milliseconds.
    #[arg(long, global = true, value_name = "MILLISECONDS", default_value_t = 0)]
    pub(crate) lasts: u64,

    /// Record a profile of the controller with perf, while it is measured, in this file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) perf: Option<PathBuf>,

    /// Write everything that was measured to this file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl Settings {
    /// Who is measured, in turn.
    pub(crate) fn subjects(&self) -> Vec<Subject> {
        if self.no_references {
            return vec![Subject::Controller];
        }
        vec![
            Subject::TwoWrites,
            Subject::WithConditions,
            Subject::Blind,
            Subject::Controller,
        ]
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// One Runnable, changed again each time its outputs have arrived.
    Alone,
    /// Many Runnables changed at once, again and again.
    Together {
        /// How many.
        #[arg(default_values_t = [100])]
        runnables: Vec<usize>,
    },
    /// Many Runnables, each changed again as soon as its outputs have arrived, or at a rate.
    Load {
        /// How many.
        #[arg(default_values_t = [1, 4, 16, 64, 256])]
        runnables: Vec<usize>,
        /// Changes a second, of all Runnables together, whatever becomes of them.
        #[arg(long)]
        rate: Option<f64>,
    },
    /// How cost grows: memory, start, throughput and CPU at several sizes. No references.
    Scale {
        /// Runnables and finished runs of each, as 1000x2.
        #[arg(default_values = ["100x1", "1000x2", "1000x10", "1000x50", "10000x5"])]
        points: Vec<Point>,
        /// And kinds of runs.
        #[arg(long, value_delimiter = ',', default_values_t = [1, 20, 200])]
        kinds: Vec<usize>,
    },
    /// A controller starts on a cluster that has everything already.
    ColdStart {
        /// Runnables and finished runs of each, as 1000x2.
        #[arg(default_values = ["1000x2", "10000x5"])]
        points: Vec<Point>,
    },
    /// One template is edited under many Runnables, while others are changed.
    TemplateEdit {
        /// How many.
        #[arg(default_values_t = [1000])]
        runnables: Vec<usize>,
    },
    /// Many Runnables whose runs wait for each other, and many that fail and are tried again, while others are changed.
    Lifecycle {
        /// How many.
        #[arg(default_values_t = [1000])]
        runnables: Vec<usize>,
    },
    /// Chains of five Runnables, each of which takes an output of the one before: by selectors, and by runnableRef.
    Chain {
        /// How many chains.
        #[arg(default_value_t = 20)]
        chains: usize,
    },
    /// A controller is left alone, and started again: what does it write?
    Idle {
        /// Runnables and finished runs of each, as 1000x2.
        #[arg(default_value = "1000x2")]
        point: Point,
        /// How long it is left alone.
        #[arg(long, default_value_t = 3)]
        minutes: u64,
    },
    /// What tenants and strangers can do to a controller and to others: each attack ten at once, at the size that is allowed. Fails if one breaks a
    /// bound. Give --seconds at least 30.
    Attacks {
        /// Which of them.
        #[arg(value_enum, default_values_t = Attack::value_variants().to_vec())]
        attacks: Vec<Attack>,
    },
    /// What each sort of request costs the API server. No controller.
    Shapes {
        /// How often each is sent.
        #[arg(long, default_value_t = 300)]
        requests: usize,
    },
    /// Writes tables and plots into docs/performance.md, from files that --json wrote.
    Docs {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Runs a reference controller.
    #[command(hide = true)]
    Reference {
        which: Reference,
        concurrency: usize,
    },
    #[command(flatten)]
    Hidden(Hidden),
}

/// So many Runnables with so many finished runs each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) runnables: usize,
    pub(crate) runs: usize,
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('x');
        let point = parts.and_then(|(runnables, runs)| {
            Some(Self {
                runnables: runnables.parse().ok().filter(|&count| count > 0)?,
                runs: runs
                    .parse()
                    .ok()
                    .filter(|&count| (1..=200).contains(&count))?,
            })
        });
        point.ok_or_else(|| {
            format!("{text:?} is not <Runnables>x<finished runs of each, 1 to 200>, as 1000x2")
        })
    }
}

/// A reference controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reference {
    TwoWrites,
    WithConditions,
    Blind,
}

impl Reference {
    pub(crate) fn subject(self) -> Subject {
        match self {
            Self::TwoWrites => Subject::TwoWrites,
            Self::WithConditions => Subject::WithConditions,
            Self::Blind => Subject::Blind,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_point_is_two_counts() {
        let point: Point = "1000x2".parse().unwrap();
        assert_eq!((point.runnables, point.runs), (1000, 2));
        for wrong in ["1000", "0x1", "10x0", "10x201", "axb"] {
            assert!(wrong.parse::<Point>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_of_the_controller_pass_unread() {
        let line = ["bench", "controller", "--help", "--json", "-x"];
        let parsed = CommandLine::try_parse_from(line).unwrap();
        let Command::Hidden(Hidden::Controller { arguments }) = parsed.command else {
            panic!("{parsed:?}");
        };
        assert_eq!(arguments, ["--help", "--json", "-x"]);
    }
}
