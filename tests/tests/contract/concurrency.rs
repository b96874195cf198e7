//! Runs of one Runnable that must not be at work at once.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{
    Subject, TEST_OBJ, UNWATCHED_OBJ, World, answered, answers, condition, document, stoppable,
    succeeded, text,
};

/// Makes a world in which the account `runner` may stop runs, and a field in their spec stops runs.
async fn world(prefix: &str) -> Result<World> {
    let world = World::new(prefix).await?;
    world
        .allow("runner", &[TEST_OBJ.rights(&["patch"])])
        .await?;
    world.template(stoppable()).await?;
    Ok(world)
}

async fn under(world: &World, policy: &str) -> Result<Subject> {
    let spec = json!({
        "inputs": { "foo": 1 }, "concurrencyPolicy": policy, "serviceAccountName": "runner",
    });
    world.runnable("r", spec).await
}

/// Waits until this run holds a change back.
async fn waits(subject: &Subject, run: &Value) -> Result<()> {
    let named = format!(
        "TestObj {}/{} ",
        subject.world.namespace,
        text(&run["metadata"]["name"])
    );
    subject
        .says("Ready", "Unknown", "RunAtWork", &named)
        .await?;
    subject
        .says("Reconciling", "True", "RunAtWork", &named)
        .await?;
    Ok(())
}

/// Makes a Runnable whose first run holds a change back.
async fn waiting(world: &World) -> Result<(Subject, Value)> {
    let subject = under(world, "LatestOnly").await?;
    let first = subject.run(1).await?;
    subject.input("foo", 2).await?;
    waits(&subject, &first).await?;
    Ok((subject, first))
}

/// Makes a Runnable whose first run was stopped for a change of the input.
async fn replaced(world: &World) -> Result<(Subject, Value)> {
    let subject = under(world, "Replace").await?;
    let first = subject.run(1).await?;
    subject.input("foo", 2).await?;
    world.told_to_stop(TEST_OBJ, &first).await?;
    Ok((subject, first))
}

#[tokio::test]
async fn a_change_waits_for_the_run_before_and_only_the_last_one_runs() -> Result<()> {
    let world = world("latest").await?;
    let audit = world.cluster.audit()?;
    let writes = || -> Result<usize> {
        let events = audit.in_namespace(&world.namespace)?;
        let own = events.iter().filter(|event| event.is_of_an_account());
        let own = own.filter(|event| {
            event.verb == "update" && event.resource() == "runnables.carto.run/status"
        });
        Ok(own.count())
    };
    let subject = under(&world, "LatestOnly").await?;
    let first = subject.run(1).await?;
    // It is at work as soon as it is intended; the confirmation is written after that. On a new control plane
    // the watch of the kind may begin later still.
    let is_quiet = |it: &Value| {
        it["status"]["currentRun"]["phase"] == "Created"
            && condition(it, "Ready")["reason"] == "RunInProgress"
            && condition(it, "WatchUnavailable")["status"] != "True"
    };
    subject.until("to be at work", is_quiet).await?;
    // The API server records a write after it has answered.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = writes()?;
    subject.input("foo", 2).await?;
    waits(&subject, &first).await?;
    let status = subject.status().await?;
    assert_eq!(status["pending"]["sequence"], 2);
    assert_eq!(status["pending"]["reason"], "RunAtWork");
    assert_eq!(
        condition(&subject.object().await?, "StampedObjectCondition")["status"],
        "Unknown"
    );
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(writes()?, before + 1, "it is written once that it waits");
    subject.input("foo", 3).await?;
    subject.observed().await?;
    subject.stays_at(1).await?;
    world.play(&first, answered("first")).await?;
    let second = subject.run(2).await?;
    assert_eq!(
        second["spec"]["foo"], 3,
        "what was rendered in between does not run"
    );
    subject.outputs(json!({ "answer": "first" })).await?;
    world.play(&second, answered("last")).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"]["pending"], Value::Null);
    assert_eq!(object["status"]["currentRun"]["sequence"], 2);
    subject.stays_at(2).await
}

#[tokio::test]
async fn what_goes_back_while_its_run_works_makes_no_run() -> Result<()> {
    let world = world("back").await?;
    let (subject, first) = waiting(&world).await?;
    subject.input("foo", 1).await?;
    subject
        .says("Ready", "Unknown", "RunInProgress", "")
        .await?;
    world.play(&first, answered("only")).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"]["pending"], Value::Null);
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_rerun_waits_for_the_run_before_too() -> Result<()> {
    let world = world("again").await?;
    let subject = under(&world, "LatestOnly").await?;
    let first = subject.run(1).await?;
    subject
        .edit(|it| it["metadata"]["annotations"] = json!({ "carto.run/rerun-token": "again" }))
        .await?;
    waits(&subject, &first).await?;
    world.play(&first, answered("first")).await?;
    let second = subject.run(2).await?;
    assert_eq!(
        second["metadata"]["annotations"]["carto.run/rerun-token"],
        "again"
    );
    Ok(())
}

#[tokio::test]
async fn nobody_waits_for_a_run_that_somebody_has_deleted() -> Result<()> {
    let world = world("deleted").await?;
    let (subject, first) = waiting(&world).await?;
    world
        .delete(TEST_OBJ, text(&first["metadata"]["name"]))
        .await?;
    let second = subject.run(1).await?;
    assert_eq!(second["spec"]["foo"], 2);
    let status = subject.status().await?;
    let line = text(&status["history"][0]).to_owned();
    ensure!(line.contains("deleted before it finished"), "{line}");
    Ok(())
}

#[tokio::test]
async fn replace_stops_the_run_before_and_waits_for_its_end() -> Result<()> {
    let world = world("replace").await?;
    let (subject, first) = replaced(&world).await?;
    subject
        .event("Normal", "RunStopped", "is replaced by a later run")
        .await?;
    subject
        .says(
            "Ready",
            "Unknown",
            "RunAtWork",
            "was asked to stop, and has not ended",
        )
        .await?;
    subject.stays_at(1).await?;
    world.play(&first, succeeded("False", "halted")).await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["foo"], 2);
    world.play(&second, answered("second")).await?;
    let object = subject.ready("True").await?;
    let line = text(&object["status"]["history"][0]).to_owned();
    ensure!(line.contains(" stop=Replaced@20"), "{line}");
    ensure!(line.contains("stopped for a later run at 20"), "{line}");
    subject.stays_at(2).await
}

#[tokio::test]
async fn what_was_stopped_for_another_and_is_wanted_again_runs_again() -> Result<()> {
    let world = world("wanted").await?;
    let (subject, first) = replaced(&world).await?;
    subject.input("foo", 1).await?;
    subject.observed().await?;
    subject.stays_at(1).await?;
    world.play(&first, succeeded("False", "halted")).await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["foo"], 1);
    world.play(&second, answered("again")).await?;
    subject.outputs(json!({ "answer": "again" })).await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn one_that_succeeds_all_the_same_is_not_run_again() -> Result<()> {
    let world = world("same").await?;
    let (subject, first) = replaced(&world).await?;
    subject.input("foo", 1).await?;
    subject.observed().await?;
    world.play(&first, answered("in time")).await?;
    subject.outputs(json!({ "answer": "in time" })).await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn the_right_that_is_missing_to_stop_a_run_is_named() -> Result<()> {
    let world = World::new("noright").await?;
    let mut template = stoppable();
    template["concurrencyPolicy"] = "Replace".into();
    world.template(template).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    let first = subject.run(1).await?;
    subject.input("foo", 2).await?;
    subject
        .says(
            "Ready",
            "False",
            "StopFailed",
            "may not patch testobjs.test.run",
        )
        .await?;
    // It ends by itself: nothing is lost.
    world.play(&first, answered("first")).await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["foo"], 2);
    Ok(())
}

#[tokio::test]
async fn a_suspended_runnable_stops_nothing() -> Result<()> {
    let world = world("held").await?;
    let subject = under(&world, "Replace").await?;
    let first = subject.run(1).await?;
    subject
        .edit(|it| {
            it["spec"]["suspend"] = true.into();
            it["spec"]["inputs"]["foo"] = 2.into();
        })
        .await?;
    subject.says("Ready", "Unknown", "Suspended", "").await?;
    let name = text(&first["metadata"]["name"]);
    let run = world.get(TEST_OBJ, name).await?;
    assert_eq!(run["spec"]["halt"], Value::Null);
    subject
        .edit(|it| it["spec"]["suspend"] = false.into())
        .await?;
    world.told_to_stop(TEST_OBJ, &first).await?;
    Ok(())
}

#[tokio::test]
async fn the_policy_and_what_waits_are_nothing_that_templates_can_read() -> Result<()> {
    let world = World::new("hidden").await?;
    let mut template = answers();
    template["template"]["spec"]["foo"] = "$(runnable.spec.concurrencyPolicy)$".into();
    world.template(template).await?;
    let spec = json!({ "concurrencyPolicy": "LatestOnly" });
    let subject = world.runnable("r", spec).await?;
    subject
        .fails("TemplateStampFailure", "concurrencyPolicy")
        .await?;
    Ok(())
}

/// By the rules of the template of the next run, the previous one would have ended at once.
#[tokio::test]
async fn a_run_that_is_waited_for_is_not_judged_by_the_rules_of_the_next_one() -> Result<()> {
    let world = world("other-rules").await?;
    let (subject, first) = waiting(&world).await?;
    let mut template = stoppable();
    template["healthRule"] = json!({ "alwaysHealthy": {} });
    template["outputs"] = json!({ "foo": ".spec.foo" });
    world.template(template).await?;
    // The controller has finished its reaction when it answers the next change.
    subject.input("foo", 3).await?;
    subject.observed().await?;
    let status = subject.status().await?;
    assert_eq!(status["currentRun"]["result"], Value::Null, "{status}");
    subject.stays_at(1).await?;
    assert_eq!(subject.status().await?["outputs"], Value::Null);
    world.play(&first, answered(1)).await?;
    subject.run(2).await?;
    subject.outputs(json!({ "foo": 3 })).await?;
    Ok(())
}

#[tokio::test]
async fn nor_is_one_of_a_kind_that_is_only_polled() -> Result<()> {
    let world = World::new("polled-rules").await?;
    let mut template = answers();
    let foo = json!({ "foo": "$(runnable.spec.inputs.foo)$" });
    template["template"] = document(UNWATCHED_OBJ, foo);
    world.template(template.clone()).await?;
    let spec = json!({ "inputs": { "foo": 1 }, "concurrencyPolicy": "LatestOnly" });
    let subject = world.runnable("r", spec).await?;
    let first = subject.runs_of(UNWATCHED_OBJ, 1).await?.remove(0);
    subject.input("foo", 2).await?;
    subject
        .says("Ready", "Unknown", "RunAtWork", UNWATCHED_OBJ.name)
        .await?;
    template["healthRule"] = json!({ "alwaysHealthy": {} });
    world.template(template).await?;
    subject.input("foo", 3).await?;
    subject.observed().await?;
    subject.stays_at_of(UNWATCHED_OBJ, 1).await?;
    let status = subject.status().await?;
    assert_eq!(status["currentRun"]["result"], Value::Null, "{status}");
    world.play(&first, answered(1)).await?;
    let second = subject.runs_of(UNWATCHED_OBJ, 2).await?.remove(1);
    assert_eq!(second["spec"]["foo"], 3);
    Ok(())
}
