//! The command line. Every flag has an environment variable.

use std::{net::SocketAddr, time::Duration};

use cartouche_templating::Hashing;
use clap::{Parser, ValueEnum};

use crate::api::IdentityMode;

/// Makes work in Kubernetes run exactly once per change.
///
/// Watches Runnables (carto.run/v1alpha1). Whenever what a Runnable's ClusterRunTemplate renders
/// changes, one new object is created as the Runnable's ServiceAccount, and when it has succeeded its
/// outputs are put into the Runnable's status.
///
/// In a cluster it uses its pod's ServiceAccount. Out of a cluster the variable KUBECONFIG is enough.
/// SIGTERM and SIGINT stop it; a run that is under way goes on without it.
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

    /// How to act as a Runnable's ServiceAccount.
    #[arg(long, env = "CARTOUCHE_IDENTITY", value_enum, default_value_t = IdentityMode::Impersonate)]
    pub identity: IdentityMode,

    /// Serve the Runnables of this namespace only, and watch nothing in any other.
    #[arg(long, env = "CARTOUCHE_NAMESPACE")]
    pub namespace: Option<String>,

    /// Allow no input from an object of another namespace than its Runnable's. Without this the rights of the Runnable's
    /// ServiceAccount there decide.
    #[arg(long, env = "CARTOUCHE_NO_CROSS_NAMESPACE_REFS")]
    pub no_cross_namespace_refs: bool,

    /// Runnables that are worked on at the same time.
    #[arg(long, env = "CARTOUCHE_CONCURRENCY", value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub concurrency: u16,

    /// Kinds that are watched at the same time; more are polled.
    #[arg(long, env = "CARTOUCHE_MAX_WATCHED_KINDS", value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_watched_kinds: u32,

    /// Secrets that are watched at the same time, because inputs come from them and the accounts may watch them; more are polled.
    /// Each takes a connection to the API server, and some 40 KiB. Namespaces share them.
    #[arg(long, env = "CARTOUCHE_MAX_WATCHED_OBJECTS", value_name = "COUNT", default_value_t = 500, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub max_watched_objects: u32,

    /// How often runs of a kind are listed that the controller may not watch, and Secrets read that inputs come from and that
    /// are not watched, in seconds. All Secrets together are polled no more than 100 times a second.
    #[arg(long, env = "CARTOUCHE_POLL_SECONDS", value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub poll_seconds: u64,

    /// How long a request to the API server may take, in seconds. What became of a write that was
    /// given up is looked up before anything else is done.
    #[arg(long, env = "CARTOUCHE_REQUEST_TIMEOUT", value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub request_timeout: u64,

    /// Runs in ten minutes, without a change of the Runnable or its template, from which on there is
    /// one every five minutes only.
    #[arg(long, env = "CARTOUCHE_RUNAWAY_RUNS", value_name = "COUNT", default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=100_000))]
    pub runaway_runs: i64,

    /// Kubernetes Events a second; five times as many may go out at once. More wait, and each namespace has its turn; of more than 200
    /// of a namespace some are dropped and counted.
    #[arg(long, env = "CARTOUCHE_EVENTS_PER_SECOND", value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub events_per_second: u32,

    /// How logs are written to standard error.
    #[arg(long, env = "CARTOUCHE_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// What is logged: error, warn, info, debug, trace, or a filter such as info,kube=debug.
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
    /// A line for people.
    Text,
    /// A JSON object a line.
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
