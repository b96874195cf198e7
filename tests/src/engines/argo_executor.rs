//! A stand-in for Argo's executor in the pods of Workflows, from outside: KWOK runs no containers.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cluster::{Account, Cluster};

/// Interval between two looks for pods.
const INTERVAL: Duration = Duration::from_millis(100);

/// Annotation of pods that have reported. `tests/stages/argo-pod.yaml` lets no pod end before.
const REPORTED: &str = "play.carto.run/reported";

/// Writes the outputs of every running pod of a Workflow into a `WorkflowTaskResult`, as the pod's
/// ServiceAccount, and then lets the pod end. It stops when it is dropped.
#[derive(Debug)]
pub(super) struct Executor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Executor {
    pub(super) fn start(cluster: &Cluster) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (kubeconfig, folder) = (cluster.kubeconfig().to_owned(), cluster.folder().to_owned());
        let kubectl = cluster.control_plane()?.kubectl()?.to_owned();
        let stopped = Arc::clone(&stop);
        // A runtime of its own: that of the test that starts it ends with that test.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let work = move || {
            runtime.block_on(async move {
                let Ok(cluster) = Cluster::connect(kubeconfig, None, kubectl, folder).await else {
                    return;
                };
                while !stopped.load(Ordering::Relaxed) {
                    // The API server may be away; the next look sees the pods that were missed.
                    let _ = serve(&cluster).await;
                    tokio::time::sleep(INTERVAL).await;
                }
            });
        };
        let thread = thread::Builder::new()
            .name("argo-executor".to_owned())
            .spawn(work)?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been shown already.
            let _ = thread.join();
        }
    }
}

async fn serve(cluster: &Cluster) -> Result<()> {
    let running = ListParams::default()
        .labels("workflows.argoproj.io/workflow")
        .fields("status.phase=Running");
    for pod in cluster.all::<Pod>().list(&running).await? {
        if pod.annotations().contains_key(REPORTED) {
            continue;
        }
        let mut annotations = BTreeMap::from([(REPORTED, "true".to_owned())]);
        if let Err(error) = report(cluster, &pod).await {
            // As when the real executor may not write: the pod fails with the reason.
            annotations.insert("play.carto.run/outcome", "fail".to_owned());
            annotations.insert("play.carto.run/message", format!("{error:#}"));
        }
        let patch = json!({ "metadata": { "annotations": annotations } });
        let pods = cluster.api::<Pod>(&pod.namespace().unwrap_or_default());
        pods.patch(
            &pod.name_any(),
            &PatchParams::default(),
            &Patch::Merge(patch),
        )
        .await?;
    }
    Ok(())
}

async fn report(cluster: &Cluster, pod: &Pod) -> Result<()> {
    let spec = pod.spec.as_ref().context("the pod has no spec")?;
    let variable = |name| variable(spec, name).with_context(|| format!("no variable {name}"));
    let template: Value = serde_json::from_str(variable("ARGO_TEMPLATE")?)?;
    let workflow = variable("ARGO_WORKFLOW_NAME")?;
    let result = json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTaskResult",
        "metadata": {
            "name": variable("ARGO_NODE_ID")?,
            "labels": {
                "workflows.argoproj.io/workflow": workflow,
                "workflows.argoproj.io/report-outputs-completed": "true",
            },
            "ownerReferences": [{
                "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
                "name": workflow, "uid": variable("ARGO_WORKFLOW_UID")?,
            }],
        },
        "outputs": { "parameters": outputs(&template) },
    });
    let namespace = pod.namespace().unwrap_or_default();
    let account = spec.service_account_name.as_deref().unwrap_or("default");
    let client = cluster
        .client_of(&Account::new(&namespace, account))
        .await?;
    let kind = GroupVersionKind::gvk("argoproj.io", "v1alpha1", "WorkflowTaskResult");
    let results: Api<DynamicObject> =
        Api::namespaced_with(client, &namespace, &ApiResource::from_gvk(&kind));
    let result = serde_json::from_value(result)?;
    match results.create(&PostParams::default(), &result).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// Returns the value of a variable. The version of Argo decides which container has it.
fn variable<'a>(spec: &'a PodSpec, name: &str) -> Option<&'a str> {
    let first = spec.init_containers.iter().flatten();
    let mut variables = first
        .chain(&spec.containers)
        .flat_map(|container| container.env.iter().flatten());
    let found = variables.find(|variable| variable.name == name && variable.value.is_some())?;
    found.value.as_deref()
}

/// Returns the outputs. A parameter has the value of the environment variable of the same name in capitals,
/// or else the SHA-256 of the values of all variables: real work that depends on the inputs.
fn outputs(template: &Value) -> Vec<Value> {
    let list = |pointer: &str| template.pointer(pointer).and_then(Value::as_array);
    let variables = list("/container/env").cloned().unwrap_or_default();
    let value = |variable: &Value| variable["value"].as_str().unwrap_or_default().to_owned();
    let output = |parameter: &Value| {
        let name = parameter["name"].as_str().unwrap_or_default();
        let variable = variables
            .iter()
            .find(|v| v["name"].as_str() == Some(name.to_uppercase().as_str()));
        let all: String = variables.iter().map(value).collect();
        let mut parameter = parameter.clone();
        parameter["value"] = match variable {
            Some(variable) => json!(value(variable)),
            None => json!(sha256(&all)),
        };
        parameter
    };
    let parameters = list("/outputs/parameters");
    parameters.into_iter().flatten().map(output).collect()
}

pub(crate) fn sha256(content: impl AsRef<[u8]>) -> String {
    let mut digest = String::new();
    for byte in Sha256::digest(content) {
        // Writing to a String does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}
