//! Approvals together with other conditions for a run: attempts, suspension, and runs at work.

use anyhow::Result;
use serde_json::{Value, json};

use super::{approve, approved_by_hand, asked, begun, manual, requests};
use crate::world::{Subject, answered, answers, condition, succeeded};

async fn suspend(subject: &Subject, suspend: bool) -> Result<()> {
    subject
        .edit(|it| it["spec"]["suspend"] = suspend.into())
        .await
}

#[tokio::test]
async fn a_further_attempt_needs_no_yes() -> Result<()> {
    let mut template = approved_by_hand();
    template["retry"] = json!({ "limit": 1, "backoff": { "initial": "1s", "max": "1s" } });
    let subject = manual("attempt", template).await?;
    let first = begun(&subject, 1, 1).await?;
    let world = subject.world.clone();
    world.play(&first, succeeded("False", "it broke")).await?;
    let second = subject.run(2).await?;
    let object = subject.object().await?;
    assert_eq!(object["status"]["currentRun"]["attempt"], 2);
    world.play(&second, succeeded("False", "again")).await?;
    subject.ready("False").await?;
    assert_eq!(requests(&subject).await?, 1);
    subject.stays_at(2).await?;
    // A later change is another run, and begins with its first attempt.
    subject.input("foo", 2).await?;
    let third = begun(&subject, 3, 3).await?;
    assert_eq!(third["spec"]["foo"], 2);
    Ok(())
}

/// The earlier failure still shows, but it is not the state of the Runnable.
#[tokio::test]
async fn what_waits_after_a_failure_has_not_failed() -> Result<()> {
    let subject = manual("failed", answers()).await?;
    let first = begun(&subject, 1, 1).await?;
    let failed = succeeded("False", "it broke");
    subject.world.play(&first, failed).await?;
    let is_stalled = |it: &Value| condition(it, "Stalled")["status"] == "True";
    subject.until("to be stalled", is_stalled).await?;
    subject.input("foo", 2).await?;
    asked(&subject, 2).await?;
    let object = subject.object().await?;
    let of_run = condition(&object, "StampedObjectCondition");
    assert_eq!(of_run["status"], "False", "{of_run}");
    let conditions = object["status"]["conditions"].as_array().cloned();
    let wrong = conditions.into_iter().flatten();
    let wrong: Vec<Value> = wrong
        .filter(|it| it["status"] == "False" && it["type"] != "StampedObjectCondition")
        .collect();
    assert_eq!(wrong, Vec::<Value>::new());
    Ok(())
}

#[tokio::test]
async fn whoever_suspends_it_is_asked_first() -> Result<()> {
    let subject = manual("suspended", answers()).await?;
    let approval = asked(&subject, 1).await?;
    suspend(&subject, true).await?;
    subject.says("Ready", "Unknown", "Suspended", "").await?;
    let object = subject.object().await?;
    assert_eq!(object["status"]["pending"], Value::Null);
    // A run that is approved meanwhile begins at the end of the suspension.
    approve(&subject, &approval).await?;
    subject.stays_at(0).await?;
    subject.says("Ready", "Unknown", "Suspended", "").await?;
    suspend(&subject, false).await?;
    subject.run(1).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn what_is_resumed_without_a_yes_waits_for_one() -> Result<()> {
    let subject = manual("resumed", answers()).await?;
    suspend(&subject, true).await?;
    subject.says("Ready", "Unknown", "Suspended", "").await?;
    suspend(&subject, false).await?;
    asked(&subject, 1).await?;
    subject.stays_at(0).await
}

#[tokio::test]
async fn what_is_approved_while_the_run_before_works_begins_at_its_end() -> Result<()> {
    let mut template = answers();
    template["concurrencyPolicy"] = "LatestOnly".into();
    let subject = manual("latest", template).await?;
    let first = begun(&subject, 1, 1).await?;
    subject.input("foo", 2).await?;
    let approval = asked(&subject, 2).await?;
    approve(&subject, &approval).await?;
    subject.says("Ready", "Unknown", "RunAtWork", "").await?;
    let object = subject.object().await?;
    assert_eq!(object["status"]["pending"]["reason"], "RunAtWork");
    assert_eq!(object["status"]["pending"]["sequence"], 2);
    subject.stays_at(1).await?;
    subject.world.play(&first, answered("first")).await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["foo"], 2);
    assert_eq!(requests(&subject).await?, 2);
    subject.stays_at(2).await
}

#[tokio::test]
async fn nobody_is_stopped_for_a_run_that_nobody_has_approved() -> Result<()> {
    let mut template = crate::world::stoppable();
    template["concurrencyPolicy"] = "Replace".into();
    let subject = manual("replace", template).await?;
    let world = subject.world.clone();
    let rights = [crate::world::TEST_OBJ.rights(&["patch"])];
    world.allow("default", &rights).await?;
    let first = begun(&subject, 1, 1).await?;
    subject.input("foo", 2).await?;
    let approval = asked(&subject, 2).await?;
    subject.stays_at(1).await?;
    assert_eq!(subject.run(1).await?["spec"]["halt"], Value::Null);
    approve(&subject, &approval).await?;
    world.told_to_stop(crate::world::TEST_OBJ, &first).await?;
    world.play(&first, succeeded("False", "halted")).await?;
    assert_eq!(subject.run(2).await?["spec"]["foo"], 2);
    Ok(())
}

/// A revert to the content that has run is no change, so no approval is needed any more.
#[tokio::test]
async fn what_goes_back_before_anybody_approves_it_makes_no_run() -> Result<()> {
    let subject = manual("back", answers()).await?;
    begun(&subject, 1, 1).await?;
    subject.answer(1, json!("only")).await?;
    subject.input("foo", 2).await?;
    asked(&subject, 2).await?;
    subject.input("foo", 1).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"]["pending"], Value::Null);
    subject.stays_at(1).await
}
