//! Runs that exceed their timeout.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{
    Subject, TEST_OBJ, UNWATCHED_OBJ, World, answered, answers, condition, document, stoppable,
    succeeded, text,
};

/// Makes a world in which the account `runner` may stop runs.
async fn world(prefix: &str, template: Value) -> Result<World> {
    let world = World::new(prefix).await?;
    let rights = [
        TEST_OBJ.rights(&["patch"]),
        UNWATCHED_OBJ.rights(&["patch"]),
    ];
    world.allow("runner", &rights).await?;
    world.template(template).await?;
    Ok(world)
}

/// Makes a Runnable with this timeout.
async fn limited(world: &World, timeout: &str) -> Result<Subject> {
    let spec = json!({
        "inputs": { "foo": 1 }, "timeout": timeout, "serviceAccountName": "runner",
    });
    world.runnable("r", spec).await
}

/// Waits until its run of this number was stopped.
async fn told(subject: &Subject, count: usize) -> Result<Value> {
    let run = subject.run(count).await?;
    subject.world.told_to_stop(TEST_OBJ, &run).await
}

/// Checks that its first run is gone, and that it has no other.
async fn is_not_made_again(subject: &Subject) -> Result<()> {
    tokio::time::sleep(Duration::from_secs(3)).await;
    let object = subject.object().await?;
    assert_eq!(object["status"]["currentRun"]["sequence"], 1);
    let label = format!(
        "carto.run/runnable-uid={}",
        text(&object["metadata"]["uid"])
    );
    let runs = subject.world.list(TEST_OBJ, &label).await?;
    ensure!(runs.is_empty(), "{runs:?}");
    Ok(())
}

/// Returns the reason of the stop of its current run.
async fn stop(subject: &Subject) -> Result<Value> {
    Ok(subject.status().await?["currentRun"]["stop"]["reason"].clone())
}

#[tokio::test]
async fn a_run_that_works_for_too_long_is_stopped_as_its_template_says() -> Result<()> {
    let world = world("timeout", stoppable()).await?;
    let subject = limited(&world, "2s").await?;
    let run = told(&subject, 1).await?;
    assert_eq!(run["spec"]["foo"], 1, "nothing else is changed");
    subject
        .event("Normal", "RunStopped", "has exceeded its timeout")
        .await?;
    let said = "it has exceeded its timeout, was asked to stop at 20";
    subject
        .says("Ready", "Unknown", "RunInProgress", said)
        .await?;
    assert_eq!(stop(&subject).await?, "TimedOut");
    world
        .play(&run, succeeded("False", "it was halted"))
        .await?;
    let object = subject.ready("False").await?;
    let said = text(&condition(&object, "Ready")["message"]);
    ensure!(said.contains(": stopped by its timeout at 20"), "{said}");
    ensure!(
        said.ends_with("; the TestObj says: it was halted"),
        "{said}"
    );
    assert_eq!(condition(&object, "Stalled")["status"], "True");
    subject.stays_at(1).await?;
    // It is kept with the run.
    subject.input("foo", 2).await?;
    let second = subject.run(2).await?;
    world.play(&second, answered("in time")).await?;
    let object = subject.ready("True").await?;
    let line = text(&object["status"]["history"][0]).to_owned();
    ensure!(line.contains(" stop=TimedOut@20"), "{line}");
    assert_eq!(stop(&subject).await?, Value::Null);
    Ok(())
}

#[tokio::test]
async fn one_that_succeeds_all_the_same_has_succeeded() -> Result<()> {
    let world = world("late", stoppable()).await?;
    let subject = limited(&world, "1s").await?;
    let run = told(&subject, 1).await?;
    world.play(&run, answered("late")).await?;
    subject.outputs(json!({ "answer": "late" })).await?;
    subject.ready("True").await?;
    assert_eq!(stop(&subject).await?, "TimedOut");
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_run_that_is_stopped_by_its_deletion_has_failed_and_is_not_made_again() -> Result<()> {
    let mut template = answers();
    template["stop"] = json!({ "delete": {} });
    template["timeout"] = "1s".into();
    let world = world("deleted", template).await?;
    let spec = json!({ "inputs": { "foo": 1 } });
    let subject = world.runnable("r", spec).await?;
    let is_told = |it: &Value| it["status"]["currentRun"]["stop"]["reason"] == "TimedOut";
    subject.until("to be told to stop", is_told).await?;
    // A create for it might still be on its way for a minute: if its name were free by then, that would make
    // another.
    tokio::time::sleep(Duration::from_secs(30)).await;
    subject.stays_at(1).await?;
    let has_failed = |it: &Value| it["status"]["currentRun"]["result"] == "Failed";
    let object = subject.until("to have failed", has_failed).await?;
    let said = condition(&object, "Ready")["message"].to_string();
    ensure!(
        said.contains("was stopped by its timeout; its object is gone"),
        "{said}"
    );
    is_not_made_again(&subject).await
}

#[tokio::test]
async fn what_was_stopped_is_tried_again_where_that_is_asked_for() -> Result<()> {
    let world = world("again", stoppable()).await?;
    let retry = json!({ "limit": 1, "retryOn": ["TimedOut"], "backoff": { "initial": "1s" } });
    let spec = json!({
        "inputs": { "foo": 1 }, "timeout": "2s", "serviceAccountName": "runner", "retry": retry,
    });
    let subject = world.runnable("r", spec).await?;
    let first = told(&subject, 1).await?;
    world.play(&first, succeeded("False", "halted")).await?;
    let second = told(&subject, 2).await?;
    assert_eq!(subject.status().await?["currentRun"]["attempt"], 2);
    world.play(&second, succeeded("False", "halted")).await?;
    subject
        .event("Warning", "RetriesExhausted", "attempt 2 of 2")
        .await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn a_failure_in_time_is_none_of_the_timeout() -> Result<()> {
    let world = world("early", stoppable()).await?;
    let retry = json!({ "limit": 1, "retryOn": ["TimedOut"], "backoff": { "initial": "1s" } });
    let spec = json!({ "inputs": { "foo": 1 }, "timeout": "1h", "retry": retry });
    let subject = world.runnable("r", spec).await?;
    let run = subject.run(1).await?;
    world.play(&run, succeeded("False", "broken")).await?;
    let is_stalled = |it: &Value| condition(it, "Stalled")["status"] == "True";
    subject.until("to be stalled", is_stalled).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn an_earlier_run_is_stopped_too_and_the_present_one_goes_on() -> Result<()> {
    let world = world("superseded", stoppable()).await?;
    let subject = limited(&world, "20s").await?;
    let first = subject.run(1).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    subject.input("foo", 2).await?;
    let runs = subject.runs(2).await?;
    let second = runs
        .iter()
        .find(|run| run["spec"]["foo"] == 2)
        .cloned()
        .unwrap_or_default();
    let first = world.told_to_stop(TEST_OBJ, &first).await?;
    world.play(&second, answered("second")).await?;
    subject.ready("True").await?;
    world.play(&first, succeeded("False", "halted")).await?;
    let is_past = |it: &Value| text(&it["status"]["history"][0]).contains("stop=TimedOut@");
    subject
        .until("to have the first run's end", is_past)
        .await?;
    subject.ready("True").await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn who_may_not_stop_a_run_is_told_which_right_is_missing_and_it_is_at_work() -> Result<()> {
    let world = World::new("powerless-stop").await?;
    world.template(stoppable()).await?;
    world.allow("runner", &[]).await?;
    let subject = limited(&world, "1s").await?;
    let run = subject.run(1).await?;
    subject
        .says(
            "RunTemplateReady",
            "False",
            "StopFailed",
            "may not patch testobjs.test.run; to do: ",
        )
        .await?;
    assert_eq!(
        subject.status().await?["currentRun"]["result"],
        Value::Null,
        "it is at work"
    );
    world
        .allow("runner", &[TEST_OBJ.rights(&["patch"])])
        .await?;
    told(&subject, 1).await?;
    subject
        .says("RunTemplateReady", "True", "Ready", "")
        .await?;
    world.play(&run, succeeded("False", "halted")).await?;
    subject.ready("False").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn where_nobody_knows_how_a_kind_is_stopped_that_is_said() -> Result<()> {
    let world = world("unknown-way", answers()).await?;
    let subject = limited(&world, "1s").await?;
    let run = subject.run(1).await?;
    subject
        .says(
            "RunTemplateReady",
            "False",
            "StopFailed",
            "Cartouche does not know how to stop its kind: it is still running; to do: add spec.stop to the template",
        )
        .await?;
    // The template learns the way to stop.
    world.template(stoppable()).await?;
    told(&subject, 1).await?;
    world.play(&run, answered("after all")).await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn while_the_template_cannot_be_read_no_run_is_stopped_by_it() -> Result<()> {
    let world = world("unreadable", stoppable()).await?;
    let subject = limited(&world, "4s").await?;
    let run = subject.run(1).await?;
    let mut unreadable = stoppable();
    unreadable["template"]["spec"]["foo"] = "$(runnable.spec[)$".into();
    world.template(unreadable).await?;
    subject.fails("TemplateStampFailure", "spec.foo").await?;
    tokio::time::sleep(Duration::from_secs(8)).await;
    let name = text(&run["metadata"]["name"]);
    let left_alone = world.get(TEST_OBJ, name).await?;
    assert_eq!(left_alone["spec"]["halt"], Value::Null);
    world.template(stoppable()).await?;
    told(&subject, 1).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_timeout_holds_for_a_run_that_is_at_work_already() -> Result<()> {
    let world = world("added", stoppable()).await?;
    let spec = json!({ "inputs": { "foo": 1 }, "serviceAccountName": "runner" });
    let subject = world.runnable("r", spec).await?;
    subject.run(1).await?;
    subject.observed().await?;
    subject
        .edit(|object| object["spec"]["timeout"] = "1s".into())
        .await?;
    told(&subject, 1).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn runs_that_are_polled_are_stopped_too() -> Result<()> {
    let mut template = stoppable();
    template["template"] = document(UNWATCHED_OBJ, json!({ "foo": 1 }));
    let world = world("polled-stop", template).await?;
    let subject = limited(&world, "1s").await?;
    let run = subject.runs_of(UNWATCHED_OBJ, 1).await?.remove(0);
    world.told_to_stop(UNWATCHED_OBJ, &run).await?;
    Ok(())
}

#[tokio::test]
async fn a_run_that_somebody_cancels_and_deletes_is_not_made_again() -> Result<()> {
    let (world, subject) = World::with("cancel-deleted", answers()).await?;
    let run = subject.run(1).await?;
    let name = text(&run["metadata"]["name"]).to_owned();
    let asked = json!({ "by": "alice", "reason": "the wrong branch" }).to_string();
    world
        .edit(TEST_OBJ, &name, |object| {
            object["metadata"]["annotations"]["carto.run/cancel-request"] = asked.clone().into();
        })
        .await?;
    world.delete(TEST_OBJ, &name).await?;
    let has_failed = |it: &Value| it["status"]["currentRun"]["result"] == "Failed";
    let object = subject.until("to have failed", has_failed).await?;
    assert_eq!(
        object["status"]["currentRun"]["stop"]["reason"],
        "Cancelled"
    );
    is_not_made_again(&subject).await
}

#[tokio::test]
async fn a_stop_costs_one_write_and_one_request() -> Result<()> {
    let world = world("cost", stoppable()).await?;
    let audit = world.cluster.audit()?;
    let subject = limited(&world, "2s").await?;
    let run = told(&subject, 1).await?;
    subject
        .event("Normal", "RunStopped", "has exceeded its timeout")
        .await?;
    let count = |verb: &str, resource: &str| -> Result<usize> {
        let events = audit.in_namespace(&world.namespace)?;
        let own = events.iter().filter(|event| event.is_of_an_account());
        let own = own.filter(|event| event.verb == verb && event.resource() == resource);
        Ok(own.count())
    };
    let both = || -> Result<(usize, usize)> {
        let writes = count("update", "runnables.carto.run/status")?;
        Ok((writes, count("patch", "testobjs.test.run")?))
    };
    let before = both()?;
    assert_eq!(before.1, 1);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let after = both()?;
    assert_eq!(before, after, "and no more while it takes its time");
    // Intent, confirmation, stop.
    ensure!(after.0 <= 3, "{after:?}");
    world.play(&run, succeeded("False", "halted")).await?;
    subject.ready("False").await?;
    Ok(())
}
