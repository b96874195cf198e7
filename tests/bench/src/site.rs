//! The cluster of the benchmark, and the subjects on it.

use std::{
    env, fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use cartouche_tests::{
    cluster::{Account, Cluster},
    control_plane::{
        ControlPlane, Options, Part, Size, free_port,
        supervise::{Program, Supervised},
    },
    controller::Controller,
    progress::Progress,
};
use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::{
    api,
    command_line::Settings,
    kinds::{RUN_GROUP, RUNNABLE_GROUP, RunKind, TWIN_GROUP, granular_definition, twin_definition},
    measure::Subject,
    proc::Process,
};

/// Requests without bodies: bodies in the log would cost the API server more than the requests.
const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    nonResourceURLs: [\"/*\"]
  - level: None
    resources: [{ group: coordination.k8s.io, resources: [leases] }]
  - level: None
    users: [\"system:apiserver\", kube-controller-manager, admin]
  - level: Metadata
";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
/// Namespace of the accounts of references and of other controllers.
const NAMESPACE: &str = "cartouche-bench";

/// The cluster under load.
pub(crate) struct Site {
    pub(crate) cluster: Cluster,
    pub(crate) progress: Progress,
    exe: PathBuf,
    api_server: Option<Process>,
    etcd: Option<Process>,
}

/// A subject at work.
pub(crate) struct Running {
    pub(crate) subject: Subject,
    pub(crate) process: Process,
    /// User as the audit log names it.
    pub(crate) user: String,
    /// Address of health and metrics, if it was started here.
    pub(crate) health: Option<SocketAddr>,
    supervised: Option<Supervised>,
}

impl Running {
    /// Returns the group of the Runnables that it serves.
    pub(crate) fn group(&self) -> &'static str {
        match self.subject {
            Subject::Controller => RUNNABLE_GROUP,
            Subject::TwoWrites | Subject::WithConditions | Subject::Blind => TWIN_GROUP,
        }
    }

    /// Returns the file with its output.
    pub(crate) fn log(&self) -> Option<&Path> {
        self.supervised.as_ref().map(Supervised::log)
    }

    /// Fails if it has ended.
    pub(crate) fn runs(&self) -> Result<()> {
        let Some(supervised) = &self.supervised else {
            return Ok(());
        };
        match supervised.ended()? {
            None => Ok(()),
            Some(status) => bail!(
                "{} has ended ({status})\n{}",
                self.subject.title(),
                cartouche_tests::control_plane::log_tail(supervised.log(), 30)
            ),
        }
    }
}

impl Site {
    /// Starts a control plane, or connects to the given one, and installs the objects that the load needs.
    pub(crate) async fn prepare(settings: &Settings) -> Result<Self> {
        let exe = env::current_exe().context("finding this program")?;
        let progress = Progress::for_stderr();
        let cluster = match &settings.kubeconfig {
            Some(kubeconfig) => connect(settings, kubeconfig).await?,
            None => start(&exe, progress).await?,
        };
        let plane = cluster.control_plane().ok();
        let site = Self {
            api_server: plane.and_then(|p| Process::named("kube-apiserver", p.folder())),
            etcd: plane.and_then(|p| Process::named("etcd", p.folder())),
            cluster,
            progress,
            exe,
        };
        let step = progress.step("installing kinds, templates and accounts");
        site.install(settings).await?;
        step.done();
        Ok(site)
    }

    pub(crate) fn client(&self) -> Client {
        self.cluster.client()
    }

    /// Returns the bytes that the API server has allocated so far, by its own count: nearly free of the noise
    /// of CPU time.
    pub(crate) async fn allocated(&self) -> Result<f64> {
        let request = Request::get("/metrics").body(Vec::new())?;
        let metrics = self.client().request_text(request).await?;
        let mut lines = metrics.lines();
        let bytes = lines.find_map(|line| line.strip_prefix("go_memstats_alloc_bytes_total "));
        let bytes = bytes.context("the API server does not say what it has allocated")?;
        Ok(bytes.trim().parse()?)
    }

    /// Returns the CPU time of API server and etcd so far.
    pub(crate) fn server_cpu(&self) -> (Option<f64>, Option<f64>) {
        let cpu = |process: Option<Process>| {
            let cpu = process?.cpu().ok()?;
            Some(crate::measure::millis(cpu))
        };
        (cpu(self.api_server), cpu(self.etcd))
    }

    async fn install(&self, settings: &Settings) -> Result<()> {
        if settings.kubeconfig.is_none() || settings.install {
            self.cluster.install_cartouche().await?;
        }
        self.install_kinds(&[RunKind::number(0), RunKind::of_references()], true)
            .await?;
        let client = self.client();
        api::ensure(&client, CRDS, &twin_definition()?).await?;
        api::ensure(&client, CRDS, &granular_definition()?).await?;
        let namespace = json!({ "metadata": { "name": NAMESPACE } });
        api::ensure(&client, "/api/v1/namespaces", &namespace).await?;
        for name in ["reference", "controller"] {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
            api::ensure(&client, &path, &json!({ "metadata": { "name": name } })).await?;
            let user = Account::new(NAMESPACE, name).user();
            self.bind(
                &format!("cartouche-bench-{name}"),
                "cluster-admin",
                "User",
                &user,
            )
            .await?;
        }
        let runs = json!({
            "metadata": { "name": "cartouche-bench-runs" },
            "rules": [{ "apiGroups": [RUN_GROUP], "resources": ["*"], "verbs": ["get", "list", "watch", "create", "delete"] }],
        });
        api::ensure(&client, &format!("{RBAC}/clusterroles"), &runs).await?;
        self.bind(
            "cartouche-bench-runs",
            "cartouche-bench-runs",
            "Group",
            "system:serviceaccounts",
        )
        .await?;
        self.cluster.definitions_served().await?;
        self.template(&RunKind::number(0), "bench").await
    }

    /// Makes the API server serve the given kinds of runs.
    pub(crate) async fn install_kinds(&self, kinds: &[RunKind], subresource: bool) -> Result<()> {
        for kind in kinds {
            api::ensure(&self.client(), CRDS, &kind.definition(subresource)).await?;
        }
        Ok(())
    }

    /// Makes a template for runs of a kind.
    pub(crate) async fn template(&self, kind: &RunKind, name: &str) -> Result<()> {
        let path = "/apis/carto.run/v1alpha1/clusterruntemplates";
        api::ensure(&self.client(), path, &kind.template(name, "first")).await
    }

    pub(crate) async fn bind(
        &self,
        name: &str,
        role: &str,
        kind: &str,
        subject: &str,
    ) -> Result<()> {
        let api_group = "rbac.authorization.k8s.io";
        let binding: Value = json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": api_group, "kind": "ClusterRole", "name": role },
            "subjects": [{ "apiGroup": api_group, "kind": kind, "name": subject }],
        });
        api::ensure(
            &self.client(),
            &format!("{RBAC}/clusterrolebindings"),
            &binding,
        )
        .await
    }

    /// Starts a subject, or takes the given process.
    pub(crate) async fn run(&self, subject: Subject, settings: &Settings) -> Result<Running> {
        if let (Subject::Controller, Some(pid)) = (subject, settings.pid) {
            return Ok(Running {
                subject,
                process: Process::of(pid),
                user: settings
                    .user
                    .clone()
                    .unwrap_or_else(|| Controller::account().user()),
                health: None,
                supervised: None,
            });
        }
        let account = match (subject, &settings.controller) {
            (Subject::Controller, None) => Controller::account(),
            (Subject::Controller, Some(_)) => Account::new(NAMESPACE, "controller"),
            _ => Account::new(NAMESPACE, "reference"),
        };
        let (program, health) = self.program(subject, settings)?;
        let kubeconfig = self.cluster.kubeconfig_of(&account).await?;
        let program = program.env("KUBECONFIG", kubeconfig);
        let supervised = Supervised::start(&self.exe, &program)
            .with_context(|| format!("starting {}", subject.title()))?;
        let process = Process::supervised(&supervised).await?;
        Ok(Running {
            subject,
            process,
            user: account.user(),
            health,
            supervised: Some(supervised),
        })
    }

    fn program(
        &self,
        subject: Subject,
        settings: &Settings,
    ) -> Result<(Program, Option<SocketAddr>)> {
        let port = free_port()?;
        let health = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let log = |name: &str| self.cluster.folder().join(format!("{name}-{port}.log"));
        let concurrency = settings.reference_concurrency.to_string();
        let program =
            match (subject, &settings.controller) {
                (Subject::Controller, Some(path)) => {
                    Program::new(path, log("controller")).args(&settings.args)
                }
                (Subject::Controller, None) => Program::new(&self.exe, log("controller"))
                    .args(["controller", "--health-address", &health.to_string()])
                    .args(&settings.args),
                (Subject::TwoWrites, _) => Program::new(&self.exe, log("two-writes")).args([
                    "reference",
                    "two-writes",
                    &concurrency,
                ]),
                (Subject::WithConditions, _) => Program::new(&self.exe, log("with-conditions"))
                    .args(["reference", "with-conditions", &concurrency]),
                (Subject::Blind, _) => {
                    Program::new(&self.exe, log("blind")).args(["reference", "blind", &concurrency])
                }
            };
        let is_shipped = subject == Subject::Controller && settings.controller.is_none();
        Ok((program, is_shipped.then_some(health)))
    }
}

async fn start(exe: &Path, progress: Progress) -> Result<Cluster> {
    let options = Options {
        size: Size::Bare,
        audit: true,
        progress,
    };
    let plane = ControlPlane::start(exe, &options).await?;
    fs::write(plane.folder().join("audit-policy.yaml"), AUDIT_POLICY)?;
    plane.restart(Part::ApiServer).await?;
    Cluster::of(Arc::new(plane)).await
}

async fn connect(settings: &Settings, kubeconfig: &Path) -> Result<Cluster> {
    let folder = env::temp_dir().join(format!("cartouche-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Cluster::connect(
        kubeconfig.to_owned(),
        settings.context.clone(),
        PathBuf::from("kubectl"),
        folder,
    )
    .await
}

/// Returns the processor, the number of cores, and the memory, for reports.
pub(crate) fn machine() -> String {
    let first = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = first("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = first("/proc/meminfo", "MemTotal").unwrap_or_default();
    format!("{cores} cores of {processor}, {memory} of memory")
}
