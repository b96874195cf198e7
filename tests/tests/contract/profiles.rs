//! Profiles: where and how runs are made, chosen by rules, pinned until a user requests to choose anew.

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

/// Returns a template whose runs show their input, and the region of the profile.
fn shows_region() -> Value {
    json!({
        "template": document(TEST_OBJ, json!({
            "foo": "$(runnable.spec.inputs.foo)$", "region": "$(profile.values.region)$",
        })),
        "outputs": { "answer": ".status.answer" },
    })
}

/// Returns a patch that sets `size` of runs, which the rendering leaves open.
fn sizes(size: &str) -> Value {
    json!([{ "apiVersion": "test.run/v1", "kind": "TestObj", "patch": { "spec": { "size": size } } }])
}

/// A world of profiles with names of its own. Their rules name its template, so that they concern no other
/// scenario.
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

    /// Returns a rule for the runs of the template and nothing else.
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

    /// Writes a profile for the template, with this region.
    async fn region(&self, name: &str, region: &str) -> Result<()> {
        let spec = json!({ "values": { "region": region }, "patches": sizes(region) });
        self.put(name, json!([self.of_template()]), spec).await
    }

    async fn runnable(&self, spec: Value) -> Result<Subject> {
        let mut spec = spec;
        spec["inputs"] = json!({ "foo": 1 });
        self.world.runnable("r", spec).await
    }

    /// Waits until the controller reports for the present profile whether it can be used.
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

/// Returns the profile that a run was made with, according to its annotation, without the generation.
fn profile_of(run: &Value) -> String {
    let version = text(&run["metadata"]["annotations"]["carto.run/profile"]);
    version.split('@').next().unwrap_or_default().to_owned()
}

/// Requests to choose the profile anew.
async fn refresh(subject: &Subject, token: &str) -> Result<()> {
    let set =
        |it: &mut Value| it["metadata"]["annotations"]["carto.run/profile-refresh"] = token.into();
    subject.edit(set).await
}

/// Waits until the runs of a Runnable are made with a profile.
async fn is_pinned(subject: &Subject, profile: &str) -> Result<Value> {
    let what = format!("to be pinned to {profile}");
    subject
        .until(&what, |it| it["status"]["profile"]["name"] == profile)
        .await
}

/// Checks that a run has the region.
fn has_region(run: &Value, region: &str) -> Result<()> {
    ensure!(
        run["spec"]["region"] == region && run["spec"]["size"] == region,
        "{run:#}"
    );
    Ok(())
}
