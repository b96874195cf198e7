//! Where a test happens: a namespace, an account for its Runnables, and a template named after the namespace.
//!
//! Suites add what is their own: an engine, a proxy, a record. Whatever writes is tried again until it is done
//! or patience ends, because servers are killed in tests.

use std::time::Duration;

use anyhow::{Context, Result};
use cartouche_crds::{ClusterRunTemplate, CurrentRun, RUN_SEQUENCE_LABEL, Runnable};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    cluster::{Account, Cluster, Rights, Seen},
    controller::{Controller, Settings},
    lab::{self, Kind},
};

/// A namespace of a cluster.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The cluster, shared with others.
    pub cluster: Cluster,
    /// The namespace, of this fixture alone.
    pub namespace: String,
    /// The account of every Runnable.
    pub account: Account,
    /// How long anything may take.
    patience: Duration,
}

impl Fixture {
    /// A new namespace, with an account of this name that has these rights.
    pub async fn begin(
        cluster: &Cluster,
        prefix: &str,
        account: &str,
        rights: &[Rights<'_>],
        patience: Duration,
    ) -> Result<Self> {
        let namespace = cluster.namespace(prefix).await?;
        Ok(Self {
            account: cluster.service_account(&namespace, account, rights).await?,
            cluster: cluster.clone(),
            namespace,
            patience,
        })
    }

    /// Starts a controller for this namespace, with further arguments.
    pub async fn start_controller_with(
        &self,
        demo: &str,
        arguments: &[&str],
    ) -> Result<Controller> {
        let own = ["--namespace", &self.namespace];
        let arguments: Vec<&str> = own.iter().chain(arguments).copied().collect();
        Controller::start(demo, &self.cluster, &Settings::with_arguments(&arguments)).await
    }

    /// The Runnables.
    #[must_use]
    pub fn runnables(&self) -> Api<Runnable> {
        self.cluster.api(&self.namespace)
    }

    /// The objects of a kind.
    #[must_use]
    pub fn objects_of(&self, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.cluster.client(), &self.namespace, kind)
    }

    /// Tries until it is done.
    pub async fn tried<T, Trying, Try>(&self, what: &str, mut trying: Trying) -> Result<T>
    where
        Trying: FnMut() -> Try,
        Try: Future<Output = kube::Result<T>>,
    {
        let trying = &mut trying;
        self.cluster
            .eventually(what, self.patience, || {
                let attempt = trying();
                async move { Ok(Seen::Done(attempt.await?)) }
            })
            .await
    }

    /// Makes the template, or makes it another one.
    pub async fn template(&self, spec: Value) -> Result<()> {
        let template = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
            "metadata": { "name": self.namespace }, "spec": spec,
        });
        let (apply, patch) = (PatchParams::apply("tests").force(), Patch::Apply(template));
        let templates = self.cluster.all::<ClusterRunTemplate>();
        self.tried("the template to be applied", || {
            templates.patch(&self.namespace, &apply, &patch)
        })
        .await
        .map(drop)
    }

    /// Makes a Runnable of the template and the account.
    pub async fn runnable(&self, name: &str, mut spec: Value) -> Result<Runnable> {
        spec["runTemplateRef"] = json!({ "name": self.namespace });
        spec["serviceAccountName"] = json!(self.account.name);
        let runnable = serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": name }, "spec": spec,
        }))?;
        let (runnables, post) = (self.runnables(), PostParams::default());
        let creating = || async {
            match runnables.create(&post, &runnable).await {
                // An answer that was lost has created it.
                Err(kube::Error::Api(status)) if status.is_already_exists() => {
                    runnables.get(name).await
                }
                other => other,
            }
        };
        self.tried(&format!("{name} to be created"), creating).await
    }

    /// Patches a Runnable.
    pub async fn patch(&self, name: &str, patch: Value) -> Result<()> {
        let (runnables, patch) = (self.runnables(), Patch::Merge(patch));
        let (what, plain) = (format!("{name} to be changed"), PatchParams::default());
        self.tried(&what, || runnables.patch(name, &plain, &patch))
            .await
            .map(drop)
    }

    /// Gives a Runnable other inputs.
    pub async fn change(&self, name: &str, inputs: Value) -> Result<()> {
        self.patch(name, json!({ "spec": { "inputs": inputs } }))
            .await
    }

    /// Replaces the status of a Runnable by what `edit` makes of it, as somebody with more rights
    /// than anybody should have.
    pub async fn edit_status(&self, name: &str, edit: impl Fn(&mut Value)) -> Result<()> {
        // Not typed: it may be something that is no status.
        let runnables = self.objects_of(&ApiResource::erase::<Runnable>(&()));
        let as_admin = PostParams {
            field_manager: Some("admin".to_owned()),
            ..PostParams::default()
        };
        let editing = || async {
            let mut object = runnables.get(name).await?;
            edit(&mut object.data["status"]);
            runnables.replace_status(name, &as_admin, &object).await
        };
        self.tried(&format!("the status of {name} to be edited"), editing)
            .await
            .map(drop)
    }

    /// Waits until a Runnable is as wanted.
    pub async fn until(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Runnable) -> bool,
    ) -> Result<Runnable> {
        self.within(self.patience, name, what, wanted).await
    }

    /// As [`Self::until`], for this long at most.
    pub async fn within(
        &self,
        at_most: Duration,
        name: &str,
        what: &str,
        wanted: impl Fn(&Runnable) -> bool,
    ) -> Result<Runnable> {
        let what = format!("{name}: {what}");
        self.cluster
            .wait_for(&self.runnables(), name, &what, at_most, wanted)
            .await
    }

    /// The runs that carry a Runnable's name, oldest sequence first.
    pub async fn runs_of(&self, kind: &ApiResource, runnable: &str) -> Result<Vec<DynamicObject>> {
        let of = ListParams::default().labels(&format!("carto.run/runnable-name={runnable}"));
        let mut runs = self.objects_of(kind).list(&of).await?.items;
        runs.sort_by_key(sequence);
        Ok(runs)
    }

    /// Ends a Trial that hangs.
    pub async fn end_trial(
        &self,
        trials: &Api<DynamicObject>,
        run: &DynamicObject,
        succeeded: bool,
    ) -> Result<()> {
        let what = "a run to be ended";
        self.cluster
            .eventually(what, self.patience, || async {
                lab::end(trials, run, succeeded).await?;
                Ok(Seen::Done(()))
            })
            .await
    }

    /// The uid of a Runnable.
    pub async fn uid(&self, name: &str) -> Result<String> {
        let runnable = self.runnables().get(name).await?;
        runnable.uid().context("a Runnable has a uid")
    }
}

/// The present run of a Runnable.
#[must_use]
pub fn current(runnable: &Runnable) -> Option<&CurrentRun> {
    runnable.status.as_ref()?.current_run.as_ref()
}

/// The output `value`.
#[must_use]
pub fn output(runnable: &Runnable) -> Option<i64> {
    let outputs = runnable.status.as_ref()?.outputs.as_ref()?;
    outputs.get("value")?.as_i64()
}

/// A condition, if the status has it.
#[must_use]
pub fn condition<'a>(runnable: &'a Runnable, name: &str) -> Option<&'a Condition> {
    let conditions = &runnable.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == name)
}

/// The sequence on a run, 0 without one.
#[must_use]
pub fn sequence(run: &DynamicObject) -> i64 {
    let label = run.labels().get(RUN_SEQUENCE_LABEL);
    label
        .and_then(|sequence| sequence.parse().ok())
        .unwrap_or_default()
}

/// Installs Cartouche and the kinds of the lab, and waits until the controller may watch them.
pub async fn install_lab(cluster: &Cluster, at_most: Duration) -> Result<()> {
    cluster.install_cartouche().await?;
    cluster.apply_yaml("default", lab::KINDS).await?;
    cluster.definitions_served().await?;
    let controller = cluster.client_of(&Controller::account()).await?;
    let what = "the controller to be allowed to watch Trials";
    let trials = Api::<DynamicObject>::all_with(controller, &Kind::Trial.resource());
    cluster
        .eventually(what, at_most, || async {
            trials.list(&ListParams::default().limit(1)).await?;
            Ok(Seen::Done(()))
        })
        .await
}
