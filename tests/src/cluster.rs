//! A cluster as tests see it.

mod accounts;
mod audit;
mod definitions;
mod kubectl;
mod waiting;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result};
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{Namespace, ServiceAccount},
};
use kube::{Api, Client, Resource, api::PostParams};
use serde_json::json;
use tokio::sync::OnceCell;

pub use accounts::{Account, Rights};
pub use audit::{AuditEvent, AuditLog};
pub use waiting::{Seen, eventually};

use crate::control_plane::{self, ControlPlane, Options, log_tail_about, random};

/// A cluster with unrestricted rights.
///
/// Cheap to clone. It holds a client, which lives on the async runtime that made it: a test makes its own
/// with [`Cluster::shared`] or [`Cluster::start`] and does not keep it in a static.
#[derive(Clone, Debug)]
pub struct Cluster {
    client: DebugClient,
    kubeconfig: PathBuf,
    context: Option<String>,
    kubectl: PathBuf,
    folder: PathBuf,
    plane: Option<Arc<ControlPlane>>,
    logs: Arc<Mutex<Vec<PathBuf>>>,
}

#[derive(Clone)]
struct DebugClient(Client);

impl std::fmt::Debug for DebugClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// The control plane that the tests of a process share. A static is never dropped, but its processes end with
/// this process.
static SHARED: OnceCell<Arc<ControlPlane>> = OnceCell::const_new();

impl Cluster {
    /// Returns the cluster that all tests of this process share: full, started at the first call. `demo` is
    /// `env!("CARGO_BIN_EXE_demo")`. Tests keep apart with [`Self::namespace`].
    pub async fn shared(demo: &str) -> Result<Self> {
        let start = || async {
            let plane = ControlPlane::start(demo, &Options::full()).await?;
            anyhow::Ok(Arc::new(plane))
        };
        let plane = SHARED.get_or_try_init(start).await?;
        Self::of(Arc::clone(plane)).await
    }

    /// Starts a cluster of its own, for tests that kill servers or need the cluster empty.
    pub async fn start(demo: &str, options: &Options) -> Result<Self> {
        let plane = ControlPlane::start(demo, options).await?;
        Self::of(Arc::new(plane)).await
    }

    /// Returns the cluster of a control plane.
    pub async fn of(plane: Arc<ControlPlane>) -> Result<Self> {
        let kubeconfig = plane.admin_kubeconfig();
        Ok(Self {
            client: DebugClient(control_plane::client(&kubeconfig, None).await?),
            kubeconfig,
            context: None,
            kubectl: plane.kubectl()?.to_owned(),
            folder: plane.folder().to_owned(),
            plane: Some(plane),
            logs: Arc::default(),
        })
    }

    /// Connects to a running cluster by a context of a kubeconfig (the current one if `context` is `None`).
    /// Files that belong to the cluster go into `folder`.
    pub async fn connect(
        kubeconfig: PathBuf,
        context: Option<String>,
        kubectl: PathBuf,
        folder: PathBuf,
    ) -> Result<Self> {
        let client = control_plane::client(&kubeconfig, context.as_deref()).await?;
        Ok(Self {
            client: DebugClient(client),
            kubeconfig,
            context,
            kubectl,
            folder,
            plane: None,
            logs: Arc::default(),
        })
    }

    /// Returns a client that may do everything and never repeats a request by itself.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.0.clone()
    }

    /// Returns the API of a kind in a namespace.
    #[must_use]
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client(), namespace)
    }

    /// Returns the API of a kind in all namespaces, or of a cluster-scoped kind.
    #[must_use]
    pub fn all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client())
    }

    /// Returns the kubeconfig that [`Self::client`] was made from.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns the control plane. Fails if the cluster was not started here.
    pub fn control_plane(&self) -> Result<&ControlPlane> {
        self.plane
            .as_deref()
            .context("this cluster was not started here")
    }

    /// Returns a folder for files that belong to this cluster.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a namespace whose name begins with `prefix` and was never used before, with the ServiceAccount
    /// `default` in it.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        let name = format!("{prefix}-{}", random::word::<3>()?);
        let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        self.all::<Namespace>()
            .create(&PostParams::default(), &namespace)
            .await
            .with_context(|| format!("creating namespace {name}"))?;
        self.make_service_account(&name, "default").await?;
        Ok(name)
    }

    /// Makes a ServiceAccount unless it exists: kube-controller-manager makes the one named `default` at some
    /// time.
    async fn make_service_account(&self, namespace: &str, name: &str) -> Result<()> {
        let account = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        let accounts = self.api::<ServiceAccount>(namespace);
        match accounts.create(&PostParams::default(), &account).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            Err(error) => {
                Err(error).with_context(|| format!("creating ServiceAccount {namespace}/{name}"))
            }
        }
    }

    /// Shows the end of this log whenever a wait on this cluster fails.
    pub fn show_on_failure(&self, log: &Path) {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if !logs.iter().any(|known| known == log) {
            logs.push(log.to_owned());
        }
    }

    /// Returns the last lines with this text in the controllers' logs.
    pub(crate) fn log_tails(&self, about: &str) -> String {
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let tails = logs.iter().map(|log| log_tail_about(log, about, 40) + "\n");
        tails.collect()
    }
}
