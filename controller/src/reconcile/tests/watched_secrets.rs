//! Which Secrets are watched for a Runnable.

use cartouche_crds::Runnable;
use cartouche_protocol::sourced_inputs::{SourceKind, SourceObject, SourceRead};
use http::StatusCode;
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use super::super::{ControllerContext, reconciliation::Reconciliation};
use super::{API_VERSION, ctx, key, runnable, serving};
use crate::{
    clock::{boot_time, moment},
    lock::lock,
};

/// One whose inputs come from these Secrets, and from a `ConfigMap`.
fn reader(account: &str, secrets: &[&str]) -> Runnable {
    let mut reader = runnable("r");
    let secrets = secrets.iter().map(|name| {
        json!({ "name": name.replace('/', ""), "secretKeyRef": { "name": name, "key": "pin" } })
    });
    let size = json!({ "name": "size", "configMapKeyRef": { "name": "sizes", "key": "small" } });
    let from: Vec<Value> = secrets.chain([size]).collect();
    reader.spec.inputs_from = Some(serde_json::from_value(json!(from)).unwrap());
    reader.spec.service_account_name = Some(account.to_owned());
    reader
}

fn account(ctx: &ControllerContext, name: &str) {
    ctx.accounts.put(&ObjectMeta {
        namespace: Some("ns".to_owned()),
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    });
}

/// What is watched for the Runnable, and as whom.
fn watched(ctx: &ControllerContext) -> Vec<String> {
    let wanted = ctx.secrets.wanted(&key()).into_iter();
    wanted
        .map(|it| format!("{} as {}", it.name, it.account))
        .collect()
}

async fn look(ctx: &ControllerContext, runnable: Runnable) {
    let _ = Box::pin(ctx.reconcile(runnable.into(), moment())).await;
}

#[tokio::test]
async fn secrets_are_watched_as_the_account_while_inputs_come_from_them() {
    let ctx = serving(|_| (StatusCode::NOT_FOUND, Value::Null));
    look(&ctx, reader("one", &["db"])).await;
    assert!(watched(&ctx).is_empty(), "the account is not there");
    account(&ctx, "one");
    account(&ctx, "two");
    look(&ctx, reader("one", &["db", "other", "no/name"])).await;
    assert_eq!(watched(&ctx), ["db as one", "other as one"]);
    look(&ctx, reader("two", &["db"])).await;
    assert_eq!(watched(&ctx), ["db as two"]);
    look(&ctx, reader("two", &[])).await;
    assert!(watched(&ctx).is_empty());
    look(&ctx, reader("two", &["db"])).await;
    let mut going = reader("two", &["db"]);
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).ok();
    look(&ctx, going).await;
    assert!(watched(&ctx).is_empty());
}

#[tokio::test]
async fn a_runnable_that_goes_leaves_no_watch_of_a_secret_behind() {
    let at_rest = serving(|_| (StatusCode::NOT_FOUND, Value::Null));
    account(&at_rest, "one");
    look(&at_rest, reader("one", &["db"])).await;
    at_rest.forget(&runnable("r"));
    assert!(watched(&at_rest).is_empty());
    look(&at_rest, reader("one", &["db"])).await;
    at_rest.sweep(|_| false);
    assert!(watched(&at_rest).is_empty());
    // In the middle of its reconciliation, which has them watched.
    let busy = ctx(|ctx| ctx.forget(&runnable("r")));
    account(&busy, "one");
    look(&busy, reader("one", &["db"])).await;
    assert!(
        watched(&busy).is_empty(),
        "{API_VERSION} was looked up meanwhile"
    );
}

#[tokio::test]
async fn what_another_account_read_before_a_secret_is_watched_is_not_relied_on() {
    let ctx = serving(|_| (StatusCode::NOT_FOUND, Value::Null));
    account(&ctx, "one");
    account(&ctx, "two");
    let begin = |runnable: Runnable| {
        Reconciliation::begin(&ctx, runnable.into(), moment())
            .unwrap()
            .watch_secrets();
    };
    begin(reader("one", &["db"]));
    let object = SourceObject::known(SourceKind::Secret, "db");
    let memory = ctx.memories.of(&key(), "r");
    let keep = || {
        let known = &mut lock(&memory).sources;
        known.keep(object.clone(), SourceRead::Absent, None, boot_time());
    };
    let is_known = || {
        lock(&memory)
            .sources
            .lately(&object, None, boot_time())
            .is_some()
    };
    keep();
    begin(reader("one", &["db"]));
    assert!(is_known());
    begin(reader("two", &["db"]));
    assert!(!is_known());
}
