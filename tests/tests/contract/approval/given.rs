//! Content of the annotation, and what it approves.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{APPROVED, approve, asked, asked_anew, begun, manual, requests};
use crate::world::{Subject, answers};

/// Writes something that approves nothing, waits until that is reported, and checks that nothing began.
async fn approves_nothing(subject: &Subject, given: &str, told: &str) -> Result<()> {
    approve(subject, given).await?;
    let told = format!("(the annotation {APPROVED} {told}");
    let says = |part: String| async move {
        subject
            .says("Ready", "Unknown", "ApprovalRequired", &part)
            .await
    };
    says(told).await.with_context(|| format!("{given:?}"))?;
    // The next report may have the same words: remove the annotation first, which is reported too.
    subject
        .edit(|it| {
            let annotations = it["metadata"]["annotations"].as_object_mut();
            annotations.map(|annotations| annotations.remove(APPROVED));
        })
        .await?;
    says("needs approval; to do: ".to_owned()).await?;
    let status = subject.status().await?;
    ensure!(status["currentRun"] == Value::Null, "{given:?}: {status}");
    Ok(())
}

#[tokio::test]
async fn nothing_but_exactly_this_run_is_approved() -> Result<()> {
    let subject = manual("inexact", answers()).await?;
    let right = asked(&subject, 1).await?;
    let hash = right.trim_start_matches("1:").to_owned();
    let half = &right[..right.len() / 2];
    let unreadable = "approves nothing: its form is not <number>:<hash>)";
    let document = "is for another document than the one that is rendered now)";
    for (given, told) in [
        (format!("2:{hash}"), "is for run 2)"),
        (format!("0:{hash}"), "is for run 0)"),
        (format!("-1:{hash}"), "is for run -1)"),
        ("1:v1:00ff".to_owned(), document),
        (half.to_owned(), document),
        (format!("{right}0"), document),
        (right.to_uppercase(), document),
        ("1:*".to_owned(), document),
        (format!("{right},{right}"), document),
        (format!("{right}\n"), unreadable),
        (format!("{right} "), unreadable),
        (format!(" {right}"), unreadable),
        (format!("1: {hash}"), unreadable),
        (format!("{right}\n{right}"), unreadable),
        (format!("01:{hash}"), unreadable),
        (format!("+1:{hash}"), unreadable),
        (hash.clone(), unreadable),
        ("1".to_owned(), unreadable),
        (String::new(), unreadable),
        ("*".to_owned(), unreadable),
        ("true".to_owned(), unreadable),
    ] {
        approves_nothing(&subject, &given, told).await?;
    }
    subject.stays_at(0).await?;
    assert_eq!(requests(&subject).await?, 1, "it is one run that waits");
    approve(&subject, &right).await?;
    subject.run(1).await?;
    Ok(())
}

/// The status, which many may read, does not show the invalid value.
#[tokio::test]
async fn what_was_written_instead_is_not_repeated() -> Result<()> {
    let subject = manual("secretive", answers()).await?;
    asked(&subject, 1).await?;
    approve(&subject, "hunter2").await?;
    subject
        .says("Ready", "Unknown", "ApprovalRequired", "approves nothing")
        .await?;
    let status = subject.status().await?.to_string();
    ensure!(!status.contains("hunter2"), "{status}");
    Ok(())
}

#[tokio::test]
async fn a_yes_that_was_used_does_not_count_again() -> Result<()> {
    let subject = manual("once", answers()).await?;
    let first = asked(&subject, 1).await?;
    begun(&subject, 1, 1).await?;
    subject.answer(1, json!("A")).await?;
    subject.input("foo", 2).await?;
    begun(&subject, 2, 2).await?;
    subject.answer(2, json!("B")).await?;
    // Back to the first document, which was approved before.
    subject.input("foo", 1).await?;
    let third = asked_anew(&subject, 3, &first).await?;
    assert_eq!(
        third.trim_start_matches("3:"),
        first.trim_start_matches("1:"),
        "it is the same document"
    );
    let reason = "ApprovalRequired";
    subject
        .says("Ready", "Unknown", reason, "is for run 2)")
        .await?;
    approve(&subject, &first).await?;
    subject
        .says("Ready", "Unknown", reason, "is for run 1)")
        .await?;
    subject.stays_at(2).await?;
    approve(&subject, &third).await?;
    assert_eq!(subject.run(3).await?["spec"]["foo"], 1);
    subject.stays_at(3).await
}

/// An approval that comes with the change starts the run at once: pipelines may know both.
#[tokio::test]
async fn a_yes_that_comes_with_the_change_is_enough() -> Result<()> {
    let subject = manual("ahead", answers()).await?;
    let first = asked(&subject, 1).await?;
    subject.input("foo", 2).await?;
    let second = asked_anew(&subject, 1, &first).await?;
    subject
        .edit(|it| {
            it["spec"]["inputs"]["foo"] = 1.into();
            it["metadata"]["annotations"][APPROVED] = first.clone().into();
        })
        .await?;
    assert_eq!(subject.run(1).await?["spec"]["foo"], 1);
    // An approval of the other document begins nothing.
    approve(&subject, &second).await?;
    subject.stays_at(1).await
}
