//! The words that scenarios are written in.

mod kinds;
mod subject;

use std::time::Duration;

use anyhow::{Context, Result, bail};
use cartouche_tests::{
    cluster::{Account, Cluster, Rights, Seen, eventually},
    controller::{Controller, Settings},
};
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub use kinds::*;
pub use subject::Subject;

pub const DEMO: &str = env!("CARGO_BIN_EXE_demo");
/// How long anything may take on a busy machine.
pub const SOON: Duration = Duration::from_secs(45);

/// What is noticed by itself takes seconds, even there: less than the half minute after which anything
/// would be looked at again.
pub const SECONDS: Duration = Duration::from_secs(20);

/// The controller that all scenarios of this process share.
static CONTROLLER: OnceCell<Controller> = OnceCell::const_new();

/// A namespace of the shared cluster, with the controller at work, and a template of its own.
#[derive(Clone)]
pub struct World {
    pub cluster: Cluster,
    pub namespace: String,
}

impl World {
    pub async fn new(prefix: &str) -> Result<Self> {
        let cluster = Cluster::shared(DEMO).await?;
        let start = || async {
            kinds::install(&cluster).await?;
            // Polled kinds are looked at often, so that no scenario waits long for them, and no
            // event is dropped because other scenarios have events too.
            let settings =
                Settings::with_arguments(&["--poll-seconds", "1", "--events-per-second", "1000"]);
            Controller::start(DEMO, &cluster, &settings).await
        };
        CONTROLLER.get_or_try_init(start).await?;
        let namespace = cluster.namespace(prefix).await?;
        Ok(Self { cluster, namespace })
    }

    /// The name of the template that [`Self::template`] writes.
    pub fn template_name(&self) -> String {
        self.namespace.clone()
    }

    /// Writes the template, or replaces it.
    pub async fn template(&self, spec: Value) -> Result<()> {
        self.template_named(&self.template_name(), spec).await
    }

    /// Writes another template, and returns its name.
    pub async fn another_template(&self, suffix: &str, spec: Value) -> Result<String> {
        let name = format!("{}-{suffix}", self.namespace);
        self.template_named(&name, spec).await?;
        Ok(name)
    }

    pub async fn template_named(&self, name: &str, spec: Value) -> Result<()> {
        let template = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
            "metadata": { "name": name }, "spec": spec,
        });
        self.put(template).await?;
        Ok(())
    }

    /// Makes a Runnable; without another `runTemplateRef` of the template.
    pub async fn runnable(&self, name: &str, spec: Value) -> Result<Subject> {
        self.runnable_with(json!({ "name": name }), spec).await
    }

    /// Makes a Runnable with these metadata.
    pub async fn runnable_with(&self, metadata: Value, spec: Value) -> Result<Subject> {
        let manifest = self.runnable_manifest(metadata, spec);
        let made = self.put(manifest).await?;
        Ok(Subject {
            world: self.clone(),
            name: text(&made["metadata"]["name"]).to_owned(),
        })
    }

    pub fn runnable_manifest(&self, metadata: Value, mut spec: Value) -> Value {
        if spec["runTemplateRef"].is_null() {
            spec["runTemplateRef"] = json!({ "name": self.template_name() });
        }
        json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": metadata, "spec": spec,
        })
    }

    pub fn api(&self, kind: Kind) -> Api<DynamicObject> {
        kind.api(&self.cluster, &self.namespace)
    }

    /// Creates an object, or replaces it if it is there.
    pub async fn put(&self, object: Value) -> Result<Value> {
        let api = self.api(Kind::of(&object)?);
        let name = text(&object["metadata"]["name"]).to_owned();
        for _ in 0..20 {
            let mut wanted: DynamicObject = serde_json::from_value(object.clone())?;
            let outcome = match api.get_opt(&name).await? {
                None => api.create(&PostParams::default(), &wanted).await,
                Some(there) => {
                    wanted.metadata.resource_version = there.metadata.resource_version;
                    api.replace(&name, &PostParams::default(), &wanted).await
                }
            };
            match outcome {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                other => return Ok(serde_json::to_value(other?)?),
            }
        }
        bail!("{name} is written by somebody else all the time")
    }

    /// Creates an object that the API server must refuse, and returns what it says.
    pub async fn refused(&self, object: &Value) -> Result<String> {
        let api = self.api(Kind::of(object)?);
        let object: DynamicObject = serde_json::from_value(object.clone())?;
        match api.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) => Ok(status.message.clone()),
            other => bail!("it was not refused: {other:?}"),
        }
    }

    pub async fn find(&self, kind: Kind, name: &str) -> Result<Option<Value>> {
        let found = self.api(kind).get_opt(name).await?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    pub async fn get(&self, kind: Kind, name: &str) -> Result<Value> {
        let found = self.find(kind, name).await?;
        found.with_context(|| format!("there is no {} {name}", kind.name))
    }

    /// The objects of a kind in the namespace, by label.
    pub async fn list(&self, kind: Kind, labels: &str) -> Result<Vec<Value>> {
        let wanted = ListParams::default().labels(labels);
        let found = self.api(kind).list(&wanted).await?;
        let objects = found.items.into_iter().map(serde_json::to_value);
        Ok(objects.collect::<Result<_, _>>()?)
    }

    pub async fn delete(&self, kind: Kind, name: &str) -> Result<()> {
        let background = DeleteParams::background();
        self.api(kind).delete(name, &background).await?;
        Ok(())
    }

    /// Changes an object by a merge patch.
    pub async fn patch(&self, object: &Value, patch: Value) -> Result<Value> {
        let api = self.api(Kind::of(object)?);
        let name = text(&object["metadata"]["name"]);
        let patched = api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(serde_json::to_value(patched)?)
    }

    /// Plays the engine behind a run: writes its status.
    pub async fn play(&self, run: &Value, status: Value) -> Result<()> {
        let kind = Kind::of(run)?;
        let patch = json!({ "status": status });
        if !kind.status {
            self.patch(run, patch).await?;
            return Ok(());
        }
        let (name, merge) = (text(&run["metadata"]["name"]), Patch::Merge(patch));
        self.api(kind)
            .patch_status(name, &PatchParams::default(), &merge)
            .await?;
        Ok(())
    }

    /// An account that may do this with a custom kind of the tests, and nothing else beside what
    /// every account may.
    pub async fn account(&self, name: &str, kind: Kind, verbs: &[&str]) -> Result<Account> {
        let rights = Rights {
            group: "test.run",
            resource: kind.plural,
            verbs,
        };
        let rights: &[Rights<'_>] = if verbs.is_empty() { &[] } else { &[rights] };
        self.cluster
            .service_account(&self.namespace, name, rights)
            .await
    }

    /// Status, reason and message of the template's `Accepted`, once it speaks of the present one.
    pub async fn accepted(&self, name: &str) -> Result<(String, String, String)> {
        self.eventually("the template to be judged", || async {
            let template = self.get(TEMPLATE, name).await?;
            let accepted = condition(&template, "Accepted");
            let generation = &template["metadata"]["generation"];
            let current = accepted["observedGeneration"] == *generation
                && template["status"]["observedGeneration"] == *generation;
            Ok(if current {
                let said = ["status", "reason", "message"].map(|key| text(&accepted[key]).into());
                let [status, reason, message] = said;
                Seen::Done((status, reason, message))
            } else {
                Seen::NotYet(template["status"].to_string())
            })
        })
        .await
    }

    /// Waits, and says with the controller's log what was in vain.
    pub async fn eventually<T, Looking, Look>(&self, what: &str, look: Looking) -> Result<T>
    where
        Looking: FnMut() -> Look,
        Look: Future<Output = Result<Seen<T>>>,
    {
        eventually(what, SOON, look).await.map_err(|error| {
            let log = CONTROLLER
                .get()
                .and_then(|controller| controller.log().ok());
            let log = log.unwrap_or_default();
            let lines = log.lines().filter(|line| line.contains(&self.namespace));
            let lines: Vec<&str> = lines.collect();
            anyhow::anyhow!("{error:#}\nthe controller's log:\n{}", lines.join("\n"))
        })
    }
}

/// The log, metrics and health of the shared controller.
pub fn controller() -> Result<&'static Controller> {
    CONTROLLER.get().context("the controller was not started")
}

/// A document of a kind, with a prefix for its names.
pub fn document(kind: Kind, spec: Value) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.name,
        "metadata": { "generateName": "run-" }, "spec": spec,
    })
}

/// A document of a kind without a spec, with one field in its place.
pub fn specless(kind: Kind, field: &str, value: Value) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.name,
        "metadata": { "generateName": "run-" }, field: value,
    })
}

/// The spec of a template that stamps a [`TEST_OBJ`].
pub fn stamps(spec: Value) -> Value {
    json!({ "template": document(TEST_OBJ, spec) })
}

/// The spec of a template whose runs carry the input `foo`, with one output, `answer`.
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

/// A status with a `Succeeded` condition.
pub fn succeeded(status: &str, message: &str) -> Value {
    json!({ "conditions": [{ "type": "Succeeded", "status": status, "message": message }] })
}

/// The status of a run that succeeded with this answer.
pub fn answered(answer: impl Into<Value>) -> Value {
    let mut status = succeeded("True", "");
    status["answer"] = answer.into();
    status
}

/// The condition of that type; null without.
pub fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    found.cloned().unwrap_or_default()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn name_of(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}
