//! Rejections of a run.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{APPROVED, approve, asked, asked_anew, manual, requests};
use crate::world::{Subject, answers, condition, succeeded};

const REJECTED: &str = "carto.run/rejected";

/// Rejects this approval.
async fn reject(subject: &Subject, approval: &str) -> Result<()> {
    let no = json!({ "approval": approval, "by": "alice", "reason": "not before\u{1b}[2J Monday" });
    subject
        .edit(|it| it["metadata"]["annotations"][REJECTED] = no.to_string().into())
        .await
}

async fn take_away(subject: &Subject, annotation: &str) -> Result<()> {
    subject
        .edit(|it| {
            let annotations = it["metadata"]["annotations"].as_object_mut();
            annotations.map(|annotations| annotations.remove(annotation));
        })
        .await
}

async fn is_refused(subject: &Subject, sequence: i64) -> Result<Value> {
    let told = format!(r#""alice" has rejected run {sequence}: "not before [2J Monday"; to do: "#);
    subject.says("Ready", "False", "Rejected", &told).await?;
    let object = subject.object().await?;
    assert_eq!(condition(&object, "Stalled")["reason"], "Rejected");
    assert_eq!(object["status"]["pending"]["reason"], "Rejected");
    Ok(object)
}

#[tokio::test]
async fn what_was_refused_is_not_run_until_it_is_something_else() -> Result<()> {
    let subject = manual("no", answers()).await?;
    let first = asked(&subject, 1).await?;
    reject(&subject, &first).await?;
    let object = is_refused(&subject, 1).await?;
    assert_eq!(object["status"]["pending"]["approval"], first);
    subject.event("Warning", "Rejected", "not before").await?;
    // An approval beside it changes nothing.
    approve(&subject, &first).await?;
    subject.stays_at(0).await?;
    is_refused(&subject, 1).await?;
    let events = subject.events().await?;
    let said = events.iter().filter(|it| it["reason"] == "Rejected");
    assert_eq!(said.count(), 1, "it is said once");
    subject.input("foo", 2).await?;
    let second = asked_anew(&subject, 1, &first).await?;
    approve(&subject, &second).await?;
    let run = subject.run(1).await?;
    assert_eq!(run["spec"]["foo"], 2);
    ensure!(run["metadata"]["annotations"][REJECTED].is_null(), "{run}");
    // The controller asks once in twenty seconds about one number, for the latest document.
    let asked = requests(&subject).await?;
    ensure!((1..=2).contains(&asked), "{asked}");
    Ok(())
}

#[tokio::test]
async fn what_was_refused_after_a_failure_says_that_it_was_refused_and_can_be_approved_after_all()
-> Result<()> {
    let subject = manual("after", answers()).await?;
    let run = super::begun(&subject, 1, 1).await?;
    let failed = succeeded("False", "it broke");
    subject.world.play(&run, failed).await?;
    subject.ready("False").await?;
    subject.input("foo", 2).await?;
    let second = asked(&subject, 2).await?;
    reject(&subject, &second).await?;
    is_refused(&subject, 2).await?;
    subject.stays_at(1).await?;
    // As `cartouche approve` does.
    subject
        .edit(|it| {
            it["metadata"]["annotations"][APPROVED] = second.clone().into();
            let annotations = it["metadata"]["annotations"].as_object_mut();
            annotations.map(|annotations| annotations.remove(REJECTED));
        })
        .await?;
    assert_eq!(subject.run(2).await?["spec"]["foo"], 2);
    Ok(())
}

#[tokio::test]
async fn a_no_that_is_taken_away_is_a_question_again_and_one_to_something_else_is_none()
-> Result<()> {
    let subject = manual("back-no", answers()).await?;
    let approval = asked(&subject, 1).await?;
    reject(&subject, &approval).await?;
    is_refused(&subject, 1).await?;
    take_away(&subject, REJECTED).await?;
    asked(&subject, 1).await?;
    for other in ["1:v1:00ff", "2:v1:00ff", "no"] {
        reject(&subject, other).await?;
    }
    subject.stays_at(0).await?;
    asked(&subject, 1).await?;
    approve(&subject, &approval).await?;
    subject.run(1).await?;
    Ok(())
}
