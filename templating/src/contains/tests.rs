#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

use serde_json::json;

use super::*;
use crate::document::finish;

fn pod(metadata: Value, spec: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
}

fn in_live(live: Value, rendered: Value) -> bool {
    let named = json!({ "generateName": "x-" });
    contains(
        &pod(named.clone(), live),
        &finish(pod(named, rendered)).unwrap(),
    )
}

#[test]
fn what_the_server_adds_does_not_matter() {
    assert!(in_live(
        json!({ "a": 1, "restartPolicy": "Always", "containers": [{ "name": "c", "uid": 1 }] }),
        json!({ "a": 1, "containers": [{ "name": "c" }] }),
    ));
}

#[test]
fn what_the_server_leaves_out_does_not_matter() {
    let empty = json!({ "a": null, "b": [], "c": {}, "d": { "e": null, "f": {} } });
    assert!(in_live(json!({}), empty.clone()));
    assert!(in_live(json!({ "a": null, "d": null }), empty.clone()));
    assert!(in_live(json!({ "a": 1 }), empty));
}

#[test]
fn a_value_that_is_missing_or_other_matters() {
    for (live, rendered) in [
        (json!({}), json!({ "a": 1 })),
        (json!({}), json!({ "a": "" })),
        (json!({}), json!({ "a": { "b": false } })),
        (json!({ "a": 2 }), json!({ "a": 1 })),
        (json!({ "a": "1" }), json!({ "a": 1 })),
        (json!({ "a": {} }), json!({ "a": [] })),
        (json!({ "a": 1 }), json!({ "a": {} })),
        (json!({ "a": null }), json!({ "a": [null] })),
    ] {
        assert!(
            !in_live(live.clone(), rendered.clone()),
            "{live} does not contain {rendered}"
        );
    }
}

#[test]
fn lists_have_the_same_length_and_order() {
    assert!(in_live(
        json!({ "a": [1, { "b": 2, "c": 3 }] }),
        json!({ "a": [1, { "b": 2 }] })
    ));
    for live in [
        json!([1]),
        json!([2, 1]),
        json!([1, 2, 3]),
        json!({ "0": 1, "1": 2 }),
    ] {
        assert!(!in_live(json!({ "a": live }), json!({ "a": [1, 2] })));
    }
}

#[test]
fn numbers_compare_by_value() {
    assert!(in_live(json!({ "a": 1 }), json!({ "a": 1.0 })));
    assert!(in_live(json!({ "a": 1.5 }), json!({ "a": 1.5 })));
    assert!(!in_live(json!({ "a": 1 }), json!({ "a": 1.5 })));
    assert!(!in_live(
        json!({ "a": 9_007_199_254_740_992_u64 }),
        json!({ "a": 9_007_199_254_740_993_u64 })
    ));
}

#[test]
fn of_the_metadata_only_labels_and_annotations_matter() {
    let rendered = finish(pod(
        json!({
            "generateName": "x-", "namespace": "ns", "creationTimestamp": null,
            "labels": { "a": "b" }, "annotations": { "c": "d" },
        }),
        json!({}),
    ));
    let rendered = rendered.unwrap();
    let live = |labels: Value, annotations: Value| {
        pod(
            json!({
                "name": "y", "namespace": "other", "labels": labels, "annotations": annotations,
            }),
            json!({}),
        )
    };
    assert!(contains(
        &live(json!({ "a": "b", "z": "z" }), json!({ "c": "d" })),
        &rendered
    ));
    assert!(!contains(
        &live(json!({ "a": "x" }), json!({ "c": "d" })),
        &rendered
    ));
    assert!(!contains(
        &live(json!({ "a": "b" }), json!(null)),
        &rendered
    ));
}

#[test]
fn an_answer_to_a_dry_run_is_compared_without_its_status_and_our_labels() {
    let ours = |sequence: &str| {
        json!({ "labels": {
        "carto.run/run-sequence": sequence, "carto.run/runnable-uid": sequence, "a": "b",
    }, "annotations": { "carto.run/input-hash": sequence } })
    };
    let mut dry = pod(ours("1"), json!({ "cpu": "1" }));
    dry["status"] = json!({ "phase": "Pending" });
    assert!(contains_document(
        &pod(ours("2"), json!({ "cpu": "1" })),
        &dry
    ));
    assert!(!contains_document(
        &pod(ours("2"), json!({ "cpu": "2" })),
        &dry
    ));
}

#[test]
fn another_kind_is_another_object() {
    let rendered = finish(pod(json!({ "generateName": "x-" }), json!({}))).unwrap();
    let mut live = pod(json!({}), json!({}));
    assert!(contains(&live, &rendered));
    live["kind"] = json!("Job");
    assert!(!contains(&live, &rendered));
    live.as_object_mut().unwrap().remove("kind");
    assert!(
        contains(&live, &rendered),
        "an item of a list does not say its kind"
    );
    assert!(!contains(&json!(null), &rendered));
}

#[test]
fn what_a_queue_writes_does_not_matter() {
    let compared = |kind: (&str, &str), live: Value, document: Value| {
        let object = |spec: Value| json!({ "apiVersion": kind.0, "kind": kind.1, "spec": spec });
        contains_document(&object(live), &object(document))
    };
    let job = ("batch/v1", "Job");
    let cases = [
        (job, json!({ "suspend": true }), json!({ "suspend": false })),
        (
            ("v1", "Pod"),
            json!({}),
            json!({ "schedulingGates": [{ "name": "kueue.x-k8s.io/admission" }] }),
        ),
        (
            ("tekton.dev/v1", "PipelineRun"),
            json!({ "status": "" }),
            json!({ "status": "PipelineRunPending" }),
        ),
    ];
    for (kind, live, document) in cases {
        for (live, document) in [(&live, &document), (&document, &live)] {
            let (mut live, mut document) = (live.clone(), document.clone());
            assert!(compared(kind, live.clone(), document.clone()), "{kind:?}");
            (live["a"], document["a"]) = (1.into(), 2.into());
            assert!(!compared(kind, live, document), "the rest does: {kind:?}");
        }
    }
    let task_run = ("tekton.dev/v1", "TaskRun");
    let cancelled = json!({ "status": "TaskRunCancelled" });
    assert!(!compared(task_run, json!({}), cancelled));
    let nested = |suspend: bool| json!({ "template": { "suspend": suspend } });
    assert!(!compared(job, nested(true), nested(false)));
}
