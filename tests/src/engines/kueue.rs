//! The real Kueue: its controllers, its scheduler and its webhooks.

use std::{fs, path::Path, time::Duration};

use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use super::module::{self, EngineError};
use crate::{
    cluster::{Account, Cluster, Seen},
    control_plane::{
        Part, free_port,
        supervise::{Program, Supervised},
    },
};

const NAMESPACE: &str = "kueue-system";
const SERVICE: &str = "kueue-webhook-service";
const CERTIFICATE: &str = "kueue-webhook-server-cert";
/// Maximum time until Kueue has made its certificate.
const SOON: Duration = Duration::from_secs(90);

/// Kueue's manager, as its own ServiceAccount under its own roles. The API server calls its webhooks, so a
/// cluster of its own is best. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Kueue {
    _manager: Supervised,
}

impl Kueue {
    /// Installs Kueue's own kustomization, without its Deployment and the services other than webhooks, and
    /// starts its manager. `demo` is the demo binary.
    pub async fn start(demo: &Path, cluster: &Cluster) -> Result<Self, EngineError> {
        let path = module::program(demo, Part::Kueue).await?;
        let module = module::folder("kueue", "sigs.k8s.io/kueue").await?;
        let (webhooks, health) = (free_port()?, free_port()?);
        install(cluster, &module.join("config/default"), webhooks).await?;

        let folder = cluster.folder().join("kueue");
        let certificates = folder.join("certificates");
        fs::create_dir_all(&certificates)?;
        let settings = folder.join("settings.json");
        fs::write(
            &settings,
            settings_with(webhooks, health, &certificates).to_string(),
        )?;
        let account = Account::new(NAMESPACE, "kueue-controller-manager");
        let program = Program::new(path, folder.join("kueue.log"))
            .arg("--config")
            .arg(&settings)
            .arg("--feature-gates=VisibilityOnDemand=false")
            .env("KUBECONFIG", cluster.kubeconfig_of(&account).await?);
        let manager = Supervised::start(demo, &program)?;
        mount(cluster, &certificates).await?;
        Ok(Self { _manager: manager })
    }

    /// Adds Kueue's log to the messages of failed waits on this cluster.
    pub fn show_log(cluster: &Cluster) {
        cluster.show_on_failure(&cluster.folder().join("kueue/kueue.log"));
    }
}

async fn install(cluster: &Cluster, kustomization: &Path, port: u16) -> anyhow::Result<()> {
    let kustomization = kustomization.display().to_string();
    let text = cluster.kubectl(&["kustomize", &kustomization]).await?;
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text)?;
    let left_out = ["Deployment", "APIService", "Service", "ConfigMap"];
    objects.retain(|object| {
        let kind = object["kind"].as_str().unwrap_or_default();
        object.is_object() && !left_out.contains(&kind)
    });
    for object in &mut objects {
        call_at(object, port);
    }
    // The manager listens on this machine.
    objects.push(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": SERVICE, "namespace": NAMESPACE },
        "spec": { "type": "ExternalName", "externalName": "localhost" },
    }));
    // Definitions first: their kinds are in none of the other objects.
    module::apply(cluster, &objects).await?;
    cluster.definitions_served().await
}

/// Sets the port of each reference to the Service of webhooks.
fn call_at(object: &mut Value, port: u16) {
    match object {
        Value::Object(fields) => {
            if let Some(service) = fields.get_mut("service").filter(|it| it["name"] == SERVICE) {
                service["port"] = json!(port);
            }
            fields.values_mut().for_each(|it| call_at(it, port));
        }
        Value::Array(items) => items.iter_mut().for_each(|it| call_at(it, port)),
        _ => {}
    }
}

/// Returns Kueue's own settings, with other ports and with the kinds that it manages.
fn settings_with(webhooks: u16, health: u16, certificates: &Path) -> Value {
    json!({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
        "health": { "healthProbeBindAddress": format!("127.0.0.1:{health}") },
        "metrics": { "bindAddress": "0" },
        "webhook": { "host": "127.0.0.1", "port": webhooks, "certDir": certificates },
        "leaderElection": { "leaderElect": false },
        "integrations": { "frameworks": ["batch/job", "pod"] },
    })
}

/// Waits for the certificate that Kueue makes for itself and writes it where a kubelet would. Kueue waits for
/// that.
async fn mount(cluster: &Cluster, folder: &Path) -> anyhow::Result<()> {
    let secrets = cluster.api::<Secret>(NAMESPACE);
    let made = cluster.eventually("Kueue's certificate", SOON, || async {
        let secret = secrets.get(CERTIFICATE).await?;
        Ok(match secret.data {
            Some(data) if data.contains_key("tls.crt") => Seen::Done(data),
            _ => Seen::NotYet("no tls.crt".to_owned()),
        })
    });
    for (name, bytes) in made.await? {
        fs::write(folder.join(name), bytes.0)?;
    }
    Ok(())
}
