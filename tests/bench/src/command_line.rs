//! The command line of the benchmark.

use std::{path::PathBuf, str::FromStr};

use cartouche_tests::hidden::Hidden;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{measure::Subject, scenarios::Attack};

/// Measure a controller of Runnables (carto.run/v1alpha1) beside the ceiling of this machine.
///
/// The benchmark starts a Kubernetes API server and etcd on this machine (built from source at the first
/// start) and creates and changes Runnables. An engine marks every run as succeeded at once, and watches
/// record when runs and outputs appear. Three unsafe reference controllers, which are part of the benchmark,
/// take turns with the controller under test: the ratios are what matters.
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

/// Settings of every scenario.
#[derive(Clone, Debug, Args)]
pub(crate) struct Settings {
    /// Measure this controller. The default is Cartouche, as built with this benchmark.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) controller: Option<PathBuf>,

    /// Pass this argument to the controller; can be given more than once.
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

    /// User of the process of --pid, as the audit log names it.
    #[arg(long, global = true, requires = "pid")]
    pub(crate) user: Option<String>,

    /// Use the cluster of this kubeconfig instead of starting one. Requests are then not counted.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Use this context of the kubeconfig.
    #[arg(long, global = true, value_name = "NAME", requires = "kubeconfig")]
    pub(crate) context: Option<String>,

    /// Install Cartouche's kinds and roles on the cluster of --kubeconfig.
    #[arg(long, global = true, requires = "kubeconfig")]
    pub(crate) install: bool,

    /// Change inputs for this many seconds in each measurement.
    #[arg(long, global = true, default_value_t = 12)]
    pub(crate) seconds: u64,

    /// Let the controller and the references take this many turns.
    #[arg(long, global = true, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub(crate) repeat: u8,

    /// Measure without the reference controllers.
    #[arg(long, global = true)]
    pub(crate) no_references: bool,

    /// Let a reference work on this many Runnables at the same time.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 16)]
    pub(crate) reference_concurrency: usize,

    /// Keep this many finished runs of each Runnable. A Runnable with more from the start keeps those.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=200))]
    pub(crate) keep: u8,

    /// Make this many runs of each Runnable before it is measured, for every subject.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) earlier: u8,

    /// Let a run last this many milliseconds.
    #[arg(long, global = true, value_name = "MILLISECONDS", default_value_t = 0)]
    pub(crate) lasts: u64,

    /// Record a profile of the controller with perf in this file, while it is measured.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) perf: Option<PathBuf>,

    /// Write all measurements to this file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl Settings {
    /// Returns the subjects, in the order of their turns.
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
    /// Change one Runnable again each time its outputs have arrived.
    Alone,
    /// Change many Runnables at once, again and again.
    Together {
        /// Number of Runnables.
        #[arg(default_values_t = [100])]
        runnables: Vec<usize>,
    },
    /// Change many Runnables, each again as soon as its outputs have arrived, or at a rate.
    Load {
        /// Number of Runnables.
        #[arg(default_values_t = [1, 4, 16, 64, 256])]
        runnables: Vec<usize>,
        /// Make this many changes a second, of all Runnables together, whether outputs arrive or not.
        #[arg(long)]
        rate: Option<f64>,
    },
    /// Measure how cost grows: memory, start, throughput and CPU at several sizes. No references.
    Scale {
        /// Runnables and finished runs of each, as 1000x2.
        #[arg(default_values = ["100x1", "1000x2", "1000x10", "1000x50", "10000x5"])]
        points: Vec<Point>,
        /// Numbers of kinds of runs.
        #[arg(long, value_delimiter = ',', default_values_t = [1, 20, 200])]
        kinds: Vec<usize>,
    },
    /// Start a controller on a cluster that has everything already.
    ColdStart {
        /// Runnables and finished runs of each, as 1000x2.
        #[arg(default_values = ["1000x2", "10000x5"])]
        points: Vec<Point>,
    },
    /// Edit one template under many Runnables, while others change.
    TemplateEdit {
        /// Number of Runnables.
        #[arg(default_values_t = [1000])]
        runnables: Vec<usize>,
    },
    /// Measure many Runnables whose runs wait for each other, and many that fail and are retried, while
    /// others change.
    Lifecycle {
        /// Number of Runnables.
        #[arg(default_values_t = [1000])]
        runnables: Vec<usize>,
    },
    /// Measure chains of five Runnables, each of which takes an output of the previous one: by selectors, and
    /// by runnableRef.
    Chain {
        /// Number of chains.
        #[arg(default_value_t = 20)]
        chains: usize,
    },
    /// Leave a controller alone, restart it, and count its writes.
    Idle {
        /// Runnables and finished runs of each, as 1000x2.
        #[arg(default_value = "1000x2")]
        point: Point,
        /// Leave the controller alone for this many minutes.
        #[arg(long, default_value_t = 3)]
        minutes: u64,
    },
    /// Attack a controller and other tenants as tenants and strangers can: each attack ten at once, at the
    /// permitted size. Fails if one exceeds a bound. Give --seconds at least 30.
    Attacks {
        /// Attacks to play.
        #[arg(value_enum, default_values_t = Attack::value_variants().to_vec())]
        attacks: Vec<Attack>,
    },
    /// Measure the cost of each sort of request for the API server. No controller.
    Shapes {
        /// Send each request this many times.
        #[arg(long, default_value_t = 300)]
        requests: usize,
    },
    /// Write tables and plots into docs/internals/performance.md, from files that --json wrote.
    Docs {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Run a reference controller.
    #[command(hide = true)]
    Reference {
        which: Reference,
        concurrency: usize,
    },
    #[command(flatten)]
    Hidden(Hidden),
}

/// A number of Runnables, and of finished runs of each.
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
