//! A release from its install to its end, with the controller under the rights that the chart gives.

use std::time::Duration;

use anyhow::{Context, Result};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    control_plane::Options,
    controller::{Controller, Settings},
    engines::Helm,
    fixture::{Fixture, current},
};
use kube::{ResourceExt, api::DynamicObject};
use serde_json::{Value, json};

use super::{NAMESPACE, Objects, RELEASE, REPOSITORY, command, helm3, helm4, on_cluster};
use crate::{
    played,
    scene::{DEMO, JOB},
};

const SOON: Duration = Duration::from_mins(1);
/// The role that kube-controller-manager fills in.
const KINDS: &str = "ClusterRole/cartouche-controller-kinds";
const DEPLOYMENT: &str = "Deployment/cartouche-system/cartouche-controller";

#[tokio::test]
async fn helm_4_installs_upgrades_and_uninstalls() -> Result<()> {
    let Some(helm) = helm4().await? else {
        return Ok(());
    };
    lives(helm).await
}

#[tokio::test]
async fn helm_3_installs_upgrades_and_uninstalls() -> Result<()> {
    let Some(helm) = helm3().await? else {
        return Ok(());
    };
    lives(helm).await
}

async fn lives(helm: &Helm) -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    let chart = Helm::chart().display().to_string();
    let install = ["upgrade", "--install", "--create-namespace"];
    let notes = helm
        .run(&cluster, &command(&install, &chart, &[REPOSITORY]))
        .await?;
    assert!(notes.contains("keeps the definitions"), "{notes}");
    cluster.definitions_served().await?;
    let installed = settled(helm, &cluster).await?;

    helm.run(&cluster, &command(&install, &chart, &[REPOSITORY]))
        .await?;
    let again = settled(helm, &cluster).await?;
    assert_eq!(changed(&installed, &again), Vec::<String>::new());

    let fixture = works(&cluster).await?;
    upgraded(helm, &cluster, &chart, &again).await?;
    uninstalled(helm, &cluster, &again, &fixture).await?;

    // kube-controller-manager may have made its role again meanwhile, which belongs to no release then.
    let role = "cartouche-controller-kinds";
    let delete = ["delete", "clusterrole", role, "--ignore-not-found"];
    cluster.kubectl(&delete).await?;
    // What was kept belongs to the next release of this name, and nothing runs again.
    helm.run(&cluster, &command(&install, &chart, &[REPOSITORY]))
        .await?;
    settled(helm, &cluster).await?;
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    fixture.change("it", json!({ "version": "v2" })).await?;
    let seen = fixture.until("it", "its second run", |it| {
        current(it).is_some_and(|run| run.sequence == 2 && run.uid.is_some())
    });
    seen.await?;
    assert_eq!(fixture.runs(JOB, "it").await?.len(), 2);
    controller.stop().await?;
    Ok(())
}

/// Runs a Job with the controller, which has the account and the rights that the chart has made.
async fn works(cluster: &Cluster) -> Result<Fixture> {
    let rights = [JOB.rights_of_a_runnable()];
    let fixture = Fixture::begin(cluster, "helm", "runner", &rights, SOON).await?;
    let controller = Controller::start(DEMO, cluster, &Settings::default()).await?;
    let mut job = played::job("hang");
    job["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "VERSION", "value": "$(runnable.spec.inputs.version)$" }]);
    let template = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "generateName": "it-" },
        "spec": job,
    });
    fixture.template(json!({ "template": template })).await?;
    fixture
        .runnable("it", json!({ "inputs": { "version": "v1" } }))
        .await?;
    let confirmed = fixture.until("it", "its run", |it| {
        current(it).is_some_and(|run| run.uid.is_some())
    });
    confirmed.await?;
    // The policy of the chart lists the account of the chart.
    let log = controller.log()?;
    assert!(
        !log.contains(" ERROR ") && !log.contains("is not listed"),
        "{log}"
    );
    controller.stop().await?;
    Ok(fixture)
}

async fn upgraded(helm: &Helm, cluster: &Cluster, chart: &str, before: &Objects) -> Result<()> {
    let settings = [
        REPOSITORY,
        "replicas=2",
        "flags.concurrency=32",
        "kinds.argo=false",
    ];
    helm.run(cluster, &command(&["upgrade"], chart, &settings))
        .await?;
    let after = on_cluster(helm, cluster).await?;
    let spec = &after[DEPLOYMENT]["spec"];
    assert_eq!(spec["replicas"], 2);
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["--concurrency=32"]));
    let argo = "ClusterRole/cartouche-kinds-argo";
    assert!(before.contains_key(argo) && !after.contains_key(argo));
    let gone = cluster
        .kubectl(&["get", "clusterrole", "cartouche-kinds-argo"])
        .await;
    assert!(gone.is_err(), "the role is still there");
    let mut others = changed(before, &after);
    others.retain(|name| ![DEPLOYMENT, KINDS, argo].contains(&name.as_str()));
    assert_eq!(others, Vec::<String>::new());
    Ok(())
}

/// Uninstalls the release: definitions, Runnables and runs stay, and all other objects go.
async fn uninstalled(
    helm: &Helm,
    cluster: &Cluster,
    objects: &Objects,
    fixture: &Fixture,
) -> Result<()> {
    let runnable = fixture.runnables().get("it").await?.uid();
    let runs = fixture.runs(JOB, "it").await?;
    helm.run(cluster, &["uninstall", RELEASE, "--namespace", NAMESPACE])
        .await?;
    // kube-controller-manager applies the rules of this role, and so makes it again if that is under way.
    for (name, object) in objects.iter().filter(|(name, _)| *name != KINDS) {
        let there = exists(cluster, object).await?;
        let is_definition = name.starts_with("CustomResourceDefinition");
        assert_eq!(there, is_definition, "{name}");
    }
    assert_eq!(fixture.runnables().get("it").await?.uid(), runnable);
    let uids = |runs: &[DynamicObject]| runs.iter().map(ResourceExt::uid).collect::<Vec<_>>();
    assert_eq!(uids(&fixture.runs(JOB, "it").await?), uids(&runs));
    assert_eq!(runs.len(), 1);
    Ok(())
}

async fn exists(cluster: &Cluster, object: &Value) -> Result<bool> {
    let identity = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "metadata": { "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"] },
    });
    let get = ["get", "--ignore-not-found", "--output", "name", "-f", "-"];
    let found = cluster
        .kubectl_with_input(&get, &identity.to_string())
        .await?;
    Ok(!found.trim().is_empty())
}

/// Returns the objects of the release once kube-controller-manager has filled in the aggregated role.
async fn settled(helm: &Helm, cluster: &Cluster) -> Result<Objects> {
    cluster
        .eventually("the aggregated role to have all rules", SOON, || async {
            let objects = on_cluster(helm, cluster).await?;
            let kinds = objects.get(KINDS).context("no aggregated role")?;
            let rules = kinds["rules"].as_array().map_or(0, Vec::len);
            Ok(match rules {
                // Of Kubernetes two, of Tekton one, of Argo one.
                4 => Seen::Done(objects),
                other => Seen::NotYet(format!("{other} rules")),
            })
        })
        .await
}

/// Returns the names of objects that only one side has, or that a write has changed, statuses aside.
fn changed(before: &Objects, after: &Objects) -> Vec<String> {
    let bare = |object: &Value| {
        let mut object = object.clone();
        let status = object.as_object_mut().and_then(|it| it.remove("status"));
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
            // Another controller writes it, too.
            if status.is_some() {
                metadata.remove("resourceVersion");
            }
        }
        if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
            annotations.remove("deployment.kubernetes.io/revision");
        }
        object
    };
    let names = before.keys().chain(after.keys());
    let mut changed: Vec<String> = names
        .filter(|name| before.get(*name).map(bare) != after.get(*name).map(bare))
        .cloned()
        .collect();
    changed.sort();
    changed.dedup();
    changed
}
