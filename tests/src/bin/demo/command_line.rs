//! The command line of the demo.

use std::path::PathBuf;

use cartouche_tests::hidden::Hidden;
use clap::{Args, Parser};

/// Run the examples on a Kubernetes control plane of your own and show their results.
///
/// The control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and KWOK in the place of
/// kubelets) is built from its Go modules at the first start, which takes about 6 minutes on two cores. It
/// listens on 127.0.0.1 only and is removed when this command ends, even after an error.
#[derive(Debug, Parser)]
#[command(
    name = "cargo demo",
    bin_name = "cargo demo",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  cargo demo                       watch the story, then explore with kubectl\n  \
        cargo demo --once                only the story: exit code 0 if every output arrived\n  \
        cargo demo --containers          an example whose container really works (Linux, root)\n  \
        cargo demo --context kind-kind   on a cluster that you have already\n\n\
        Variables:\n  KUBEBUILDER_ASSETS   a folder with ready-made programs: only missing ones are built\n  \
        CARTOUCHE_KEEP       if set, the folder with all logs is kept at the end\n  \
        NO_COLOR             if set, no colours"
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) hidden: Option<Hidden>,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// End after the story; the exit code is 0 only if every expected output arrived.
    #[arg(long)]
    pub(crate) once: bool,

    /// Run an example's containers on a real node (kubelet, containerd and runc, built at the first start)
    /// instead of KWOK. Needs Linux and root; otherwise KWOK simulates the node, as without this flag.
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) containers: bool,

    /// Fail if outputs take longer than this many seconds, for the first runs and for each change.
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    pub(crate) timeout: u64,

    /// Use the cluster of this kubeconfig instead of starting one. The controller still runs here, as its own
    /// ServiceAccount there.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Use this context of the kubeconfig instead of starting a cluster. Without --kubeconfig, use the
    /// default kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
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
    fn arguments_of_the_controller_pass_unread() {
        let line = ["demo", "controller", "--help", "--once", "-x"];
        let parsed = CommandLine::try_parse_from(line).unwrap();
        let Some(Hidden::Controller { arguments }) = parsed.hidden else {
            panic!("{parsed:?}");
        };
        assert_eq!(arguments, ["--help", "--once", "-x"]);
    }

    #[test]
    fn the_hidden_commands_are_hidden() {
        let help = CommandLine::command().render_long_help().to_string();
        assert!(help.contains("--once"));
        assert!(!help.contains("supervise"), "{help}");
    }
}
