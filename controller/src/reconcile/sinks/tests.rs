use std::time::Duration;

use cartouche_protocol::pace::News;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::*;
use crate::reconcile::{
    sources::tests::{begun, having},
    tests::serving,
};

/// A sink of the Runnable with this many keys, each with about a dozen bytes of text.
fn sink(keys: usize) -> Value {
    let keys = (0..keys).map(|at| (format!("k{at}"), json!("")));
    let data: Value = Value::Object(keys.collect());
    json!({
        "metadata": {
            "name": "m", "uid": "m", "resourceVersion": "5",
            "annotations": { "carto.run/outputs-of": "r", "carto.run/outputs-sequence": "1" },
            "ownerReferences": [{ "uid": "r" }],
        },
        "data": data,
    })
}

fn wanted(names: &[&str]) -> Vec<OutputSink> {
    let sinks = names.iter();
    let sinks = sinks.map(|name| json!({ "kind": "ConfigMap", "name": name }));
    serde_json::from_value(sinks.collect()).unwrap()
}

fn written(names: &[&str]) -> SinkProgress {
    let mut progress = SinkProgress::default();
    for sink in wanted(names) {
        progress.sinks.note(&sinks::identify(&sink), 1, false);
    }
    progress
}

#[tokio::test]
async fn what_sinks_have_is_held_within_the_budget_and_let_go() {
    let ctx = having(&sink(66_000));
    let (begun, account) = begun(&ctx, json!({}));
    let (names, ledger) = (["a", "b"], Ledger::default());
    for _ in 0..2 {
        let mut progress = written(&names);
        let wanted = wanted(&names);
        let reads = begun.read_sinks(&account, &ledger, &wanted, &mut progress);
        let reads = reads.await;
        assert_eq!(reads.len(), 1);
        assert!(progress.sinks.written[1].behind);
        let told = sinks::error(progress.problems).unwrap().message;
        let why = "outputs cannot be written to ConfigMap b: its content of 1";
        assert!(
            told.contains(why) && told.contains("more than 16 MiB"),
            "{told}"
        );
        begun.budget.renew(HeldFor::Sinks);
    }
}

#[tokio::test]
async fn of_sinks_to_delete_nothing_is_held() {
    let ctx = having(&sink(66_000));
    let (begun, account) = begun(&ctx, json!({}));
    let mut progress = written(&["a", "b", "c"]);
    let ledger = Ledger::default();
    let dropped = begun
        .read_dropped(&account, &ledger, &[], &mut progress)
        .await;
    assert_eq!(dropped.len(), 3);
    for (_, found) in dropped {
        assert_eq!((&*found.uid, &*found.version), ("m", "5"));
        assert!(found.content.iter().next().is_none());
    }
}

/// The stored ledger is of another release. This release has put it otherwise a moment ago.
#[tokio::test]
async fn sinks_that_are_announced_hasten_no_write_of_what_is_contested() {
    let ctx = serving(|request| match *request.method() {
        Method::PUT => {
            let version = json!({ "metadata": { "resourceVersion": "7" } });
            (StatusCode::OK, version)
        }
        _ => (StatusCode::NOT_FOUND, Value::Null),
    });
    let (mut begun, _) = begun(&ctx, json!({}));
    let pause = Some(Duration::from_mins(1));
    begun.contested_after = pause;
    begun.announce_sinks(&wanted(&["a"])).await.unwrap();
    assert_eq!(begun.facts.stored.sinks.len(), 1);
    assert_eq!(begun.contested_after, pause);
    let mut ours = (*begun.facts.stored).clone();
    let failure = json!({ "sequence": 1, "name": "r-1", "uid": "u", "message": "in our words" });
    ours.failure = serde_json::from_value(failure).unwrap();
    assert_eq!(begun.change_to(&ours).news, News::Nothing);
    // Without the postponement, the difference is news.
    begun.contested_after = None;
    assert_eq!(begun.change_to(&ours).news, News::Ledger);
}
