//! A namespace with an account, a template and an engine: the place of a scenario.

use std::{ops::Deref, time::Duration};

use anyhow::Result;
use cartouche_controller::mutants::RELEASE;
use cartouche_crds::Runnable;
use cartouche_oracle::Sight;
use cartouche_tests::{
    chronicle::Chronicle,
    cluster::{Cluster, Rights},
    control_plane::Options,
    controller::{Controller, Settings},
    fixture::{Fixture, install_lab},
    lab,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, Preconditions},
};
use serde_json::{Value, json};
use tokio::{
    sync::{OnceCell, Semaphore, SemaphorePermit},
    task::AbortHandle,
};

use crate::{
    DEMO,
    engine::{self, JOB, Kind, OMEN, RECLUSE, TRIAL},
    oracle::KINDS,
};

/// Maximum time of anything that is not delayed on purpose.
pub const SOON: Duration = Duration::from_mins(1);
/// Time that a Runnable that another controller seems to serve is left alone, and some more.
pub const QUIET: Duration = Duration::from_secs(30);
/// Maximum time of anything after that.
pub const AFTER_QUIET: Duration = Duration::from_mins(2);

/// Limits of scenes at the same time: on the shared servers, and on their own servers.
static ROOM: Semaphore = Semaphore::const_new(8);
static ROOM_FOR_SERVERS: Semaphore = Semaphore::const_new(2);
static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// Returns the rights of the account on a kind of runs: those that the original controller needed.
fn rights() -> [Rights<'static>; 4] {
    [TRIAL, OMEN, RECLUSE, JOB].map(Kind::rights_of_a_runnable)
}

/// Returns the names of this many Runnables.
pub fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("app-{n}")).collect()
}

pub struct Scene {
    fixture: Fixture,
    /// Record of the controllers' actions in the namespace.
    pub(crate) chronicle: Chronicle,
    /// Extent of the record.
    pub(crate) sight: Sight,
    /// The engine, where KWOK does not play it.
    engine: Option<AbortHandle>,
    _room: SemaphorePermit<'static>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(engine) = &self.engine {
            engine.abort();
        }
    }
}

impl Deref for Scene {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl Scene {
    /// Makes a scene on the servers that all tests share. Nothing else happens in its namespace, and its
    /// controllers serve no other.
    pub async fn begin(name: &str) -> Result<Self> {
        let room = ROOM.acquire().await?;
        let cluster = Cluster::shared(DEMO).await?;
        let installing = || async {
            install_lab(&cluster, SOON).await?;
            cluster.control_plane()?.play([lab::stages()]).await
        };
        INSTALLED.get_or_try_init(installing).await?;
        Self::on(cluster, name, room).await
    }

    /// Makes a scene whose servers can be killed.
    pub async fn with_servers_of_its_own(name: &str) -> Result<Self> {
        let room = ROOM_FOR_SERVERS.acquire().await?;
        let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
        install_lab(&cluster, SOON).await?;
        let mut scene = Self::on(cluster, name, room).await?;
        scene.sight = Sight::Torn;
        scene.engine = Some(engine::start(scene.trials()));
        Ok(scene)
    }

    async fn on(cluster: Cluster, name: &str, room: SemaphorePermit<'static>) -> Result<Self> {
        let fixture = Fixture::begin(&cluster, name, "runner", &rights(), SOON).await?;
        let kinds = KINDS.map(Kind::resource);
        let scene = Self {
            chronicle: Chronicle::begin(&cluster, &fixture.account, &kinds)?,
            engine: None,
            sight: Sight::Record,
            fixture,
            _room: room,
        };
        scene.template(engine::template(TRIAL)).await?;
        Ok(scene)
    }

    /// Leaves the account these rights on the kind, and no others.
    pub async fn leave(&self, kind: Kind, verbs: &[&str]) -> Result<()> {
        let rights = [kind.rights(verbs)];
        self.cluster.grant(&self.account, &rights).await
    }

    /// Gives the account all its rights back.
    pub async fn restore_rights(&self) -> Result<()> {
        self.cluster.grant(&self.account, &rights()).await
    }

    /// Starts a controller for this namespace, with further arguments.
    pub async fn controller(&self, arguments: &[&str]) -> Result<Controller> {
        self.start_controller_with(DEMO, arguments).await
    }

    /// Starts one of the release of this name.
    pub async fn controller_of(&self, release: &str) -> Result<Controller> {
        let mut settings = Settings::with_arguments(&["--namespace", &self.namespace]);
        settings.environment = vec![(RELEASE.to_owned(), release.to_owned())];
        Controller::start(DEMO, &self.cluster, &settings).await
    }

    pub fn trials(&self) -> Api<DynamicObject> {
        self.api(TRIAL)
    }

    /// Makes a Runnable of the scene's template and account.
    pub async fn runnable(&self, name: &str, inputs: Value) -> Result<Runnable> {
        self.runnable_with(name, json!({ "inputs": inputs })).await
    }

    /// Does the same with further fields of its spec.
    pub async fn runnable_with(&self, name: &str, spec: Value) -> Result<Runnable> {
        self.fixture.runnable(name, spec).await
    }

    /// Ends a run that hangs.
    pub async fn end(&self, run: &DynamicObject, succeeded: bool) -> Result<()> {
        self.end_trial(&self.trials(), run, succeeded).await
    }

    /// Deletes a run, as a user with kubectl might.
    pub async fn delete(&self, kind: Kind, run: &DynamicObject) -> Result<()> {
        let this = DeleteParams {
            preconditions: Some(Preconditions {
                uid: run.uid(),
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        self.api(kind).delete(&run.name_any(), &this).await?;
        Ok(())
    }
}
