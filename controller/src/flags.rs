//! The command line. Every flag has an environment variable.

use std::{net::SocketAddr, time::Duration};

use cartouche_language::Hashing;
use clap::{Parser, ValueEnum};

use crate::api::IdentityMode;

/// Makes work in Kubernetes run exactly once per change.
///
/// Watches Runnables (carto.run/v1alpha1). When the object that a Runnable's ClusterRunTemplate renders
/// changes, the controller creates one new object as the Runnable's ServiceAccount. When that object
/// has succeeded, the controller writes its outputs into the status of the Runnable.
///
/// In a cluster it uses the ServiceAccount of its pod. Outside a cluster, set the variable KUBECONFIG.
/// SIGTERM and SIGINT stop the controller; running runs continue.
#[derive(Clone, Debug, Parser)]
#[command(name = "cartouche-controller", version, max_term_width = 100)]
pub struct Flags {
    /// Serve /healthz, /readyz and /metrics on this address.
    #[arg(
        long,
        env = "CARTOUCHE_HEALTH_ADDRESS",
        value_name = "HOST:PORT",
        default_value = "0.0.0.0:8080"
    )]
    pub health_address: SocketAddr,

    /// Way to act as the ServiceAccount of a Runnable.
    #[arg(long, env = "CARTOUCHE_IDENTITY", value_enum, default_value_t = IdentityMode::Impersonate)]
    pub identity: IdentityMode,

    /// Serve only the Runnables of this namespace, and watch nothing in other namespaces.
    #[arg(long, env = "CARTOUCHE_NAMESPACE")]
    pub namespace: Option<String>,

    /// Refuse inputs from objects of other namespaces. Without this flag, the permissions of the Runnable's
    /// ServiceAccount decide.
    #[arg(long, env = "CARTOUCHE_NO_CROSS_NAMESPACE_REFS")]
    pub no_cross_namespace_refs: bool,

    /// Number of Runnables to reconcile at the same time. From 1 to 1024.
    #[arg(long, env = "CARTOUCHE_CONCURRENCY", value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub concurrency: u16,

    /// Number of kinds to watch at the same time. Further kinds are polled. From 1 to 10000.
    #[arg(long, env = "CARTOUCHE_MAX_WATCHED_KINDS", value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_watched_kinds: u32,

    /// Number of Secrets to watch at the same time, for inputs that come from them. Further Secrets, and those that the
    /// ServiceAccount may not watch, are polled. Each watch takes a connection to the API server and about 40 KiB.
    /// All namespaces share the watches. From 0 to 100000.
    #[arg(long, env = "CARTOUCHE_MAX_WATCHED_OBJECTS", value_name = "COUNT", default_value_t = 500, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub max_watched_objects: u32,

    /// Interval in seconds at which the controller lists runs of kinds that it may not watch, and reads Secrets that
    /// are not watched. It reads at most 100 Secrets a second. From 1 to 3600.
    #[arg(long, env = "CARTOUCHE_POLL_SECONDS", value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub poll_seconds: u64,

    /// Timeout of a request to the API server, in seconds. After the timeout of a write, the controller first looks up
    /// its outcome. From 1 to 60.
    #[arg(long, env = "CARTOUCHE_REQUEST_TIMEOUT", value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub request_timeout: u64,

    /// Number of runs in ten minutes, without a change of the Runnable or its template, after which the controller
    /// makes only one run every five minutes. From 1 to 100000.
    #[arg(long, env = "CARTOUCHE_RUNAWAY_RUNS", value_name = "COUNT", default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=100_000))]
    pub runaway_runs: i64,

    /// Rate of Kubernetes Events, per second, with bursts of five times as many. Further events wait, and namespaces
    /// take turns. Of more than 200 waiting events of one namespace, some are dropped and counted. From 1 to 100000.
    #[arg(long, env = "CARTOUCHE_EVENTS_PER_SECOND", value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub events_per_second: u32,

    /// Format of the logs on standard error.
    #[arg(long, env = "CARTOUCHE_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Log level (error, warn, info, debug, trace), or a filter such as info,kube=debug.
    #[arg(
        long,
        env = "CARTOUCHE_LOG",
        value_name = "FILTER",
        default_value = "info,kube_runtime=warn"
    )]
    pub log: String,

    /// Versions of the hashes, which are those of the release: no flag sets them.
    #[arg(skip)]
    pub hashing: Hashing,
}

/// Format of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines of text.
    Text,
    /// One JSON object per line.
    Json,
}

impl Flags {
    /// Returns the deadline of a request.
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout)
    }

    /// Returns the interval at which polled kinds are listed.
    #[must_use]
    pub fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::Flags;
    use clap::{Arg, Command, CommandFactory, Parser};

    /// Returns the flags, without those for help and version.
    fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
        let is_own = |flag: &&Arg| !matches!(flag.get_id().as_str(), "help" | "version");
        command.get_arguments().filter(is_own)
    }

    #[test]
    fn every_flag_has_an_environment_variable_and_a_help_text() {
        let command = Flags::command();
        command.clone().debug_assert();
        for flag in flags(&command) {
            assert!(flag.get_env().is_some(), "{}", flag.get_id());
            assert!(flag.get_help().is_some(), "{}", flag.get_id());
        }
    }

    #[test]
    fn the_help_of_a_number_ends_with_its_range() {
        let command = Flags::command();
        let is_number = |flag: &&Arg| {
            let names = flag.get_value_names().unwrap_or_default();
            names
                .iter()
                .any(|it| matches!(it.as_str(), "COUNT" | "SECONDS"))
        };
        let mut seen = 0;
        for flag in flags(&command).filter(is_number) {
            let long = flag.get_long().unwrap();
            let is_valid = |number: i64| {
                Flags::try_parse_from(["controller".to_owned(), format!("--{long}={number}")])
                    .is_ok()
            };
            let help = flag.get_help().unwrap().to_string();
            let (_, range) = help.rsplit_once("From ").unwrap();
            let (from, to) = range.trim_end_matches('.').split_once(" to ").unwrap();
            let (from, to): (i64, i64) = (from.parse().unwrap(), to.parse().unwrap());
            let valid = [from - 1, from, to, to + 1].map(is_valid);
            assert_eq!(valid, [false, true, true, false], "{help}");
            seen += 1;
        }
        assert_eq!(seen, 7);
    }
}
