#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

use serde_json::json;

use super::*;
use crate::rendered::{Rendered, finish};

fn finished(metadata: Value) -> Result<Rendered, Diagnostics> {
    finish(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {} }))
}

fn hash(metadata: Value) -> String {
    finished(metadata).unwrap().input_hash().to_owned()
}

#[test]
fn hashes_never_change_between_releases() {
    assert_eq!(
        hash(json!({ "generateName": "x-" })),
        "v1:e562f1bc70524794b59fc15b48ac7c0999bfbd838a292cd0b5ffefa63eb64bff"
    );
    let document = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "generateName": "job-", "labels": { "b": "2", "a": "1" } },
        "spec": { "numbers": [1, 1.0, 1.5, 1e300, -7, 9_007_199_254_740_993_u64], "nothing": null,
            "text": "<é\u{2028}\"\n>", "list": [], "map": {}, "flag": true },
    });
    assert_eq!(
        finish(document).unwrap().input_hash(),
        "v1:2146b005462e4a52ec1ed2d95b2c544214eb56acc6adbfa1169a5278d511dd9a"
    );
}

#[test]
fn what_no_template_may_set_is_taken_away_and_does_not_count() {
    let rendered = finish(json!({
        "apiVersion": "v1", "kind": "Pod", "status": { "phase": "Succeeded" }, "spec": {},
        "metadata": {
            "generateName": "x-", "finalizers": ["f"], "uid": "u", "resourceVersion": "1",
            "managedFields": [], "ownerReferences": [{}],
        },
    }));
    let rendered = rendered.unwrap();
    assert_eq!(
        rendered.document(),
        &json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "x-" }, "spec": {},
        })
    );
    assert_eq!(rendered.input_hash(), hash(json!({ "generateName": "x-" })));
}

#[test]
fn labels_and_annotations_of_ours_do_not_count_and_others_pass() {
    let rendered = finished(json!({
        "generateName": "x-",
        "labels": {
            "carto.run/runnable-name": "x", "carto.run/run-template-name": "x",
            "carto.run/runnable-uid": "x", "carto.run/run-sequence": "x",
            "carto.run/workload-name": "w",
        },
        "annotations": {
            "carto.run/input-hash": "x", "carto.run/rerun-token": "x", "carto.run/cancel-request": "x", "a": "b",
        },
    }));
    assert_eq!(
        rendered.unwrap().document()["metadata"],
        json!({
            "generateName": "x-",
            "labels": { "carto.run/workload-name": "w" },
            "annotations": { "a": "b" },
        })
    );
}

#[test]
fn no_labels_have_one_hash_however_they_are_written() {
    let none = hash(json!({ "generateName": "x-" }));
    for labels in [
        json!(null),
        json!({}),
        json!({ "carto.run/runnable-name": "x" }),
    ] {
        assert_eq!(
            hash(json!({ "generateName": "x-", "labels": labels })),
            none
        );
    }
    for annotations in [
        json!(null),
        json!({}),
        json!({ "carto.run/rerun-token": "x" }),
    ] {
        assert_eq!(
            hash(json!({ "generateName": "x-", "annotations": annotations })),
            none
        );
    }
}

#[test]
fn labels_that_are_not_all_texts_are_dropped_together() {
    for labels in [json!({ "a": "1", "b": 2 }), json!(["a"]), json!("a")] {
        let rendered = finished(json!({ "generateName": "x-", "labels": labels })).unwrap();
        assert_eq!(
            rendered.document()["metadata"],
            json!({ "generateName": "x-" })
        );
    }
}

fn are_refused(cases: &[(Value, &str)]) {
    for (document, expected) in cases {
        let finished = finish(document.clone());
        assert_eq!(finished.unwrap_err().to_string(), *expected);
        let found = static_problems(document);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, [*expected]);
    }
}

#[test]
fn a_document_of_no_kind_or_of_one_of_ours_is_refused() {
    let named = json!({ "generateName": "x-" });
    are_refused(&[
        (
            json!({ "kind": "Pod", "metadata": named }),
            "apiVersion: apiVersion is missing or not a string: say what kind of object to create",
        ),
        (
            json!({ "apiVersion": "v1", "kind": null, "metadata": named }),
            "kind: kind is missing or not a string: say what kind of object to create",
        ),
        (
            json!({ "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": named }),
            "kind: a run cannot be a Runnable of carto.run",
        ),
        (
            json!({ "apiVersion": "carto.run/v2", "kind": "ClusterRunTemplate", "metadata": named }),
            "kind: a run cannot be a ClusterRunTemplate of carto.run",
        ),
    ]);
}

#[test]
fn a_document_with_metadata_that_cannot_be_used_is_refused() {
    are_refused(&[
        (
            json!({ "apiVersion": "v1", "kind": "Pod" }),
            "metadata: neither generateName nor name is set: give the runs a generateName, such as \
             'build-'",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "" } }),
            "metadata: neither generateName nor name is set: give the runs a generateName, such as \
             'build-'",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": "x" }),
            "metadata: it is not an object",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a", "namespace": 3 } }),
            "metadata.namespace: it is not a string",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": 3 } }),
            "metadata.name: it is not a string",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": {
                "generateName": "x-", "annotations": [1],
            } }),
            "metadata.annotations: it is not an object",
        ),
    ]);
}

#[test]
fn other_kinds_of_the_group_may_run() {
    let workload = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Workload", "metadata": { "name": "x" },
    });
    assert!(finish(workload).is_ok());
}

#[test]
fn what_a_tag_decides_is_not_judged_before_it_is_replaced() {
    let template = json!({
        "apiVersion": "$(runnable.spec.inputs.a)$", "kind": "$(runnable.spec.inputs.k)$",
        "metadata": { "name": "$(runnable.metadata.name)$", "annotations": "$(runnable.a)$",
            "namespace": "$(runnable.metadata.namespace)$" },
    });
    assert_eq!(static_problems(&template), []);
    let template =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": "$(runnable.metadata)$" });
    assert_eq!(static_problems(&template), []);
}

#[test]
fn nothing_follows_from_a_value_that_is_open() {
    let document = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "generateName": "x-", "namespace": "other" },
    });
    let found = |open: &[&[&str]], document: &Value| {
        let key = |key: &&str| Segment::Key((*key).to_owned());
        let open: Vec<Vec<Segment>> = open.iter().map(|at| at.iter().map(key).collect()).collect();
        let found = review(&mut document.clone(), &open, "ns");
        found.iter().map(Diagnostic::path).collect::<Vec<_>>()
    };
    assert_eq!(found(&[], &document), ["kind", "metadata.namespace"]);
    let namespace: &[&str] = &["metadata", "namespace"];
    assert_eq!(found(&[namespace], &document), ["kind"]);
    for field in ["kind", "apiVersion"] {
        assert!(found(&[namespace, &[field]], &document).is_empty());
        assert!(found(&[&["metadata"], &[field]], &document).is_empty());
    }
    let mut number = document;
    number["metadata"]["namespace"] = json!(3);
    assert_eq!(found(&[namespace, &["kind"]], &number), [""; 0]);
}

#[test]
fn a_literal_namespace_is_refused_and_an_empty_one_is_not() {
    let problems = |namespace: Value| {
        let metadata = json!({ "generateName": "x-", "namespace": namespace });
        static_problems(&json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata }))
    };
    assert_eq!(problems(json!("default")), [Diagnostic::of_namespace()]);
    assert_eq!(problems(json!("")), []);
    assert_eq!(problems(json!(null)), []);
}

#[test]
fn names_come_from_the_prefix_or_are_fixed() {
    let prefixed = finished(json!({ "generateName": "x-" })).unwrap();
    assert_eq!(
        (prefixed.fixed_name(), prefixed.display_name()),
        (None, "x-")
    );
    assert_eq!(prefixed.run_name("uid", 1), "x-35mwe65unn");
    let fixed = finished(json!({ "name": "one", "generateName": "x-" })).unwrap();
    assert_eq!(
        (fixed.fixed_name(), fixed.display_name()),
        (Some("one"), "one")
    );
    assert_eq!(fixed.run_name("uid", 1), "one");
}

#[test]
fn what_is_said_in_vain_is_warned_of() {
    let template = json!({
        "apiVersion": "v1", "kind": "Pod", "status": {},
        "metadata": {
            "name": "fixed", "finalizers": [], "ownerReferences": [],
            "labels": { "carto.run/run-sequence": "1", "n": 1 },
            "annotations": { "carto.run/input-hash": "x" },
        },
    });
    let told: Vec<_> = warnings(&template)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "metadata.finalizers is removed from the run",
            "metadata.ownerReferences is removed from the run",
            "metadata.labels: carto.run/run-sequence is overwritten",
            "metadata.annotations: carto.run/input-hash is overwritten",
            "metadata.labels: a value is not a string, so no label of the template is set",
            "metadata.name: a fixed name works for one run of a Runnable only; generateName gives \
             every run a name of its own",
            "status is removed from the run",
        ]
    );
    let plain = json!({ "metadata": { "generateName": "x-", "labels": "$(runnable.x)$" } });
    assert_eq!(warnings(&plain), []);
}
