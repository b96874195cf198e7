//! A cluster with Cartouche, and the words that these tests share.

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
/// How long anything may take on a busy machine.
pub const SOON: Duration = Duration::from_secs(90);

/// A cluster of its own, without a controller yet.
pub async fn cluster() -> Result<Cluster> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    cluster.install_cartouche().await?;
    Ok(cluster)
}

/// A namespace whose account `runner` has these rights.
pub async fn namespace(cluster: &Cluster, prefix: &str, rights: &[Rights<'_>]) -> Result<Fixture> {
    Fixture::begin(cluster, prefix, "runner", rights, SOON).await
}

/// A namespace whose runs are config maps that hold an input, and give it back as an output.
pub async fn echoing(cluster: &Cluster, prefix: &str) -> Result<Fixture> {
    let rights = [CONFIG_MAP.rights_of_a_runnable()];
    let fixture = namespace(cluster, prefix, &rights).await?;
    fixture.template(echo()).await?;
    Ok(fixture)
}

/// A template of such runs.
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

/// The spec of a Runnable that says this.
pub fn says(text: &str) -> Value {
    json!({ "inputs": { "say": text } })
}

/// Whether its run has succeeded.
pub fn is_ready(runnable: &Value) -> bool {
    condition(runnable, "Ready")["status"] == "True"
}
