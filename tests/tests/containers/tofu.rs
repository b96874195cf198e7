//! `examples/opentofu` with its real program, by `just tofu`: building it takes minutes.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result};
use cartouche_tests::{
    cluster::Cluster,
    control_plane::Part,
    fixture::{
        Fixture,
        objects::{condition, name_of},
    },
    kind::{RUNNABLE, SECRET},
    repository,
};
use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::scene::{self, DEMO};

const IMAGE: &str = "ghcr.io/opentofu/opentofu:1.12.6";
const PATIENCE: Duration = Duration::from_mins(2);
const NAME: &str = "tofu-shop";

#[tokio::test]
#[ignore = "builds OpenTofu: just nightly"]
async fn tofu_applies_a_module_and_its_state_and_outputs_follow() -> Result<()> {
    let Some(cluster) = scene::cluster().await? else {
        return Ok(());
    };
    let plane = cluster.control_plane()?;
    plane
        .add_image(Path::new(DEMO), IMAGE, Part::OpenTofu)
        .await?;
    let example = repository().join("examples/opentofu");
    let fixture = Fixture::of(&cluster, "cartouche-examples", PATIENCE);
    // Before the Runnable: pods have no network here, and reach the API server at another address.
    cluster
        .apply_files(&repository().join("examples/namespace/namespace.yaml"))
        .await?;
    fixture.put(with_network(&cluster, &example)?).await?;
    for file in ["account.yaml", "pod-account.yaml", "runnable.yaml"] {
        cluster.apply_files(&example.join(file)).await?;
    }
    let first = succeeded(&fixture, "1.0.0").await?;
    fixture.change(NAME, json!({ "version": "1.1.0" })).await?;
    let second = succeeded(&fixture, "1.1.0").await?;
    let state = fixture
        .get(SECRET, &format!("tfstate-default-{NAME}"))
        .await?;
    assert_eq!(state["metadata"]["labels"]["tfstate"], "true");
    // The value in the state is the same in both; the status has it nowhere.
    assert_eq!(first, second);
    let it = fixture.get(RUNNABLE, NAME).await?.to_string();
    assert!(!it.contains(first.as_str().context("no token")?), "{it}");
    Ok(())
}

/// Returns the template of the example, for pods that share the network of this machine.
fn with_network(cluster: &Cluster, example: &Path) -> Result<Value> {
    let text = fs::read_to_string(example.join("template.yaml"))?;
    let mut template: Value = serde_saphyr::from_str(&text)?;
    let port = port(cluster)?;
    let pod = &mut template["spec"]["template"]["spec"]["template"]["spec"];
    pod["hostNetwork"] = json!(true);
    for list in ["initContainers", "containers"] {
        for container in pod[list].as_array_mut().into_iter().flatten() {
            let env = container["env"].as_array_mut().context("no env")?;
            env.push(json!({ "name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1" }));
            env.push(json!({ "name": "KUBERNETES_SERVICE_PORT", "value": port }));
        }
    }
    Ok(template)
}

/// Returns the port of the API server.
fn port(cluster: &Cluster) -> Result<String> {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig())?;
    let server = kubeconfig.clusters[0].cluster.as_ref();
    let server = server.and_then(|cluster| cluster.server.as_deref());
    let port = server.and_then(|server| server.rsplit(':').next());
    Ok(port.context("no port")?.to_owned())
}

/// Waits until a version is released, and returns the token, which only the Secret has.
async fn succeeded(fixture: &Fixture, version: &str) -> Result<Value> {
    let wanted = |it: &Value| {
        condition(it, "Ready")["status"] == "True" && it["status"]["outputs"]["release"] == version
    };
    let it = fixture.observed(RUNNABLE, NAME, version, wanted).await?;
    assert_eq!(name_of(&it), NAME);
    let secret = fixture.get(SECRET, "shop-release-token").await?;
    Ok(secret["data"]["TOKEN"].clone())
}
