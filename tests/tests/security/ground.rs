//! A cluster with Cartouche, and the vocabulary that these tests share.

use std::time::Duration;

use anyhow::Result;
pub use cartouche_tests::fixture::objects::{condition, text};
use cartouche_tests::{
    cluster::{Cluster, Rights},
    control_plane::Options,
    fixture::Fixture,
    kind::CONFIG_MAP,
};
use serde_json::{Value, json};

pub const DEMO: &str = env!("CARGO_BIN_EXE_demo");
/// Maximum time of anything on a busy machine.
pub const SOON: Duration = Duration::from_secs(90);

/// Starts a cluster of its own, without a controller yet.
pub async fn cluster() -> Result<Cluster> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    cluster.install_cartouche().await?;
    Ok(cluster)
}

/// Makes a namespace whose account `runner` has these rights.
pub async fn namespace(cluster: &Cluster, prefix: &str, rights: &[Rights<'_>]) -> Result<Fixture> {
    Fixture::begin(cluster, prefix, "runner", rights, SOON).await
}

/// Makes a namespace whose runs are config maps that hold an input, and give it back as an output.
pub async fn echoing(cluster: &Cluster, prefix: &str) -> Result<Fixture> {
    let rights = [CONFIG_MAP.rights_of_a_runnable()];
    let fixture = namespace(cluster, prefix, &rights).await?;
    fixture.template(echo()).await?;
    Ok(fixture)
}

/// Returns a template of these runs.
pub fn echo() -> Value {
    json!({
        "template": {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "generateName": "$(runnable.metadata.name)$-" },
            "data": { "said": "$(runnable.spec.inputs.say)$" },
        },
        "outputs": { "said": ".data.said" },
    })
}

/// Returns the spec of a Runnable with this text.
pub fn says(text: &str) -> Value {
    json!({ "inputs": { "say": text } })
}

/// Returns true if its run has succeeded.
pub fn is_ready(runnable: &Value) -> bool {
    condition(runnable, "Ready")["status"] == "True"
}
