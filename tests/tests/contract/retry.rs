//! Retries of failed runs.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{
    Subject, TEST_OBJ, World, answered, answers, condition, document, succeeded, text,
};

/// Returns a policy of this many retries, soon.
fn soon(limit: i64) -> Value {
    json!({ "limit": limit, "backoff": { "initial": "1s", "max": "1s" } })
}

/// Returns a policy of this many retries, but not during a test.
fn later(limit: i64) -> Value {
    json!({ "limit": limit, "backoff": { "initial": "1h", "max": "1h" } })
}

/// Makes a Runnable with this retry policy.
async fn retried(prefix: &str, retry: Value) -> Result<(World, Subject)> {
    let world = World::new(prefix).await?;
    world.template(answers()).await?;
    let spec = json!({ "inputs": { "foo": 1 }, "retry": retry });
    let subject = world.runnable("r", spec).await?;
    Ok((world, subject))
}

/// Waits for `count` runs, and has the newest fail.
async fn fail(subject: &Subject, count: usize) -> Result<()> {
    let run = subject.run(count).await?;
    subject
        .world
        .play(&run, succeeded("False", "it broke"))
        .await
}

/// Waits until the next attempt is ahead.
async fn scheduled(subject: &Subject, said: &str) -> Result<Value> {
    subject
        .says("Reconciling", "True", "RetryScheduled", said)
        .await?;
    subject.object().await
}

/// Waits until it has failed for good.
async fn stalled(subject: &Subject) -> Result<Value> {
    let is_stalled = |it: &Value| condition(it, "Stalled")["status"] == "True";
    subject.until("to be stalled", is_stalled).await
}

#[tokio::test]
async fn what_failed_is_tried_again_as_the_next_number_until_it_succeeds() -> Result<()> {
    let (world, subject) = retried("retry", soon(2)).await?;
    fail(&subject, 1).await?;
    subject
        .event("Normal", "RetryScheduled", "attempt 2 of 3 begins at")
        .await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["foo"], 1);
    assert_eq!(subject.status().await?["currentRun"]["attempt"], 2);
    world.play(&second, answered("at last")).await?;
    subject.outputs(json!({ "answer": "at last" })).await?;
    let object = subject.ready("True").await?;
    let status = &object["status"];
    let line = text(&status["history"][0]);
    assert!(line.starts_with("1 Failed "), "{line}");
    assert!(
        !line.contains("attempt="),
        "the first one needs no word: {line}"
    );
    assert_eq!(status["currentRun"]["retryAt"], Value::Null);
    subject.stays_at(2).await
}

#[tokio::test]
async fn after_the_last_attempt_it_has_failed() -> Result<()> {
    let (_, subject) = retried("exhausted", soon(2)).await?;
    for count in 1..=3 {
        fail(&subject, count).await?;
    }
    subject
        .event(
            "Warning",
            "RetriesExhausted",
            "attempt 3 of 3, the last one",
        )
        .await?;
    let object = stalled(&subject).await?;
    assert_eq!(condition(&object, "Reconciling"), &Value::Null);
    let lines = object["status"]["history"].as_array().cloned();
    let lines: Vec<String> = lines
        .into_iter()
        .flatten()
        .map(|line| text(&line).to_owned())
        .collect();
    ensure!(lines[1].contains(" attempt=2 "), "{lines:?}");
    subject.stays_at(3).await
}

#[tokio::test]
async fn while_an_attempt_is_ahead_that_is_work_under_way() -> Result<()> {
    let (_, subject) = retried("ahead", later(3)).await?;
    fail(&subject, 1).await?;
    let object = scheduled(&subject, "attempt 2 of 4 begins at 20").await?;
    let status = &object["status"];
    assert_eq!(condition(&object, "Ready")["status"], "False");
    assert_eq!(condition(&object, "Stalled"), &Value::Null);
    let at: k8s_openapi::jiff::Timestamp = text(&status["currentRun"]["retryAt"]).parse()?;
    let ended: k8s_openapi::jiff::Timestamp = text(&status["currentRun"]["finishedAt"]).parse()?;
    let pause = at.duration_since(ended).as_mins();
    assert!((48..=72).contains(&pause), "{pause} min");
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_change_goes_before_an_attempt_and_begins_anew() -> Result<()> {
    let (_, subject) = retried("first", later(1)).await?;
    fail(&subject, 1).await?;
    scheduled(&subject, "attempt 2 of 2").await?;
    subject.input("foo", 2).await?;
    fail(&subject, 2).await?;
    let object = scheduled(&subject, "attempt 2 of 2").await?;
    assert_eq!(object["status"]["currentRun"]["attempt"], Value::Null);
    // A request does the same.
    subject
        .edit(|object| {
            object["metadata"]["annotations"]["carto.run/rerun-token"] = "again".into();
        })
        .await?;
    subject.answer(3, json!("third")).await?;
    subject.stays_at(3).await
}

#[tokio::test]
async fn who_asks_for_retries_later_wakes_no_old_failure() -> Result<()> {
    let (world, subject) = World::with("old", answers()).await?;
    fail(&subject, 1).await?;
    subject.ready("False").await?;
    subject
        .edit(|object| object["spec"]["retry"] = soon(3))
        .await?;
    subject.stays_at(1).await?;
    let mut template = answers();
    template["retry"] = soon(3);
    world.template(template).await?;
    subject.stays_at(1).await?;
    // A change of the rules by which it is read does not end it either.
    let mut other = answers();
    other["retry"] = soon(3);
    other["outputs"] = json!({ "other": ".status.other" });
    world.template(other).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_template_asks_for_all_its_runnables_and_the_smaller_limit_counts() -> Result<()> {
    let world = World::new("template").await?;
    let mut template = answers();
    template["retry"] = soon(1);
    world.template(template).await?;
    let inputs = json!({ "foo": 1 });
    let plain = world.runnable("plain", json!({ "inputs": inputs })).await?;
    let greedy = json!({ "inputs": inputs, "retry": { "limit": 9 } });
    let greedy = world.runnable("greedy", greedy).await?;
    let never = json!({ "inputs": inputs, "retry": { "limit": 0 } });
    let never = world.runnable("never", never).await?;
    for (subject, runs) in [(&plain, 2), (&greedy, 2), (&never, 1)] {
        for count in 1..=runs {
            fail(subject, count).await?;
        }
        stalled(subject).await?;
        subject.stays_at(runs).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_run_that_somebody_cancelled_is_not_tried_again() -> Result<()> {
    let (world, subject) = retried("cancelled", soon(3)).await?;
    let run = subject.run(1).await?;
    let asked = json!({ "by": "alice", "reason": "the wrong branch" }).to_string();
    world
        .edit(TEST_OBJ, text(&run["metadata"]["name"]), |object| {
            object["metadata"]["annotations"]["carto.run/cancel-request"] = asked.clone().into();
        })
        .await?;
    world.play(&run, succeeded("False", "stopped")).await?;
    stalled(&subject).await?;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_result_that_turns_takes_the_attempt_away() -> Result<()> {
    let (world, subject) = retried("turns", later(3)).await?;
    fail(&subject, 1).await?;
    scheduled(&subject, "attempt 2").await?;
    let run = subject.run(1).await?;
    world.play(&run, answered("after all")).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"]["currentRun"]["retryAt"], Value::Null);
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_suspended_runnable_tries_again_once_it_is_resumed() -> Result<()> {
    let (_, subject) = retried("held", soon(1)).await?;
    subject.run(1).await?;
    subject
        .edit(|object| object["spec"]["suspend"] = true.into())
        .await?;
    subject.observed().await?;
    fail(&subject, 1).await?;
    subject
        .says("RunTemplateReady", "Unknown", "Suspended", "")
        .await?;
    subject.stays_at(1).await?;
    let object = subject.object().await?;
    assert_eq!(condition(&object, "Stalled"), &Value::Null);
    assert_eq!(condition(&object, "Reconciling"), &Value::Null);
    subject
        .edit(|object| object["spec"]["suspend"] = false.into())
        .await?;
    subject.run(2).await?;
    Ok(())
}

#[tokio::test]
async fn a_change_of_retry_is_no_change_of_what_is_run() -> Result<()> {
    let world = World::new("unread").await?;
    let all = json!({ "foo": 1, "all": "$(runnable.spec)$" });
    world
        .template(json!({ "template": document(TEST_OBJ, all) }))
        .await?;
    let subject = world.runnable("r", json!({ "retry": soon(1) })).await?;
    let run = subject.run(1).await?;
    assert_eq!(run["spec"]["all"]["retry"], Value::Null, "{run}");
    world.play(&run, succeeded("True", "")).await?;
    subject.ready("True").await?;
    for retry in [later(2), Value::Null] {
        subject
            .edit(|object| object["spec"]["retry"] = retry.clone())
            .await?;
        subject.stays_at(1).await?;
    }
    Ok(())
}

#[tokio::test]
async fn retries_under_a_name_that_the_template_fixes_are_refused_before_anything_runs()
-> Result<()> {
    let world = World::new("fixed").await?;
    let mut template = document(TEST_OBJ, json!({}));
    template["metadata"] = json!({ "name": "only" });
    world.template(json!({ "template": template })).await?;
    let subject = world.runnable("r", json!({ "retry": soon(1) })).await?;
    let said = subject
        .fails("PolicyInvalid", "gives each of them the name \"only\"")
        .await?;
    assert!(said.contains("to do: use metadata.generateName"), "{said}");
    subject.says("Stalled", "True", "PolicyInvalid", "").await?;
    subject.stays_at(0).await?;
    subject
        .edit(|object| object["spec"]["retry"]["limit"] = 0.into())
        .await?;
    subject.run(1).await?;
    Ok(())
}

#[tokio::test]
async fn pauses_that_are_too_short_or_too_long_are_told_before_anything_runs() -> Result<()> {
    let wrong = json!({ "backoff": { "initial": "0s", "max": "8761h" } });
    let (world, subject) = retried("pauses", wrong).await?;
    let said = subject.fails("PolicyInvalid", "").await?;
    assert_eq!(
        said,
        "the Runnable's spec.retry.backoff.initial \"0s\" is not a duration from 1s to 8760h, such as 30s or 5m; \
         the Runnable's spec.retry.backoff.max \"8761h\" is not a duration from 1s to 8760h, such as 30s or 5m; \
         to do: give a duration from 1s to 8760h, such as 30s or 5m"
    );
    subject.stays_at(0).await?;
    subject
        .edit(|object| object["spec"]["retry"] = soon(1))
        .await?;
    subject.answer(1, json!("mended")).await?;
    let mut template = answers();
    template["retry"] = json!({ "backoff": { "initial": "100ms" } });
    world.template(template).await?;
    subject
        .fails("PolicyInvalid", "the template's spec.retry.backoff.initial")
        .await?;
    let (status, reason, said) = world.accepted(&world.template_name()).await?;
    assert_eq!((&*status, &*reason), ("False", "Invalid"));
    assert!(
        said.contains("spec.retry.backoff.initial \"100ms\""),
        "{said}"
    );
    subject.outputs(json!({ "answer": "mended" })).await?;
    subject.stays_at(1).await
}
