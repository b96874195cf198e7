//! The chart `charts/cartouche`, installed by Helm 4 and by Helm 3.

mod adopted;
mod installed;
mod refused;
mod rendered;

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result};
use cartouche_tests::{cluster::Cluster, control_plane::Part, engines::Helm};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::scene::{DEMO, Optional, there};

/// The name of the release.
const RELEASE: &str = "cartouche";
/// The namespace of the controller, as in `config/`.
const NAMESPACE: &str = "cartouche-system";
const REPOSITORY: &str = "image.repository=cartouche-controller";

static HELM_4: Optional<Helm> = OnceCell::const_new();
static HELM_3: Optional<Helm> = OnceCell::const_new();

/// Returns the present Helm, or `None` if it is not available.
async fn helm4() -> Result<Option<&'static Helm>> {
    there("Helm 4", &HELM_4, Helm::build(Path::new(DEMO), Part::Helm4)).await
}

/// Returns the Helm before it, or `None` if it is not available.
async fn helm3() -> Result<Option<&'static Helm>> {
    there("Helm 3", &HELM_3, Helm::build(Path::new(DEMO), Part::Helm3)).await
}

/// Objects by kind, namespace and name.
type Objects = BTreeMap<String, Value>;

/// Returns the kind, the namespace if there is one, and the name.
fn name_of(object: &Value) -> String {
    let metadata = &object["metadata"];
    let parts = [&object["kind"], &metadata["namespace"], &metadata["name"]];
    let parts: Vec<&str> = parts.into_iter().filter_map(Value::as_str).collect();
    parts.join("/")
}

fn by_name(objects: Vec<Value>) -> Objects {
    let named = objects.into_iter().map(|object| (name_of(&object), object));
    named.collect()
}

/// A command of Helm about the release, with settings of values.
fn command<'a>(words: &[&'a str], chart: &'a str, settings: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = [words, &[RELEASE, chart, "--namespace", NAMESPACE]].concat();
    for setting in settings {
        arguments.extend(["--set", setting]);
    }
    arguments
}

/// Returns the objects of the release as they are on the cluster.
async fn on_cluster(helm: &Helm, cluster: &Cluster) -> Result<Objects> {
    let get = ["get", "manifest", RELEASE, "--namespace", NAMESPACE];
    let manifest = helm.run(cluster, &get).await?;
    let get = [
        "get",
        "--namespace",
        NAMESPACE,
        "--output",
        "json",
        "-f",
        "-",
    ];
    let found = cluster.kubectl_with_input(&get, &manifest).await?;
    let found: Value = serde_json::from_str(&found)?;
    let items = found["items"].as_array().context("kubectl has no items")?;
    Ok(by_name(items.clone()))
}
