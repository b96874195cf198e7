//! An install of `dist/install.yaml` becomes a release of Helm.

use anyhow::Result;
use cartouche_tests::{cluster::Cluster, control_plane::Options, engines::Helm, repository};

use super::{Objects, REPOSITORY, command, helm3, helm4, on_cluster};
use crate::scene::DEMO;

const DEPLOYMENT: &str = "Deployment/cartouche-system/cartouche-controller";
const RUNNABLES: &str = "CustomResourceDefinition/runnables.carto.run";

#[tokio::test]
async fn helm_4_takes_over_what_kubectl_has_applied() -> Result<()> {
    let Some(helm) = helm4().await? else {
        return Ok(());
    };
    is_adopted(helm, &["--force-conflicts"]).await
}

#[tokio::test]
async fn helm_3_takes_over_what_kubectl_has_applied() -> Result<()> {
    let Some(helm) = helm3().await? else {
        return Ok(());
    };
    is_adopted(helm, &[]).await
}

async fn is_adopted(helm: &Helm, force: &[&str]) -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::bare()).await?;
    let file = repository().join("dist/install.yaml");
    cluster.apply_files(&file).await?;
    cluster.definitions_served().await?;
    let chart = Helm::chart().display().to_string();

    let message = helm
        .refused(&cluster, &command(&["install"], &chart, &[REPOSITORY]))
        .await?;
    assert!(
        message.contains("exists and cannot be imported"),
        "{message}"
    );
    let before = uid(&cluster).await?;
    let adopt = [&["upgrade", "--install", "--take-ownership"][..], force].concat();
    helm.run(&cluster, &command(&adopt, &chart, &[REPOSITORY]))
        .await?;
    // Not deleted and made again, which would delete all Runnables.
    assert_eq!(uid(&cluster).await?, before);
    let adopted = on_cluster(helm, &cluster).await?;
    owned(&adopted);

    let settings = [REPOSITORY, "replicas=2"];
    if !force.is_empty() {
        let upgrade = command(&["upgrade"], &chart, &settings);
        let message = helm.refused(&cluster, &upgrade).await?;
        assert!(
            message.contains("conflict") && message.contains("kubectl"),
            "{message}"
        );
    }
    let upgrade = [&["upgrade"][..], force].concat();
    helm.run(&cluster, &command(&upgrade, &chart, &settings))
        .await?;
    let upgraded = on_cluster(helm, &cluster).await?;
    assert_eq!(upgraded[DEPLOYMENT]["spec"]["replicas"], 2);
    assert_eq!(uid(&cluster).await?, before);

    // As if a newer release had been here: a chart does not lower its definitions.
    let newer = [
        "annotate",
        "--overwrite",
        "crd",
        "runnables.carto.run",
        "carto.run/schema=1000",
    ];
    cluster.kubectl(&newer).await?;
    let upgrade = command(&upgrade, &chart, &settings);
    let message = helm.refused(&cluster, &upgrade).await?;
    assert!(message.contains("definitions never go back"), "{message}");
    Ok(())
}

/// Checks that each object belongs to the release.
fn owned(objects: &Objects) {
    assert!(objects.contains_key(RUNNABLES));
    for (name, object) in objects {
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(
            annotations["meta.helm.sh/release-name"], "cartouche",
            "{name}"
        );
    }
}

async fn uid(cluster: &Cluster) -> Result<String> {
    let path = "jsonpath={.metadata.uid}";
    let get = ["get", "crd", "runnables.carto.run", "--output", path];
    cluster.kubectl(&get).await
}
