//! Time until a change of a Secret is seen that an input comes from.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{AuditEvent, AuditLog, Seen},
    control_plane::ControlPlane,
    controller::Controller,
    repository,
};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::world::{RUNNABLE, SECONDS, SECRET, Subject, World, specless, stamps};

/// Without an event, a change is not seen during a test.
const SELDOM: [&str; 2] = ["--poll-seconds", "3600"];

/// A value, in plain text and as a Secret has it.
const PLANTED: [&str; 2] = ["planted-7731", "cGxhbnRlZC03NzMx"];

static SLOW: OnceCell<(Arc<ControlPlane>, Controller)> = OnceCell::const_new();
static FULL: OnceCell<(Arc<ControlPlane>, Controller)> = OnceCell::const_new();
static TOKENS: OnceCell<(Arc<ControlPlane>, Controller)> = OnceCell::const_new();

async fn slow(prefix: &str) -> Result<World> {
    ready(World::apart(&SLOW, prefix, &SELDOM).await?).await
}

/// Writes a template that shows its inputs in the run.
async fn ready(world: World) -> Result<World> {
    let shown = stamps(json!({ "inputs": "$(runnable.spec.inputs)$" }));
    world.template(shown).await?;
    Ok(world)
}

/// Gives an account these rights on the Secrets of these names, and on no other.
async fn allow(world: &World, account: &str, names: &[&str], verbs: &[&str]) -> Result<()> {
    let namespace = &world.namespace;
    let group = "rbac.authorization.k8s.io";
    let role = format!("secrets-of-{account}");
    let items = json!([
        { "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": account, "namespace": namespace } },
        {
            "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": { "name": role, "namespace": namespace },
            "rules": [{ "apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": verbs }],
        },
        {
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": { "name": role, "namespace": namespace },
            "roleRef": { "apiGroup": group, "kind": "Role", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": namespace }],
        },
    ]);
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    let apply = ["apply", "-f", "-"];
    world
        .cluster
        .kubectl_with_input(&apply, &list.to_string())
        .await
        .map(drop)
}

async fn pin(world: &World, name: &str, value: &str) -> Result<()> {
    let mut secret = specless(SECRET, "stringData", json!({ "pin": value }));
    secret["metadata"] = json!({ "name": name });
    world.put(secret).await.map(drop)
}

async fn reader(world: &World, runnable: &str, account: &str, secret: &str) -> Result<Subject> {
    let from = json!([{ "name": "pin", "secretKeyRef": { "name": secret, "key": "pin" } }]);
    let spec = json!({ "serviceAccountName": account, "inputsFrom": from });
    world.runnable(runnable, spec).await
}

/// Returns the answers to the watches of Secrets that were begun as an account of the world.
fn watches(audit: &AuditLog, world: &World, account: &str) -> Result<Vec<u16>> {
    let user = format!("system:serviceaccount:{}:{account}", world.namespace);
    let events = audit.in_namespace(&world.namespace)?;
    let own = events.iter().filter(|event| {
        event.verb == "watch" && event.resource() == SECRET.audited() && event.acting_as() == user
    });
    Ok(own.map(AuditEvent::code).collect())
}

/// Returns the number of reads of this Secret of the world by accounts so far.
fn reads(audit: &AuditLog, world: &World, name: &str) -> Result<usize> {
    let events = audit.in_namespace(&world.namespace)?;
    let of_secret = events.iter().filter(|event| {
        event.verb == "get" && event.resource() == SECRET.audited() && event.name() == name
    });
    Ok(of_secret.filter(|event| event.is_of_an_account()).count())
}

/// Waits until every request so far is in the audit log.
async fn recorded() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

/// Waits until this many Secrets of the cluster are watched in this way.
async fn counted(world: &World, state: &str, count: usize) -> Result<()> {
    let line = format!("cartouche_watched_secrets{{state=\"{state}\"}} {count}\n");
    let counting = world.eventually(&line, || async {
        let metrics = world.controller.get("/metrics").await?;
        Ok(if metrics.contains(&line) {
            Seen::Done(())
        } else {
            let lines = metrics.lines();
            let shown = lines.filter(|it| it.starts_with("cartouche_watched_secrets"));
            Seen::NotYet(shown.collect::<Vec<_>>().join("; "))
        })
    });
    counting.await
}

#[tokio::test]
async fn a_change_of_a_secret_runs_at_once_where_the_account_may_watch_that_one() -> Result<()> {
    let world = slow("heard").await?;
    allow(&world, "reader", &["db"], &["get", "watch"]).await?;
    pin(&world, "db", "1").await?;
    let subject = reader(&world, "r", "reader", "db").await?;
    subject.run(1).await?;
    for count in 2..=4 {
        let begin = Instant::now();
        pin(&world, "db", &count.to_string()).await?;
        subject.run(count).await?;
        assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    }
    // The value has not changed.
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    world.patch_of(SECRET, "db", labels).await?;
    subject.stays_at(4).await?;
    world.delete(SECRET, "db").await?;
    let gone = "Secret db, which is not there";
    subject
        .says("Ready", "Unknown", "DependencyNotReady", gone)
        .await?;
    pin(&world, "db", "4").await?;
    subject.run(5).await?;
    subject.stays_at(5).await
}

#[tokio::test]
async fn without_the_right_to_watch_it_is_polled_until_that_is_granted() -> Result<()> {
    let world = slow("granted").await?;
    let audit = world.cluster.audit()?;
    allow(&world, "reader", &["db"], &["get"]).await?;
    pin(&world, "db", "1").await?;
    let subject = reader(&world, "r", "reader", "db").await?;
    subject.run(1).await?;
    // Long enough for all consequences of the account's change.
    tokio::time::sleep(Duration::from_secs(5)).await;
    pin(&world, "db", "2").await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    subject.stays_at(1).await?;
    recorded().await;
    let refused = watches(&audit, &world, "reader")?;
    ensure!(refused.iter().all(|code| *code == 403), "{refused:?}");
    ensure!((1..=5).contains(&refused.len()), "{refused:?}");
    allow(&world, "reader", &["db"], &["get", "watch"]).await?;
    subject.run(2).await?;
    pin(&world, "db", "3").await?;
    subject.run(3).await?;
    subject.stays_at(3).await
}

#[tokio::test]
async fn many_runnables_of_one_secret_have_one_watch_and_each_hears_of_a_change() -> Result<()> {
    let world = slow("shared").await?;
    let audit = world.cluster.audit()?;
    for account in ["one", "two"] {
        allow(&world, account, &["db"], &["get", "watch"]).await?;
    }
    pin(&world, "db", "1").await?;
    let mut subjects = Vec::new();
    for number in 0..6 {
        let account = if number < 5 { "one" } else { "two" };
        let name = format!("r{number}");
        subjects.push(reader(&world, &name, account, "db").await?);
    }
    for subject in &subjects {
        subject.run(1).await?;
    }
    recorded().await;
    let before = reads(&audit, &world, "db")?;
    pin(&world, "db", "2").await?;
    for subject in &subjects {
        subject.run(2).await?;
        subject.stays_at(2).await?;
    }
    recorded().await;
    let read = reads(&audit, &world, "db")? - before;
    assert_eq!(read, 6, "each once for the event");
    for account in ["one", "two"] {
        assert_eq!(watches(&audit, &world, account)?, [200], "{account}");
    }
    let events = audit.in_namespace(&world.namespace)?;
    let of_the_controller = |event: &&AuditEvent| {
        event.resource() == SECRET.audited() && event.acting_as() == Controller::account().user()
    };
    ensure!(!events.iter().any(|event| of_the_controller(&event)));
    Ok(())
}

#[tokio::test]
async fn beyond_the_cap_secrets_are_polled_until_a_place_is_free() -> Result<()> {
    let arguments = ["--poll-seconds", "2", "--max-watched-objects", "1"];
    let world = ready(World::apart(&FULL, "full", &arguments).await?).await?;
    let audit = world.cluster.audit()?;
    allow(&world, "reader", &["db", "other"], &["get", "watch"]).await?;
    for secret in ["db", "other"] {
        pin(&world, secret, "1").await?;
    }
    let first = reader(&world, "first", "reader", "db").await?;
    first.run(1).await?;
    counted(&world, "Watched", 1).await?;
    let second = reader(&world, "second", "reader", "other").await?;
    second.run(1).await?;
    counted(&world, "Full", 1).await?;
    recorded().await;
    let (of_watched, of_polled) = (
        reads(&audit, &world, "db")?,
        reads(&audit, &world, "other")?,
    );
    tokio::time::sleep(Duration::from_secs(7)).await;
    recorded().await;
    assert_eq!(reads(&audit, &world, "db")?, of_watched, "it is watched");
    let polled = reads(&audit, &world, "other")? - of_polled;
    assert!((2..=6).contains(&polled), "{polled}");
    pin(&world, "other", "2").await?;
    second.run(2).await?;
    world.delete(RUNNABLE, "first").await?;
    counted(&world, "Full", 0).await?;
    counted(&world, "Watched", 1).await?;
    pin(&world, "other", "3").await?;
    second.run(3).await?;
    // No Runnable needs it any more.
    second
        .edit(|object| object["spec"]["inputsFrom"] = json!([]))
        .await?;
    counted(&world, "Watched", 0).await
}

#[tokio::test]
async fn with_tokens_too_and_nothing_is_logged_and_an_account_that_is_made_anew_hears_again()
-> Result<()> {
    let arguments = [
        "--identity",
        "token",
        "--poll-seconds",
        "3600",
        "--log",
        "trace",
    ];
    let world = World::apart(&TOKENS, "tokens", &arguments).await?;
    let overlay = repository().join("config/overlays/tokens");
    world.cluster.apply_kustomization(&overlay).await?;
    let world = ready(world).await?;
    allow(&world, "reader", &["db"], &["get", "watch"]).await?;
    pin(&world, "db", "1").await?;
    let subject = reader(&world, "r", "reader", "db").await?;
    subject.run(1).await?;
    counted(&world, "Watched", 1).await?;
    let mut applied = specless(SECRET, "stringData", json!({ "pin": PLANTED[0] }));
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    applied["metadata"] = json!({ "name": "db", "annotations": { annotation: PLANTED[0] } });
    world.put(applied).await?;
    subject.run(2).await?;
    let log = std::fs::read_to_string(world.controller.log_file())?;
    ensure!(log.contains("fieldSelector=metadata.name%3Ddb"));
    ensure!(!PLANTED.iter().any(|value| log.contains(value)));
    let account = ["-n", &world.namespace, "delete", "serviceaccount", "reader"];
    world.cluster.kubectl(&account).await?;
    subject
        .fails("ServiceAccountTokenError", "no ServiceAccount")
        .await?;
    counted(&world, "Watched", 0).await?;
    allow(&world, "reader", &["db"], &["get", "watch"]).await?;
    counted(&world, "Watched", 1).await?;
    pin(&world, "db", "3").await?;
    subject.run(3).await?;
    subject.stays_at(3).await
}
