//! The real controller of Tekton Pipelines.

use std::path::Path;

use super::module::{self, EngineError};
use crate::{
    cluster::{Account, Cluster},
    control_plane::{
        Part, free_port,
        supervise::{Program, Supervised},
    },
};

const NAMESPACE: &str = "tekton-pipelines";

/// Tekton's controller, as its own ServiceAccount under its own roles. Its webhook, which sets defaults and
/// validates, does not run. The controller is killed when this value is dropped.
#[derive(Debug)]
pub struct Tekton {
    _controller: Supervised,
}

impl Tekton {
    /// Installs Tekton's definitions, roles and settings, and starts its controller. `demo` is the demo
    /// binary.
    pub async fn start(demo: &Path, cluster: &Cluster) -> Result<Self, EngineError> {
        let path = module::program(demo, Part::Tekton).await?;
        let config = module::folder("tekton", "github.com/tektoncd/pipeline")
            .await?
            .join("config");
        install(cluster, &config).await?;
        let account = Account::new(NAMESPACE, "tekton-pipelines-controller");
        let kubeconfig = cluster.kubeconfig_of(&account).await?;
        let log = cluster.folder().join("tekton.log");
        let controller = Supervised::start(demo, &program(&path, &log, &kubeconfig)?)?;
        Ok(Self {
            _controller: controller,
        })
    }

    /// Adds Tekton's log to the messages of failed waits on this cluster.
    pub fn show_log(cluster: &Cluster) {
        cluster.show_on_failure(&cluster.folder().join("tekton.log"));
    }
}

async fn install(cluster: &Cluster, config: &Path) -> anyhow::Result<()> {
    let mut objects = module::objects(&config.join("100-namespace"), |_| true)?;
    let parts = ["200-", "201-", "config-"];
    objects.extend(module::objects(config, |name| {
        parts.iter().any(|part| name.starts_with(part))
    })?);
    let definitions = module::objects(&config.join("300-crds"), |_| true)?;
    objects.extend(module::without_conversion(definitions));
    module::apply(cluster, &objects).await?;
    cluster.definitions_served().await
}

fn program(path: &Path, log: &Path, kubeconfig: &Path) -> anyhow::Result<Program> {
    let settings = [
        ("SYSTEM_NAMESPACE", NAMESPACE),
        ("METRICS_DOMAIN", "tekton.dev/pipeline"),
        ("CONFIG_DEFAULTS_NAME", "config-defaults"),
        ("CONFIG_LOGGING_NAME", "config-logging"),
        ("CONFIG_OBSERVABILITY_NAME", "config-observability"),
        ("CONFIG_FEATURE_FLAGS_NAME", "feature-flags"),
        (
            "CONFIG_LEADERELECTION_NAME",
            "config-leader-election-controller",
        ),
        ("CONFIG_SPIRE", "config-spire"),
    ];
    let images = [
        "entrypoint",
        "nop",
        "sidecarlogresults",
        "workingdirinit",
        "shell",
    ];
    let mut program = Program::new(path, log)
        .arg("-kubeconfig")
        .arg(kubeconfig)
        .args(["-disable-ha", "-kube-api-qps=100", "-kube-api-burst=200"])
        .args(["-shell-image-win", "example.com/tekton/shell-win"]);
    // The images never run: KWOK plays the kubelet.
    for image in images {
        program = program
            .arg(format!("-{image}-image"))
            .arg(format!("example.com/tekton/{image}"));
    }
    for port in ["PROBES_PORT", "PROFILING_PORT", "METRICS_PROMETHEUS_PORT"] {
        program = program.env(port, free_port()?.to_string());
    }
    Ok(settings
        .into_iter()
        .fold(program, |program, (name, value)| program.env(name, value)))
}
