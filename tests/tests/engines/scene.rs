//! A Runnable in a namespace of its own, on a cluster where the controller and the engines work.

use std::{future::Future, ops::Deref, path::Path, time::Duration};

use anyhow::{Context, Result, anyhow, ensure};
use cartouche_crds::Runnable;
use cartouche_tests::{
    cluster::{AuditLog, Cluster, Rights, Seen},
    controller::{Controller, Settings},
    engines::{ArgoWorkflows, EngineError, Tekton},
    fixture::Fixture,
    repository, skipped,
};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    core::GroupVersionKind,
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub(crate) const DEMO: &str = env!("CARGO_BIN_EXE_demo");

/// How long an engine may take: a second or two on an idle machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long is looked whether something happens that must not.
const QUIET: Duration = Duration::from_secs(3);

/// A kind of run: group, version, kind, resource.
#[derive(Clone, Copy)]
pub(crate) struct Kind(&'static str, &'static str, &'static str, &'static str);

pub(crate) const JOB: Kind = Kind("batch", "v1", "Job", "jobs");
pub(crate) const POD: Kind = Kind("", "v1", "Pod", "pods");
pub(crate) const TASK_RUN: Kind = Kind("tekton.dev", "v1", "TaskRun", "taskruns");
pub(crate) const PIPELINE_RUN: Kind = Kind("tekton.dev", "v1", "PipelineRun", "pipelineruns");
pub(crate) const WORKFLOW: Kind = Kind("argoproj.io", "v1alpha1", "Workflow", "workflows");
pub(crate) const CERTIFICATE: Kind = Kind("cert-manager.io", "v1", "Certificate", "certificates");
pub(crate) const VOLUME_SNAPSHOT: Kind = Kind(
    "snapshot.storage.k8s.io",
    "v1",
    "VolumeSnapshot",
    "volumesnapshots",
);

static CONTROLLER: OnceCell<Controller> = OnceCell::const_new();
static TEKTON: Optional<Tekton> = OnceCell::const_new();
static ARGO: Optional<ArgoWorkflows> = OnceCell::const_new();
static OTHERS: Optional<()> = OnceCell::const_new();

/// What can perhaps not be had, and then why.
pub(crate) type Optional<T> = OnceCell<Result<T, String>>;

/// The cluster of this process, with the controller, and KWOK as the kubelet of the engines' pods.
pub(crate) async fn cluster() -> Result<Cluster> {
    let cluster = Cluster::shared(DEMO).await?;
    let start = || async {
        let stages = repository().join("tests/stages");
        let pods = ["tekton-pod.yaml", "argo-pod.yaml"].map(|file| stages.join(file));
        cluster.control_plane()?.play(pods).await?;
        cluster.install_cartouche().await?;
        Controller::start(DEMO, &cluster, &Settings::default()).await
    };
    CONTROLLER.get_or_try_init(start).await?;
    Ok(cluster)
}

/// The cluster with Tekton, unless it cannot be had.
pub(crate) async fn cluster_with_tekton() -> Result<Option<Cluster>> {
    let cluster = cluster().await?;
    Tekton::show_log(&cluster);
    let start = Tekton::start(Path::new(DEMO), &cluster);
    let engine = there("Tekton", &TEKTON, start).await?;
    Ok(engine.map(|_| cluster))
}

/// The cluster with Argo Workflows, unless it cannot be had.
pub(crate) async fn cluster_with_argo() -> Result<Option<Cluster>> {
    let cluster = cluster().await?;
    ArgoWorkflows::show_log(&cluster);
    let start = ArgoWorkflows::start(Path::new(DEMO), &cluster);
    let engine = there("Argo Workflows", &ARGO, start).await?;
    Ok(engine.map(|_| cluster))
}

/// The cluster with the kinds of other projects, unless they cannot be had.
pub(crate) async fn cluster_with_others() -> Result<Option<Cluster>> {
    let cluster = cluster().await?;
    let install = cluster.install_kinds_of_others();
    let kinds = there("kinds of other projects", &OTHERS, install).await?;
    Ok(kinds.map(|()| cluster))
}

/// What comes once for all tests, or nothing if it cannot be had: then every test that wants it says
/// that it is skipped.
pub(crate) async fn there<T>(
    what: &str,
    known: &'static Optional<T>,
    coming: impl Future<Output = Result<T, EngineError>>,
) -> Result<Option<&'static T>> {
    let come = || async {
        match coming.await {
            Ok(found) => Ok(Ok(found)),
            Err(EngineError::Absent(why)) => Ok(Err(why)),
            Err(EngineError::Other(error)) => Err(error),
        }
    };
    match known.get_or_try_init(come).await? {
        Ok(found) => Ok(Some(found)),
        Err(why) => {
            skipped(what, why)?;
            Ok(None)
        }
    }
}

/// A Runnable `it`, and its runs of one kind.
pub(crate) struct Scene {
    fixture: Fixture,
    kind: Kind,
    audit: AuditLog,
}

impl Deref for Scene {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl Scene {
    /// An empty namespace, with an account `default` that may make runs of the kind.
    pub(crate) async fn set(cluster: Cluster, kind: Kind) -> Result<Self> {
        let Kind(group, _, _, resource) = kind;
        let rights = [Rights::of_a_runnable(group, resource)];
        Ok(Self {
            audit: cluster.audit()?,
            fixture: Fixture::begin(&cluster, resource, "default", &rights, PATIENCE).await?,
            kind,
        })
    }

    /// Makes a template and the Runnable. `spec` is that of the runs, `template` holds `outputs`, a
    /// `healthRule`, and `annotations` of the runs.
    pub(crate) async fn start(
        &self,
        spec: Value,
        mut template: Value,
        inputs: Value,
    ) -> Result<()> {
        let Kind(group, version, kind, _) = self.kind;
        // No field of a template: the API server would refuse it.
        let fields = template.as_object_mut();
        let annotations = fields.and_then(|fields| fields.remove("annotations"));
        template["template"] = json!({
            "apiVersion": format!("{group}/{version}").trim_start_matches('/'),
            "kind": kind,
            "metadata": {
                "generateName": "$(runnable.metadata.name)$-",
                "annotations": annotations,
            },
            "spec": spec,
        });
        self.template(template).await?;
        self.runnable("it", json!({ "inputs": inputs })).await?;
        Ok(())
    }

    /// Changes inputs of the Runnable.
    pub(crate) async fn inputs(&self, inputs: Value) -> Result<()> {
        self.change("it", inputs).await
    }

    /// Waits until Ready has this status for the present generation.
    pub(crate) async fn ready(&self, status: &str) -> Result<Standing> {
        ready(&self.cluster, &self.namespace, "it", status).await
    }

    /// Waits until the engine has brought its run so far.
    pub(crate) async fn run(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let wanted = &wanted;
        let look = || async move {
            let runs = self.runs().await?;
            Ok(match runs.iter().find(|run| wanted(run)) {
                Some(run) => Seen::Done(run.clone()),
                None => Seen::NotYet(format!("{runs:#?}")),
            })
        };
        self.cluster.eventually(what, PATIENCE, look).await
    }

    /// All runs that are there.
    pub(crate) async fn runs(&self) -> Result<Vec<Value>> {
        let runs = self.api().list(&ListParams::default()).await?;
        let values = runs.items.iter().map(serde_json::to_value);
        Ok(values.collect::<Result<_, _>>()?)
    }

    /// Patches a run, as a person does.
    pub(crate) async fn patch(&self, run: &Value, patch: Value) -> Result<()> {
        let (api, patch) = (self.api(), Patch::Merge(patch));
        api.patch(name(run)?, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    /// Deletes a run, as kubectl and pruners do: what it owns goes too.
    pub(crate) async fn delete(&self, run: &Value) -> Result<()> {
        let api = self.api();
        api.delete(name(run)?, &DeleteParams::background()).await?;
        Ok(())
    }

    /// Waits until no run is there any more.
    pub(crate) async fn runs_gone(&self) -> Result<()> {
        let look = || async {
            Ok(match self.runs().await?.as_slice() {
                [] => Seen::Done(()),
                left => Seen::NotYet(format!("{left:#?}")),
            })
        };
        self.cluster
            .eventually("the runs to be gone", PATIENCE, look)
            .await
    }

    /// Looks for a while whether a run is made that should not be: there must have been this many.
    pub(crate) async fn never_more_runs_than(&self, runs: usize) -> Result<()> {
        tokio::time::sleep(QUIET).await;
        let Kind(group, _, _, resource) = self.kind;
        let made = self.audit.creates(
            &self.namespace,
            format!("{resource}.{group}").trim_end_matches('.'),
        )?;
        ensure!(made == runs, "{made} runs were made, not {runs}");
        Ok(())
    }

    /// Waits until there are so many pods, and returns them, oldest first.
    pub(crate) async fn pods(&self, count: usize) -> Result<Vec<Pod>> {
        let look = || async {
            let pods = self.cluster.api::<Pod>(&self.namespace);
            let mut pods = pods.list(&ListParams::default()).await?.items;
            pods.sort_by(|a, b| {
                a.metadata
                    .creation_timestamp
                    .cmp(&b.metadata.creation_timestamp)
            });
            Ok(if pods.len() == count {
                Seen::Done(pods)
            } else {
                Seen::NotYet(format!("{} pods", pods.len()))
            })
        };
        let what = format!("{count} pods");
        self.cluster.eventually(&what, PATIENCE, look).await
    }

    /// Has KWOK end a pod that hangs: `fail`, or anything else for success.
    pub(crate) async fn end(&self, pod: &Pod, outcome: &str) -> Result<()> {
        let annotation = json!({ "play.carto.run/outcome": outcome });
        let patch = Patch::Merge(json!({ "metadata": { "annotations": annotation } }));
        let name = pod.metadata.name.as_deref().context("a pod has no name")?;
        let pods = self.cluster.api::<Pod>(&self.namespace);
        pods.patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    fn api(&self) -> Api<DynamicObject> {
        let Kind(group, version, kind, _) = self.kind;
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        self.objects_of(&kind)
    }
}

/// How a Runnable stands.
pub(crate) struct Standing(pub(crate) Value);

impl Standing {
    /// `True`, `False` or `Unknown`; empty if there is no such condition.
    pub(crate) fn status(&self, condition: &str) -> &str {
        self.field(condition, "status")
    }

    pub(crate) fn reason(&self, condition: &str) -> &str {
        self.field(condition, "reason")
    }

    pub(crate) fn message(&self, condition: &str) -> &str {
        self.field(condition, "message")
    }

    pub(crate) fn output(&self, name: &str) -> &Value {
        &self.0["status"]["outputs"][name]
    }

    fn field(&self, condition: &str, field: &str) -> &str {
        let conditions = self.0["status"]["conditions"].as_array();
        let found = conditions
            .into_iter()
            .flatten()
            .find(|c| c["type"] == condition);
        found.and_then(|c| c[field].as_str()).unwrap_or_default()
    }
}

/// Waits until a Runnable's Ready has this status for its present generation.
pub(crate) async fn ready(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    status: &str,
) -> Result<Standing> {
    let what = format!("{name} to have Ready {status}");
    let wanted = |runnable: &Runnable| {
        let Some(seen) = &runnable.status else {
            return false;
        };
        let ready = seen.conditions.iter().find(|c| c.type_ == "Ready");
        seen.observed_generation == runnable.metadata.generation
            && ready.is_some_and(|ready| ready.status == status)
    };
    let runnables = cluster.api::<Runnable>(namespace);
    let found = cluster
        .wait_for(&runnables, name, &what, PATIENCE, wanted)
        .await?;
    Ok(Standing(serde_json::to_value(found)?))
}

/// An object with further fields, or others.
pub(crate) fn with(mut object: Value, more: Value) -> Value {
    if let Value::Object(more) = more {
        for (name, value) in more {
            object[name] = value;
        }
    }
    object
}

fn name(object: &Value) -> Result<&str> {
    let name = object["metadata"]["name"].as_str();
    name.ok_or_else(|| anyhow!("{object} has no name"))
}
