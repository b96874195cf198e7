//! Rendered charts have the objects of the kustomizations in `config/`.

use std::fs;

use anyhow::{Context, Result};
use cartouche_tests::{cluster::Cluster, engines::Helm, repository};
use serde_json::{Value, json};

use super::{NAMESPACE, Objects, REPOSITORY, by_name, command, helm3, helm4};
use crate::scene::cluster;

/// Labels that only a chart has.
const OF_HELM: [&str; 4] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
];
const PART_OF: &str = "app.kubernetes.io/part-of";
const KEEP: &str = "helm.sh/resource-policy";

/// Values, and the folders of `config/` with the same objects.
const VARIANTS: [(&[&str], &[&str]); 6] = [
    (&[], &["default"]),
    (&["kinds.any=true"], &["any-kind"]),
    (&["policies.approvals=true"], &["default", "approval"]),
    (&["identity.mode=token"], &["overlays/tokens"]),
    (
        &["identity.namespaces={cartouche-examples}"],
        &["overlays/named-namespaces"],
    ),
    (
        &["namespace=cartouche-examples"],
        &["overlays/one-namespace"],
    ),
];

/// Renders the chart as in the namespace of `config/`, for a Kubernetes that Helm 3 does not take for older.
async fn rendered(helm: &Helm, cluster: &Cluster, settings: &[&str]) -> Result<Objects> {
    let chart = Helm::chart().display().to_string();
    let settings = [&[REPOSITORY][..], settings].concat();
    let words = ["template", "--kube-version", "1.36.0"];
    let objects = helm
        .template(cluster, &command(&words, &chart, &settings))
        .await?;
    Ok(by_name(objects))
}

async fn kustomized(cluster: &Cluster, folders: &[&str]) -> Result<Objects> {
    let mut objects = Objects::new();
    for folder in folders {
        let folder = repository().join("config").join(folder);
        let folder = folder.display().to_string();
        let text = cluster.kubectl(&["kustomize", &folder]).await?;
        let found: Vec<Value> = serde_saphyr::from_multiple(&text)?;
        objects.extend(by_name(found));
    }
    // Helm makes the namespace of a release itself.
    let namespace = objects.remove(&format!("Namespace/{NAMESPACE}"));
    namespace.context("no namespace")?;
    Ok(objects)
}

/// Removes what only the chart adds, and fails if it is missing.
fn without_additions(name: &str, object: &mut Value) -> Result<()> {
    let labels = object["metadata"]["labels"].as_object_mut();
    let labels = labels.with_context(|| format!("{name} has no labels"))?;
    for label in OF_HELM {
        labels
            .remove(label)
            .with_context(|| format!("{name}: {label}"))?;
    }
    let part = labels.get(PART_OF);
    assert_eq!(part, Some(&json!("cartouche")), "{name}");
    if name.starts_with("CustomResourceDefinition") {
        let kept = object["metadata"]["annotations"].as_object_mut();
        let kept = kept.and_then(|annotations| annotations.remove(KEEP));
        assert_eq!(kept, Some(json!("keep")), "{name}");
    }
    without_part(object);
    Ok(())
}

/// Removes the label that only some folders of `config/` give.
fn without_part(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    let labels = metadata.get_mut("labels").and_then(Value::as_object_mut);
    let is_empty = labels.is_some_and(|labels| {
        labels.remove(PART_OF);
        labels.is_empty()
    });
    if is_empty {
        metadata.remove("labels");
    }
}

async fn are_those_of_config(helm: &Helm) -> Result<()> {
    let cluster = cluster().await?;
    for (settings, folders) in VARIANTS {
        let mut expected = kustomized(&cluster, folders).await?;
        expected.values_mut().for_each(without_part);
        let mut found = rendered(helm, &cluster, settings).await?;
        let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{settings:?}");
        for (name, object) in &mut found {
            without_additions(name, object)?;
            assert_eq!(object, &expected[name], "{settings:?}: {name}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn helm_4_renders_the_objects_of_config() -> Result<()> {
    let Some(helm) = helm4().await? else {
        return Ok(());
    };
    are_those_of_config(helm).await
}

#[tokio::test]
async fn helm_3_renders_the_objects_of_config() -> Result<()> {
    let Some(helm) = helm3().await? else {
        return Ok(());
    };
    are_those_of_config(helm).await
}

/// The values that no folder of `config/` has, on one install.
#[tokio::test]
async fn values_reach_their_places() -> Result<()> {
    let Some(helm) = helm4().await? else {
        return Ok(());
    };
    let cluster = cluster().await?;
    let digest = format!("image.digest=sha256:{}", "a".repeat(64));
    let settings = [
        digest.as_str(),
        "fullnameOverride=second",
        "replicas=2",
        "crds.keep=false",
        "flags.poll-seconds=10",
        "flags.no-cross-namespace-refs=true",
        "flags.log=info\\,kube=debug",
        "kinds.extra[0].apiGroups={example.com}",
        "kinds.extra[0].resources={backups}",
        "policies.writers.users={one,two}",
        "policies.writers.groups={three}",
        "rbac.templatesView=false",
        "podDisruptionBudget.enabled=false",
        "commonLabels.team=red",
    ];
    let found = rendered(helm, &cluster, &settings).await?;
    let of = |name: &str, pointer: &str| {
        let object = found.get(name);
        object.and_then(|object| object.pointer(pointer)).cloned()
    };
    let controller = "Deployment/cartouche-system/second";
    let container = "/spec/template/spec/containers/0";
    let image = format!("cartouche-controller@sha256:{}", "a".repeat(64));
    let args = json!([
        "--log=info,kube=debug",
        "--no-cross-namespace-refs",
        "--poll-seconds=10"
    ]);
    let rules = json!([{
        "apiGroups": ["example.com"], "resources": ["backups"], "verbs": ["get", "list", "watch"],
    }]);
    let users = "['system:serviceaccount:cartouche-system:second', 'one', 'two']";
    let ledger = "ValidatingAdmissionPolicy/cartouche-ledger";
    let binding = "ClusterRoleBinding/second";
    for (name, pointer, expected) in [
        (controller, "/spec/replicas", json!(2)),
        (controller, &format!("{container}/image"), json!(image)),
        (controller, &format!("{container}/args"), args),
        (controller, "/metadata/labels/team", json!("red")),
        ("ClusterRole/second-kinds-extra", "/rules", rules),
        (ledger, "/spec/variables/0/expression", json!(users)),
        (ledger, "/spec/variables/1/expression", json!("['three']")),
        (binding, "/subjects/0/name", json!("second")),
        (binding, "/roleRef/name", json!("second")),
    ] {
        assert_eq!(of(name, pointer), Some(expected), "{name} {pointer}");
    }
    let definition = "CustomResourceDefinition/runnables.carto.run";
    assert!(of(definition, "/spec").is_some());
    assert_eq!(
        of(definition, "/metadata/annotations/helm.sh~1resource-policy"),
        None
    );
    for name in [
        "ClusterRoleBinding/cartouche-templates-view",
        "PodDisruptionBudget/cartouche-system/second",
    ] {
        assert!(!found.contains_key(name), "{name}");
    }
    Ok(())
}

/// A name of digits stays a text in every field.
#[tokio::test]
async fn names_of_digits_are_quoted() -> Result<()> {
    let Some(helm) = helm4().await? else {
        return Ok(());
    };
    let cluster = cluster().await?;
    let chart = Helm::chart().display().to_string();
    for (settings, binding) in [
        ("fullnameOverride=456,namespace=123", "RoleBinding/123/456"),
        (
            "fullnameOverride=456,identity.namespaces={123}",
            "RoleBinding/123/456-impersonation",
        ),
    ] {
        let words = ["template", "--kube-version", "1.36.0", "--set-string"];
        let words = [&words[..], &[settings]].concat();
        let objects = helm
            .template(&cluster, &command(&words, &chart, &[REPOSITORY]))
            .await?;
        let found = by_name(objects);
        let controller = &found["Deployment/cartouche-system/456"];
        let account = controller.pointer("/spec/template/spec/serviceAccountName");
        assert_eq!(account, Some(&json!("456")), "{settings}");
        assert_eq!(found[binding]["subjects"][0]["name"], "456", "{settings}");
    }
    Ok(())
}

/// Without `rbac.create`, the chart has no role and no binding, whatever else is on.
#[tokio::test]
async fn no_role_is_rendered_without_rbac() -> Result<()> {
    let Some(helm) = helm4().await? else {
        return Ok(());
    };
    let cluster = cluster().await?;
    let settings = [
        "rbac.create=false",
        "policies.approvals=true",
        "kinds.any=true",
        "identity.namespaces={a}",
    ];
    let found = rendered(helm, &cluster, &settings).await?;
    assert!(found.contains_key("ValidatingAdmissionPolicy/cartouche-approvals"));
    let rights: Vec<_> = found.keys().filter(|name| name.contains("Role")).collect();
    assert!(rights.is_empty(), "{rights:?}");
    Ok(())
}

/// The second install of docs/how-to/install.md has no object of the first one.
#[tokio::test]
async fn a_further_install_shares_no_object_with_the_first_one() -> Result<()> {
    let Some(helm) = helm4().await? else {
        return Ok(());
    };
    let cluster = cluster().await?;
    let page = fs::read_to_string(repository().join("docs/how-to/install.md"))?;
    let start = "$ helm install team-a ";
    let line = page
        .split_once(start)
        .and_then(|(_, rest)| rest.split_once("```"));
    let (line, _) = line.with_context(|| format!("no command {start}"))?;
    let chart = Helm::chart().display().to_string();
    let line = line
        .replace("\\\n", " ")
        .replace("--create-namespace", "--kube-version 1.36.0")
        .replace("charts/cartouche", &chart);
    let arguments = ["template", "team-a"].into_iter();
    let arguments: Vec<&str> = arguments.chain(line.split_whitespace()).collect();
    let further = by_name(helm.template(&cluster, &arguments).await?);
    let first = rendered(helm, &cluster, &[]).await?;
    assert!(further.contains_key("Deployment/team-a-cartouche/team-a-cartouche"));
    assert!(further.contains_key("RoleBinding/team-a/team-a-cartouche-impersonation"));
    let shared: Vec<_> = further
        .keys()
        .filter(|name| first.contains_key(*name))
        .collect();
    assert!(shared.is_empty(), "{shared:?}");
    Ok(())
}
