use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Profiles, profile_of, shows_region};
use crate::world::answers;

fn region(region: &str) -> Value {
    json!({ "values": { "region": region } })
}

#[tokio::test]
async fn a_rule_that_names_the_template_outranks_namespaces_and_those_outrank_labels_of_runnables()
-> Result<()> {
    let profiles = Profiles::new("profile-rank", answers()).await?;
    let here =
        json!({ "matchLabels": { "kubernetes.io/metadata.name": profiles.world.namespace } });
    let team = json!({ "matchLabels": { "team": profiles.world.namespace } });
    let template = profiles.of_template();
    profiles
        .put(
            "runnables",
            json!([{ "runnableSelector": team }]),
            region("a"),
        )
        .await?;
    let labelled =
        |name: &str| json!({ "name": name, "labels": { "team": profiles.world.namespace } });
    let spec = || json!({ "inputs": { "foo": 1 } });
    let chosen = async |name: &str| -> Result<String> {
        let subject = profiles.world.runnable_with(labelled(name), spec()).await?;
        Ok(profile_of(&subject.run(1).await?))
    };
    profiles.accepted("runnables", "True").await?;
    ensure!(chosen("one").await? == profiles.name("runnables"));
    profiles
        .put(
            "namespaces",
            json!([{ "namespaceSelector": here }]),
            region("b"),
        )
        .await?;
    profiles.accepted("namespaces", "True").await?;
    ensure!(chosen("two").await? == profiles.name("namespaces"));
    profiles
        .put("template", json!([template]), region("c"))
        .await?;
    profiles.accepted("template", "True").await?;
    ensure!(chosen("three").await? == profiles.name("template"));
    Ok(())
}

#[tokio::test]
async fn two_profiles_of_one_rank_make_no_run_and_the_runnable_settles_it() -> Result<()> {
    let profiles = Profiles::new("profile-tie", shows_region()).await?;
    profiles.region("a", "north").await?;
    profiles.region("b", "south").await?;
    profiles.accepted("b", "True").await?;
    let subject = profiles.runnable(json!({})).await?;
    let said = subject
        .fails("ProfileAmbiguous", &profiles.name("a"))
        .await?;
    ensure!(
        said.contains(&profiles.name("b")) && said.contains("spec.profileName"),
        "{said}"
    );
    subject.stays_at(0).await?;
    let other = profiles.name("other");
    subject
        .edit(|it| it["spec"]["profileName"] = other.clone().into())
        .await?;
    subject.fails("ProfileNotFound", &other).await?;
    let settled = profiles.name("b");
    subject
        .edit(|it| it["spec"]["profileName"] = settled.clone().into())
        .await?;
    super::has_region(&subject.run(1).await?, "south")
}

#[tokio::test]
async fn a_template_that_requires_a_profile_makes_no_run_before_one_matches() -> Result<()> {
    let mut template = answers();
    template["profile"] = "Required".into();
    let profiles = Profiles::new("profile-required", template).await?;
    let subject = profiles.runnable(json!({})).await?;
    subject
        .fails("ProfileNotFound", "no profile matches")
        .await?;
    subject.stays_at(0).await?;
    profiles.region("late", "north").await?;
    let run = subject.run(1).await?;
    ensure!(profile_of(&run) == profiles.name("late"), "{run:#}");
    Ok(())
}

#[tokio::test]
async fn a_namespace_that_gets_a_label_lets_go_on_what_waits_for_that() -> Result<()> {
    let mut template = answers();
    template["profile"] = "Required".into();
    let profiles = Profiles::new("profile-label", template).await?;
    let label = format!("env-{}", profiles.world.namespace);
    let selector = json!({ "matchLabels": { &label: "production" } });
    profiles
        .put(
            "production",
            json!([{ "namespaceSelector": selector }]),
            json!({}),
        )
        .await?;
    let subject = profiles.runnable(json!({})).await?;
    subject
        .fails("ProfileNotFound", "no profile matches")
        .await?;
    let namespace = profiles.world.namespace.clone();
    let set = format!("{label}=production");
    profiles
        .world
        .cluster
        .kubectl(&["label", "namespace", &namespace, &set])
        .await?;
    subject.run(1).await?;
    Ok(())
}
