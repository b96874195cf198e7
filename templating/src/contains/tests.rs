#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

use serde_json::json;

use super::*;
use crate::rendered::finish;

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

/// Returns a Job in a queue.
fn queued(annotations: &Value, spec: Value) -> Value {
    let labels = json!({ "kueue.x-k8s.io/queue-name": "q" });
    let metadata = json!({ "labels": labels, "annotations": annotations });
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec })
}

#[test]
fn what_kueue_adds_to_the_pods_of_a_job_that_it_admits_does_not_matter() {
    let spot = json!({ "key": "spot", "operator": "Exists" });
    let own = json!({ "key": "own", "operator": "Exists", "effect": "NoSchedule" });
    let job = |suspend: bool, template: Value| {
        queued(
            &json!({}),
            json!({ "suspend": suspend, "template": template }),
        )
    };
    let admitted = |tolerations: Value| {
        let spec = json!({
            "nodeSelector": { "own": "1", "pool": "spot" }, "tolerations": tolerations,
            "schedulingGates": [{ "name": "kueue.x-k8s.io/topology" }],
        });
        let metadata = json!({
            "labels": { "kueue.x-k8s.io/podset": "main" },
            "annotations": { "kueue.x-k8s.io/podset-unconstrained-topology": "true" },
        });
        job(false, json!({ "metadata": metadata, "spec": spec }))
    };
    let rendered = |tolerations: Value| {
        let spec = json!({
            "nodeSelector": { "own": "1" }, "tolerations": tolerations, "schedulingGates": [],
        });
        job(true, json!({ "spec": spec }))
    };
    let live = admitted(json!([own, spot]));
    assert!(contains_document(&live, &rendered(json!([own]))));
    assert!(contains_document(&live, &rendered(json!([]))));
    assert!(contains_document(&live, &rendered(json!(null))));
    // A rendered item is missing, or differs.
    assert!(!contains_document(&live, &rendered(json!([spot]))));
    assert!(!contains_document(
        &admitted(json!([own])),
        &rendered(json!([own, spot]))
    ));
    assert!(!contains_document(
        &admitted(json!(null)),
        &rendered(json!([own]))
    ));
    // A queue never adds items to an object that names none.
    let mut free = live;
    free["metadata"]["labels"] = json!({});
    let mut document = rendered(json!([own]));
    document["metadata"]["labels"] = json!({});
    assert!(!contains_document(&free, &document));
}

#[test]
fn what_kueue_adds_to_a_pod_that_it_admits_does_not_matter() {
    let labels = json!({ "labels": { "kueue.x-k8s.io/queue-name": "q" } });
    let own = json!({ "key": "own" });
    let live = pod(
        labels.clone(),
        json!({ "tolerations": [own, { "key": "spot" }] }),
    );
    let gated = json!({ "tolerations": [own], "schedulingGates": [{ "name": "kueue.x-k8s.io/admission" }] });
    assert!(contains_document(&live, &pod(labels, gated)));
}

#[test]
fn a_job_that_may_do_with_fewer_pods_is_the_same_with_fewer() {
    let least = json!({ "kueue.x-k8s.io/job-min-parallelism": "2" });
    let both = json!({
        "kueue.x-k8s.io/job-min-parallelism": "2",
        "kueue.x-k8s.io/job-completions-equal-parallelism": "true",
    });
    let is_same = |annotations: &Value, live: (i64, i64), rendered: (i64, i64)| {
        let job = |(parallelism, completions): (i64, i64)| {
            let spec = json!({ "parallelism": parallelism, "completions": completions });
            queued(annotations, spec)
        };
        contains_document(&job(live), &job(rendered))
    };
    assert!(is_same(&least, (3, 8), (8, 8)));
    assert!(is_same(&least, (2, 8), (8, 8)) && !is_same(&least, (1, 8), (8, 8)));
    assert!(!is_same(&least, (9, 8), (8, 8)), "more than was rendered");
    assert!(
        !is_same(&least, (3, 3), (8, 8)),
        "its completions are its own"
    );
    assert!(is_same(&both, (3, 3), (8, 8)));
    assert!(is_same(&least, (1, 1), (1, 1)), "nothing was changed");
    assert!(!is_same(&json!({}), (3, 8), (8, 8)));
}
