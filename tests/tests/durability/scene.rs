//! A namespace with an account, a template and an engine: where a scenario happens.

use std::time::Duration;

use anyhow::{Context, Result};
use cartouche_crds::{ClusterRunTemplate, Runnable};
use cartouche_oracle::Sight;
use cartouche_tests::{
    chronicle::Chronicle,
    cluster::{Account, Cluster, Rights, Seen},
    control_plane::Options,
    controller::{Controller, Settings},
    lab,
};
use kube::{
    Api, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
        Preconditions,
    },
};
use serde_json::{Value, json};
use tokio::{
    sync::{OnceCell, Semaphore, SemaphorePermit},
    task::AbortHandle,
};

use crate::{
    DEMO,
    engine::{self, Kind},
    oracle::{self, KINDS},
};

/// How long anything may take that is not delayed on purpose.
pub const SOON: Duration = Duration::from_mins(1);
/// How long a Runnable that somebody else seems to serve is left alone, and some more.
pub const QUIET: Duration = Duration::from_secs(30);
/// For what comes after that.
pub const AFTER_QUIET: Duration = Duration::from_mins(2);

/// Scenes on the shared servers, and servers of one's own, at the same time.
static ROOM: Semaphore = Semaphore::const_new(8);
static ROOM_FOR_SERVERS: Semaphore = Semaphore::const_new(2);
static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// What the account may do with a kind of runs: what the original controller needed.
pub fn rights() -> [Rights<'static>; 4] {
    [
        Rights::of_a_runnable("lab.test", "trials"),
        Rights::of_a_runnable("lab.test", "omens"),
        Rights::of_a_runnable("lab.test", "recluses"),
        Rights::of_a_runnable("batch", "jobs"),
    ]
}

/// The names of so many Runnables.
pub fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("app-{n}")).collect()
}

pub struct Scene {
    pub cluster: Cluster,
    pub namespace: String,
    /// The account of every Runnable.
    pub account: Account,
    /// What controllers did in the namespace.
    pub(crate) chronicle: Chronicle,
    /// How much of it is written down.
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

impl Scene {
    /// A scene on the servers that all tests share. Nothing else happens in its namespace, and its
    /// controllers serve no other.
    pub async fn begin(name: &str) -> Result<Self> {
        let room = ROOM.acquire().await?;
        let cluster = Cluster::shared(DEMO).await?;
        let installing = || async {
            install(&cluster).await?;
            cluster.control_plane()?.play([lab::stages()]).await
        };
        INSTALLED.get_or_try_init(installing).await?;
        Self::on(cluster, name, room).await
    }

    /// A scene whose servers can be killed.
    pub async fn with_servers_of_its_own(name: &str) -> Result<Self> {
        let room = ROOM_FOR_SERVERS.acquire().await?;
        let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
        install(&cluster).await?;
        let mut scene = Self::on(cluster, name, room).await?;
        scene.sight = Sight::Torn;
        scene.engine = Some(engine::start(scene.trials()));
        Ok(scene)
    }

    async fn on(cluster: Cluster, name: &str, room: SemaphorePermit<'static>) -> Result<Self> {
        let namespace = cluster.namespace(name).await?;
        let account = cluster
            .service_account(&namespace, "runner", &rights())
            .await?;
        let scene = Self {
            chronicle: Chronicle::begin(&cluster, &account, &KINDS.map(Kind::resource))?,
            engine: None,
            sight: Sight::Record,
            cluster,
            namespace,
            account,
            _room: room,
        };
        scene.template(engine::template(Kind::Trial)).await?;
        Ok(scene)
    }

    /// Starts a controller for this namespace, with further arguments.
    pub async fn controller(&self, arguments: &[&str]) -> Result<Controller> {
        let own = ["--namespace", &self.namespace];
        let arguments: Vec<&str> = own.iter().chain(arguments).copied().collect();
        Controller::start(DEMO, &self.cluster, &Settings::with_arguments(&arguments)).await
    }

    pub fn runnables(&self) -> Api<Runnable> {
        self.cluster.api(&self.namespace)
    }

    pub fn objects(&self, kind: Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.cluster.client(), &self.namespace, &kind.resource())
    }

    pub fn trials(&self) -> Api<DynamicObject> {
        self.objects(Kind::Trial)
    }

    /// Makes the scene's template, or makes it another one.
    pub async fn template(&self, spec: Value) -> Result<()> {
        let template = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
            "metadata": { "name": self.namespace }, "spec": spec,
        });
        let apply = PatchParams::apply("durability").force();
        self.cluster
            .all::<ClusterRunTemplate>()
            .patch(&self.namespace, &apply, &Patch::Apply(template))
            .await
            .context("applying the template")?;
        Ok(())
    }

    /// Makes a Runnable of the scene's template and account.
    pub async fn runnable(&self, name: &str, inputs: Value) -> Result<Runnable> {
        self.runnable_with(name, json!({ "inputs": inputs })).await
    }

    /// The same with further fields of its spec.
    pub async fn runnable_with(&self, name: &str, mut spec: Value) -> Result<Runnable> {
        spec["runTemplateRef"] = json!({ "name": self.namespace });
        spec["serviceAccountName"] = json!(self.account.name);
        let runnable = serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": name }, "spec": spec,
        }))?;
        let runnables = self.runnables();
        let created = runnables.create(&PostParams::default(), &runnable).await;
        created.with_context(|| format!("creating Runnable {name}"))
    }

    /// Gives a Runnable other inputs.
    pub async fn change(&self, name: &str, inputs: Value) -> Result<()> {
        self.patch(name, json!({ "spec": { "inputs": inputs } }))
            .await
    }

    /// Patches a Runnable; tried again while the API server is away.
    pub async fn patch(&self, name: &str, patch: Value) -> Result<()> {
        let patch = Patch::Merge(patch);
        self.cluster
            .eventually(&format!("{name} to be changed"), SOON, || async {
                let runnables = self.runnables();
                runnables
                    .patch(name, &PatchParams::default(), &patch)
                    .await?;
                Ok(Seen::Done(()))
            })
            .await
    }

    /// Replaces the status of a Runnable by what `edit` makes of it, as somebody with more rights
    /// than anybody should have.
    pub async fn edit_status(&self, name: &str, edit: impl Fn(&mut Value)) -> Result<()> {
        // Not typed: it may be something that is no status.
        let kind = ApiResource::erase::<Runnable>(&());
        let runnables: Api<DynamicObject> =
            Api::namespaced_with(self.cluster.client(), &self.namespace, &kind);
        let edit = &edit;
        self.cluster
            .eventually(&format!("the status of {name} to be edited"), SOON, || {
                let runnables = runnables.clone();
                async move {
                    let mut object = runnables.get(name).await?;
                    edit(&mut object.data["status"]);
                    let as_admin = PostParams {
                        field_manager: Some("admin".to_owned()),
                        ..PostParams::default()
                    };
                    runnables.replace_status(name, &as_admin, &object).await?;
                    Ok(Seen::Done(()))
                }
            })
            .await
    }

    /// Ends a run that hangs.
    pub async fn end(&self, run: &DynamicObject, succeeded: bool) -> Result<()> {
        self.cluster
            .eventually("the run to be ended", SOON, || async {
                engine::end(&self.trials(), run, succeeded).await?;
                Ok(Seen::Done(()))
            })
            .await
    }

    /// Deletes a run, as anybody with kubectl might.
    pub async fn delete(&self, kind: Kind, run: &DynamicObject) -> Result<()> {
        let this = DeleteParams {
            preconditions: Some(Preconditions {
                uid: run.uid(),
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        self.objects(kind).delete(&run.name_any(), &this).await?;
        Ok(())
    }

    /// The runs that carry a Runnable's name, oldest sequence first.
    pub async fn runs(&self, kind: Kind, runnable: &str) -> Result<Vec<DynamicObject>> {
        let of = ListParams::default().labels(&format!("carto.run/runnable-name={runnable}"));
        let mut runs = self.objects(kind).list(&of).await?.items;
        runs.sort_by_key(oracle::sequence);
        Ok(runs)
    }
}

/// Installs Cartouche and the kinds of the runs, and waits until the controller may watch them.
async fn install(cluster: &Cluster) -> Result<()> {
    cluster.install_cartouche().await?;
    cluster.apply_yaml("default", lab::KINDS).await?;
    cluster.definitions_served().await?;
    let controller = cluster.client_of(&Controller::account()).await?;
    let what = "the controller to be allowed to watch Trials";
    cluster
        .eventually(what, SOON, || async {
            let trials =
                Api::<DynamicObject>::all_with(controller.clone(), &Kind::Trial.resource());
            trials.list(&ListParams::default().limit(1)).await?;
            Ok(Seen::Done(()))
        })
        .await
}
