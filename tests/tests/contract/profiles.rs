//! Profiles: where runs are made and how, chosen by rules, pinned until somebody asks to choose anew.

mod bad_input;
mod changes;
mod choice;
mod made;
mod pin;
mod requires;
mod tenant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{PROFILE, Subject, TEST_OBJ, World, document, text};

/// The runs show their input, and what the profile says of the region.
fn shows_region() -> Value {
    json!({
        "template": document(TEST_OBJ, json!({
            "foo": "$(runnable.spec.inputs.foo)$", "region": "$(profile.values.region)$",
        })),
        "outputs": { "answer": ".status.answer" },
    })
}

/// Sets `size` of runs, where what is rendered says nothing of it.
fn sizes(size: &str) -> Value {
    json!([{ "apiVersion": "test.run/v1", "kind": "TestObj", "patch": { "spec": { "size": size } } }])
}

/// A world of profiles, whose names are its own. Their rules name its template, so that they concern no other scenario.
struct Profiles {
    world: World,
}

impl Profiles {
    async fn new(prefix: &str, template: Value) -> Result<Self> {
        let world = World::new(prefix).await?;
        world.template(template).await?;
        Ok(Self { world })
    }

    fn name(&self, name: &str) -> String {
        format!("{}-{name}", self.world.namespace)
    }

    /// A rule for the runs of the template and nothing else.
    fn of_template(&self) -> Value {
        json!({ "templates": [self.world.template_name()] })
    }

    /// Writes a profile with these rules.
    async fn put(&self, name: &str, rules: Value, mut spec: Value) -> Result<()> {
        spec["rules"] = rules;
        let object = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile",
            "metadata": { "name": self.name(name) }, "spec": spec,
        });
        self.world.put(object).await?;
        Ok(())
    }

    /// One for the template, with this region.
    async fn region(&self, name: &str, region: &str) -> Result<()> {
        let spec = json!({ "values": { "region": region }, "patches": sizes(region) });
        self.put(name, json!([self.of_template()]), spec).await
    }

    async fn runnable(&self, spec: Value) -> Result<Subject> {
        let mut spec = spec;
        spec["inputs"] = json!({ "foo": 1 });
        self.world.runnable("r", spec).await
    }

    /// Waits until the controller says of the profile, as it is now, whether it can be used.
    async fn accepted(&self, name: &str, status: &str) -> Result<Value> {
        let is_so = |it: &Value| {
            let accepted = crate::world::condition(it, "Accepted");
            accepted["status"] == status
                && it["status"]["observedGeneration"] == it["metadata"]["generation"]
        };
        let what = format!("to be accepted: {status}");
        self.world
            .observed(PROFILE, &self.name(name), &what, is_so)
            .await
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.world.delete(PROFILE, &self.name(name)).await
    }
}

/// The profile that a run says it was made with, without its generation.
fn profile_of(run: &Value) -> String {
    let version = text(&run["metadata"]["annotations"]["carto.run/profile"]);
    version.split('@').next().unwrap_or_default().to_owned()
}

/// Asks to choose the profile anew.
async fn refresh(subject: &Subject, token: &str) -> Result<()> {
    let set =
        |it: &mut Value| it["metadata"]["annotations"]["carto.run/profile-refresh"] = token.into();
    subject.edit(set).await
}

/// That the runs of a Runnable are made with a profile.
async fn is_pinned(subject: &Subject, profile: &str) -> Result<Value> {
    let what = format!("to be pinned to {profile}");
    subject
        .until(&what, |it| it["status"]["profile"]["name"] == profile)
        .await
}

/// That a run has the region.
fn has_region(run: &Value, region: &str) -> Result<()> {
    ensure!(
        run["spec"]["region"] == region && run["spec"]["size"] == region,
        "{run:#}"
    );
    Ok(())
}
