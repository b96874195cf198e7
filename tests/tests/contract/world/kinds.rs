//! The kinds that scenarios use, and how they are put on the cluster.

use anyhow::{Context, Result};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    controller::Controller,
};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, PostParams},
};
use serde_json::{Value, json};

use super::SOON;

/// A kind of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    group: &'static str,
    version: &'static str,
    pub name: &'static str,
    pub plural: &'static str,
    pub namespaced: bool,
    /// Whether its status is written apart from the rest.
    pub status: bool,
}

/// Runs of most scenarios. Every account may make them.
pub const TEST_OBJ: Kind = custom("TestObj", "testobjs");
/// Its status is no subresource.
pub const PLAIN_OBJ: Kind = Kind {
    status: false,
    ..custom("PlainObj", "plainobjs")
};
/// No account may touch it unless a scenario grants it.
pub const GUARDED_OBJ: Kind = custom("GuardedObj", "guardedobjs");
/// The controller may not watch it.
pub const UNWATCHED_OBJ: Kind = custom("UnwatchedObj", "unwatchedobjs");
/// Not in any namespace.
pub const CLUSTER_OBJ: Kind = Kind {
    namespaced: false,
    ..custom("ClusterObj", "clusterobjs")
};
/// Defined only by the scenario about a kind that is installed later.
pub const LATE_OBJ: Kind = custom("LateObj", "lateobjs");
pub const CONFIG_MAP: Kind = core("ConfigMap", "configmaps");
pub const SECRET: Kind = core("Secret", "secrets");
pub const POD: Kind = core("Pod", "pods");
pub const SERVICE_ACCOUNT: Kind = core("ServiceAccount", "serviceaccounts");
pub const EVENT: Kind = core("Event", "events");
pub const JOB: Kind = Kind {
    group: "batch",
    version: "v1",
    name: "Job",
    plural: "jobs",
    namespaced: true,
    status: true,
};
pub const RUNNABLE: Kind = Kind {
    group: "carto.run",
    version: "v1alpha1",
    name: "Runnable",
    plural: "runnables",
    namespaced: true,
    status: true,
};
pub const TEMPLATE: Kind = Kind {
    name: "ClusterRunTemplate",
    plural: "clusterruntemplates",
    namespaced: false,
    ..RUNNABLE
};
const DEFINITION: Kind = Kind {
    group: "apiextensions.k8s.io",
    version: "v1",
    name: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
    status: true,
};

const ALL: [Kind; 14] = [
    TEST_OBJ,
    PLAIN_OBJ,
    GUARDED_OBJ,
    UNWATCHED_OBJ,
    CLUSTER_OBJ,
    LATE_OBJ,
    CONFIG_MAP,
    SECRET,
    POD,
    SERVICE_ACCOUNT,
    JOB,
    RUNNABLE,
    TEMPLATE,
    DEFINITION,
];

const fn custom(name: &'static str, plural: &'static str) -> Kind {
    Kind {
        group: "test.run",
        version: "v1",
        name,
        plural,
        namespaced: true,
        status: true,
    }
}

const fn core(name: &'static str, plural: &'static str) -> Kind {
    Kind {
        group: "",
        version: "v1",
        name,
        plural,
        namespaced: true,
        status: true,
    }
}

impl Kind {
    /// The kind of an object.
    pub fn of(object: &Value) -> Result<Self> {
        let (api_version, kind) = (&object["apiVersion"], &object["kind"]);
        ALL.into_iter()
            .find(|known| *api_version == known.api_version().as_str() && *kind == known.name)
            .with_context(|| format!("{kind} of {api_version} is not among the kinds of the tests"))
    }

    pub fn api_version(self) -> String {
        self.resource().api_version
    }

    /// Its objects: in the namespace, if it has namespaces.
    pub fn api(self, cluster: &Cluster, namespace: &str) -> Api<DynamicObject> {
        if self.namespaced {
            Api::namespaced_with(cluster.client(), namespace, &self.resource())
        } else {
            Api::all_with(cluster.client(), &self.resource())
        }
    }

    pub fn resource(self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: match self.group {
                "" => self.version.to_owned(),
                group => format!("{group}/{}", self.version),
            },
            kind: self.name.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// What defines it, for a custom one. Its objects may have any spec and any status.
    pub fn definition(self) -> Value {
        let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let mut version = json!({
            "name": self.version, "served": true, "storage": true,
            "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": anything, "status": anything },
            }},
        });
        if self.status {
            version["subresources"] = json!({ "status": {} });
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{}.{}", self.plural, self.group) },
            "spec": {
                "group": self.group,
                "names": { "kind": self.name, "plural": self.plural },
                "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
                "versions": [version],
            },
        })
    }
}

/// Installs Cartouche, the custom kinds, and who may do what with them; waits until all of it holds.
pub async fn install(cluster: &Cluster) -> Result<()> {
    cluster.install_cartouche().await?;
    let kinds = [TEST_OBJ, PLAIN_OBJ, GUARDED_OBJ, UNWATCHED_OBJ, CLUSTER_OBJ];
    let mut items: Vec<Value> = kinds.map(Kind::definition).to_vec();
    items.extend(rights_of_accounts());
    items.push(rights_of_the_controller());
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    cluster
        .kubectl_with_input(&["apply", "-f", "-"], &list.to_string())
        .await?;
    cluster.definitions_served().await?;
    let controller = Controller::account().user();
    may(cluster, &controller, "watch", CLUSTER_OBJ).await?;
    may(
        cluster,
        "system:serviceaccount:any:default",
        "create",
        TEST_OBJ,
    )
    .await
}

/// Every account may do with these kinds what the original needed: list, create, delete.
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

/// The way that an operator adds kinds to those that the controller watches.
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

/// Waits until the API server lets an account do something.
async fn may(cluster: &Cluster, user: &str, verb: &str, kind: Kind) -> Result<()> {
    let review: SubjectAccessReview = serde_json::from_value(json!({
        "metadata": {},
        "spec": {
            "user": user,
            "groups": ["system:serviceaccounts"],
            "resourceAttributes": { "verb": verb, "group": kind.group, "resource": kind.plural },
        },
    }))?;
    let what = format!("{user} to be allowed to {verb} {}", kind.plural);
    cluster
        .eventually(&what, SOON, || async {
            let reviews = cluster.all::<SubjectAccessReview>();
            let answer = reviews.create(&PostParams::default(), &review).await?;
            Ok(match answer.status {
                Some(status) if status.allowed => Seen::Done(()),
                other => Seen::NotYet(format!("{other:?}")),
            })
        })
        .await
}
