//! The real controller of Argo Workflows.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    argo_executor::Executor,
    module::{self, EngineError},
};
use crate::{
    cluster::{Account, Cluster},
    control_plane::{
        Part,
        supervise::{Program, Supervised},
    },
};

const NAMESPACE: &str = "argo";

/// Argo's workflow-controller, as its own ServiceAccount under its own roles, and a stand-in for the executor
/// that it puts into pods. Both end when this value is dropped.
#[derive(Debug)]
pub struct ArgoWorkflows {
    _executor: Executor,
    _controller: Supervised,
}

impl ArgoWorkflows {
    /// Installs Argo's definitions, roles and settings, and starts its controller. `demo` is the demo binary.
    pub async fn start(demo: &Path, cluster: &Cluster) -> Result<Self, EngineError> {
        let path = module::program(demo, Part::ArgoWorkflows).await?;
        let folder = module::folder("argo", "github.com/argoproj/argo-workflows/v3").await?;
        install(cluster, &folder.join("manifests")).await?;
        let kubeconfig = cluster
            .kubeconfig_of(&Account::new(NAMESPACE, "argo"))
            .await?;
        let log = cluster.folder().join("argo.log");
        let program = Program::new(path, log)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .args(["--namespace", NAMESPACE, "--qps=100", "--burst=200"])
            // The image never runs: KWOK plays the kubelet.
            .args(["--executor-image", "example.com/argo/executor"])
            .env("LEADER_ELECTION_DISABLE", "true")
            // Ten seconds as shipped: too long to wait for in a test.
            .env("DEFAULT_REQUEUE_TIME", "200ms");
        let controller = Supervised::start(demo, &program)?;
        Ok(Self {
            _executor: Executor::start(cluster)?,
            _controller: controller,
        })
    }

    /// Adds Argo's log to the messages of failed waits on this cluster.
    pub fn show_log(cluster: &Cluster) {
        cluster.show_on_failure(&cluster.folder().join("argo.log"));
    }
}

async fn install(cluster: &Cluster, manifests: &Path) -> anyhow::Result<()> {
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "workflow-controller-configmap" },
            "data": { "metricsConfig": "enabled: false\n", "telemetryConfig": "enabled: false\n" },
        }),
    ];
    let controller = manifests.join("base/workflow-controller/workflow-controller-sa.yaml");
    objects.extend(module::objects(&controller, |_| true)?);
    let roles = manifests.join("cluster-install-no-crds/workflow-controller-rbac");
    objects.extend(module::objects(&roles, |_| true)?);
    for object in &mut objects {
        put_into_namespace(object);
    }
    objects.extend(module::objects(
        &manifests.join("base/crds/minimal"),
        |_| true,
    )?);
    module::apply(cluster, &objects).await?;
    cluster.definitions_served().await
}

/// Puts an object into the namespace, as `kubectl apply -k` of Argo's own kustomization does.
fn put_into_namespace(object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default();
    if ["ServiceAccount", "ConfigMap", "Role", "RoleBinding"].contains(&kind) {
        object["metadata"]["namespace"] = json!(NAMESPACE);
    }
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        subject["namespace"] = json!(NAMESPACE);
    }
}
