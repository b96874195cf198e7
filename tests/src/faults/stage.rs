//! The stage of a plan: a namespace, an account, a template, and a controller behind a proxy that serves this
//! namespace only.

use std::{net::SocketAddr, ops::Deref, sync::Arc, time::Duration};

use anyhow::Result;
use cartouche_controller::mutants::RELEASE;
use cartouche_crds::ClusterRunTemplate;
use kube::api::{ApiResource, DeleteParams, ListParams};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, mpsc::UnboundedReceiver},
    task::AbortHandle,
};

use super::{record::Record, strangers};
use crate::{
    cluster::Cluster,
    control_plane::Options,
    controller::{Controller, Settings},
    fault_proxy::{Crash, FaultProxy},
    fixture::{self, Fixture},
    lab::{self, TRIAL},
};

/// The Runnable of every scenario.
pub const APP: &str = "app";
/// Maximum time of anything that a fault delays: restarts, watches begun anew, a busy machine, and pauses after
/// failures, the longest of which is six minutes.
pub const PATIENCE: Duration = Duration::from_mins(8);

/// Starts a full control plane with Cartouche and the kinds of the lab.
pub async fn prepared(demo: &str) -> Result<Cluster> {
    let cluster = Cluster::start(demo, &Options::full()).await?;
    install(&cluster).await?;
    Ok(cluster)
}

/// Installs Cartouche and the kinds of the lab, and waits until the controller may watch them.
pub async fn install(cluster: &Cluster) -> Result<()> {
    fixture::install_lab(cluster, PATIENCE).await?;
    cluster.control_plane()?.play([lab::stages()]).await?;
    strangers::settle(cluster).await
}

/// The stage of one plan.
pub struct Stage {
    fixture: Fixture,
    /// The proxy between the controller and the API server.
    pub proxy: FaultProxy,
    /// The API server's record.
    pub record: Record,
    /// Runnables whose status is compared in addition to that of [`APP`].
    pub(super) beside: Vec<String>,
    /// The kind of the runs.
    pub(super) kind: ApiResource,
    /// Plays the engine of a kind of this stage's own.
    pub(super) engine: Option<AbortHandle>,
    demo: String,
    settings: Settings,
    controller: Arc<Mutex<Option<Controller>>>,
    killer: AbortHandle,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.killer.abort();
        if let Some(engine) = &self.engine {
            engine.abort();
        }
    }
}

impl Deref for Stage {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl Stage {
    /// Makes a stage without a controller.
    pub async fn set(demo: &str, cluster: &Cluster, name: &str) -> Result<Self> {
        let fixture = Fixture::begin(cluster, name, "runner", &[], PATIENCE).await?;
        let namespace = &fixture.namespace;
        let (proxy, orders) = FaultProxy::start(cluster, namespace).await?;
        // Short, so that a request without an answer does not take long.
        let arguments = ["--namespace", namespace, "--request-timeout", "2"];
        let settings = proxy.settings(cluster, &arguments).await?;
        let controller = Arc::new(Mutex::new(None));
        let killer = tokio::spawn(kill_on_demand(orders, controller.clone())).abort_handle();
        let stage = Self {
            record: Record::begin(cluster, &fixture.account, &TRIAL.resource())?,
            kind: TRIAL.resource(),
            engine: None,
            beside: Vec::new(),
            demo: demo.to_owned(),
            fixture,
            proxy,
            settings,
            controller,
            killer,
        };
        stage.grant(true).await?;
        strangers::join(cluster, &stage.namespace, &stage.kind).await?;
        stage.template(lab::template(TRIAL)).await?;
        Ok(stage)
    }

    /// Sets the deliberate mistake that the controllers of this stage make.
    pub fn mistaken(&mut self, mutant: Option<&str>) {
        let variable = cartouche_controller::mutants::VARIABLE;
        self.settings.environment = mutant
            .map(|mutant| (variable.to_owned(), mutant.to_owned()))
            .into_iter()
            .collect();
    }

    /// Adds arguments for the controllers of this stage.
    pub(super) fn arguments(&mut self, further: &[&str]) {
        let further = further.iter().map(|&argument| argument.to_owned());
        self.settings.arguments.extend(further);
    }

    /// Starts the controller, unless it runs; does not wait for it.
    pub async fn start_controller(&self) -> Result<()> {
        let mut place = self.controller.lock().await;
        match &mut *place {
            Some(controller) if controller.runs()? => Ok(()),
            Some(controller) => controller.restart_without_waiting(),
            None => {
                *place = Some(
                    Controller::start_without_waiting(&self.demo, &self.cluster, &self.settings)
                        .await?,
                );
                Ok(())
            }
        }
    }

    /// Kills the controller.
    pub async fn kill_controller(&self) -> Result<()> {
        self.order(Controller::kill).await
    }

    /// Suspends the controller, as a long pause of its machine would.
    pub async fn pause_controller(&self) -> Result<()> {
        self.order(Controller::pause).await
    }

    /// Lets the controller continue.
    pub async fn resume_controller(&self) -> Result<()> {
        self.order(Controller::resume).await
    }

    /// Gives this order to the controller, if it was ever started.
    async fn order(&self, order: fn(&Controller) -> Result<()>) -> Result<()> {
        let place = self.controller.lock().await;
        place.as_ref().map_or(Ok(()), order)
    }

    /// Starts a further controller for this namespace, without proxy and mistake.
    pub async fn second_controller(&self) -> Result<Controller> {
        self.start_controller_with(&self.demo, &[]).await
    }

    /// Starts the controller anew as one of another release.
    pub async fn begin_as(&mut self, release: &str) -> Result<()> {
        drop(self.controller.lock().await.take());
        let played = (RELEASE.to_owned(), release.to_owned());
        self.settings.environment.push(played);
        self.start_controller().await
    }

    /// Starts a further controller for this namespace, of this release, without proxy and with the mistake of
    /// the stage.
    pub async fn second_of_this_release(&self) -> Result<Controller> {
        let mut settings = Settings::with_arguments(&["--namespace", &self.namespace]);
        settings.environment.clone_from(&self.settings.environment);
        settings.environment.retain(|(name, _)| name != RELEASE);
        Controller::start(&self.demo, &self.cluster, &settings).await
    }

    /// Returns the health address of the controller, if it was ever started: no other process has this
    /// address on its command line.
    pub async fn health_address(&self) -> Option<SocketAddr> {
        let place = self.controller.lock().await;
        place.as_ref().map(Controller::health_address)
    }

    /// Returns the output of the controller, of all its starts.
    pub async fn log(&self) -> String {
        match &*self.controller.lock().await {
            Some(controller) => controller.log().unwrap_or_default(),
            None => String::new(),
        }
    }

    /// Makes or replaces the stage's template. Its runs are of the stage's kind.
    pub async fn template(&self, mut spec: Value) -> Result<()> {
        spec["template"]["apiVersion"] = json!(self.kind.api_version);
        spec["template"]["kind"] = json!(self.kind.kind);
        self.fixture.template(spec).await
    }

    /// Removes everything, so that later stages of the cluster have less to list. The namespace stays: to
    /// delete one costs a hundred requests.
    pub async fn clear(&self) -> Result<()> {
        drop(self.controller.lock().await.take());
        let background = DeleteParams::background();
        let templates = self.cluster.all::<ClusterRunTemplate>();
        templates.delete(&self.namespace, &background).await?;
        let runnables = self.runnables();
        runnables
            .delete_collection(&background, &ListParams::default())
            .await?;
        self.clear_kind().await
    }
}

/// Kills the controller on each order of the proxy, and starts it again.
async fn kill_on_demand(
    mut orders: UnboundedReceiver<Crash>,
    controller: Arc<Mutex<Option<Controller>>>,
) {
    while let Some(killed) = orders.recv().await {
        let mut place = controller.lock().await;
        if let Some(controller) = &mut *place {
            // A failure to kill or start shows in the outcome: nothing gets any further.
            let dead = controller.kill();
            let _ = killed.send(());
            if dead.is_ok() {
                let _ = controller.restart_without_waiting();
            }
        }
    }
}
