//! A real Kubernetes control plane on this machine, and what tests and the demo need around it.
//!
//! Nothing here is faked but the kubelet and the engines behind custom resources, which KWOK plays:
//! etcd, the API server, its controllers and its scheduler are the real programs, built from their
//! Go modules. Where containers have to work, so is the kubelet ([`control_plane::node`]). The controller under test runs as a process of its own, as its own ServiceAccount,
//! with the rights that `config/` ships and no others.
//!
//! - [`control_plane`]: builds, starts, kills and restarts the programs.
//! - [`cluster`]: a client of a cluster with what tests do most: namespaces, accounts with minimal
//!   rights, kubectl, waiting, and counting requests in the audit log.
//! - [`chronicle`]: what happened in a namespace, by the audit log, for the judge of everybody.
//! - [`controller`]: the controller as a child process.
//! - [`engines`]: the controllers of Tekton and Argo Workflows, played or real.
//! - [`fault_proxy`]: stands between a controller and the API server and breaks chosen requests.
//! - [`faults`]: what a controller does when a chosen request is broken, plan by plan.
//! - [`fixture`]: a namespace with an account and a template, and what every suite does with Runnables in it.
//! - [`git`]: a Git repository, served over HTTP.
//! - [`hidden`]: the commands that programs of the harness start each other with.
//! - [`kind`]: the kinds of the API server.
//! - [`lab`]: a kind of runs that tests play.
//! - [`error_text`]: errors as people read them.
//! - [`progress`]: shows what is being waited for.
//! - [`skipped()`]: says which tests could not be made.

pub mod chronicle;
pub mod cluster;
pub mod control_plane;
pub mod controller;
pub mod engines;
pub mod error_text;
pub mod fault_proxy;
pub mod faults;
pub mod fixture;
pub mod git;
pub mod hidden;
pub mod kind;
pub mod lab;
pub mod progress;
mod skipped;
pub mod status;

use std::path::{Path, PathBuf};

pub use skipped::skipped;

/// The root of the repository: `config/` and `examples/` are below it.
#[must_use]
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
