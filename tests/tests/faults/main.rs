//! The controller behind a proxy that breaks its requests, on a real API server: a sample of the fault plans
//! and those that failed once, servers that die in the middle of every scenario, and deliberate mistakes that
//! must be noticed.
//!
//! `cargo faults run` carries out all plans.

mod discovery;
mod found;
mod mutants;
mod plans;
mod servers;
mod shipped;

use anyhow::Result;
use cartouche_tests::{cluster::Cluster, faults::stage};
use tokio::sync::OnceCell;

/// The binary that holds the controller and the supervisor of all processes.
const DEMO: &str = env!("CARGO_BIN_EXE_demo");

static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// Returns the cluster that the tests of this process share.
async fn cluster() -> Result<Cluster> {
    let cluster = Cluster::shared(DEMO).await?;
    INSTALLED
        .get_or_try_init(|| stage::install(&cluster))
        .await?;
    Ok(cluster)
}
