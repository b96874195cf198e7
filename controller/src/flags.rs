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

    /// Number of Runnables to reconcile at the same time.
    #[arg(long, env = "CARTOUCHE_CONCURRENCY", value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub concurrency: u16,

    /// Number of kinds to watch at the same time. Further kinds are polled.
    #[arg(long, env = "CARTOUCHE_MAX_WATCHED_KINDS", value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_watched_kinds: u32,

    /// Number of Secrets to watch at the same time, for inputs that come from them. Further Secrets, and those that the
    /// ServiceAccount may not watch, are polled. Each watch takes a connection to the API server and about 40 KiB.
    /// All namespaces share the watches.
    #[arg(long, env = "CARTOUCHE_MAX_WATCHED_OBJECTS", value_name = "COUNT", default_value_t = 500, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub max_watched_objects: u32,

    /// Interval in seconds at which the controller lists runs of kinds that it may not watch, and reads Secrets that
    /// are not watched. It reads at most 100 Secrets a second.
    #[arg(long, env = "CARTOUCHE_POLL_SECONDS", value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub poll_seconds: u64,

    /// Timeout of a request to the API server, in seconds. After the timeout of a write, the controller first looks up
    /// its outcome.
    #[arg(long, env = "CARTOUCHE_REQUEST_TIMEOUT", value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub request_timeout: u64,

    /// Number of runs in ten minutes, without a change of the Runnable or its template, after which the controller
    /// makes only one run every five minutes.
    #[arg(long, env = "CARTOUCHE_RUNAWAY_RUNS", value_name = "COUNT", default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=100_000))]
    pub runaway_runs: i64,

    /// Rate of Kubernetes Events, per second, with bursts of five times as many. Further events wait, and namespaces
    /// take turns. Of more than 200 waiting events of one namespace, some are dropped and counted.
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
    use clap::CommandFactory;

    #[test]
    fn every_flag_has_an_environment_variable_and_a_help_text() {
        let command = Flags::command();
        command.clone().debug_assert();
        for flag in command
            .get_arguments()
            .filter(|flag| !matches!(flag.get_id().as_str(), "help" | "version"))
        {
            assert!(flag.get_env().is_some(), "{}", flag.get_id());
            assert!(flag.get_help().is_some(), "{}", flag.get_id());
        }
    }
}
