//! Names that Kustomize changes, with the configuration that lets references follow.

use std::fs;

use anyhow::Result;
use cartouche_tests::repository;
use serde_json::Value;

const CONFIGURATION: &str = "name-references.yaml";

const KUSTOMIZATION: &str = "
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: team
namePrefix: prod-
resources: [base.yaml]
configurations: [name-references.yaml]
configMapGenerator: [{name: sizes, literals: [small=1]}]
secretGenerator: [{name: password, literals: [word=x]}]
";

const BASE: &str = "
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: greet}
spec: {template: {apiVersion: batch/v1, kind: Job, metadata: {generateName: j-}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: sizes}
---
apiVersion: carto.run/v1alpha1
kind: ClusterRunProfile
metadata: {name: fast}
spec: {rules: [{templates: [greet, other]}]}
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: shop}
spec:
  runTemplateRef: {name: greet}
  serviceAccountName: runner
  profileName: fast
  inputsFrom:
  - {name: a, configMapKeyRef: {name: sizes, key: small}}
  - {name: b, secretKeyRef: {name: password, key: word}}
  - {name: c, runnableRef: {name: shop, output: x}}
  - {name: d, objectRef: {apiVersion: apps/v1, kind: Deployment, name: sizes, path: .spec}}
";

#[tokio::test]
async fn the_names_that_a_runnable_refers_to_follow_a_prefix_and_a_hash() -> Result<()> {
    let cluster = crate::scene::cluster().await?;
    let folder = cluster.folder().join("kustomize-names");
    fs::create_dir_all(&folder)?;
    let configuration = repository().join("config/kustomize").join(CONFIGURATION);
    fs::copy(configuration, folder.join(CONFIGURATION))?;
    fs::write(folder.join("kustomization.yaml"), KUSTOMIZATION)?;
    fs::write(folder.join("base.yaml"), BASE)?;
    let text = cluster
        .kubectl(&["kustomize", &folder.display().to_string()])
        .await?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text)?;
    let of_kind = |kind: &str| objects.iter().find(|it| it["kind"] == kind);
    let name = |kind: &str| of_kind(kind).and_then(|it| it["metadata"]["name"].as_str());
    let runnable = of_kind("Runnable").cloned().unwrap_or_default();
    let spec = |pointer: &str| runnable["spec"].pointer(pointer).and_then(Value::as_str);
    assert_eq!(name("ClusterRunTemplate"), Some("prod-greet"));
    for (pointer, kind) in [
        ("/runTemplateRef/name", "ClusterRunTemplate"),
        ("/serviceAccountName", "ServiceAccount"),
        ("/profileName", "ClusterRunProfile"),
        ("/inputsFrom/0/configMapKeyRef/name", "ConfigMap"),
        ("/inputsFrom/1/secretKeyRef/name", "Secret"),
        ("/inputsFrom/2/runnableRef/name", "Runnable"),
        ("/inputsFrom/3/objectRef/name", "Deployment"),
    ] {
        assert_eq!(spec(pointer), name(kind), "{pointer}: {text}");
    }
    let profile = of_kind("ClusterRunProfile").cloned().unwrap_or_default();
    let templates = &profile["spec"]["rules"][0]["templates"];
    assert_eq!(templates, &Value::from(vec!["prod-greet", "other"]));
    Ok(())
}
