//! The real controllers of Flux: one fetches from Git, the other applies.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::module::{self, EngineError};
use crate::{
    cluster::{Account, Cluster},
    control_plane::{
        Part, free_port,
        supervise::{Program, Supervised},
    },
};

const NAMESPACE: &str = "flux-system";
/// In the order of their start: the second one watches kinds of the first one.
const CONTROLLERS: [Part; 2] = [Part::SourceController, Part::KustomizeController];

/// Flux's source-controller and kustomize-controller, each as its own ServiceAccount under its own roles. The
/// roles of the second one permit everything. Both are killed when this value is dropped.
#[derive(Debug)]
pub struct Flux {
    _controllers: Vec<Supervised>,
}

impl Flux {
    /// Installs definitions and roles of both, and starts them. `demo` is the demo binary.
    pub async fn start(demo: &Path, cluster: &Cluster) -> Result<Self, EngineError> {
        let mut programs = Vec::new();
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE },
        });
        let mut objects = vec![namespace];
        for part in CONTROLLERS {
            let name = part.binary();
            let path = module::program(demo, part).await?;
            let module = format!("github.com/fluxcd/{name}");
            let config = module::folder(name, &module).await?.join("config");
            objects.extend(manifests(cluster, name, &config).await?);
            programs.push((part, path));
        }
        module::apply(cluster, &objects).await?;
        cluster.definitions_served().await?;
        let mut controllers = Vec::new();
        for (part, path) in programs {
            let program = program(cluster, part, &path).await?;
            controllers.push(Supervised::start(demo, &program)?);
        }
        Ok(Self {
            _controllers: controllers,
        })
    }

    /// Adds the logs of both to the messages of failed waits on this cluster.
    pub fn show_log(cluster: &Cluster) {
        for part in CONTROLLERS {
            let log = format!("flux/{}.log", part.binary());
            cluster.show_on_failure(&cluster.folder().join(log));
        }
    }
}

/// Returns the definitions of a controller, its account and its roles, in the namespace of Flux.
async fn manifests(cluster: &Cluster, name: &str, config: &Path) -> anyhow::Result<Vec<Value>> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": name, "namespace": NAMESPACE },
    });
    let mut objects = vec![account];
    let roles = config.join("rbac").display().to_string();
    let roles = cluster.kubectl(&["kustomize", &roles]).await?;
    let roles: Vec<Value> = serde_saphyr::from_multiple(&roles)?;
    objects.extend(roles.into_iter().map(|role| of_account(role, name)));
    objects.extend(module::objects(&config.join("crd/bases"), |_| true)?);
    Ok(objects)
}

/// Moves a role or binding into Flux's namespace and to the account of this name. As shipped it names another
/// account in another namespace.
fn of_account(mut role: Value, name: &str) -> Value {
    if ["Role", "RoleBinding"]
        .iter()
        .any(|kind| role["kind"] == *kind)
    {
        role["metadata"]["namespace"] = json!(NAMESPACE);
    }
    if role["subjects"].is_array() {
        let subject = json!({ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE });
        role["subjects"] = json!([subject]);
    }
    role
}

async fn program(cluster: &Cluster, part: Part, path: &Path) -> anyhow::Result<Program> {
    let name = part.binary();
    let folder = cluster.folder().join("flux");
    let files = folder.join(name);
    fs::create_dir_all(&files)?;
    let kubeconfig = cluster
        .kubeconfig_of(&Account::new(NAMESPACE, name))
        .await?;
    let program = Program::new(path, folder.join(format!("{name}.log")))
        .arg("--metrics-addr=0")
        .arg(format!("--health-addr=127.0.0.1:{}", free_port()?))
        // Half a minute as shipped: too long to wait for in a test.
        .arg("--requeue-dependency=2s")
        .env("RUNTIME_NAMESPACE", NAMESPACE)
        .env("TMPDIR", &files)
        .env("KUBECONFIG", kubeconfig);
    if part != Part::SourceController {
        return Ok(program);
    }
    let served = format!("127.0.0.1:{}", free_port()?);
    Ok(program
        .arg(format!("--storage-addr={served}"))
        .arg(format!("--storage-adv-addr={served}"))
        .arg(format!("--storage-path={}", files.display())))
}
