use serde_json::json;

use super::*;
use crate::people::{SOMEBODY, make_as};

const SINK: Sink = Sink { runnable: 0, at: 0 };
const CONTROLLER: &str = "controller-0 as somebody's account";

/// Returns a Runnable whose status gives outputs of run 2 and knows run 3, and its sink, which has those of
/// run 3.
fn ahead() -> Store {
    let mut store = Store::new(fastrand::Rng::with_seed(1));
    let key = runnable(SINK.runnable);
    let object = json!({
        "metadata": { "name": key.name, "namespace": key.namespace },
        "spec": { "writeOutputsTo": [{ "kind": "ConfigMap", "name": SINK.key().name }] },
    });
    let of = make_as(&mut store, key.resource, &object, SOMEBODY);
    know(&mut store, 3);
    let object = json!({
        "metadata": {
            "name": SINK.key().name, "namespace": key.namespace, "ownerReferences": [{ "uid": of }],
            "annotations": { SINK_OF_ANNOTATION: of, SINK_SEQUENCE_ANNOTATION: "3" },
        },
        "data": { "answer": "3" },
    });
    make_as(&mut store, Resource::ConfigMaps, &object, CONTROLLER);
    store
}

/// Lets the status know runs up to this one.
fn know(store: &mut Store, highest: i64) {
    let run = json!({ "sequence": highest, "name": "run", "apiVersion": "v1", "kind": "Task", "inputHash": "", "phase": "Created" });
    let from = json!({ "sequence": 2, "name": "run", "uid": "2", "rulesHash": "" });
    let status = json!({ "currentRun": run, "outputsFrom": from, "outputs": { "answer": "2" } });
    let written = store.change(&runnable(SINK.runnable), SOMEBODY, |object| {
        object["status"] = status;
    });
    assert_eq!(highest_of(&written.unwrap()), highest);
}

fn highest_of(object: &Value) -> i64 {
    highest(&status(object))
}

/// Returns the properties that are broken once a controller has written the sink like this.
fn broken(mut store: Store, write: impl FnOnce(&mut Value)) -> Vec<&'static str> {
    store.change(&SINK.key(), CONTROLLER, write).unwrap();
    let mut plan = Plan::of(0);
    plan.sinks = vec![SINK];
    let mut found = Verdict::default();
    judge(&store, &plan, &mut found);
    found.violations.iter().map(|it| it.property).collect()
}

fn put_back(object: &mut Value) {
    object["metadata"]["annotations"][SINK_SEQUENCE_ANNOTATION] = json!("2");
    object["data"]["answer"] = json!("2");
}

#[test]
fn a_sink_goes_back_only_from_a_number_that_was_never_given_or_is_waited_out() {
    assert_eq!(broken(ahead(), put_back), ["back"]);
    let mut restored = ahead();
    know(&mut restored, 2);
    assert!(broken(restored, put_back).is_empty());
    let mut later = ahead();
    later.elapsed += Duration::from_secs(29);
    assert_eq!(broken(later, put_back), ["back"]);
    let mut later = ahead();
    later.elapsed += WAITED_OUT;
    assert!(broken(later, put_back).is_empty());
}

#[test]
fn what_has_lost_its_owner_is_another_s() {
    let mut kept = ahead();
    let keep = |object: &mut Value| object["metadata"]["ownerReferences"] = json!([]);
    kept.change(&SINK.key(), SOMEBODY, keep).unwrap();
    let write = |object: &mut Value| object["data"]["answer"] = json!("4");
    assert_eq!(broken(kept, write), ["another's"]);
}
