//! The place of a test: a namespace, an account for its Runnables, and a template named after the namespace.
//!
//! Suites add their own parts: an engine, a proxy, a record. Writes are retried until they succeed or
//! patience ends, because tests kill servers. [`objects`] is for tests that read JSON.

pub mod objects;

use std::time::Duration;

use anyhow::{Result, anyhow};
use cartouche_crds::{CurrentRun, RUN_SEQUENCE_LABEL, Runnable};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    cluster::{Account, Cluster, Rights, Seen},
    controller::{Controller, Settings},
    kind::{Kind, RUNNABLE},
    lab::{self, TRIAL},
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
    /// Maximum time of any wait.
    patience: Duration,
}

impl Fixture {
    /// Returns the fixture of an existing namespace, where Runnables name no account: theirs is `default`.
    #[must_use]
    pub fn of(cluster: &Cluster, namespace: impl Into<String>, patience: Duration) -> Self {
        let namespace = namespace.into();
        Self {
            account: Account::new(&namespace, "default"),
            cluster: cluster.clone(),
            namespace,
            patience,
        }
    }

    /// Makes a namespace, with an account of this name that has these rights.
    pub async fn begin(
        cluster: &Cluster,
        prefix: &str,
        account: &str,
        rights: &[Rights<'_>],
        patience: Duration,
    ) -> Result<Self> {
        let mut fixture = Self::of(cluster, cluster.namespace(prefix).await?, patience);
        fixture.account = fixture.allow(account, rights).await?;
        Ok(fixture)
    }

    /// Gives an account of the namespace exactly these rights in it, and makes the account unless it exists.
    pub async fn allow(&self, account: &str, rights: &[Rights<'_>]) -> Result<Account> {
        let cluster = &self.cluster;
        cluster
            .service_account(&self.namespace, account, rights)
            .await
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

    /// Returns the API of the Runnables.
    #[must_use]
    pub fn runnables(&self) -> Api<Runnable> {
        self.cluster.api(&self.namespace)
    }

    /// Looks until the wanted state is seen. The message of a failure has what controllers logged about this
    /// namespace.
    pub async fn eventually<T, Looking, Look>(&self, what: &str, look: Looking) -> Result<T>
    where
        Looking: FnMut() -> Look,
        Look: Future<Output = Result<Seen<T>>>,
    {
        let looked = self.cluster.eventually(what, self.patience, look).await;
        looked.map_err(|error| {
            anyhow!(
                "{error:#}
{}",
                self.cluster.log_tails(&self.namespace)
            )
        })
    }

    /// Retries until it succeeds.
    pub async fn tried<T, Trying, Try>(&self, what: &str, mut trying: Trying) -> Result<T>
    where
        Trying: FnMut() -> Try,
        Try: Future<Output = kube::Result<T>>,
    {
        let trying = &mut trying;
        self.eventually(what, || {
            let attempt = trying();
            async move { Ok(Seen::Done(attempt.await?)) }
        })
        .await
    }

    /// Makes or replaces the template.
    pub async fn template(&self, spec: Value) -> Result<()> {
        self.template_named(&self.namespace, spec).await
    }

    /// Makes or replaces a template with another name.
    pub async fn template_named(&self, name: &str, spec: Value) -> Result<()> {
        self.put(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
            "metadata": { "name": name }, "spec": spec,
        }))
        .await
        .map(drop)
    }

    /// Returns the manifest of a Runnable. Unless its spec names others, it has the template and the account
    /// of the fixture.
    #[must_use]
    pub fn manifest(&self, name: &str, mut spec: Value) -> Value {
        if spec["runTemplateRef"].is_null() {
            spec["runTemplateRef"] = json!({ "name": self.namespace });
        }
        if self.account.name != "default" && spec["serviceAccountName"].is_null() {
            spec["serviceAccountName"] = json!(self.account.name);
        }
        json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": name }, "spec": spec,
        })
    }

    /// Makes a Runnable.
    pub async fn runnable(&self, name: &str, spec: Value) -> Result<Runnable> {
        let made = self.put(self.manifest(name, spec)).await?;
        Ok(serde_json::from_value(made)?)
    }

    /// Patches a Runnable.
    pub async fn patch(&self, name: &str, patch: Value) -> Result<()> {
        self.patch_of(RUNNABLE, name, patch).await
    }

    /// Gives a Runnable other inputs.
    pub async fn change(&self, name: &str, inputs: Value) -> Result<()> {
        self.patch(name, json!({ "spec": { "inputs": inputs } }))
            .await
    }

    /// Replaces the status of a Runnable by the result of `edit`, as a user with excessive rights could.
    pub async fn edit_status(&self, name: &str, edit: impl Fn(&mut Value)) -> Result<()> {
        // Not typed: the result may be no valid status.
        let runnables = self.api(RUNNABLE);
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

    /// Waits as [`Self::until`] does, for this long at most.
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

    /// Returns the runs that carry a Runnable's name, lowest sequence first.
    pub async fn runs(&self, kind: Kind, runnable: &str) -> Result<Vec<DynamicObject>> {
        let of = ListParams::default().labels(&format!("carto.run/runnable-name={runnable}"));
        let mut runs = self.api(kind).list(&of).await?.items;
        runs.sort_by_key(sequence);
        Ok(runs)
    }

    /// Waits until a run with this value exists, among those with these labels, and returns it.
    pub async fn run_for(
        &self,
        runs: &Api<DynamicObject>,
        labels: &str,
        value: i64,
    ) -> Result<DynamicObject> {
        let of = ListParams::default().labels(labels);
        let of = of.fields(&format!("spec.value={value}"));
        let what = format!("the run for {value} of {labels}");
        self.eventually(&what, || async {
            let found = runs.list(&of).await?.items.pop();
            Ok(found.map_or_else(|| Seen::NotYet("none".to_owned()), Seen::Done))
        })
        .await
    }

    /// Ends a Trial that hangs.
    pub async fn end_trial(
        &self,
        trials: &Api<DynamicObject>,
        run: &DynamicObject,
        succeeded: bool,
    ) -> Result<()> {
        self.eventually("a run to be ended", || async {
            lab::end(trials, run, succeeded).await?;
            Ok(Seen::Done(()))
        })
        .await
    }
}

/// Returns the present run of a Runnable.
#[must_use]
pub fn current(runnable: &Runnable) -> Option<&CurrentRun> {
    runnable.status.as_ref()?.current_run.as_ref()
}

/// Returns the output `value`.
#[must_use]
pub fn output(runnable: &Runnable) -> Option<i64> {
    let outputs = runnable.status.as_ref()?.outputs.as_ref()?;
    outputs.get("value")?.as_i64()
}

/// Returns a condition, if the status has it.
#[must_use]
pub fn condition<'a>(runnable: &'a Runnable, name: &str) -> Option<&'a Condition> {
    let conditions = &runnable.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == name)
}

/// Returns the sequence on a run, or 0 without one.
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
    let controller = Controller::account().user();
    cluster.allowed(&controller, "watch", TRIAL, at_most).await
}
