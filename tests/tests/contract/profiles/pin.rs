use anyhow::{Result, ensure};
use serde_json::json;

use super::{Profiles, has_region, is_pinned, profile_of, refresh, shows_region};
use crate::world::condition;

#[tokio::test]
async fn a_runnable_stays_with_its_profile_until_somebody_asks_to_choose_anew() -> Result<()> {
    let profiles = Profiles::new("profile-pin", shows_region()).await?;
    profiles.region("old", "north").await?;
    let subject = profiles.runnable(json!({})).await?;
    has_region(&subject.run(1).await?, "north")?;
    is_pinned(&subject, &profiles.name("old")).await?;
    // Another one matches now, and this one no longer does.
    profiles
        .put(
            "old",
            json!([]),
            json!({ "values": { "region": "north" }, "patches": super::sizes("north") }),
        )
        .await?;
    profiles.region("new", "south").await?;
    profiles.accepted("new", "True").await?;
    subject.stays_at(1).await?;
    subject.input("foo", 2).await?;
    has_region(&subject.run(2).await?, "north")?;
    refresh(&subject, "1").await?;
    is_pinned(&subject, &profiles.name("new")).await?;
    subject.stays_at(2).await?;
    subject.input("foo", 3).await?;
    has_region(&subject.run(3).await?, "south")
}

#[tokio::test]
async fn a_request_that_cannot_be_followed_says_why_and_the_pin_stays() -> Result<()> {
    let profiles = Profiles::new("profile-unrefreshed", shows_region()).await?;
    profiles.region("old", "north").await?;
    let subject = profiles.runnable(json!({})).await?;
    subject.answer(1, "x".into()).await?;
    let values = json!({ "values": { "region": "north" }, "patches": super::sizes("north") });
    profiles.put("old", json!([]), values).await?;
    profiles.accepted("old", "True").await?;
    refresh(&subject, "1").await?;
    subject
        .says(
            "RunTemplateReady",
            "True",
            "ProfileNotRefreshed",
            "none matches",
        )
        .await?;
    subject.ready("True").await?;
    subject.input("foo", 2).await?;
    has_region(&subject.run(2).await?, "north")?;
    let it = subject.observed().await?;
    ensure!(condition(&it, "Stalled")["status"] != "True", "{it:#}");
    profiles.region("new", "south").await?;
    is_pinned(&subject, &profiles.name("new")).await?;
    subject.stays_at(2).await?;
    let events = subject.events().await?;
    let warned = events.iter().any(|event| event["type"] == "Warning");
    ensure!(!warned, "{events:#?}");
    Ok(())
}

#[tokio::test]
async fn a_profile_that_was_deleted_holds_new_runs_until_it_is_back() -> Result<()> {
    let profiles = Profiles::new("profile-gone", shows_region()).await?;
    profiles.region("only", "north").await?;
    let subject = profiles.runnable(json!({})).await?;
    subject.answer(1, "x".into()).await?;
    profiles.delete("only").await?;
    subject.stays_at(1).await?;
    subject.ready("True").await?;
    subject.input("foo", 2).await?;
    let said = subject.fails("ProfileNotFound", "does not exist").await?;
    ensure!(said.contains("cartouche profile refresh"), "{said}");
    subject.stays_at(1).await?;
    profiles.region("only", "south").await?;
    has_region(&subject.run(2).await?, "south")
}

#[tokio::test]
async fn after_a_lost_status_the_profile_of_the_newest_run_counts_while_it_matches() -> Result<()> {
    let profiles = Profiles::new("profile-lost", shows_region()).await?;
    profiles.region("old", "north").await?;
    let subject = profiles.runnable(json!({})).await?;
    let run = subject.answer(1, "x".into()).await;
    run?;
    let name = profiles.name("old");
    is_pinned(&subject, &name).await?;
    profiles
        .world
        .edit_status("r", |status| *status = json!({}))
        .await?;
    let rebuilt = is_pinned(&subject, &name).await?;
    ensure!(
        rebuilt["status"]["profile"]["fromRun"] == true,
        "{rebuilt:#}"
    );
    subject.stays_at(1).await?;
    // Its rule no longer matches: only the run records that it was chosen.
    profiles
        .put("old", json!([]), json!({ "values": { "region": "north" } }))
        .await?;
    profiles.accepted("old", "True").await?;
    subject.input("foo", 2).await?;
    subject
        .fails("ProfileNotFound", "does not match any more")
        .await?;
    subject.stays_at(1).await?;
    profiles.region("new", "south").await?;
    refresh(&subject, "1").await?;
    let run = subject.run(2).await?;
    ensure!(profile_of(&run) == profiles.name("new"), "{run:#}");
    Ok(())
}

#[tokio::test]
async fn labels_of_the_runnable_and_of_its_namespace_move_no_pin() -> Result<()> {
    let profiles = Profiles::new("profile-labels", shows_region()).await?;
    let world = &profiles.world;
    let label = format!("team-{}", world.namespace);
    let selector = json!({ "matchLabels": { &label: "a" } });
    let north = json!({ "values": { "region": "north" }, "patches": super::sizes("north") });
    let south = json!({ "values": { "region": "south" }, "patches": super::sizes("south") });
    profiles
        .put("default", json!([profiles.of_template()]), north)
        .await?;
    let mut both = profiles.of_template();
    both["runnableSelector"] = selector.clone();
    let mut there = profiles.of_template();
    there["namespaceSelector"] = selector;
    profiles.put("team", json!([both, there]), south).await?;
    profiles.accepted("default", "True").await?;
    profiles.accepted("team", "True").await?;
    let subject = profiles.runnable(json!({})).await?;
    has_region(&subject.run(1).await?, "north")?;
    subject
        .edit(|it| it["metadata"]["labels"][&label] = "a".into())
        .await?;
    let set = format!("{label}=a");
    world
        .cluster
        .kubectl(&["label", "namespace", &world.namespace, &set])
        .await?;
    subject.stays_at(1).await?;
    subject.input("foo", 2).await?;
    has_region(&subject.run(2).await?, "north")?;
    is_pinned(&subject, &profiles.name("default")).await?;
    refresh(&subject, "1").await?;
    is_pinned(&subject, &profiles.name("team")).await?;
    Ok(())
}
