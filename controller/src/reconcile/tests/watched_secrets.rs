//! Tests of the Secrets that are watched for a Runnable.

use std::sync::Arc;

use cartouche_crds::Runnable;
use cartouche_protocol::{
    references::{SourceKind, SourceObject},
    sourced_inputs::SourceRead,
};
use http::StatusCode;
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use super::super::{ControllerContext, reconciliation::Reconciliation};
use super::{API_VERSION, ctx, key, runnable, serving};
use crate::{
    clock::{boot_time, moment},
    lock::lock,
};

/// A Runnable whose inputs come from these Secrets, and from a `ConfigMap`.
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

/// Returns the watched Secrets of the Runnable, each with its account.
fn watched(ctx: &ControllerContext) -> Vec<String> {
    let wanted = ctx.secrets.list_found(&key()).into_iter();
    wanted
        .map(|it| format!("{} as {}", it.name, it.account))
        .collect()
}

fn begin(ctx: &ControllerContext, runnable: Runnable) -> Box<Reconciliation<'_>> {
    Reconciliation::begin(ctx, Arc::new(runnable), moment()).unwrap()
}

fn object(name: &str) -> SourceObject {
    SourceObject::in_own_namespace(SourceKind::Secret, name)
}

/// Simulates that a reconciliation has found these Secrets.
fn find(ctx: &ControllerContext, runnable: Runnable, names: &[&str]) {
    let begun = begin(ctx, runnable);
    for name in names {
        let read = SourceRead::secret(&json!({ "uid": "uid" }), std::iter::empty());
        begun.watch_found(&object(name), &read);
    }
}

async fn look(ctx: &ControllerContext, runnable: Runnable) {
    let _ = Box::pin(ctx.reconcile(Arc::new(runnable), moment())).await;
}

#[tokio::test]
async fn secrets_that_are_found_are_watched_as_the_account_while_inputs_come_from_them() {
    let ctx = serving(|_| (StatusCode::NOT_FOUND, Value::Null));
    look(&ctx, reader("one", &["db"])).await;
    find(&ctx, reader("one", &["db"]), &["db"]);
    assert!(watched(&ctx).is_empty(), "the account is not there");
    account(&ctx, "one");
    account(&ctx, "two");
    let of_one = || reader("one", &["db", "other", "no/name"]);
    look(&ctx, of_one()).await;
    begin(&ctx, of_one()).watch_found(&object("db"), &SourceRead::Absent);
    assert!(watched(&ctx).is_empty(), "no read has found them");
    find(&ctx, of_one(), &["db", "other"]);
    assert_eq!(watched(&ctx), ["db as one", "other as one"]);
    look(&ctx, reader("two", &["db"])).await;
    assert!(watched(&ctx).is_empty(), "not as this account");
    find(&ctx, reader("two", &["db"]), &["db"]);
    assert_eq!(watched(&ctx), ["db as two"]);
    look(&ctx, reader("two", &[])).await;
    assert!(watched(&ctx).is_empty());
    look(&ctx, reader("two", &["db"])).await;
    find(&ctx, reader("two", &["db"]), &["db"]);
    assert_eq!(watched(&ctx), ["db as two"]);
    let mut going = reader("two", &["db"]);
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).ok();
    look(&ctx, going).await;
    assert!(watched(&ctx).is_empty());
}

#[tokio::test]
async fn a_runnable_that_goes_leaves_no_watch_of_a_secret_behind() {
    let at_rest = serving(|_| (StatusCode::NOT_FOUND, Value::Null));
    account(&at_rest, "one");
    let of_one = || reader("one", &["db"]);
    look(&at_rest, of_one()).await;
    find(&at_rest, of_one(), &["db"]);
    assert_eq!(watched(&at_rest), ["db as one"]);
    at_rest.forget(&runnable("r"));
    assert!(watched(&at_rest).is_empty());
    look(&at_rest, of_one()).await;
    find(&at_rest, of_one(), &["db"]);
    at_rest.sweep(|_| false);
    assert!(watched(&at_rest).is_empty());
    // The Runnable goes during a reconciliation that has registered the Secret and finds it afterwards.
    let busy = ctx(|ctx| ctx.forget(&runnable("r")));
    account(&busy, "one");
    look(&busy, of_one()).await;
    find(&busy, of_one(), &["db"]);
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
    let begin = |runnable: Runnable| begin(&ctx, runnable).watch_secrets();
    begin(reader("one", &["db"]));
    let object = object("db");
    let memory = ctx.memories.get_or_create(&key(), "r");
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
