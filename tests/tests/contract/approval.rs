//! Runs that need approval before they begin.

mod dry_run;
mod given;
mod hidden;
mod made;
mod rejected;
mod restart;
mod together;

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::cluster::AuditLog;
use serde_json::{Value, json};

use crate::world::{
    RUNNABLE, Subject, TEST_OBJ, World, answered, answers, condition, name_of, text,
};

const APPROVED: &str = "carto.run/approved";

/// Longer than the API server takes to record a request that it has answered.
const RECORDED: Duration = Duration::from_secs(2);

/// Returns a template like [`answers`], whose runs need approval.
fn approved_by_hand() -> Value {
    let mut template = answers();
    template["approval"] = "Manual".into();
    template
}

/// Makes a world with this template, and a Runnable whose runs wait for approval.
async fn manual(prefix: &str, template: Value) -> Result<Subject> {
    let world = World::new(prefix).await?;
    world.template(template).await?;
    let spec = json!({ "inputs": { "foo": 1 }, "approval": "Manual" });
    world.runnable("r", spec).await
}

/// Returns true if the Runnable reports that it waits for approval.
fn waits(object: &Value) -> bool {
    condition(object, "Ready")["reason"] == "ApprovalRequired"
}

/// Waits until a run of this number waits for approval, and returns the value that approves it: nothing is
/// under way, and nothing is wrong.
async fn asked(subject: &Subject, sequence: i64) -> Result<String> {
    asked_anew(subject, sequence, "").await
}

/// Does the same as [`asked`] for a run that this value does not approve.
async fn asked_anew(subject: &Subject, sequence: i64, before: &str) -> Result<String> {
    let what = format!("run {sequence} to wait for a person");
    let object = subject.until(&what, |it| {
        let pending = &it["status"]["pending"];
        waits(it) && pending["sequence"] == sequence && pending["approval"] != before
    });
    let object = object.await?;
    for kind in ["Ready", "RunTemplateReady"] {
        let said = condition(&object, kind);
        ensure!(said["status"] == "Unknown", "{said}");
        ensure!(said["reason"] == "ApprovalRequired", "{said}");
    }
    for kind in ["Reconciling", "Stalled"] {
        ensure!(condition(&object, kind).is_null(), "{object:#}");
    }
    let pending = &object["status"]["pending"];
    ensure!(pending["reason"] == "ApprovalRequired", "{pending}");
    let approval = text(&pending["approval"]).to_owned();
    let hash = text(&pending["inputHash"]);
    let is_made = approval.starts_with(&format!("{sequence}:m1:"));
    ensure!(
        is_made || approval == format!("{sequence}:{hash}"),
        "{pending}"
    );
    Ok(approval)
}

/// Writes this into the annotation.
async fn approve(subject: &Subject, approval: &str) -> Result<()> {
    subject
        .edit(|it| it["metadata"]["annotations"][APPROVED] = approval.into())
        .await
}

/// Requests one more run.
async fn ask_again(subject: &Subject, token: &str) -> Result<()> {
    subject
        .edit(|it| it["metadata"]["annotations"]["carto.run/rerun-token"] = token.into())
        .await
}

/// Approves the run of this number once it waits, and returns it at work.
async fn begun(subject: &Subject, sequence: i64, count: usize) -> Result<Value> {
    let approval = asked(subject, sequence).await?;
    approve(subject, &approval).await?;
    let run = subject.run(count).await?;
    let is_confirmed = |it: &Value| {
        let current = &it["status"]["currentRun"];
        current["sequence"] == sequence && current["phase"] == "Created"
    };
    subject.until("to be confirmed", is_confirmed).await?;
    Ok(run)
}

/// Returns the number of requests for approval.
async fn requests(subject: &Subject) -> Result<usize> {
    let events = subject.events().await?;
    let asks = events
        .iter()
        .filter(|it| it["reason"] == "ApprovalRequested");
    Ok(asks.count())
}

#[tokio::test]
async fn a_run_waits_for_a_yes_and_begins_with_exactly_it() -> Result<()> {
    let subject = manual("asks", answers()).await?;
    let approval = asked(&subject, 1).await?;
    let object = subject.object().await?;
    let pending = &object["status"]["pending"];
    assert_eq!(pending["dryRun"], "accepted");
    ensure!(text(&pending["inputHash"]).starts_with("v1:"), "{pending}");
    ensure!(text(&pending["since"]).starts_with("20"), "{pending}");
    assert_eq!(
        object["status"]["currentRun"],
        Value::Null,
        "nothing is intended"
    );
    let told = "run 1 needs approval; to do: `cartouche approve r -n ";
    subject
        .says("Ready", "Unknown", "ApprovalRequired", told)
        .await?;
    subject.event("Normal", "ApprovalRequested", told).await?;
    subject.stays_at(0).await?;
    approve(&subject, &approval).await?;
    let run = subject.run(1).await?;
    let hash = text(&run["metadata"]["annotations"]["carto.run/input-hash"]);
    assert_eq!(approval, format!("1:{hash}"));
    assert_eq!(run["metadata"]["annotations"][APPROVED], Value::Null);
    subject.answer(1, json!("done")).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"]["pending"], Value::Null);
    assert_eq!(requests(&subject).await?, 1, "it is asked once");
    subject.stays_at(1).await
}

/// Counts the requests of accounts in the world so far: status writes, dry runs of creates, other creates,
/// and lists.
fn done(audit: &AuditLog, world: &World) -> Result<[usize; 4]> {
    let events = audit.in_namespace(&world.namespace)?;
    let count = |verb: &str, resource: &str, only_tried: bool| {
        let own = events.iter().filter(|event| event.is_of_an_account());
        let alike = own.filter(|event| event.verb == verb && event.resource() == resource);
        let tried = alike.filter(|event| event.request_uri.contains("dryRun=") == only_tried);
        tried.count()
    };
    let runs = TEST_OBJ.audited();
    Ok([
        count("update", "runnables.carto.run/status", false),
        count("create", &runs, true),
        count("create", &runs, false),
        count("list", &runs, false),
    ])
}

/// Makes the controller reconcile the Runnable again, though nothing has changed.
async fn look_again(subject: &Subject, times: usize) -> Result<()> {
    for time in 0..times {
        subject
            .edit(|it| it["metadata"]["labels"]["looked"] = format!("{time}").into())
            .await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    Ok(())
}

#[tokio::test]
async fn while_it_waits_little_is_written_and_nothing_is_made() -> Result<()> {
    let world = World::new("quiet").await?;
    world.template(answers()).await?;
    world.allow("runner", &[]).await?;
    let audit = world.cluster.audit()?;
    let spec = json!({
        "inputs": { "foo": 1 }, "approval": "Manual", "serviceAccountName": "runner",
    });
    let subject = world.runnable("r", spec).await?;
    asked(&subject, 1).await?;
    look_again(&subject, 3).await?;
    tokio::time::sleep(RECORDED).await;
    let [_, tried, made, listed] = done(&audit, &world)?;
    assert_eq!((tried, made, listed), (1, 0, 0), "of the first run");
    for event in audit.in_namespace(&world.namespace)? {
        if event.verb == "create" && event.resource() == TEST_OBJ.audited() {
            let user = format!("system:serviceaccount:{}:runner", world.namespace);
            assert_eq!(event.acting_as(), user);
        }
    }
    begun(&subject, 1, 1).await?;
    subject.answer(1, json!("first")).await?;
    // On a new control plane the watch of the kind may begin after its first run.
    let is_quiet = |it: &Value| {
        let is_ready = condition(it, "Ready")["status"] == "True";
        is_ready && condition(it, "WatchUnavailable")["status"] != "True"
    };
    subject.until("to be at rest", is_quiet).await?;
    tokio::time::sleep(RECORDED).await;
    let before = done(&audit, &world)?;
    subject.input("foo", 2).await?;
    asked(&subject, 2).await?;
    look_again(&subject, 6).await?;
    subject.stays_at(1).await?;
    tokio::time::sleep(RECORDED).await;
    let [written, tried, made, listed] = done(&audit, &world)?;
    assert_eq!(written, before[0] + 1, "it is written once that it waits");
    assert_eq!(tried, before[1] + 1, "the server is asked once");
    assert_eq!((made, listed), (before[2], before[3]));
    assert_eq!(requests(&subject).await?, 2);
    Ok(())
}

#[tokio::test]
async fn what_changes_after_the_yes_is_asked_for_anew() -> Result<()> {
    let subject = manual("anew", answers()).await?;
    let first = asked(&subject, 1).await?;
    // Both at once, so that the controller never sees one without the other.
    subject
        .edit(|it| {
            it["metadata"]["annotations"][APPROVED] = first.clone().into();
            it["spec"]["inputs"]["foo"] = 2.into();
        })
        .await?;
    let second = asked_anew(&subject, 1, &first).await?;
    let told = format!("the annotation {APPROVED} is for another document");
    subject
        .says("Ready", "Unknown", "ApprovalRequired", &told)
        .await?;
    subject.event("Normal", "ApprovalRequested", &told).await?;
    assert_eq!(requests(&subject).await?, 2);
    subject.stays_at(0).await?;
    approve(&subject, &second).await?;
    assert_eq!(subject.run(1).await?["spec"]["foo"], 2);
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_rerun_needs_a_yes_of_its_own() -> Result<()> {
    let subject = manual("rerun", answers()).await?;
    begun(&subject, 1, 1).await?;
    subject.answer(1, json!("first")).await?;
    subject.ready("True").await?;
    ask_again(&subject, "again").await?;
    let second = asked(&subject, 2).await?;
    let told = format!("the annotation {APPROVED} is for run 1");
    subject
        .says("Ready", "Unknown", "ApprovalRequired", &told)
        .await?;
    subject.stays_at(1).await?;
    subject.outputs(json!({ "answer": "first" })).await?;
    approve(&subject, &second).await?;
    let run = subject.run(2).await?;
    assert_eq!(
        run["metadata"]["annotations"]["carto.run/rerun-token"],
        "again"
    );
    subject.stays_at(2).await
}

#[tokio::test]
async fn what_somebody_deletes_unfinished_is_made_again_without_another_yes() -> Result<()> {
    let subject = manual("deleted", answers()).await?;
    let first = begun(&subject, 1, 1).await?;
    subject.world.delete(TEST_OBJ, name_of(&first)).await?;
    let is_second = |it: &Value| it["status"]["currentRun"]["sequence"] == 2;
    subject
        .until("a second run, without a yes", is_second)
        .await?;
    let second = subject.run(1).await?;
    assert_eq!(second["metadata"]["labels"]["carto.run/run-sequence"], "2");
    subject.world.play(&second, answered("again")).await?;
    subject.ready("True").await?;
    assert_eq!(requests(&subject).await?, 1);
    Ok(())
}

#[tokio::test]
async fn who_asks_for_approvals_later_is_asked_for_nothing_that_has_run() -> Result<()> {
    let (world, subject) = World::with("later", answers()).await?;
    subject.answer(1, json!("first")).await?;
    subject.ready("True").await?;
    subject
        .edit(|it| it["spec"]["approval"] = "Manual".into())
        .await?;
    world.template(approved_by_hand()).await?;
    subject.stays_at(1).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"]["pending"], Value::Null);
    assert_eq!(requests(&subject).await?, 0);
    // The next one waits.
    subject.input("foo", 2).await?;
    asked(&subject, 2).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_run_at_work_goes_on_when_approvals_are_asked_for() -> Result<()> {
    let (_, subject) = World::with("atwork", answers()).await?;
    subject.run(1).await?;
    subject
        .edit(|it| it["spec"]["approval"] = "Manual".into())
        .await?;
    subject
        .says("Ready", "Unknown", "RunInProgress", "")
        .await?;
    subject.answer(1, json!("first")).await?;
    subject.ready("True").await?;
    assert_eq!(requests(&subject).await?, 0);
    subject.stays_at(1).await
}

#[tokio::test]
async fn taking_the_wish_for_approvals_away_begins_the_run() -> Result<()> {
    let subject = manual("freed", answers()).await?;
    asked(&subject, 1).await?;
    subject
        .edit(|it| it["spec"]["approval"] = "Automatic".into())
        .await?;
    subject.answer(1, json!("first")).await?;
    // The same holds for a template.
    let world = &subject.world;
    world.template(approved_by_hand()).await?;
    subject.input("foo", 2).await?;
    asked(&subject, 2).await?;
    subject.stays_at(1).await?;
    world.template(answers()).await?;
    assert_eq!(subject.run(2).await?["spec"]["foo"], 2);
    Ok(())
}

#[tokio::test]
async fn one_that_wants_a_person_is_enough() -> Result<()> {
    let world = World::new("merged").await?;
    world.template(approved_by_hand()).await?;
    let spec = json!({ "inputs": { "foo": 1 }, "approval": "Automatic" });
    let by_template = world.runnable("by-template", spec).await?;
    asked(&by_template, 1).await?;
    by_template.stays_at(0).await?;
    let mut automatic = answers();
    automatic["approval"] = "Automatic".into();
    let template = world.another_template("automatic", automatic).await?;
    let spec = json!({
        "inputs": { "foo": 1 }, "approval": "Manual", "runTemplateRef": { "name": template },
    });
    let by_itself = world.runnable("by-itself", spec).await?;
    asked(&by_itself, 1).await?;
    by_itself.stays_at(0).await
}

/// The list shows the waiting run and what it waits for.
#[tokio::test]
async fn kubectl_shows_what_a_run_waits_for() -> Result<()> {
    let subject = manual("shown", answers()).await?;
    asked(&subject, 1).await?;
    let get = ["-n", &subject.world.namespace, "get", "run", "-o", "wide"];
    let shown = subject.world.cluster.kubectl(&get).await?;
    let said = shown.matches("ApprovalRequired").count();
    ensure!(
        said == 2,
        "as the reason, and as what is waited for: {shown}"
    );
    ensure!(subject.world.get(RUNNABLE, "r").await?["status"]["currentRun"].is_null());
    Ok(())
}
