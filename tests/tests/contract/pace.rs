//! Pace of writes and retries, where rendered or read objects change all the time.

use std::{future::Future, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{AuditEvent, AuditLog},
    control_plane::ControlPlane,
    controller::Controller,
};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::{
    sync::OnceCell,
    time::{sleep, timeout},
};

use crate::world::{
    CONFIG_MAP, GUARDED_OBJ, RUNNABLE, Subject, World, condition, config_map, document, stamps,
};

/// Duration of a count.
const COUNTED: Duration = Duration::from_secs(30);
/// Time that creates are refused: for the first three, and two more.
const REFUSED: Duration = Duration::from_secs(150);
/// Time in which the first three are made, each of which waits longer on a busy machine.
const FIRST_THREE: SignedDuration = SignedDuration::from_secs(20);
/// Time after which a granted right no longer causes a retry.
const GRANTED: Duration = Duration::from_secs(5);
/// Requests of two Runnables in that time. Alone they make at most one a second; the other scenarios of this
/// cluster wake them more often.
const FEW: usize = 60;
/// Longer than the API server takes to record a request that it has answered.
const RECORDED: Duration = Duration::from_secs(2);

/// Returns the counted requests and writes in this world meanwhile.
async fn counted(
    world: &World,
    meanwhile: impl Future<Output = Result<()>>,
    is_counted: impl Fn(&AuditEvent) -> bool,
) -> Result<Vec<String>> {
    let audit: AuditLog = world.cluster.audit()?;
    let made = || -> Result<Vec<String>> {
        let events = audit.in_namespace(&world.namespace)?;
        let counted = events.iter().filter(|event| is_counted(event));
        let shown = counted.map(|it| format!("{} {}", it.verb, it.resource()));
        Ok(shown.collect())
    };
    let before = made()?.len();
    if let Ok(ended) = timeout(COUNTED, meanwhile).await {
        ended?;
    }
    sleep(RECORDED).await;
    Ok(made()?.split_off(before))
}

/// Fails if two Runnables make more than one request a second.
async fn make_few_requests(world: &World) -> Result<()> {
    let mut made = counted(world, std::future::pending(), AuditEvent::is_of_an_account).await?;
    made.sort_unstable();
    let count = made.len();
    ensure!(count <= FEW, "{count} requests in {COUNTED:?}: {made:?}");
    Ok(())
}

fn is_status_write(event: &AuditEvent) -> bool {
    event.is_of_an_account() && event.resource() == "runnables.carto.run/status"
}

/// A cluster without other scenarios, because their changes wake every Runnable.
static APART: OnceCell<(Arc<ControlPlane>, Controller)> = OnceCell::const_new();

/// Makes a world whose runs have all inputs, and whose Runnables may read each other.
async fn world(prefix: &str) -> Result<World> {
    let world = World::apart(&APART, prefix, &["--events-per-second", "1000"]).await?;
    world
        .template(stamps(json!({ "inputs": "$(runnable.spec.inputs)$" })))
        .await?;
    let rights = [
        RUNNABLE.rights(&["get", "list"]),
        CONFIG_MAP.rights(&["get"]),
    ];
    world.allow("default", &rights).await?;
    Ok(world)
}

/// Returns an input that changes with each write of the Runnable with this label.
fn version_of(label: &str) -> Value {
    json!([{ "name": "read", "objectRef": {
        "apiVersion": RUNNABLE.api_version(), "kind": RUNNABLE.name,
        "matchingLabels": { "is": label }, "path": ".metadata.resourceVersion",
        "waitFor": "Nothing",
    } }])
}

/// Makes two Runnables that wait, and read each other's version.
async fn two_that_feed_each_other(world: &World, waits: Value, reason: &str) -> Result<()> {
    let mut subjects: Vec<Subject> = Vec::new();
    for (name, other) in [("a", "b"), ("b", "a")] {
        let mut spec = waits.clone();
        let metadata = json!({ "name": name, "labels": { "is": name } });
        spec["inputs"] = json!({ "own": 1 });
        let subject = world.runnable_with(metadata, spec).await?;
        if waits["approval"].is_null() {
            subject.run(1).await?;
        }
        subject
            .edit(|it| it["spec"]["inputsFrom"] = version_of(other))
            .await?;
        subjects.push(subject);
    }
    for subject in &subjects {
        let waits = |it: &Value| condition(it, "Ready")["reason"] == reason;
        subject.until("to wait", waits).await?;
    }
    Ok(())
}

#[tokio::test]
async fn two_that_wait_for_a_person_and_feed_each_other_make_few_requests() -> Result<()> {
    let world = world("feeds").await?;
    let waits = json!({ "approval": "Manual" });
    two_that_feed_each_other(&world, waits, "ApprovalRequired").await?;
    let quiet = std::future::pending::<Result<()>>;
    let writes = counted(&world, quiet(), is_status_write).await?.len();
    assert!(
        writes <= 10,
        "{writes} writes of two statuses in {COUNTED:?}"
    );
    make_few_requests(&world).await?;
    for name in ["a", "b"] {
        let events = world.subject(name).events().await?;
        let asks = events.iter();
        let asks = asks.filter(|it| it["reason"] == "ApprovalRequested");
        let asked = asks.count();
        assert!(asked <= 12, "a person was asked {asked} times");
    }
    Ok(())
}

#[tokio::test]
async fn two_that_wait_for_a_run_and_feed_each_other_make_few_requests() -> Result<()> {
    let world = world("feeds-at-work").await?;
    let waits = json!({ "concurrencyPolicy": "LatestOnly" });
    two_that_feed_each_other(&world, waits, "RunAtWork").await?;
    let quiet = std::future::pending::<Result<()>>;
    let writes = counted(&world, quiet(), is_status_write).await?.len();
    assert!(
        writes <= 10,
        "{writes} writes of two statuses in {COUNTED:?}"
    );
    make_few_requests(&world).await?;
    Ok(())
}

/// Makes a Runnable whose run is refused, and that reads a `ConfigMap` which the template does or does not
/// show.
async fn refused(prefix: &str, shown: &str) -> Result<(World, Subject, AuditLog)> {
    let world = world(prefix).await?;
    let audit = world.cluster.audit()?;
    world
        .template(json!({ "template": document(GUARDED_OBJ, json!({ "shown": shown })) }))
        .await?;
    let rights = [
        GUARDED_OBJ.rights(&["list", "get"]),
        CONFIG_MAP.rights(&["get"]),
    ];
    world.allow("default", &rights).await?;
    sleep(GRANTED).await;
    world.put(changing(0)).await?;
    let from = json!([
        { "name": "fixed", "configMapKeyRef": { "name": "it", "key": "fixed" } },
        { "name": "count", "configMapKeyRef": { "name": "it", "key": "count" } },
    ]);
    let spec = json!({ "inputs": { "own": "0" }, "inputsFrom": from });
    let subject = world.runnable("r", spec).await?;
    subject
        .fails("StampedObjectRejectedByAPIServer", "guardedobjs")
        .await?;
    Ok((world, subject, audit))
}

fn changing(count: usize) -> Value {
    let data = json!({ "fixed": "f", "count": count.to_string() });
    config_map("it", json!({}), data)
}

/// Changes the `ConfigMap` as often as possible, up to fifty times a second.
async fn change(world: &World) -> Result<()> {
    for count in 1.. {
        let data = json!({ "data": { "count": count.to_string() } });
        world.patch_of(CONFIG_MAP, "it", data).await?;
        sleep(Duration::from_millis(15)).await;
    }
    Ok(())
}

/// Returns the times of the creates of runs.
fn created(world: &World, audit: &AuditLog) -> Result<Vec<Timestamp>> {
    let events = audit.in_namespace(&world.namespace)?;
    let creates = events.iter().filter(|it| is_create(it));
    Ok(creates.filter_map(|it| it.received).collect())
}

fn pauses(times: &[Timestamp]) -> Vec<SignedDuration> {
    let pairs = times.windows(2);
    pairs.map(|it| it[1].duration_since(it[0])).collect()
}

fn is_create(event: &AuditEvent) -> bool {
    event.verb == "create" && event.resource() == GUARDED_OBJ.audited()
}

#[tokio::test]
async fn a_refused_run_is_not_tried_again_for_what_it_is_not_made_of() -> Result<()> {
    let shown = "$(runnable.spec.inputs.fixed)$";
    let (world, subject, audit) = refused("refused", shown).await?;
    if let Ok(ended) = timeout(COUNTED, change(&world)).await {
        ended?;
    }
    sleep(RECORDED).await;
    let pauses = pauses(&created(&world, &audit)?);
    ensure!(
        pauses.len() <= 2,
        "creates follow each other after {pauses:?}"
    );
    // A granted right causes a retry at once.
    let rights = [
        GUARDED_OBJ.rights(&["list", "get", "create"]),
        CONFIG_MAP.rights(&["get"]),
    ];
    world.allow("default", &rights).await?;
    subject.runs_of(GUARDED_OBJ, 1).await?;
    Ok(())
}

#[tokio::test]
async fn refused_runs_follow_each_other_once_a_minute_at_most() -> Result<()> {
    let shown = "$(runnable.spec.inputs.count)$ $(runnable.spec.inputs.own)$";
    let (world, subject, audit) = refused("refused-anew", shown).await?;
    if let Ok(ended) = timeout(REFUSED, change(&world)).await {
        ended?;
    }
    sleep(RECORDED).await;
    let creates = created(&world, &audit)?;
    let pauses = pauses(&creates);
    ensure!(creates.len() >= 4, "{pauses:?}");
    let early = creates[0] + FIRST_THREE;
    let early = creates.iter().filter(|at| **at < early).count();
    ensure!(early <= 3, "{early} creates in {FIRST_THREE:?}: {pauses:?}");
    let minute = SignedDuration::from_mins(1);
    let is_apart = pauses[2..].iter().all(|pause| *pause >= minute);
    ensure!(is_apart, "{pauses:?}");
    // An edit by a user does not wait for any of that. It changes the rendered object, because the last
    // change of the `ConfigMap` may have been rendered already.
    let number = |it: &Value| it["status"]["currentRun"]["sequence"].as_i64();
    let before = number(&subject.object().await?);
    let edited = json!({ "spec": { "inputs": { "own": "1" } } });
    world.patch_of(RUNNABLE, "r", edited).await?;
    subject
        .until("another number", |it| number(it) > before)
        .await?;
    Ok(())
}

/// Makes Runnables that wait for approval, an earlier run, a pause and a source, at every other change of a
/// `ConfigMap`, and do not wait at the others.
async fn that_wait_and_do_not(world: &World) -> Result<Vec<&'static str>> {
    let from =
        |key: &str| json!([{ "name": key, "configMapKeyRef": { "name": "it", "key": key } }]);
    world.put(turned(0)).await?;
    let all = [
        ("approval", "count", json!({ "approval": "Manual" })),
        (
            "overlap",
            "count",
            json!({ "concurrencyPolicy": "LatestOnly" }),
        ),
        ("pause", "count", json!({ "start": { "debounce": "3s" } })),
        ("source", "now-and-then", json!({})),
    ];
    let mut names = Vec::new();
    for (name, key, waits) in all {
        let plain = json!({ "inputsFrom": from(key) });
        let subject = world.runnable(name, plain).await?;
        subject.run(1).await?;
        subject
            .edit(|it| {
                for (field, value) in waits.as_object().into_iter().flatten() {
                    it["spec"][field] = value.clone();
                }
            })
            .await?;
        names.push(name);
    }
    Ok(names)
}

fn turned(count: usize) -> Value {
    let turn = count % 2;
    let mut data = json!({ "count": turn.to_string(), "now-and-then": "x" });
    if turn == 1 {
        data["now-and-then"] = Value::Null;
    }
    config_map("it", json!({}), data)
}

#[tokio::test]
async fn what_waits_is_written_once_in_ten_seconds_however_often_its_inputs_change() -> Result<()> {
    let world = world("turns").await?;
    let names = that_wait_and_do_not(&world).await?;
    let turn = async {
        for count in 1.. {
            world.patch_of(CONFIG_MAP, "it", turned(count)).await?;
            sleep(Duration::from_millis(15)).await;
        }
        anyhow::Ok(())
    };
    let audit = world.cluster.audit()?;
    if let Ok(ended) = timeout(COUNTED, turn).await {
        ended?;
    }
    sleep(RECORDED).await;
    let events = audit.in_namespace(&world.namespace)?;
    for name in names {
        let own = events.iter().filter(|it| it.name() == name);
        let own = own.filter(|it| is_status_write(it));
        let own: Vec<Timestamp> = own.filter_map(|it| it.received).collect();
        let pauses = pauses(&own);
        // The observation of the edit may have been written after the last turn began.
        let soon = pauses.iter().filter(|it| it.as_secs_f64() < 9.5).count();
        ensure!(soon <= 1 && own.len() <= 5, "{name}: {pauses:?}");
        ensure!(own.len() >= 2, "{name}: {pauses:?}");
    }
    Ok(())
}

/// Changes of an account do not cause more retries.
#[tokio::test]
async fn an_account_that_changes_all_the_time_frees_a_refused_run_now_and_then() -> Result<()> {
    let (world, _, _) = refused("account", "fixed").await?;
    let change = async {
        for count in 1.. {
            let changed = json!({ "metadata": { "annotations": { "count": count.to_string() } } });
            let account = json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": { "name": "default", "namespace": world.namespace },
            });
            world.patch_object(&account, changed).await?;
            sleep(Duration::from_millis(15)).await;
        }
        Ok(())
    };
    let creates = counted(&world, change, is_create).await?.len();
    assert!(creates <= 12, "{creates} creates in {COUNTED:?}");
    Ok(())
}
