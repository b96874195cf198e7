use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Profiles, has_region, shows_region};
use crate::world::{CONFIG_MAP, condition, specless};

/// Longer than the API server takes to record a request that it has answered.
const RECORDED: Duration = Duration::from_secs(2);

#[tokio::test]
async fn an_edit_of_a_profile_makes_no_run_and_no_write_and_the_next_run_has_it() -> Result<()> {
    let profiles = Profiles::new("profile-edit", shows_region()).await?;
    profiles.region("p", "north").await?;
    let subject = profiles.runnable(json!({})).await?;
    subject.answer(1, "x".into()).await?;
    subject.outputs(json!({ "answer": "x" })).await?;
    subject.ready("True").await?;
    let version = subject.object().await?["metadata"]["resourceVersion"].clone();
    let audit = profiles.world.cluster.audit()?;
    let writes = || -> Result<usize> {
        let events = audit.in_namespace(&profiles.world.namespace)?;
        let writes = events.iter().filter(|event| event.took_effect());
        Ok(writes
            .filter(|event| !["get", "list", "watch"].contains(&event.verb.as_str()))
            .count())
    };
    tokio::time::sleep(RECORDED).await;
    let before = writes()?;
    profiles.region("p", "south").await?;
    profiles.accepted("p", "True").await?;
    subject.stays_at(1).await?;
    tokio::time::sleep(RECORDED).await;
    ensure!(
        writes()? == before,
        "{} writes before, {} after",
        before,
        writes()?
    );
    ensure!(subject.object().await?["metadata"]["resourceVersion"] == version);
    subject.input("foo", 2).await?;
    has_region(&subject.run(2).await?, "south")
}

#[tokio::test]
async fn what_a_profile_does_not_fit_is_said_before_a_number_is_given_and_goes_on_when_mended()
-> Result<()> {
    let profiles = Profiles::new("profile-misfit", shows_region()).await?;
    let rules = json!([profiles.of_template()]);
    profiles
        .put("p", rules.clone(), json!({ "values": { "other": 1 } }))
        .await?;
    let subject = profiles.runnable(json!({})).await?;
    let said = subject.fails("ProfileDoesNotFit", "region").await?;
    ensure!(said.contains(&profiles.name("p")), "{said}");
    subject.stays_at(0).await?;
    profiles.region("p", "north").await?;
    has_region(&subject.run(1).await?, "north")
}

#[tokio::test]
async fn a_profile_that_nothing_can_be_made_with_is_not_accepted_and_says_all_that_is_wrong()
-> Result<()> {
    let profiles = Profiles::new("profile-invalid", shows_region()).await?;
    let spec = json!({
        "podTemplate": { "spec": { "containers": [{ "image": "a" }], "nodeName": "$(selected.x)$" } },
    });
    profiles
        .put("p", json!([profiles.of_template()]), spec)
        .await?;
    let object = profiles.accepted("p", "False").await?;
    let said = crate::world::condition(&object, "Accepted")["message"].to_string();
    for part in [
        "podTemplate.spec.containers[0]",
        "podTemplate.spec.nodeName",
    ] {
        ensure!(said.contains(part), "{said}");
    }
    let subject = profiles.runnable(json!({})).await?;
    subject.fails("ProfileDoesNotFit", "podTemplate").await?;
    Ok(())
}

/// Returns the number of Runnables of the test about many; `just edited-profile` plays a thousand.
fn many() -> usize {
    let given = std::env::var("PROFILE_RUNNABLES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(100)
}

#[tokio::test]
async fn an_edit_of_a_profile_that_many_are_pinned_to_makes_no_run_and_no_write_for_any()
-> Result<()> {
    let template = json!({
        "template": specless(CONFIG_MAP, "data", json!({ "foo": "$(runnable.spec.inputs.foo)$" })),
        "healthRule": { "alwaysHealthy": {} },
    });
    let profiles = Profiles::new("profile-many", template).await?;
    let world = &profiles.world;
    profiles.region("p", "north").await?;
    profiles.accepted("p", "True").await?;
    let runnables = (0..many()).map(|index| {
        let mut runnable =
            world.manifest(&format!("r{index}"), json!({ "inputs": { "foo": "a" } }));
        runnable["metadata"]["namespace"] = world.namespace.clone().into();
        runnable
    });
    let list =
        json!({ "apiVersion": "v1", "kind": "List", "items": runnables.collect::<Vec<_>>() });
    world
        .cluster
        .kubectl_with_input(&["create", "-f", "-"], &list.to_string())
        .await?;
    let is_ready = |it: &Value| {
        condition(it, "Ready")["status"] == "True" && !it["status"]["profile"].is_null()
    };
    // A thousand take longer than anything else here.
    let mut ready = world.all_observed(many(), "to be ready", is_ready).await;
    for _ in 0..many() / 100 {
        if ready.is_err() {
            ready = world.all_observed(many(), "to be ready", is_ready).await;
        }
    }
    ready?;
    let audit = world.cluster.audit()?;
    let writes = || -> Result<usize> {
        let events = audit.in_namespace(&world.namespace)?;
        // Events about earlier changes are written with delay.
        let writes = events.iter();
        let writes = writes.filter(|event| event.took_effect() && event.resource() != "events");
        Ok(writes
            .filter(|event| !["get", "list", "watch"].contains(&event.verb.as_str()))
            .count())
    };
    // The audit log is written a moment later.
    let mut before = writes()?;
    loop {
        tokio::time::sleep(RECORDED).await;
        let now = writes()?;
        if now == before {
            break;
        }
        before = now;
    }
    for region in ["south", "east", "west"] {
        profiles.region("p", region).await?;
        profiles.accepted("p", "True").await?;
    }
    profiles.delete("p").await?;
    tokio::time::sleep(2 * RECORDED).await;
    ensure!(
        writes()? == before,
        "{before} writes before, {} after",
        writes()?
    );
    Ok(())
}
