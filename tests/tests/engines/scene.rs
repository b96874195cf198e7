//! A Runnable in a namespace of its own, on a cluster where the controller and the engines work.

use std::{future::Future, ops::Deref, path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use cartouche_tests::{
    cluster::{AuditLog, Cluster, Seen},
    controller::{Controller, Settings},
    engines::{ArgoWorkflows, EngineError, Tekton},
    fixture::{
        Fixture,
        objects::{name_of, text},
    },
    kind::{PROFILE, RUNNABLE},
    repository, skipped,
};
pub(crate) use cartouche_tests::{
    fixture::objects::condition,
    kind::{JOB, Kind, POD},
};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub(crate) const DEMO: &str = env!("CARGO_BIN_EXE_demo");

/// Maximum time of an engine: a second or two on an idle machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time of the checks that something does not happen.
const QUIET: Duration = Duration::from_secs(3);

pub(crate) const TASK_RUN: Kind = Kind::new("tekton.dev", "v1", "TaskRun", "taskruns");
pub(crate) const PIPELINE_RUN: Kind = Kind::new("tekton.dev", "v1", "PipelineRun", "pipelineruns");
pub(crate) const WORKFLOW: Kind = Kind::new("argoproj.io", "v1alpha1", "Workflow", "workflows");
pub(crate) const CERTIFICATE: Kind =
    Kind::new("cert-manager.io", "v1", "Certificate", "certificates");
pub(crate) const VOLUME_SNAPSHOT: Kind = Kind::new(
    "snapshot.storage.k8s.io",
    "v1",
    "VolumeSnapshot",
    "volumesnapshots",
);

static TEKTON: Optional<Tekton> = OnceCell::const_new();
static ARGO: Optional<ArgoWorkflows> = OnceCell::const_new();
static OTHERS: Optional<()> = OnceCell::const_new();

/// Something that may be unavailable, with the reason.
pub(crate) type Optional<T> = OnceCell<Result<T, String>>;

/// Returns the cluster of this process, with the controller, and KWOK as the kubelet of the engines' pods.
pub(crate) async fn cluster() -> Result<Cluster> {
    let prepare = async |cluster: &Cluster| {
        let stages = repository().join("tests/stages");
        let pods = ["tekton-pod.yaml", "argo-pod.yaml"].map(|file| stages.join(file));
        cluster.control_plane()?.play(pods).await?;
        cluster.install_cartouche().await
    };
    let (cluster, _) = Controller::shared(DEMO, &Settings::default(), prepare).await?;
    Ok(cluster)
}

/// Returns the namespace of the examples.
pub(crate) fn examples(cluster: &Cluster) -> Fixture {
    Fixture::of(cluster, "cartouche-examples", PATIENCE)
}

/// Returns the cluster with Tekton, or `None` if it is not available.
pub(crate) async fn cluster_with_tekton() -> Result<Option<Cluster>> {
    let cluster = cluster().await?;
    Tekton::show_log(&cluster);
    let start = Tekton::start(Path::new(DEMO), &cluster);
    let engine = there("Tekton", &TEKTON, start).await?;
    Ok(engine.map(|_| cluster))
}

/// Returns the cluster with Argo Workflows, or `None` if it is not available.
pub(crate) async fn cluster_with_argo() -> Result<Option<Cluster>> {
    let cluster = cluster().await?;
    ArgoWorkflows::show_log(&cluster);
    let start = ArgoWorkflows::start(Path::new(DEMO), &cluster);
    let engine = there("Argo Workflows", &ARGO, start).await?;
    Ok(engine.map(|_| cluster))
}

/// Returns the cluster with the kinds of other projects, or `None` if they are not available.
pub(crate) async fn cluster_with_others() -> Result<Option<Cluster>> {
    let cluster = cluster().await?;
    let install = cluster.install_kinds_of_others();
    let kinds = there("kinds of other projects", &OTHERS, install).await?;
    Ok(kinds.map(|()| cluster))
}

/// Returns something that is prepared once for all tests, or `None` if it is not available: then every test
/// that needs it is reported as skipped.
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
    /// Makes an empty namespace, with an account `default` that may make runs of the kind.
    pub(crate) async fn set(cluster: Cluster, kind: Kind) -> Result<Self> {
        let rights = [kind.rights_of_a_runnable()];
        Ok(Self {
            audit: cluster.audit()?,
            fixture: Fixture::begin(&cluster, kind.plural, "default", &rights, PATIENCE).await?,
            kind,
        })
    }

    /// Does the same with an account that may also stop runs.
    pub(crate) async fn with_stops(cluster: Cluster, kind: Kind) -> Result<Self> {
        let scene = Self::set(cluster, kind).await?;
        let rights = [kind.rights_of_a_runnable(), kind.rights(&["patch"])];
        scene.allow("default", &rights).await?;
        Ok(scene)
    }

    /// Lets pods of Workflows, which run as the account `pods`, report their results.
    pub(crate) async fn let_pods_report(&self) -> Result<()> {
        let reports = Kind::new(
            "argoproj.io",
            "v1alpha1",
            "WorkflowTaskResult",
            "workflowtaskresults",
        );
        let rights = [reports.rights(&["create", "patch"])];
        self.allow("pods", &rights).await?;
        Ok(())
    }

    /// Makes a template and the Runnable. `spec` is that of the runs, `template` holds `outputs`, a
    /// `healthRule`, and `annotations` of the runs.
    pub(crate) async fn start(
        &self,
        spec: Value,
        mut template: Value,
        inputs: Value,
    ) -> Result<()> {
        // Not a field of a template: the API server would refuse it.
        let fields = template.as_object_mut();
        let annotations = fields.and_then(|fields| fields.remove("annotations"));
        template["template"] = json!({
            "apiVersion": self.kind.api_version(), "kind": self.kind.name,
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

    /// Adds a patch to the runs by a profile for the template, before there is a Runnable.
    pub(crate) async fn patched(&self, patch: Value) -> Result<()> {
        let (kind, name) = (self.kind, &self.namespace);
        let profile = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": PROFILE.name, "metadata": { "name": name },
            "spec": {
                "rules": [{ "templates": [name] }],
                "patches": [{ "apiVersion": kind.api_version(), "kind": kind.name, "patch": patch }],
            },
        });
        self.put(profile).await?;
        let is_accepted = |it: &Value| condition(it, "Accepted")["status"] == "True";
        self.observed(PROFILE, name, "to be accepted", is_accepted)
            .await?;
        Ok(())
    }

    /// Changes inputs of the Runnable.
    pub(crate) async fn inputs(&self, inputs: Value) -> Result<()> {
        self.change("it", inputs).await
    }

    /// Waits until Ready has this status for the present generation.
    pub(crate) async fn ready(&self, status: &str) -> Result<Standing> {
        ready(self, "it", status).await
    }

    /// Waits until the engine has brought its run to the wanted state, and returns it.
    pub(crate) async fn run(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let wanted = &wanted;
        self.eventually(what, || async move {
            let runs = self.runs().await?;
            Ok(match runs.iter().find(|run| wanted(run)) {
                Some(run) => Seen::Done(run.clone()),
                None => Seen::NotYet(format!("{runs:#?}")),
            })
        })
        .await
    }

    /// Returns all existing runs.
    pub(crate) async fn runs(&self) -> Result<Vec<Value>> {
        self.list(self.kind, "").await
    }

    /// Patches a run, as a user does.
    pub(crate) async fn patch(&self, run: &Value, patch: Value) -> Result<()> {
        self.patch_object(run, patch).await
    }

    /// Deletes a run, as kubectl and pruners do, with its dependents.
    pub(crate) async fn delete(&self, run: &Value) -> Result<()> {
        self.fixture.delete(self.kind, name_of(run)).await
    }

    /// Waits until no run exists any more.
    pub(crate) async fn runs_gone(&self) -> Result<()> {
        self.eventually("the runs to be gone", || async {
            Ok(match self.runs().await?.as_slice() {
                [] => Seen::Done(()),
                left => Seen::NotYet(format!("{left:#?}")),
            })
        })
        .await
    }

    /// Fails if after a while another number of runs was made than this.
    pub(crate) async fn never_more_runs_than(&self, runs: usize) -> Result<()> {
        tokio::time::sleep(QUIET).await;
        let made = self.audit.creates(&self.namespace, &self.kind.audited())?;
        ensure!(made == runs, "{made} runs were made, not {runs}");
        Ok(())
    }

    /// Waits until there are this many pods, and returns them, oldest first.
    pub(crate) async fn pods(&self, count: usize) -> Result<Vec<Pod>> {
        self.eventually(&format!("{count} pods"), || async {
            let pods = self.cluster.api::<Pod>(&self.namespace);
            let mut pods = pods.list(&ListParams::default()).await?.items;
            pods.sort_by_key(|pod| pod.metadata.creation_timestamp.clone());
            Ok(if pods.len() == count {
                Seen::Done(pods)
            } else {
                Seen::NotYet(format!("{} pods", pods.len()))
            })
        })
        .await
    }

    /// Has KWOK end a pod that hangs: `fail`, or anything else for success.
    pub(crate) async fn end(&self, pod: &Pod, outcome: &str) -> Result<()> {
        let name = pod.metadata.name.as_deref().context("a pod has no name")?;
        end_pod(self, name, outcome).await
    }
}

/// Has KWOK end a pod that hangs: `fail`, or anything else for success.
pub(crate) async fn end_pod(fixture: &Fixture, name: &str, outcome: &str) -> Result<()> {
    let annotation = json!({ "play.carto.run/outcome": outcome });
    let patch = Patch::Merge(json!({ "metadata": { "annotations": annotation } }));
    let pods = fixture.api(POD);
    pods.patch(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// The state of a Runnable.
pub(crate) struct Standing(pub(crate) Value);

impl Standing {
    /// Returns `True`, `False` or `Unknown`, or an empty text if there is no such condition.
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

    fn field(&self, kind: &str, field: &str) -> &str {
        text(&condition(&self.0, kind)[field])
    }
}

/// Waits until a Runnable's Ready has this status for its present generation.
pub(crate) async fn ready(fixture: &Fixture, name: &str, status: &str) -> Result<Standing> {
    let what = format!("to have Ready {status}");
    let wanted = |it: &Value| condition(it, "Ready")["status"] == status;
    fixture
        .observed(RUNNABLE, name, &what, wanted)
        .await
        .map(Standing)
}

/// Returns the same template with one retry, a second after a failure.
pub(crate) fn retried(template: Value) -> Value {
    let retry = json!({ "limit": 1, "backoff": { "initial": "1s", "max": "1s" } });
    with(template, json!({ "retry": retry }))
}

/// Returns an object with added or replaced fields.
pub(crate) fn with(mut object: Value, more: Value) -> Value {
    if let Value::Object(more) = more {
        for (name, value) in more {
            object[name] = value;
        }
    }
    object
}
