//! A cluster with Cartouche, and the words that these tests share.

use std::time::Duration;

use anyhow::Result;
use cartouche_tests::{
    cluster::{Cluster, Rights},
    control_plane::Options,
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

/// A namespace whose account `runner` may make config maps.
pub async fn namespace(cluster: &Cluster, prefix: &str) -> Result<String> {
    let namespace = cluster.namespace(prefix).await?;
    let rights = [Rights::of_a_runnable("", "configmaps")];
    cluster
        .service_account(&namespace, "runner", &rights)
        .await?;
    Ok(namespace)
}

pub fn template(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": name }, "spec": spec,
    })
}

/// A template of config maps that hold an input, and give it back as an output.
pub fn echo() -> Value {
    template(
        "echo",
        &json!({
            "template": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "generateName": "$(runnable.metadata.name)$-" },
                "data": { "said": "$(runnable.spec.inputs.say)$" },
            },
            "outputs": { "said": ".data.said" },
        }),
    )
}

/// A Runnable whose account is `runner`.
pub fn runnable(namespace: &str, name: &str, template: &str, inputs: &Value) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "serviceAccountName": "runner", "runTemplateRef": { "name": template }, "inputs": inputs,
        },
    })
}

/// Applies objects all at once.
pub async fn apply(cluster: &Cluster, objects: &[Value]) -> Result<()> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    let arguments = ["create", "-f", "-"];
    cluster
        .kubectl_with_input(&arguments, &list.to_string())
        .await
        .map(drop)
}

/// All objects of a resource in a namespace.
pub async fn all(cluster: &Cluster, namespace: &str, resource: &str) -> Result<Vec<Value>> {
    let arguments = ["-n", namespace, "get", resource, "-o", "json"];
    let mut list: Value = serde_json::from_str(&cluster.kubectl(&arguments).await?)?;
    Ok(list["items"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default())
}

/// A condition of an object; null without.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    found.unwrap_or(&Value::Null)
}
