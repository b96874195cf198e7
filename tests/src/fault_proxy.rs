//! A proxy between one controller and the API server that breaks chosen requests.
//!
//! The controller speaks plain HTTP to the proxy, on the loopback interface, with its own token. The proxy
//! passes everything on over TLS and reads only what a request asks for. It counts each request, and each
//! event of a watch, by its sort ([`Call`]), and a chooser decides which of them meets which [`Fault`].
//! Requests about other namespaces than the controller's own are passed on uncounted: tests share an API
//! server.

mod answer;
mod call;
mod desk;
mod door;
mod fault;
mod relay;
mod serve;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use kube::{
    Client, Config,
    config::{AuthInfo, Cluster as KubeCluster, KubeConfigOptions, Kubeconfig},
};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::AbortHandle,
};

pub use call::Call;
pub use desk::{Chooser, Counted};
pub use door::Waits;
pub use fault::{Fault, HELD, LATE, MINUTES, SPLIT};

use crate::{
    cluster::Cluster,
    control_plane::{random, with_token, write_kubeconfig},
    controller::{Controller, Settings},
};
use desk::Desk;

/// Order to the owner of the controller to kill it; the proxy continues once this was answered.
pub type Crash = oneshot::Sender<()>;

/// A running proxy; it ends when dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    folder: PathBuf,
    desk: Arc<Desk>,
    task: AbortHandle,
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FaultProxy {
    /// Starts a proxy for a controller that serves one namespace. The receiver gets the orders to kill the
    /// controller.
    pub async fn start(
        cluster: &Cluster,
        namespace: &str,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Crash>)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (crashes, orders) = mpsc::unbounded_channel();
        let desk = Arc::new(Desk::new(namespace, crashes));
        let upstream = upstream(cluster).await?;
        let task = tokio::spawn(serve::serve(listener, upstream, desk.clone()));
        let proxy = Self {
            address,
            folder: cluster.folder().to_owned(),
            desk,
            task: task.abort_handle(),
        };
        Ok((proxy, orders))
    }

    /// Returns the settings of a controller behind the proxy, with its ServiceAccount and these arguments.
    pub async fn settings(&self, cluster: &Cluster, arguments: &[&str]) -> Result<Settings> {
        let account = Controller::account();
        let token = cluster.token(&account).await?;
        let proxy = KubeCluster {
            server: Some(format!("http://{}", self.address)),
            ..KubeCluster::default()
        };
        let name = format!("proxy-{}.kubeconfig", random::word::<3>()?);
        let file = self.folder.join(name);
        write_kubeconfig(&file, &with_token(proxy, &account.name, &token))?;
        Ok(Settings {
            kubeconfig: Some(file),
            ..Settings::with_arguments(arguments)
        })
    }

    /// Restarts the counts and breaks from now on what `chooser` selects. The chooser gets the sort of each
    /// request and its number in that sort.
    pub fn begin(&self, chooser: Chooser) {
        self.desk.begin(chooser);
    }

    /// Breaks nothing from now on. Requests that are held back already stay so.
    pub fn spare(&self) {
        self.desk.choose(Box::new(|_, _| None));
    }

    /// Lets one event pass that waits at a [`Fault::Gate`], or the next one that arrives there.
    pub fn let_pass(&self) {
        self.desk.let_pass();
    }

    /// Holds the requests that `waits` selects until [`Self::release`]. They arrive after that even if their
    /// sender has given them up or is dead.
    pub fn hold(&self, waits: Waits) {
        self.desk.door.close(waits);
    }

    /// Returns the number of requests held back since [`Self::hold`].
    #[must_use]
    pub fn held(&self) -> usize {
        self.desk.door.came()
    }

    /// Lets all held requests go on and holds no further ones back.
    pub fn release(&self) {
        self.desk.door.open();
    }

    /// Lets nothing through for this time, neither requests nor events.
    pub fn split(&self, time: Duration) {
        self.desk.split_for(time);
    }

    /// Returns the requests since [`Self::begin`], in their order.
    #[must_use]
    pub fn calls(&self) -> Vec<Counted> {
        self.desk.calls()
    }

    /// Returns the number of requests and events broken since [`Self::begin`].
    #[must_use]
    pub fn broken(&self) -> usize {
        self.desk.broken()
    }

    /// Returns true if something is still held back or on its way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.desk.is_busy()
    }
}

/// Returns a client without an identity of its own: requests carry that of the controller.
async fn upstream(cluster: &Cluster) -> Result<Client> {
    let reading = || format!("reading {}", cluster.kubeconfig().display());
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).with_context(reading)?;
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .with_context(reading)?;
    config.default_retry = false;
    config.auth_info = AuthInfo::default();
    Client::try_from(config).with_context(reading)
}
