//! A real Kubernetes control plane on this machine, and the tools that tests and the demo need around it.
//!
//! Only the kubelet and the engines behind custom resources are fakes, which KWOK plays. etcd, the API
//! server, its controllers and its scheduler are the real programs, built from their Go modules. Where
//! containers must do real work, so is the kubelet ([`control_plane::node`]). The controller under test runs
//! as a process of its own, as its own ServiceAccount, with the rights that `config/` ships and no others.
//!
//! - [`control_plane`]: builds, starts, kills and restarts the programs.
//! - [`cluster`]: a client of a cluster with what tests do most: namespaces, accounts with minimal rights,
//!   kubectl, waiting, and counting requests in the audit log.
//! - [`chronicle`]: the events of a namespace, by the audit log, for the oracle.
//! - [`controller`]: the controller as a child process.
//! - [`engines`]: the controllers of Tekton and Argo Workflows, played or real.
//! - [`fault_proxy`]: stands between a controller and the API server and breaks chosen requests.
//! - [`faults`]: plans that break a chosen request and check the consequences.
//! - [`fixture`]: a namespace with an account and a template, and the operations of every suite on Runnables
//!   in it.
//! - [`git`]: a Git repository, served over HTTP.
//! - [`hidden`]: the commands that programs of the harness start each other with.
//! - [`kind`]: the kinds of the API server.
//! - [`lab`]: a kind of runs that tests play.
//! - [`error_text`]: errors for readers.
//! - [`progress`]: shows what the program waits for.
//! - [`skipped()`]: reports tests that could not be made.

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

/// Returns the root of the repository, with `config/` and `examples/` below it.
#[must_use]
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
