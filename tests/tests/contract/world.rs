//! The vocabulary of scenarios.

mod kinds;
mod stoppable;
mod subject;

use std::{ops::Deref, sync::Arc, time::Duration};

use anyhow::Result;
pub use cartouche_tests::fixture::objects::{condition, name_of, text};
use cartouche_tests::{
    cluster::Cluster,
    control_plane::{ControlPlane, Options},
    controller::{Controller, Settings},
    fixture::Fixture,
};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub use kinds::*;
pub use stoppable::stoppable;
pub use subject::Subject;

pub const DEMO: &str = env!("CARGO_BIN_EXE_demo");
/// Maximum time of anything on a busy machine.
pub const SOON: Duration = Duration::from_secs(45);

/// Maximum time until an event is noticed, even there: less than the half minute after which anything is
/// checked again.
pub const SECONDS: Duration = Duration::from_secs(20);

/// A namespace of the shared cluster, with the controller at work. Runnables name no account.
#[derive(Clone)]
pub struct World {
    fixture: Fixture,
    pub controller: &'static Controller,
}

impl Deref for World {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl World {
    pub async fn new(prefix: &str) -> Result<Self> {
        // Polled kinds are polled often, so that no scenario waits long for them, and no event is dropped
        // because other scenarios have events too.
        let settings =
            Settings::with_arguments(&["--poll-seconds", "1", "--events-per-second", "1000"]);
        let (cluster, controller) = Controller::shared(DEMO, &settings, kinds::install).await?;
        let namespace = cluster.namespace(prefix).await?;
        Ok(Self {
            fixture: Fixture::of(&cluster, namespace, SOON),
            controller,
        })
    }

    /// Makes a world on a cluster that scenarios of one kind have for themselves, whose controller has these
    /// arguments.
    pub async fn apart(
        kept: &'static OnceCell<(Arc<ControlPlane>, Controller)>,
        prefix: &str,
        arguments: &[&str],
    ) -> Result<Self> {
        let start = || async {
            let plane = Arc::new(ControlPlane::start(DEMO, &Options::controllers()).await?);
            let cluster = Cluster::of(Arc::clone(&plane)).await?;
            kinds::install(&cluster).await?;
            let settings = Settings::with_arguments(arguments);
            let controller = Controller::start(DEMO, &cluster, &settings).await?;
            anyhow::Ok((plane, controller))
        };
        let (plane, controller) = kept.get_or_try_init(start).await?;
        // A client belongs to the runtime of one test.
        let cluster = Cluster::of(Arc::clone(plane)).await?;
        let namespace = cluster.namespace(prefix).await?;
        Ok(Self {
            fixture: Fixture::of(&cluster, namespace, SOON),
            controller,
        })
    }

    /// Makes a world with this template, and `r`, a Runnable of it whose input `foo` is 1.
    pub async fn with(prefix: &str, template: Value) -> Result<(Self, Subject)> {
        let world = Self::new(prefix).await?;
        world.template(template).await?;
        let spec = json!({ "inputs": { "foo": 1 } });
        let subject = world.runnable("r", spec).await?;
        Ok((world, subject))
    }

    /// Lets the account `default` of another namespace read one object here.
    pub async fn let_read(&self, kind: Kind, name: &str, reader: &str) -> Result<()> {
        let role = format!("read-{}-{name}", kind.plural);
        let rights = json!({
            "apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["get"], "resourceNames": [name],
        });
        let subject = json!({ "kind": "ServiceAccount", "name": "default", "namespace": reader });
        let object = |kind: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": role },
            })
        };
        let (mut granted, mut bound) = (object("Role"), object("RoleBinding"));
        granted["rules"] = json!([rights]);
        bound["subjects"] = json!([subject]);
        bound["roleRef"] =
            json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role });
        for object in [granted, bound] {
            self.put(object).await?;
        }
        Ok(())
    }

    /// Returns the name of the template that [`Fixture::template`] writes.
    pub fn template_name(&self) -> String {
        self.namespace.clone()
    }

    /// Writes another template, and returns its name.
    pub async fn another_template(&self, suffix: &str, spec: Value) -> Result<String> {
        let name = format!("{}-{suffix}", self.namespace);
        self.template_named(&name, spec).await?;
        Ok(name)
    }

    /// Makes a Runnable, of the template unless its spec has another `runTemplateRef`.
    pub async fn runnable(&self, name: &str, spec: Value) -> Result<Subject> {
        self.runnable_with(json!({ "name": name }), spec).await
    }

    /// Makes a Runnable with these metadata.
    pub async fn runnable_with(&self, metadata: Value, spec: Value) -> Result<Subject> {
        let name = text(&metadata["name"]).to_owned();
        let mut manifest = self.manifest(&name, spec);
        manifest["metadata"] = metadata;
        self.put(manifest).await?;
        Ok(self.subject(name))
    }

    /// Returns an existing Runnable.
    pub fn subject(&self, name: impl Into<String>) -> Subject {
        Subject {
            world: self.clone(),
            name: name.into(),
        }
    }

    /// Plays the engine behind a run: writes its status.
    pub async fn play(&self, run: &Value, status: Value) -> Result<()> {
        let (object, api) = self.among_its_kind(run)?;
        let (name, plain) = (object.name_any(), PatchParams::default());
        let patch = Patch::Merge(json!({ "status": status }));
        if run["kind"] == PLAIN_OBJ.name {
            api.patch(&name, &plain, &patch).await?;
        } else {
            api.patch_status(&name, &plain, &patch).await?;
        }
        Ok(())
    }

    /// Returns status, reason and message of the template's `Accepted`, once it is of the present generation.
    pub async fn accepted(&self, name: &str) -> Result<(String, String, String)> {
        let judged = |template: &Value| {
            let accepted = condition(template, "Accepted");
            accepted["observedGeneration"] == template["metadata"]["generation"]
        };
        let judging = self.observed(TEMPLATE, name, "to be judged", judged);
        let template = judging.await?;
        let accepted = condition(&template, "Accepted");
        let said = |key: &str| text(&accepted[key]).to_owned();
        Ok((said("status"), said("reason"), said("message")))
    }
}

/// Returns a document of a kind, with a prefix for its names.
pub fn document(kind: Kind, spec: Value) -> Value {
    specless(kind, "spec", spec)
}

/// Returns a document of a kind without a spec, with one field in its place.
pub fn specless(kind: Kind, field: &str, value: Value) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.name,
        "metadata": { "generateName": "run-" }, field: value,
    })
}

/// Returns the spec of a template that stamps a [`TEST_OBJ`].
pub fn stamps(spec: Value) -> Value {
    json!({ "template": document(TEST_OBJ, spec) })
}

/// Returns the spec of a template whose runs carry the input `foo`, with one output, `answer`.
pub fn answers() -> Value {
    json!({
        "template": document(TEST_OBJ, json!({ "foo": "$(runnable.spec.inputs.foo)$" })),
        "outputs": { "answer": ".status.answer" },
    })
}

pub fn config_map(name: &str, labels: Value, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": labels }, "data": data,
    })
}

/// Returns a status with a `Succeeded` condition.
pub fn succeeded(status: &str, message: &str) -> Value {
    json!({ "conditions": [{ "type": "Succeeded", "status": status, "message": message }] })
}

/// Returns the status of a run that succeeded with this answer.
pub fn answered(answer: impl Into<Value>) -> Value {
    let mut status = succeeded("True", "");
    status["answer"] = answer.into();
    status
}
