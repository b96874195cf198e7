//! The controller under test, as a process of its own.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::OnceCell,
};

use crate::{
    cluster::{Account, Cluster, Seen},
    control_plane::{
        free_port, log_tail, random,
        supervise::{Program, Signal, Supervised},
    },
    repository,
};

/// Maximum time until the controller is ready, and until it ends once asked to.
const READY: Duration = Duration::from_mins(1);

/// Settings of the controller's process.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Further command-line arguments.
    pub arguments: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// A kubeconfig instead of the one with a token of the controller's ServiceAccount: for a proxy in
    /// between, or for another account.
    pub kubeconfig: Option<PathBuf>,
}

impl Settings {
    /// Returns the defaults with further command-line arguments.
    #[must_use]
    pub fn with_arguments(arguments: &[&str]) -> Self {
        Self {
            arguments: arguments.iter().map(|&a| a.to_owned()).collect(),
            ..Self::default()
        }
    }
}

/// A running controller, killed when dropped. While a test panics, the end of its log is shown.
#[derive(Debug)]
pub struct Controller {
    demo: PathBuf,
    program: Program,
    process: Supervised,
    health: SocketAddr,
    cluster: Cluster,
}

/// The controller of the cluster that the tests of a process share.
static SHARED: OnceCell<Controller> = OnceCell::const_new();

impl Controller {
    /// Returns the cluster that all tests of this process share ([`Cluster::shared`]) and a controller that
    /// serves it. The first call prepares the cluster with `prepare`; its settings apply. Tests that stop or
    /// kill the controller start a cluster of their own.
    pub async fn shared(
        demo: &str,
        settings: &Settings,
        prepare: impl AsyncFnOnce(&Cluster) -> Result<()>,
    ) -> Result<(Cluster, &'static Self)> {
        let cluster = Cluster::shared(demo).await?;
        let start = || async {
            prepare(&cluster).await?;
            Self::start(demo, &cluster, settings).await
        };
        let controller = SHARED.get_or_try_init(start).await?;
        cluster.show_on_failure(controller.log_file());
        Ok((cluster, controller))
    }

    /// Returns the ServiceAccount of the shipped manifests.
    #[must_use]
    pub fn account() -> Account {
        Account::new("cartouche-system", "cartouche-controller")
    }

    /// Starts the controller as its ServiceAccount under the roles that `config/rbac` ships (see
    /// [`Cluster::install_cartouche`]) and waits until it is ready. `demo` is the demo binary.
    pub async fn start(
        demo: impl AsRef<Path>,
        cluster: &Cluster,
        settings: &Settings,
    ) -> Result<Self> {
        let controller = Self::start_without_waiting(demo, cluster, settings).await?;
        controller.ready().await?;
        Ok(controller)
    }

    /// Starts the controller as [`Self::start`] does, without waiting: for a cluster that is not complete
    /// yet.
    pub async fn start_without_waiting(
        demo: impl AsRef<Path>,
        cluster: &Cluster,
        settings: &Settings,
    ) -> Result<Self> {
        let demo = demo.as_ref();
        let kubeconfig = match &settings.kubeconfig {
            Some(given) => given.clone(),
            None => cluster.kubeconfig_of(&Self::account()).await?,
        };
        let health = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let log = cluster
            .folder()
            .join(format!("controller-{}.log", random::word::<3>()?));
        let program = settings.environment.iter().fold(
            Program::new(demo, &log)
                .arg("controller")
                .arg("--health-address")
                .arg(health.to_string())
                .args(&settings.arguments)
                .env("KUBECONFIG", kubeconfig),
            |program, (name, value)| program.env(name, value),
        );
        cluster.show_on_failure(&log);
        Ok(Self {
            demo: demo.to_owned(),
            process: Supervised::start(demo, &program)?,
            program,
            health,
            cluster: cluster.clone(),
        })
    }

    /// Returns the address of `/healthz`, `/readyz` and `/metrics`.
    #[must_use]
    pub fn health_address(&self) -> SocketAddr {
        self.health
    }

    /// Returns the answer to a GET on the health address, if it is a 200: `controller.get("/metrics")`.
    pub async fn get(&self, path: &str) -> Result<String> {
        http_get(self.health, path).await
    }

    /// Waits until the controller reports that it is ready. Fails at once if it has ended.
    pub async fn ready(&self) -> Result<()> {
        let ended = self
            .cluster
            .eventually("the controller to be ready", READY, || async {
                if let Some(status) = self.process.ended()? {
                    return Ok(Seen::Done(Some(status)));
                }
                self.get("/readyz").await?;
                Ok(Seen::Done(None))
            })
            .await?;
        match ended {
            None => Ok(()),
            Some(status) => bail!(
                "the controller has ended ({status})\n{}",
                log_tail(self.process.log(), 40)
            ),
        }
    }

    /// Asks the controller to end (SIGTERM) and waits until it has.
    pub async fn stop(&self) -> Result<ExitStatus> {
        self.process.signal(Signal::Terminate)?;
        let ended = self.process.wait(READY).await;
        ended.with_context(|| log_tail(self.process.log(), 40))
    }

    /// Kills the controller (SIGKILL) and returns once it is gone.
    pub fn kill(&self) -> Result<()> {
        self.process.kill()?;
        Ok(())
    }

    /// Suspends the controller, as a long pause of its machine would.
    pub fn pause(&self) -> Result<()> {
        Ok(self.process.signal(Signal::Pause)?)
    }

    /// Lets the controller continue after [`Self::pause`].
    pub fn resume(&self) -> Result<()> {
        Ok(self.process.signal(Signal::Resume)?)
    }

    /// Restarts the controller with the same settings (killing it first, if it runs) and waits until it is
    /// ready.
    pub async fn restart(&mut self) -> Result<()> {
        self.restart_without_waiting()?;
        self.ready().await
    }

    /// Restarts as [`Self::restart`] does, without waiting until the controller is ready.
    pub fn restart_without_waiting(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process = Supervised::start(&self.demo, &self.program)?;
        Ok(())
    }

    /// Returns true if the controller still runs.
    pub fn runs(&self) -> Result<bool> {
        Ok(self.process.ended()?.is_none())
    }

    /// Returns the peak of the controller's memory, in bytes, as the kernel counted it.
    pub fn peak_memory(&self) -> Result<u64> {
        let address = self.health.to_string();
        let mut peak = None;
        for process in std::fs::read_dir("/proc")?.flatten() {
            let read = |file: &str| std::fs::read_to_string(process.path().join(file));
            // Processes come and go; the supervisor, which is small, has the same arguments.
            let (Ok(line), Ok(status)) = (read("cmdline"), read("status")) else {
                continue;
            };
            let size = status
                .lines()
                .find_map(|line| line.strip_prefix("VmHWM:"))
                .and_then(|size| size.split_whitespace().next()?.parse::<u64>().ok());
            if line.split('\0').any(|argument| argument == address) {
                peak = peak.max(size);
            }
        }
        Ok(peak.context("the controller is not among the processes")? * 1024)
    }

    /// Returns the file of the controller's output.
    #[must_use]
    pub fn log_file(&self) -> &Path {
        self.process.log()
    }

    /// Returns the output of the controller, of all its starts.
    pub fn log(&self) -> Result<String> {
        let log = self.process.log();
        std::fs::read_to_string(log).with_context(|| format!("reading {}", log.display()))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", log_tail(self.process.log(), 60));
        }
    }
}

/// Sends a GET over plain HTTP, without a library: the servers are our own.
async fn http_get(address: SocketAddr, path: &str) -> Result<String> {
    let answer = async {
        let mut stream = TcpStream::connect(address).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        anyhow::Ok(answer)
    };
    let answer = tokio::time::timeout(Duration::from_secs(5), answer)
        .await
        .with_context(|| format!("GET {path}: no answer within 5 s"))?
        .with_context(|| format!("GET {path}"))?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .with_context(|| format!("GET {path}: no HTTP answer"))?;
    let status = head.lines().next().unwrap_or_default();
    anyhow::ensure!(status.contains(" 200"), "GET {path}: {status}: {body}");
    Ok(body.to_owned())
}

impl Cluster {
    /// Installs what `config/` ships for every cluster: the kinds, and the controller's account with its
    /// roles. Needs kube-controller-manager, which fills in the aggregated role.
    pub async fn install_cartouche(&self) -> Result<()> {
        let config = repository().join("config");
        self.apply_files(&config.join("crd")).await?;
        self.apply_kustomization(&config.join("rbac")).await?;
        self.definitions_served().await
    }
}
