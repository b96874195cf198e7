//! Kinds of other projects, by their real definitions and a healthRule; KWOK plays their status.

use anyhow::Result;
use serde_json::{Value, json};

use crate::scene::{CERTIFICATE, Kind, Scene, VOLUME_SNAPSHOT, cluster_with_others};

/// Lets the controller watch both kinds, as docs/concepts/security.md says.
const ROLE: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: cartouche-kinds-others
  labels:
    carto.run/aggregate-to-controller: "true"
rules:
  - apiGroups: [cert-manager.io]
    resources: [certificates]
    verbs: [get, list, watch]
  - apiGroups: [snapshot.storage.k8s.io]
    resources: [volumesnapshots]
    verbs: [get, list, watch]
"#;

/// Makes a scene in which a run of the kind is wanted, or returns `None` if the kinds are not available.
async fn started(
    kind: Kind,
    (spec, template): (Value, Value),
    inputs: Value,
) -> Result<Option<Scene>> {
    let Some(cluster) = cluster_with_others().await? else {
        return Ok(None);
    };
    // Tests that do so at once must not get in each other's way.
    let apply = ["apply", "--server-side", "-f", "-"];
    cluster.kubectl_with_input(&apply, ROLE).await?;
    let scene = Scene::set(cluster, kind).await?;
    scene.start(spec, template, inputs).await?;
    Ok(Some(scene))
}

/// Returns a Certificate. cert-manager sets Ready to False from the first moment on, so only Issuing reveals a
/// failure.
fn certificate() -> (Value, Value) {
    let spec = json!({
        "secretName": "$(runnable.metadata.name)$",
        "dnsNames": ["$(runnable.spec.inputs.host)$"],
        "issuerRef": { "name": "internal" },
    });
    let template = json!({
        "healthRule": { "multiMatch": {
            "healthy": { "matchConditions": [{ "type": "Ready", "status": "True" }] },
            "unhealthy": { "matchConditions": [{ "type": "Issuing", "status": "False" }] },
        } },
        "outputs": { "secret": ".spec.secretName", "until": ".status.notAfter" },
    });
    (spec, template)
}

fn snapshot() -> (Value, Value) {
    let spec = json!({
        "source": { "persistentVolumeClaimName": "$(runnable.spec.inputs.claim)$" },
    });
    let template = json!({
        "healthRule": { "multiMatch": {
            "healthy": { "matchFields": [
                { "key": ".status.readyToUse", "operator": "In", "values": ["true"] },
            ] },
            "unhealthy": { "matchFields": [{
                "key": ".status.error", "operator": "Exists",
                "messagePath": ".status.error.message",
            }] },
        } },
        "outputs": {
            "content": ".status.boundVolumeSnapshotContentName",
            "size": ".status.restoreSize",
        },
    });
    (spec, template)
}

#[tokio::test]
async fn a_certificate_succeeds_once_it_is_ready() -> Result<()> {
    let host = json!({ "host": "shop.example.com" });
    let Some(scene) = started(CERTIFICATE, certificate(), host).await? else {
        return Ok(());
    };
    let it = scene.ready("True").await?;
    assert_eq!(it.reason("StampedObjectCondition"), "MatchedCondition");
    assert_eq!(it.output("secret"), "it");
    assert!(it.output("until").is_string());
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_certificate_that_is_refused_fails_with_its_message() -> Result<()> {
    let host = json!({ "host": "shop.invalid" });
    let Some(scene) = started(CERTIFICATE, certificate(), host).await? else {
        return Ok(());
    };
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    assert!(message.contains("has failed to complete"), "{message}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn a_volume_snapshot_succeeds_once_it_can_be_used_and_fails_with_its_error() -> Result<()> {
    let claim = json!({ "claim": "orders" });
    let Some(scene) = started(VOLUME_SNAPSHOT, snapshot(), claim).await? else {
        return Ok(());
    };
    let it = scene.ready("True").await?;
    assert_eq!(it.reason("StampedObjectCondition"), "MatchedField");
    assert_eq!(it.output("size"), "5Gi");
    scene.inputs(json!({ "claim": "broken" })).await?;
    let it = scene.ready("False").await?;
    let message = it.message("Ready");
    assert!(message.contains("volume is detached"), "{message}");
    assert_eq!(it.output("size"), "5Gi");
    scene.never_more_runs_than(2).await
}
