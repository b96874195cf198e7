//! A Kubernetes control plane in processes of this machine.

mod build;
mod identity;
pub mod node;
mod parts;
mod ports;
mod programs;
pub(crate) mod random;
mod stages;
pub mod supervise;
pub mod supervisor;

use std::{
    collections::HashMap,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

pub(crate) use identity::{with_token, write_kubeconfig};
pub use parts::{Part, Parts, PartsError};
pub use ports::free_port;
use programs::Settings;
use supervise::{Program, Signal, Supervised};

use crate::progress::{Progress, elapsed};
pub(crate) use build::leaves_engines_out;

/// Maximum time of a start: 2 s on an idle machine, many times that on a busy one.
const START: Duration = Duration::from_mins(2);

/// Size of a control plane, by its programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// etcd and the API server: starts fastest. Owned objects are not collected, namespaces do not go, and
    /// aggregated roles stay empty.
    Bare,
    /// With kube-controller-manager, which does all that. Jobs make pods, but these do not run.
    Controllers,
    /// Everything: Jobs complete, owned objects are collected, and KWOK plays a node.
    Full,
    /// The same with a real node, whose containers do real work. Requires that [`node::lacking`] returns
    /// `None`.
    Containers,
}

/// Options of a start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The programs to start.
    pub size: Size,
    /// True if the API server writes its audit log, which [`crate::cluster::Cluster::audit`] reads.
    pub audit: bool,
    /// Display of progress.
    pub progress: Progress,
}

impl Options {
    /// Returns the options for etcd and the API server with an audit log. Only a first build shows progress.
    #[must_use]
    pub fn bare() -> Self {
        Self {
            size: Size::Bare,
            audit: true,
            progress: Progress::Silent,
        }
    }

    /// Returns [`Self::bare`] with kube-controller-manager.
    #[must_use]
    pub fn controllers() -> Self {
        Self {
            size: Size::Controllers,
            ..Self::bare()
        }
    }

    /// Returns [`Self::full`] with a real node in KWOK's place.
    #[must_use]
    pub fn containers() -> Self {
        Self {
            size: Size::Containers,
            ..Self::bare()
        }
    }

    /// Returns the options for everything, with an audit log. Only a first build shows progress.
    #[must_use]
    pub fn full() -> Self {
        Self {
            size: Size::Full,
            ..Self::bare()
        }
    }
}

/// A running control plane. When it is dropped or this process ends, in any way, its processes are killed and
/// its folder is removed (kept if the variable `CARTOUCHE_KEEP` is set).
#[derive(Debug)]
pub struct ControlPlane {
    supervisor: PathBuf,
    parts: Parts,
    settings: Settings,
    running: Mutex<HashMap<Part, Supervised>>,
    stages: Mutex<Vec<PathBuf>>,
    tidy_up: Option<Supervised>,
}

impl ControlPlane {
    /// Builds what is missing and starts a control plane. `demo` is the path of the demo binary: in an
    /// integration test, `env!("CARGO_BIN_EXE_demo")`.
    pub async fn start(demo: impl Into<PathBuf>, options: &Options) -> Result<Self> {
        let demo = demo.into();
        let parts = Parts::of(&demo, options.size).await?;
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::start_once(&demo, &parts, options).await {
                // Another process may have taken a port between the look and the use.
                Err(error) if tries < 3 && format!("{error:#}").contains("already in use") => {}
                outcome => return outcome,
            }
        }
    }

    async fn start_once(demo: &Path, parts: &Parts, options: &Options) -> Result<Self> {
        let plane = Self::with_new_folder(demo, parts, options)?;
        let step = options.progress.step("starting etcd and kube-apiserver");
        plane.launch(Part::Etcd)?;
        plane.launch(Part::ApiServer)?;
        plane.api_server_ready().await?;
        step.done();
        if options.size >= Size::Controllers {
            plane.launch(Part::ControllerManager)?;
        }
        if options.size >= Size::Full {
            let real = options.size == Size::Containers;
            let node = if real { "a real node" } else { "KWOK" };
            let step = options.progress.step(format!(
                "starting kube-controller-manager, kube-scheduler and {node}"
            ));
            plane.launch(Part::Scheduler)?;
            if real {
                plane.start_real_node(demo).await?;
            } else {
                plane.start_node().await?;
            }
            step.done();
        }
        Ok(plane)
    }

    fn with_new_folder(demo: &Path, parts: &Parts, options: &Options) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("cartouche-")
            .tempdir()
            .context("making a folder for the control plane")?
            .keep();
        let api_port = free_port()?;
        fs::write(
            folder.join("audit-policy.yaml"),
            include_str!("control_plane/audit-policy.yaml"),
        )?;
        // A name of its own, so that a command that kills all processes called `demo` spares the supervisors.
        let supervisor = folder.join("cartouche-supervisor");
        symlink(demo, &supervisor)?;
        Ok(Self {
            tidy_up: tidy_up(&supervisor, &folder)?,
            supervisor,
            parts: parts.clone(),
            settings: Settings {
                identity: identity::Identity::create(&folder.join("identity"), api_port)?,
                etcd_port: free_port()?,
                api_port,
                kwok_port: free_port()?,
                kubelet_port: free_port()?,
                audit: options.audit,
                folder,
            },
            running: Mutex::default(),
            stages: Mutex::default(),
        })
    }

    /// Returns the kubeconfig of a user with unrestricted rights.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.settings.identity.kubeconfig(identity::ADMIN)
    }

    /// Returns the audit log, one JSON document a line, or `None` if there is none.
    #[must_use]
    pub fn audit_log(&self) -> Option<PathBuf> {
        self.settings.audit.then(|| self.settings.audit_log())
    }

    /// Returns the folder with everything that this control plane writes. It is removed with the control
    /// plane.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.settings.folder
    }

    /// Returns the path of the kubectl that belongs to the API server.
    pub fn kubectl(&self) -> Result<&Path> {
        Ok(self.parts.path(Part::Kubectl)?)
    }

    /// Kills a program (SIGKILL) and returns once it is gone. It stays away until [`Self::restart`].
    pub fn kill(&self, part: Part) -> Result<()> {
        if let Some(program) = self.running().remove(&part) {
            program.kill()?;
        }
        Ok(())
    }

    /// Sends a signal to a program, for example [`Signal::Pause`] for a server that hangs.
    pub fn signal(&self, part: Part, signal: Signal) -> Result<()> {
        match self.running().get(&part) {
            None => bail!("{} does not run", part.binary()),
            Some(program) => Ok(program.signal(signal)?),
        }
    }

    /// Starts a program again, killing it first if it runs, with the same data and the same port. Returns
    /// once the API server serves again. After a restart of a server KWOK starts anew too: it gives up a
    /// patch that was answered with an `EOF` or a status 500, so that the run would hang for ever.
    pub async fn restart(&self, part: Part) -> Result<()> {
        self.kill(part)?;
        self.launch(part)?;
        self.api_server_ready().await?;
        let plays = self.running().contains_key(&Part::Kwok);
        if plays && matches!(part, Part::Etcd | Part::ApiServer) {
            self.play([]).await?;
        }
        Ok(())
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Part, Supervised>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn launch(&self, part: Part) -> Result<()> {
        let path = self.parts.path(part)?;
        let settings = &self.settings;
        let program = match part {
            Part::Etcd => settings.etcd(path),
            Part::ApiServer => settings.api_server(path),
            Part::ControllerManager => settings.controller_manager(path),
            Part::Scheduler => settings.scheduler(path),
            Part::Kwok => settings.kwok(path, &self.stage_files()),
            Part::Kubelet => settings.kubelet(&self.parts, &self.supervisor)?,
            Part::Kubectl | Part::OpenTofu | Part::Helm4 | Part::Helm3 => {
                bail!("{} is no server", part.binary())
            }
            Part::Containerd | Part::Shim | Part::Ctr | Part::Runc => {
                bail!("{} is started with the kubelet", part.binary())
            }
            Part::Tekton
            | Part::ArgoWorkflows
            | Part::Kueue
            | Part::SourceController
            | Part::KustomizeController => {
                bail!("{} is started as an engine", part.binary())
            }
        };
        let supervised = self.supervise(&program)?;
        self.running().insert(part, supervised);
        Ok(())
    }

    /// Starts a program that ends with this control plane.
    fn supervise(&self, program: &Program) -> Result<Supervised> {
        Supervised::start(&self.supervisor, program)
            .with_context(|| format!("starting {}", self.supervisor.display()))
    }

    /// Waits until the API server reports that it is ready, which includes the built-in roles.
    async fn api_server_ready(&self) -> Result<()> {
        let client = client(&self.admin_kubeconfig(), None).await?;
        let begin = Instant::now();
        loop {
            let request = http_get("/readyz")?;
            let answer =
                tokio::time::timeout(Duration::from_secs(5), client.request_text(request)).await;
            let last = match answer {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => format!("{error}"),
                Err(_) => "no answer within 5 s".to_owned(),
            };
            self.nothing_ended()?;
            if begin.elapsed() > START {
                bail!(
                    "the API server is not ready after {}: {last}\n{}",
                    elapsed(START),
                    log_tail(&self.settings.log("kube-apiserver"), 30)
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Fails if a program that should run has ended, with its output.
    pub fn nothing_ended(&self) -> Result<()> {
        self.nothing_ended_but(None)
    }

    fn has_ended(&self, part: Part) -> Result<bool> {
        let running = self.running();
        let ended = running.get(&part).map(Supervised::ended).transpose()?;
        Ok(ended.flatten().is_some())
    }

    /// Does the same for all programs but one.
    fn nothing_ended_but(&self, excepted: Option<Part>) -> Result<()> {
        let running = self.running();
        let others = running.iter().filter(|(part, _)| Some(**part) != excepted);
        for (part, program) in others {
            if let Some(status) = program.ended()? {
                bail!(
                    "{} has ended ({status})\n{}",
                    part.binary(),
                    log_tail(program.log(), 30)
                );
            }
        }
        Ok(())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // The clients first, so that they do not complain about servers that are gone.
        let mut running = self.running();
        running.remove(&Part::Kubelet);
        for part in Part::ALL.into_iter().rev() {
            running.remove(&part);
        }
        drop(running);
        drop(self.tidy_up.take());
    }
}

/// Starts the process that removes `folder` once this process is gone or drops it.
fn tidy_up(supervisor: &Path, folder: &Path) -> Result<Option<Supervised>> {
    if env::var_os("CARTOUCHE_KEEP").is_some() {
        Progress::Plain.note(&format!("CARTOUCHE_KEEP: {} stays", folder.display()));
        return Ok(None);
    }
    let mut command = Command::new(supervisor);
    command.arg("tidy-up").arg(folder);
    let log = folder.join("tidy-up.log");
    let process = Supervised::leashed(command, "tidy-up".to_owned(), &log)
        .with_context(|| format!("starting {}", supervisor.display()))?;
    Ok(Some(process))
}

/// Returns a client that never repeats a request by itself: a repeated create makes two objects.
pub async fn client(kubeconfig: &Path, context: Option<&str>) -> Result<Client> {
    let reading = || format!("reading {}", kubeconfig.display());
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let kubeconfig = Kubeconfig::read_from(kubeconfig).with_context(reading)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .with_context(reading)?;
    config.default_retry = false;
    Client::try_from(config).with_context(reading)
}

pub(crate) fn http_get(path: &str) -> Result<http::Request<Vec<u8>>> {
    Ok(http::Request::get(path).body(Vec::new())?)
}

/// Returns the last lines of a log, under a heading; for error messages.
#[must_use]
pub fn log_tail(log: &Path, lines: usize) -> String {
    log_tail_about(log, "", lines)
}

/// Returns the last lines of a log that contain `about`, under a heading.
pub(crate) fn log_tail_about(log: &Path, about: &str, lines: usize) -> String {
    let text = fs::read_to_string(log).unwrap_or_else(|error| error.to_string());
    let all: Vec<&str> = text.lines().filter(|line| line.contains(about)).collect();
    let tail = &all[all.len().saturating_sub(lines)..];
    format!("--- {} ---\n{}", log.display(), tail.join("\n"))
}
