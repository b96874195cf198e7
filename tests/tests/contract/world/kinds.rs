//! The kinds of scenarios, and their installation on the cluster.

use anyhow::Result;
pub use cartouche_tests::kind::*;
use cartouche_tests::{cluster::Cluster, controller::Controller};
use serde_json::{Value, json};

use super::SOON;

/// Runs of most scenarios. Every account may make them.
pub const TEST_OBJ: Kind = custom("TestObj", "testobjs");
/// Its status is no subresource.
pub const PLAIN_OBJ: Kind = custom("PlainObj", "plainobjs");
/// No account may touch it unless a scenario grants it.
pub const GUARDED_OBJ: Kind = custom("GuardedObj", "guardedobjs");
/// The controller may not watch it.
pub const UNWATCHED_OBJ: Kind = custom("UnwatchedObj", "unwatchedobjs");
/// Cluster-scoped.
pub const CLUSTER_OBJ: Kind = custom("ClusterObj", "clusterobjs");
/// Defined only by the scenario about a kind that is installed later.
pub const LATE_OBJ: Kind = custom("LateObj", "lateobjs");

const fn custom(name: &'static str, plural: &'static str) -> Kind {
    Kind::new("test.run", "v1", name, plural)
}

/// Returns the definition of a custom kind. Its objects may have any spec and any status.
pub fn definition(kind: Kind) -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut version = json!({
        "name": kind.version, "served": true, "storage": true,
        "schema": { "openAPIV3Schema": {
            "type": "object", "properties": { "spec": anything, "status": anything },
        }},
    });
    if kind != PLAIN_OBJ {
        version["subresources"] = json!({ "status": {} });
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": kind.audited() },
        "spec": {
            "group": kind.group,
            "names": { "kind": kind.name, "plural": kind.plural },
            "scope": if kind == CLUSTER_OBJ { "Cluster" } else { "Namespaced" },
            "versions": [version],
        },
    })
}

/// Installs Cartouche, the custom kinds, and the rights on them; waits until all of it is in force.
pub async fn install(cluster: &Cluster) -> Result<()> {
    cluster.install_cartouche().await?;
    let kinds = [TEST_OBJ, PLAIN_OBJ, GUARDED_OBJ, UNWATCHED_OBJ, CLUSTER_OBJ];
    let mut items: Vec<Value> = kinds.map(definition).to_vec();
    items.extend(rights_of_accounts());
    items.push(rights_of_the_controller());
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    cluster
        .kubectl_with_input(&["apply", "-f", "-"], &list.to_string())
        .await?;
    cluster.definitions_served().await?;
    let controller = Controller::account().user();
    cluster
        .allowed(&controller, "watch", CLUSTER_OBJ, SOON)
        .await?;
    let anybody = "system:serviceaccount:any:default";
    cluster.allowed(anybody, "create", TEST_OBJ, SOON).await
}

/// Gives every account the rights on these kinds that the original needed: list, create, delete.
fn rights_of_accounts() -> [Value; 2] {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "test-runs" },
        "rules": [
            { "apiGroups": ["test.run"], "resources": ["testobjs", "plainobjs", "unwatchedobjs", "lateobjs"], "verbs": ["list", "create", "delete"] },
            { "apiGroups": ["test.run"], "resources": ["clusterobjs"], "verbs": ["list"] },
            { "apiGroups": [""], "resources": ["configmaps", "secrets", "pods"], "verbs": ["list", "create", "delete"] },
            { "apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list", "create", "delete"] },
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "test-runs" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "test-runs" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts" }],
    });
    [role, binding]
}

/// Adds kinds to those that the controller watches, as an operator does.
fn rights_of_the_controller() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": "test-kinds", "labels": { "carto.run/aggregate-to-controller": "true" },
        },
        "rules": [{
            "apiGroups": ["test.run"],
            "resources": ["testobjs", "plainobjs", "guardedobjs", "clusterobjs", "lateobjs"],
            "verbs": ["get", "list", "watch"],
        }],
    })
}
