//! A Runnable in a namespace of its own, on a cluster whose containers do real work.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    control_plane::{ControlPlane, Options, node},
    controller::{Controller, Settings},
    fixture::{
        Fixture,
        objects::{condition, text},
    },
    kind::{JOB, POD, RUNNABLE},
    repository, skipped,
};
use serde_json::{Value, json};
use tokio::{
    process::{Child, Command},
    sync::OnceCell,
};

pub(crate) const DEMO: &str = env!("CARGO_BIN_EXE_demo");

/// Maximum time for a container: a second or two on an idle machine.
const PATIENCE: Duration = Duration::from_mins(1);

static LACKING: OnceCell<Option<String>> = OnceCell::const_new();
static PLANE: OnceCell<Arc<ControlPlane>> = OnceCell::const_new();
static CONTROLLER: OnceCell<Controller> = OnceCell::const_new();
static CARTOUCHE: OnceCell<PathBuf> = OnceCell::const_new();

/// Returns true if there can be no containers here. It then reports the present test as skipped.
pub(crate) async fn lacks_a_node() -> Result<bool> {
    let lacking = LACKING.get_or_try_init(|| node::lacking(DEMO)).await?;
    if let Some(why) = lacking {
        skipped("a real node", why)?;
    }
    Ok(lacking.is_some())
}

/// Returns the cluster of this process, with the controller, or `None` if there can be none.
pub(crate) async fn cluster() -> Result<Option<Cluster>> {
    if lacks_a_node().await? {
        return Ok(None);
    }
    let start = || async {
        let plane = ControlPlane::start(DEMO, &Options::containers()).await?;
        anyhow::Ok(Arc::new(plane))
    };
    let plane = PLANE.get_or_try_init(start).await?;
    let cluster = Cluster::of(Arc::clone(plane)).await?;
    let start = || async {
        cluster.install_cartouche().await?;
        Controller::start(DEMO, &cluster, &Settings::default()).await
    };
    CONTROLLER.get_or_try_init(start).await?;
    Ok(Some(cluster))
}

/// The Runnable `it`, whose runs are Jobs.
pub(crate) struct Scene {
    fixture: Fixture,
}

impl Deref for Scene {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl Scene {
    /// Makes an empty namespace, with an account that may make Jobs and read the messages of their
    /// containers.
    pub(crate) async fn set() -> Result<Option<Self>> {
        let Some(cluster) = cluster().await? else {
            return Ok(None);
        };
        let rights = [JOB.rights_of_a_runnable(), POD.rights(&["list"])];
        let fixture = Fixture::begin(&cluster, "containers", "default", &rights, PATIENCE).await?;
        Ok(Some(Self { fixture }))
    }

    /// Makes a template of Jobs with this pod, and the Runnable. `job` has further fields of the Job,
    /// `template` of the template.
    pub(crate) async fn start(&self, pod: Value, job: Value, template: Value) -> Result<()> {
        let job = with(json!({ "backoffLimit": 0, "template": pod }), job);
        let run = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "generateName": "$(runnable.metadata.name)$-" },
            "spec": job,
        });
        self.template(with(json!({ "template": run }), template))
            .await?;
        let inputs = json!({ "text": "one two three" });
        self.runnable("it", json!({ "inputs": inputs })).await?;
        Ok(())
    }

    /// Waits until Ready has this status for the present generation.
    pub(crate) async fn ready(&self, status: &str) -> Result<Value> {
        let wanted = |it: &Value| condition(it, "Ready")["status"] == status;
        let what = format!("to have Ready {status}");
        self.observed(RUNNABLE, "it", &what, wanted).await
    }

    /// Waits until only a change makes another run.
    pub(crate) async fn stalled(&self) -> Result<Value> {
        let wanted = |it: &Value| condition(it, "Stalled")["status"] == "True";
        self.observed(RUNNABLE, "it", "to be stalled", wanted).await
    }

    /// Returns the states of the containers of all pods, as the kubelet reports them.
    pub(crate) async fn states(&self) -> Result<Vec<Value>> {
        let pods = self.list(POD, "").await?;
        let state = |pod: &Value| pod["status"]["containerStatuses"][0]["state"].clone();
        Ok(pods.iter().map(state).collect())
    }

    /// Waits until no container is at work.
    pub(crate) async fn nothing_runs(&self) -> Result<()> {
        self.eventually("no container to be at work", || async {
            let states = self.states().await?;
            let runs = states.iter().any(|state| state["terminated"].is_null());
            Ok(if runs {
                Seen::NotYet(json!(states).to_string())
            } else {
                Seen::Done(())
            })
        })
        .await
    }

    /// Starts the `cartouche` command as a user with unrestricted rights.
    pub(crate) async fn cartouche(&self, arguments: &[&str]) -> Result<Child> {
        let cartouche = CARTOUCHE.get_or_try_init(built_cartouche).await?;
        let child = Command::new(cartouche)
            .args(arguments)
            .args(["--namespace", &self.namespace, "--kubeconfig"])
            .arg(self.cluster.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        child.with_context(|| format!("starting {}", cartouche.display()))
    }
}

/// Returns the command; `cargo test --workspace` builds it beside the harness.
async fn built_cartouche() -> Result<PathBuf> {
    let cartouche = Path::new(DEMO).with_file_name("cartouche");
    if !cartouche.is_file() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "cartouche-cli"])
            .current_dir(repository())
            .status()
            .await?;
        ensure!(built.success(), "the command cannot be built");
    }
    Ok(cartouche)
}

/// Returns a pod with one container of the example's image, with these arguments.
pub(crate) fn pod(arguments: &[&str]) -> Value {
    json!({
        "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": "work", "image": node::RUNNER_IMAGE, "args": arguments }],
        },
    })
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

/// Returns the message of a condition.
pub(crate) fn message<'a>(it: &'a Value, kind: &str) -> &'a str {
    text(&condition(it, kind)["message"])
}

/// Returns the part of a template with outputs of these names, from the last message of the container.
pub(crate) fn outputs(names: &[&str]) -> Value {
    let path = |name: &&str| {
        (
            (*name).to_owned(),
            json!(format!(".terminationMessage.{name}")),
        )
    };
    let outputs: serde_json::Map<_, _> = names.iter().map(path).collect();
    json!({ "outputs": outputs })
}
