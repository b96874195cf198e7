//! How often anything is written or tried, where what is rendered or read changes all the time.

use std::{future::Future, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{AuditEvent, AuditLog},
    control_plane::ControlPlane,
    controller::Controller,
};
use serde_json::{Value, json};
use tokio::{
    sync::OnceCell,
    time::{sleep, timeout},
};

use crate::world::{
    CONFIG_MAP, GUARDED_OBJ, RUNNABLE, Subject, World, condition, config_map, document, stamps,
};

/// For how long it is counted.
const COUNTED: Duration = Duration::from_secs(30);
/// Requests of two Runnables in that time. Alone they make at most one a second; the other scenarios of this cluster have them looked at
/// more often.
const FEW: usize = 60;
/// Longer than the API server takes to record a request that it has answered.
const RECORDED: Duration = Duration::from_secs(2);

/// What is asked for and written in this world meanwhile, of what is counted.
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

/// A cluster without other scenarios, whose changes have every Runnable looked at.
static APART: OnceCell<(Arc<ControlPlane>, Controller)> = OnceCell::const_new();

/// A world whose runs have all inputs, and whose Runnables may read each other.
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

/// An input that changes with each write of the Runnable that has this label.
fn version_of(label: &str) -> Value {
    json!([{ "name": "read", "objectRef": {
        "apiVersion": RUNNABLE.api_version(), "kind": RUNNABLE.name,
        "matchingLabels": { "is": label }, "path": ".metadata.resourceVersion",
        "waitFor": "Nothing",
    } }])
}

/// Two Runnables that wait, and read each other's version.
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

/// A Runnable whose run is refused, and that reads a `ConfigMap` which the template does or does not show.
async fn refused(prefix: &str, shown: &str) -> Result<(World, Subject)> {
    let world = world(prefix).await?;
    world
        .template(json!({ "template": document(GUARDED_OBJ, json!({ "shown": shown })) }))
        .await?;
    let rights = [
        GUARDED_OBJ.rights(&["list", "get"]),
        CONFIG_MAP.rights(&["get"]),
    ];
    world.allow("default", &rights).await?;
    world.put(changing(0)).await?;
    let from = json!([
        { "name": "fixed", "configMapKeyRef": { "name": "it", "key": "fixed" } },
        { "name": "count", "configMapKeyRef": { "name": "it", "key": "count" } },
    ]);
    let subject = world.runnable("r", json!({ "inputsFrom": from })).await?;
    subject
        .fails("StampedObjectRejectedByAPIServer", "guardedobjs")
        .await?;
    Ok((world, subject))
}

fn changing(count: usize) -> Value {
    let data = json!({ "fixed": "f", "count": count.to_string() });
    config_map("it", json!({}), data)
}

/// Changes the `ConfigMap` as often as that can be done, up to fifty times a second.
async fn change(world: &World) -> Result<()> {
    for count in 1.. {
        let data = json!({ "data": { "count": count.to_string() } });
        world.patch_of(CONFIG_MAP, "it", data).await?;
        sleep(Duration::from_millis(15)).await;
    }
    Ok(())
}

fn is_create(event: &AuditEvent) -> bool {
    event.verb == "create" && event.resource() == GUARDED_OBJ.audited()
}

#[tokio::test]
async fn a_refused_run_is_not_tried_again_for_what_it_is_not_made_of() -> Result<()> {
    let shown = "$(runnable.spec.inputs.fixed)$";
    let (world, subject) = refused("refused", shown).await?;
    let creates = counted(&world, change(&world), is_create).await?.len();
    assert!(creates <= 6, "{creates} creates in {COUNTED:?}");
    // A right that comes has it tried at once.
    let rights = [
        GUARDED_OBJ.rights(&["list", "get", "create"]),
        CONFIG_MAP.rights(&["get"]),
    ];
    world.allow("default", &rights).await?;
    subject.runs_of(GUARDED_OBJ, 1).await?;
    Ok(())
}

#[tokio::test]
async fn refused_runs_follow_each_other_more_and_more_slowly() -> Result<()> {
    let shown = "$(runnable.spec.inputs.count)$";
    let (world, _) = refused("refused-anew", shown).await?;
    let creates = counted(&world, change(&world), is_create).await?.len();
    assert!(creates <= 9, "{creates} creates in {COUNTED:?}");
    Ok(())
}

/// Whoever may change an account has nothing tried the more often.
#[tokio::test]
async fn an_account_that_changes_all_the_time_frees_a_refused_run_now_and_then() -> Result<()> {
    let (world, _) = refused("account", "fixed").await?;
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
