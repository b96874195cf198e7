//! Tests of inputs from other objects, and of what is remembered of them.

use std::{
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cartouche_crds::Runnable;
use cartouche_protocol::{
    references::{SourceKind, SourceObject},
    sourced_inputs::SourceRead,
    trace::Sources,
};
use http::StatusCode;
use serde_json::{Value, json};

use super::super::{
    ControllerContext,
    reconciliation::{End, Reconciliation},
};
use super::{key, runnable, serving};
use crate::{
    clock::{asleep::sleep, boot_time, moment},
    lock::lock,
    watched_kind::Watched,
};

/// A controller whose API server gives these answers about the `ConfigMap`, with the number of requests for it.
fn answering(
    answer: impl Fn(usize) -> (StatusCode, Value) + Send + 'static,
) -> (Arc<ControllerContext>, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let ctx = serving(move |request| {
        if !request.uri().path().ends_with("/configmaps/sizes") {
            return (StatusCode::NOT_FOUND, Value::Null);
        }
        answer(counted.fetch_add(1, Ordering::SeqCst) + 1)
    });
    (ctx, asked)
}

fn sizes(value: &str) -> (StatusCode, Value) {
    let object = json!({ "metadata": { "uid": "sizes-1" }, "data": { "small": value } });
    (StatusCode::OK, object)
}

fn absent() -> (StatusCode, Value) {
    let said = json!({
        "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "configmaps \"sizes\" not found",
    });
    (StatusCode::NOT_FOUND, said)
}

fn sourced_runnable() -> Runnable {
    let mut sourced = runnable("r");
    let from = json!([{ "name": "size", "configMapKeyRef": { "name": "sizes", "key": "small" } }]);
    sourced.spec.inputs_from = Some(serde_json::from_value(from).unwrap());
    sourced
}

fn begin(ctx: &ControllerContext, runnable: Runnable) -> Box<Reconciliation<'_>> {
    Reconciliation::begin(ctx, Arc::new(runnable), moment()).unwrap()
}

/// Returns the value of the input, or the error message.
async fn read(ctx: &ControllerContext, consistent: bool) -> Result<Value, String> {
    let mut begun = begin(ctx, sourced_runnable());
    let account = ctx.identity.own();
    let sourced = begun.read_inputs(account, consistent).await;
    let sourced = sourced.map_err(|error| error.message)?;
    Ok(sourced["size"].value.clone())
}

fn kept(ctx: &ControllerContext) -> Option<Arc<Value>> {
    let object = SourceObject::in_own_namespace(SourceKind::ConfigMap, "sizes");
    let memory = ctx.memories.get_or_create(&key(), "r");
    let known = lock(&memory).sources.lately(&object, None, boot_time());
    match known? {
        SourceRead::ConfigMap(value) => Some(value),
        _ => None,
    }
}

#[tokio::test]
async fn what_was_read_is_relied_on_for_a_while_and_not_before_a_run() {
    let (ctx, asked) = answering(|time| sizes(&time.to_string()));
    assert_eq!(read(&ctx, false).await, Ok(json!("1")));
    assert_eq!(read(&ctx, false).await, Ok(json!("1")));
    assert_eq!(read(&ctx, true).await, Ok(json!("2")));
    assert_eq!(read(&ctx, false).await, Ok(json!("2")));
    sleep(30);
    assert_eq!(read(&ctx, false).await, Ok(json!("3")));
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn what_changes_while_it_is_read_is_read_again() {
    let known = Arc::new(Mutex::new(Weak::<ControllerContext>::new()));
    let changed = known.clone();
    let (ctx, _) = answering(move |time| {
        if let (1, Some(ctx)) = (time, changed.lock().unwrap().upgrade()) {
            let memory = ctx.memories.get_or_create(&key(), "r");
            lock(&memory).sources_changed(|object| object.name == "sizes");
        }
        sizes(&time.to_string())
    });
    *known.lock().unwrap() = Arc::downgrade(&ctx);
    assert_eq!(read(&ctx, false).await, Ok(json!("1")));
    assert_eq!(read(&ctx, false).await, Ok(json!("2")));
    assert_eq!(read(&ctx, false).await, Ok(json!("2")));
}

#[tokio::test]
async fn what_finds_no_place_is_read_each_time() {
    let (ctx, asked) = answering(|_| sizes("s"));
    let large = json!({ "metadata": { "uid": "large" }, "data": "x".repeat(32 << 20) });
    let full = ctx.picked.keep(&Arc::new(large));
    assert!(full.is_none(), "it is larger than all that is kept");
    let almost = json!({ "metadata": { "uid": "almost" }, "data": "x".repeat((32 << 20) - 2048) });
    let full = ctx.picked.keep(&Arc::new(almost));
    assert!(full.is_some());
    for _ in 0..2 {
        assert_eq!(read(&ctx, false).await, Ok(json!("s")));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_same_value_is_kept_once() {
    let (ctx, _) = answering(|_| sizes("s"));
    read(&ctx, false).await.unwrap();
    let first = kept(&ctx).unwrap();
    read(&ctx, true).await.unwrap();
    assert!(Arc::ptr_eq(&first, &kept(&ctx).unwrap()));
}

#[tokio::test]
async fn what_changes_of_ancestors_while_it_is_decided_by_them_counts() {
    let (ctx, _) = answering(|_| sizes("s"));
    let decided = || {
        lock(&ctx.memories.get_or_create(&key(), "r"))
            .telling
            .is_of_ancestors()
    };
    assert!(!decided());
    read(&ctx, false).await.unwrap();
    assert!(decided());
    begin(&ctx, sourced_runnable()).finish(End::Settled).await;
    assert!(!decided());
}

#[tokio::test]
async fn what_was_put_off_and_is_not_decided_again_is_not_looked_at_without_a_pause() {
    let (ctx, _) = answering(|_| sizes("s"));
    let memory = ctx.memories.get_or_create(&key(), "r");
    let moved = Sources::NOTHING;
    lock(&memory).telling.moved_on(&moved, boot_time());
    assert!(lock(&memory).telling.puts_off(&moved, boot_time()));
    sleep(20);
    // For example, the inputs from other objects are gone.
    let begun = begin(&ctx, runnable("r"));
    let again = begun.finish(End::Settled).await;
    assert!(
        again.is_none_or(|wait| wait > Duration::from_secs(1)),
        "{again:?}"
    );
}

#[tokio::test]
async fn only_the_api_server_says_that_something_is_not_there() {
    let (ctx, _) = answering(|_| absent());
    let said = read(&ctx, false).await.unwrap_err();
    assert!(
        said.contains("ConfigMap sizes, which is not there"),
        "{said}"
    );
    let (ctx, _) = answering(|_| (StatusCode::NOT_FOUND, "404 page not found".into()));
    let said = read(&ctx, false).await.unwrap_err();
    assert!(!said.contains("not there"), "{said}");
}

#[tokio::test]
async fn what_gave_no_input_is_looked_at_again_though_nobody_tells_of_a_change() {
    let (ctx, _) = answering(|time| if time == 1 { absent() } else { sizes("s") });
    let begun = begin(&ctx, sourced_runnable());
    assert_eq!(begun.pause_of_watched_sources(), None);
    read(&ctx, false).await.unwrap_err();
    let pause = begun.pause_of_watched_sources().unwrap();
    assert!(begun.sources_again().unwrap() > pause, "{pause:?}");
    sleep(pause.as_secs());
    assert_eq!(read(&ctx, false).await, Ok(json!("s")));
    assert_eq!(begun.pause_of_watched_sources(), None);
    assert_eq!(begun.sources_again(), None);
}

#[tokio::test]
async fn inputs_that_go_and_come_back_are_watched_again() {
    let (ctx, _) = answering(|_| sizes("s"));
    read(&ctx, false).await.unwrap();
    let watched = Watched::config_maps();
    assert_eq!(ctx.selections.list_selecting(&watched), [key()]);
    let mut begun = begin(&ctx, sourced_runnable());
    begun.observe_watches().await;
    // Nothing is read, for example because the template does not exist.
    let mut without = begin(&ctx, runnable("r"));
    without.observe_watches().await;
    assert!(ctx.selections.list_selecting(&watched).is_empty());
    read(&ctx, false).await.unwrap();
    assert_eq!(ctx.selections.list_selecting(&watched), [key()]);
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_any_more_is_not_asked_for_without_a_pause() {
    let ctx = serving(|request| {
        if !request.uri().path().ends_with("/secrets/db") {
            return (StatusCode::NOT_FOUND, Value::Null);
        }
        let secret = json!({ "metadata": { "uid": "db-1" }, "data": { "pin": "MTIzNA==" } });
        (StatusCode::OK, secret)
    });
    let mut of_secret = runnable("r");
    let from = json!([{ "name": "pin", "secretKeyRef": { "name": "db", "key": "pin" } }]);
    of_secret.spec.inputs_from = Some(serde_json::from_value(from).unwrap());
    let mut begun = begin(&ctx, of_secret);
    assert_eq!(begun.sources_again(), None);
    let account = ctx.identity.own();
    assert!(begun.read_inputs(account, false).await.is_ok());
    let again = begun.sources_again().unwrap().as_secs();
    assert!((26..=33).contains(&again), "{again}");
    sleep(10);
    let again = begun.sources_again().unwrap().as_secs();
    assert!((17..=22).contains(&again), "{again}");
    // Nothing was read of it since.
    for _ in 0..3 {
        sleep(60);
        let again = begun.sources_again().unwrap().as_secs();
        assert!((26..=33).contains(&again), "{again}");
    }
}

/// Many chains of nested maps: a megabyte as a tree for ten kilobytes of text.
fn chains(count: usize) -> Value {
    let chain = (0..50).fold(json!(1), |inside, _| json!({ "a": inside }));
    let chains = (0..count).map(|at| (format!("c{at}"), chain.clone()));
    Value::Object(chains.collect())
}

/// Reads inputs from this many other Runnables, each with this output.
async fn reads_outputs(runnables: usize, output: Value) -> Result<usize, String> {
    let ctx = serving(move |request| {
        let name = request.uri().path().rsplit('/').next();
        let name = name.unwrap_or_default().to_owned();
        let spec =
            json!({ "runTemplateRef": { "name": "t" }, "inputs": { "unasked": chains(2_000) } });
        let status = json!({ "outputs": { "all": output } });
        let metadata = json!({ "name": name, "namespace": "ns", "uid": name });
        (
            StatusCode::OK,
            json!({ "metadata": metadata, "spec": spec, "status": status }),
        )
    });
    let mut reader = runnable("r");
    let from = (0..runnables).map(|at| {
        json!({ "name": format!("i{at}"), "runnableRef": { "name": format!("source-{at}"), "output": "all" } })
    });
    reader.spec.inputs_from = Some(serde_json::from_value(from.collect()).unwrap());
    let mut begun = begin(&ctx, reader);
    let account = ctx.identity.own().clone().within(begun.budget.clone());
    let sourced = begun.read_inputs(&account, false).await;
    assert!(begun.budget.was_heavy());
    sourced.map(|all| all.len()).map_err(|error| error.message)
}

#[tokio::test]
async fn what_is_read_of_all_objects_together_has_room_for_so_much_as_a_tree() {
    // Thirty-two ordinary outputs fit.
    let ordinary = json!({ "image": "registry.example.com/app@sha256:0", "tags": ["a", "b"] });
    let read = reads_outputs(32, ordinary).await;
    assert!(!read.is_err_and(|said| said.contains("MiB")));
    let refused = reads_outputs(8, chains(90)).await.unwrap_err();
    assert!(
        refused.contains("Runnable source-5")
            && refused.contains(
                "of 3 MiB takes 17.9 MiB of memory as a tree of values, more than 16 MiB"
            ),
        "{refused}"
    );
}
