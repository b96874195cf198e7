//! `cartouche cancel`, against a server that plays an API server.

use crate::support::played::{Played, Request};
use serde_json::{Value, json};

fn run(sequence: i64) -> Value {
    json!({
        "sequence": sequence, "inputHash": format!("v1:{sequence}"), "phase": "Created",
        "apiVersion": "batch/v1", "kind": "Job", "name": format!("job-{sequence}"), "uid": format!("uid-{sequence}"),
    })
}

/// Returns a Runnable whose runs 2 and 3 are running. Run 3 is the one for the present inputs.
fn runnable(name: &str) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": name, "namespace": "demo", "uid": "1", "generation": 1, "resourceVersion": "7" },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": {
            "observedGeneration": 1, "conditions": [], "currentRun": run(3), "unfinishedRuns": [run(2)],
        },
    })
}

fn server() -> Played {
    server_with(Vec::new())
}

/// Serves the Runnables and their runs, with these templates.
fn server_with(templates: Vec<Value>) -> Played {
    Played::serve(move |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let list = |kind: &str, items: &[Value]| json!({ "apiVersion": "carto.run/v1alpha1", "kind": kind, "metadata": {}, "items": items });
        Some(match name {
            "clusterruntemplates" => list("ClusterRunTemplateList", &templates),
            "runnables" => list("RunnableList", &[runnable("hello"), runnable("other")]),
            "hello" | "other" => runnable(name),
            "v1" => {
                json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1", "resources": [
                { "name": "jobs", "singularName": "job", "namespaced": true, "kind": "Job", "verbs": ["get"] },
            ] })
            }
            "job-2" | "job-3" => {
                let uid = name.replace("job", "uid");
                json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name, "namespace": "demo", "uid": uid }, "spec": {} })
            }
            _ => return None,
        })
    })
}

#[test]
fn an_earlier_run_is_stopped_by_its_number_and_no_other_one_is() {
    for (arguments, number) in [(&["--run", "2"][..], 2), (&["--run", "3"], 3), (&[], 3)] {
        let played = server();
        let done =
            played.cartouche(&[&["cancel", "hello", "--reason", "stuck"], arguments].concat());
        assert_eq!(done.code, 0, "{}{}", done.out, done.err);
        let told = format!(
            "Job job-{number} has been asked to stop; run {number} of hello then counts as failed"
        );
        assert!(done.out.starts_with(&told), "{}", done.out);
        let patches = played.asked("PATCH");
        let [patch] = &patches[..] else {
            panic!("{patches:?}");
        };
        let job = format!("/apis/batch/v1/namespaces/demo/jobs/job-{number}?");
        assert!(patch.path.starts_with(&job), "{}", patch.path);
        let body: Value = serde_json::from_str(&patch.body).unwrap();
        assert_eq!(body["metadata"]["uid"], format!("uid-{number}"));
        assert_eq!(body["spec"], json!({ "activeDeadlineSeconds": 1 }));
        let asked = body["metadata"]["annotations"]["carto.run/cancel-request"].as_str();
        assert!(asked.unwrap().contains("stuck"), "{body}");
        assert!(played.asked("DELETE").is_empty());
    }
}

#[test]
fn a_run_that_is_deleted_stays_until_its_pods_are_gone() {
    let played = server_with(vec![json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate", "metadata": { "name": "greet" },
        "spec": {
            "template": { "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "job-" }, "spec": {} },
            "stop": { "delete": {} },
        },
    })]);
    let done = played.cartouche(&["cancel", "hello"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let deletes = played.asked("DELETE");
    let [delete] = &deletes[..] else {
        panic!("{deletes:?}");
    };
    let path = delete.path.split('?').next();
    assert_eq!(path, Some("/apis/batch/v1/namespaces/demo/jobs/job-3"));
    let body: Value = serde_json::from_str(&delete.body).unwrap();
    assert_eq!(body["propagationPolicy"], "Foreground");
    assert_eq!(body["preconditions"], json!({ "uid": "uid-3" }));
    // The request of the person goes before it, and changes nothing of the spec.
    let asked_first = played.asked("PATCH");
    let [first] = &asked_first[..] else {
        panic!("{asked_first:?}");
    };
    let body: Value = serde_json::from_str(&first.body).unwrap();
    let asked = &body["metadata"]["annotations"]["carto.run/cancel-request"];
    assert!(asked.is_string(), "{body}");
    assert_eq!(body.get("spec"), None);
}

#[test]
fn a_number_is_of_one_runnable() {
    let played = server();
    for (arguments, part) in [
        (
            &["hello", "other"][..],
            "--run is the number of a run of one Runnable\nhint: name one Runnable",
        ),
        (
            &["hello", "other", "--yes"],
            "--run is the number of a run of one Runnable",
        ),
        (&["--all"], "'--run <NUMBER>' cannot be used with"),
        (
            &["--template", "greet"],
            "'--run <NUMBER>' cannot be used with",
        ),
    ] {
        let refused = played.cartouche(&[&["cancel", "--run", "2"], arguments].concat());
        assert_eq!(
            (refused.code, refused.out.as_str()),
            (2, ""),
            "{arguments:?}"
        );
        assert!(refused.err.contains(part), "{arguments:?}: {}", refused.err);
    }
    let refused = played.cartouche(&["cancel", "hello", "--run", "7"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("hello has no run 7"),
        "{}",
        refused.err
    );
    assert!(played.asked("PATCH").is_empty());
}
