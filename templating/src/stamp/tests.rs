#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

use super::*;
use crate::rendered::finish;

fn rendered(metadata: Value) -> Rendered {
    finish(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {} })).unwrap()
}

fn a_stamp() -> Stamp<'static> {
    Stamp {
        owner: Owner {
            name: "rn",
            namespace: "ns",
            uid: "u-1",
        },
        template_name: "t",
        name: "x-abc",
        sequence: 7,
        input_hash: "v1:00",
        rerun_token: None,
        rerun_request: None,
        sources: None,
        profile: None,
        profile_refresh: None,
    }
}

#[test]
fn a_run_says_whose_it_is_and_which() {
    let run = stamp(&rendered(json!({ "generateName": "x-" })), &a_stamp()).unwrap();
    assert_eq!(
        run,
        json!({
            "apiVersion": "v1", "kind": "Pod", "spec": {},
            "metadata": {
                "name": "x-abc", "generateName": "x-", "namespace": "ns",
                "ownerReferences": [{
                    "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": "rn",
                    "uid": "u-1", "controller": true, "blockOwnerDeletion": false,
                }],
                "labels": {
                    "carto.run/runnable-name": "rn", "carto.run/run-template-name": "t",
                    "carto.run/runnable-uid": "u-1", "carto.run/run-sequence": "7",
                },
                "annotations": { "carto.run/input-hash": "v1:00" },
            },
        })
    );
}

#[test]
fn labels_and_annotations_of_the_template_stay_beside_ours() {
    let metadata = json!({
        "generateName": "x-",
        "labels": { "a": "b", "carto.run/workload-name": "w" },
        "annotations": { "c": "d" },
    });
    let run = stamp(&rendered(metadata), &a_stamp()).unwrap();
    assert_eq!(run["metadata"]["labels"]["a"], "b");
    assert_eq!(run["metadata"]["labels"]["carto.run/workload-name"], "w");
    assert_eq!(run["metadata"]["labels"]["carto.run/runnable-name"], "rn");
    assert_eq!(run["metadata"]["annotations"]["c"], "d");
}

/// A comparison of runs leaves these out: one that is missing there would count as a change.
#[test]
fn what_cartouche_sets_is_what_the_constants_name() {
    let stamped = Stamp {
        rerun_token: Some("again"),
        rerun_request: Some("{}"),
        sources: Some("{}"),
        profile: Some("gke@1"),
        profile_refresh: Some("again"),
        ..a_stamp()
    };
    let run = stamp(&rendered(json!({ "generateName": "x-" })), &stamped).unwrap();
    let keys = |field: &str| -> Vec<String> {
        let map = run["metadata"][field].as_object().unwrap();
        map.keys().cloned().collect()
    };
    let sorted = |names: &[&str]| -> Vec<String> {
        let mut names: Vec<_> = names.iter().map(ToString::to_string).collect();
        names.sort();
        names
    };
    assert_eq!(
        keys("labels"),
        sorted(&cartouche_language::own_metadata::OWN_LABELS)
    );
    assert_eq!(
        keys("annotations"),
        sorted(&cartouche_language::own_metadata::OWN_ANNOTATIONS)
    );
}

#[test]
fn a_run_that_answers_a_request_carries_its_token() {
    let stamped = Stamp {
        rerun_token: Some("again"),
        rerun_request: Some("{}"),
        sources: Some("{}"),
        ..a_stamp()
    };
    let run = stamp(&rendered(json!({ "generateName": "x-" })), &stamped).unwrap();
    assert_eq!(
        run["metadata"]["annotations"]["carto.run/rerun-token"],
        "again"
    );
}

#[test]
fn the_namespace_is_that_of_the_runnable_or_an_error() {
    for namespace in [json!(null), json!(""), json!("ns")] {
        let document = rendered(json!({ "generateName": "x-", "namespace": namespace }));
        assert_eq!(
            stamp(&document, &a_stamp()).unwrap()["metadata"]["namespace"],
            "ns"
        );
    }
    let document = rendered(json!({ "generateName": "x-", "namespace": "other" }));
    let error = stamp(&document, &a_stamp()).unwrap_err();
    assert_eq!(error, StampError::Namespace);
    assert_eq!(
        error.to_string(),
        "cannot set namespace in resource template"
    );
}

#[test]
fn names_too_long_for_a_label_are_shortened() {
    let (name, template_name) = ("r".repeat(64), "t".repeat(253));
    let stamped = Stamp {
        owner: Owner {
            name: &name,
            ..a_stamp().owner
        },
        template_name: &template_name,
        ..a_stamp()
    };
    let run = stamp(&rendered(json!({ "generateName": "x-" })), &stamped).unwrap();
    let labels = &run["metadata"]["labels"];
    assert_eq!(
        labels["carto.run/runnable-name"],
        label_value(&name).as_ref()
    );
    assert_eq!(
        labels["carto.run/run-template-name"]
            .as_str()
            .unwrap()
            .len(),
        63
    );
    assert_eq!(run["metadata"]["ownerReferences"][0]["name"], name);
}
