//! A namespace, a repository and its Kustomizations, on a cluster with Flux and Cartouche.

use std::{fs, ops::Deref, path::Path, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{AuditLog, Cluster, Seen},
    control_plane::{ControlPlane, Options},
    controller::{Controller, Settings},
    engines::{EngineError, Flux},
    fixture::Fixture,
    git::Git,
    kind::{CONFIG_MAP, JOB, Kind, RUNNABLE},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::record::{KUSTOMIZATION, Record};
use crate::scene::{DEMO, Optional, there, with};

const PATIENCE: Duration = Duration::from_mins(4);
const GIT_REPOSITORY: Kind = Kind::new(
    "source.toolkit.fluxcd.io",
    "v1",
    "GitRepository",
    "gitrepositories",
);
/// The name of each repository.
pub(super) const FLEET: &str = "fleet";

/// Without a [`Cluster`], whose client ends with the test that makes it.
type Running = (Arc<ControlPlane>, Controller, Flux);

static FLUX: Optional<Running> = OnceCell::const_new();
/// For the test that stops the controller.
static ALONE: Optional<Running> = OnceCell::const_new();

/// Returns a cluster with Flux, and its controller, or `None` if Flux is not available.
async fn cluster(
    known: &'static Optional<Running>,
) -> Result<Option<(Cluster, &'static Controller)>> {
    let Some((plane, controller, _)) = there("Flux", known, Box::pin(start())).await? else {
        return Ok(None);
    };
    let cluster = Cluster::of(Arc::clone(plane)).await?;
    Flux::show_log(&cluster);
    cluster.show_on_failure(controller.log_file());
    Ok(Some((cluster, controller)))
}

async fn start() -> Result<Running, EngineError> {
    if let Some(why) = Git::lacking().await {
        return Err(EngineError::Absent(why));
    }
    let plane = Arc::new(ControlPlane::start(DEMO, &Options::full()).await?);
    let cluster = Cluster::of(Arc::clone(&plane)).await?;
    Flux::show_log(&cluster);
    let flux = Flux::start(Path::new(DEMO), &cluster).await?;
    cluster.install_cartouche().await?;
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    Ok((plane, controller, flux))
}

/// A namespace with a repository, Kustomizations and Runnables of its own, and a template named after it.
pub(super) struct Stage {
    fixture: Fixture,
    git: Git,
    pub(super) record: Record,
    pub(super) audit: AuditLog,
}

impl Deref for Stage {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl Stage {
    /// Makes an empty namespace with an account that may make Jobs, and write and read outputs; `None`
    /// without Flux.
    pub(super) async fn set(prefix: &str) -> Result<Option<Self>> {
        match cluster(&FLUX).await? {
            Some((cluster, _)) => Self::on(cluster, prefix).await.map(Some),
            None => Ok(None),
        }
    }

    /// Does the same on a cluster of its own, whose controller may be stopped.
    pub(super) async fn alone(prefix: &str) -> Result<Option<(Self, &'static Controller)>> {
        match cluster(&ALONE).await? {
            Some((cluster, controller)) => Ok(Some((Self::on(cluster, prefix).await?, controller))),
            None => Ok(None),
        }
    }

    async fn on(cluster: Cluster, prefix: &str) -> Result<Self> {
        let sinks = CONFIG_MAP.rights(&["create", "get", "update", "delete"]);
        let sources = RUNNABLE.rights(&["get"]);
        let rights = [JOB.rights_of_a_runnable(), sinks, sources];
        let fixture = Fixture::begin(&cluster, prefix, "default", &rights, PATIENCE).await?;
        let stage = Self::of(fixture).await?;
        stage.template(template()).await?;
        Ok(stage)
    }

    /// Takes an existing namespace, without a template; `None` without Flux.
    pub(super) async fn in_namespace(name: &str) -> Result<Option<Self>> {
        let Some((cluster, _)) = cluster(&FLUX).await? else {
            return Ok(None);
        };
        let fixture = Fixture::of(&cluster, name, PATIENCE);
        Self::of(fixture).await.map(Some)
    }

    async fn of(fixture: Fixture) -> Result<Self> {
        let folder = fixture
            .cluster
            .folder()
            .join("git")
            .join(&fixture.namespace);
        fs::create_dir_all(&folder)?;
        Ok(Self {
            git: Git::serve(folder).await?,
            record: Record::begin(&fixture.cluster).await?,
            audit: fixture.cluster.audit()?,
            fixture,
        })
    }

    pub(super) fn url(&self) -> String {
        self.git.url()
    }

    /// Commits files, and has Flux fetch them at once. The first commit also makes the repository and these
    /// Kustomizations, each with further fields, known to Flux. Returns the revision, as Flux names it.
    pub(super) async fn sync(
        &self,
        files: &[(String, String)],
        kustomizations: &[(&str, Value)],
    ) -> Result<String> {
        let is_first = self.find(GIT_REPOSITORY, FLEET).await?.is_none();
        let revision = self.push(files).await?;
        if is_first {
            let spec = json!({ "interval": "1m", "url": self.url(), "ref": { "branch": "main" } });
            self.flux(GIT_REPOSITORY, FLEET, spec).await?;
            for (name, more) in kustomizations {
                self.kustomization(name, more.clone()).await?;
            }
        }
        Ok(revision)
    }

    /// Commits files, and has Flux fetch them at once if it knows the repository. Returns the revision, as
    /// Flux names it.
    pub(super) async fn push<P: AsRef<Path>>(&self, files: &[(P, String)]) -> Result<String> {
        let commit = self.git.commit(files).await?;
        if self.find(GIT_REPOSITORY, FLEET).await?.is_some() {
            self.asked_for(GIT_REPOSITORY, FLEET, &commit).await?;
        }
        Ok(format!("main@sha1:{commit}"))
    }

    /// Asks Flux to look at an object, as `flux reconcile` does.
    async fn asked_for(&self, kind: Kind, name: &str, token: &str) -> Result<()> {
        let asked = json!({ "reconcile.fluxcd.io/requestedAt": token });
        let patch = json!({ "metadata": { "annotations": asked } });
        self.patch_of(kind, name, patch).await
    }

    /// Asks Flux to reconcile a Kustomization, and waits until it has.
    pub(super) async fn reconciled(&self, name: &str, token: &str) -> Result<()> {
        self.asked_for(KUSTOMIZATION, name, token).await?;
        let what = format!("{name} to be reconciled for {token}");
        let is_handled = |it: &Value| it["status"]["lastHandledReconcileAt"] == token;
        self.record
            .first(&what, |it| {
                it.is(KUSTOMIZATION, &self.namespace, name) && is_handled(&it.object)
            })
            .await
            .map(drop)
    }

    /// Makes a Kustomization of the folder with its name, which waits for all that it applies. `more` has
    /// further fields.
    async fn kustomization(&self, name: &str, more: Value) -> Result<()> {
        let spec = json!({
            "sourceRef": { "kind": GIT_REPOSITORY.name, "name": FLEET },
            "path": format!("./{name}"), "targetNamespace": self.namespace,
            "interval": "10m", "timeout": "5m", "prune": true, "wait": true,
        });
        self.flux(KUSTOMIZATION, name, with(spec, more)).await
    }

    async fn flux(&self, kind: Kind, name: &str, spec: Value) -> Result<()> {
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.name,
            "metadata": { "name": name }, "spec": spec,
        });
        self.put(object).await.map(drop)
    }

    /// Waits until a Runnable is applied for a version, even if no controller has seen it.
    pub(super) async fn applied(&self, name: &str, version: &str) -> Result<()> {
        self.eventually(&format!("{name} to be applied"), || async move {
            let it = self.find(RUNNABLE, name).await?.unwrap_or_default();
            Ok(if it["spec"]["inputs"]["version"] == version {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{it:#}"))
            })
        })
        .await
    }

    /// Returns the file of a Runnable in a folder.
    pub(super) fn file(&self, folder: &str, name: &str, spec: Value) -> (String, String) {
        let text = self.manifest(name, spec).to_string();
        (format!("{folder}/{name}.yaml"), text)
    }

    /// Returns the file of an account that may make Jobs, with its Role and `RoleBinding`.
    pub(super) fn account_file(&self, folder: &str, name: &str) -> (String, String) {
        let object = |group: &str, kind: &str, more: Value| {
            let metadata = json!({ "name": name });
            let object = json!({ "apiVersion": group, "kind": kind, "metadata": metadata });
            with(object, more).to_string()
        };
        let rbac = "rbac.authorization.k8s.io";
        let version = format!("{rbac}/v1");
        let verbs = ["get", "list", "create", "delete"];
        let rules = json!([{ "apiGroups": ["batch"], "resources": ["jobs"], "verbs": verbs }]);
        let role = json!({ "apiGroup": rbac, "kind": "Role", "name": name });
        let subjects =
            json!([{ "kind": "ServiceAccount", "name": name, "namespace": self.namespace }]);
        let bound = json!({ "roleRef": role, "subjects": subjects });
        let objects = [
            object("v1", "ServiceAccount", json!({})),
            object(&version, "Role", json!({ "rules": rules })),
            object(&version, "RoleBinding", bound),
        ];
        (format!("{folder}/account.yaml"), objects.join("\n---\n"))
    }

    /// Fails unless each of these Runnables has run once for each of these versions, and nothing else has.
    pub(super) fn has_run_once_each(&self, runnables: &[&str], versions: &[String]) -> Result<()> {
        for runnable in runnables {
            for version in versions {
                let runs = self.record.runs(&self.namespace, runnable, version);
                ensure!(runs == 1, "{runnable} ran {runs} times for {version}");
            }
        }
        let made = self.audit.creates(&self.namespace, &JOB.audited())?;
        let wanted = runnables.len() * versions.len();
        ensure!(made == wanted, "{made} runs, not {wanted}");
        Ok(())
    }
}

/// Returns a template of Jobs for a version, which they give as an output two seconds later, or fail.
pub(super) fn template() -> Value {
    let container = json!({
        "name": "work", "image": "registry.example.com/work",
        "env": [{ "name": "VERSION", "value": "$(runnable.spec.inputs.version)$" }],
    });
    let annotations = json!({
        "play.carto.run/delay": "2s",
        "play.carto.run/outcome": "$(runnable.spec.inputs.outcome)$",
    });
    json!({
        "template": {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "generateName": "$(runnable.metadata.name)$-" },
            "spec": { "backoffLimit": 0, "template": {
                "metadata": { "annotations": annotations },
                "spec": { "restartPolicy": "Never", "containers": [container] },
            } },
        },
        "outputs": { "version": ".spec.template.spec.containers[0].env[0].value" },
    })
}

/// Returns the spec of a Runnable that runs for a version.
pub(super) fn for_version(version: &str) -> Value {
    json!({ "inputs": { "version": version, "outcome": "succeed" } })
}

/// Returns the spec of a Runnable that runs for the output of another one.
pub(super) fn reading(source: &str) -> Value {
    let from = json!({ "name": source, "output": "version" });
    json!({
        "inputs": { "outcome": "succeed" },
        "inputsFrom": [{ "name": "version", "runnableRef": from }],
    })
}
