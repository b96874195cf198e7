//! The states of a last run that `cartouche diff` distinguishes, against a server that plays an API server.

use crate::support::played::{Played, Request};
use serde_json::{Value, json};

/// A cluster with a Runnable with these fields of its last run, and its Job if there is one.
fn server(run: &Value, job: Option<Value>) -> Played {
    let mut current = json!({
        "sequence": 4, "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job", "name": "hello-a",
    });
    for (key, value) in run.as_object().unwrap() {
        current[key] = value.clone();
    }
    Played::serve(move |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        Some(match path.rsplit('/').next().unwrap_or_default() {
            "hello" => json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
                "metadata": { "name": "hello", "namespace": "demo", "uid": "1", "generation": 1 },
                "spec": { "runTemplateRef": { "name": "greet" } },
                "status": { "observedGeneration": 1, "conditions": [], "currentRun": current },
            }),
            "greet" => json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
                "metadata": { "name": "greet", "uid": "2" },
                "spec": { "template": {
                    "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "greet-" },
                    "spec": { "backoffLimit": 0 },
                } },
            }),
            "clusterrunprofiles" => json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfileList", "metadata": {}, "items": [],
            }),
            "v1" => json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1",
                "resources": [{ "name": "jobs", "singularName": "job", "namespaced": true, "kind": "Job", "verbs": ["get"] }],
            }),
            "hello-a" => return job.clone(),
            _ => return None,
        })
    })
}

#[test]
fn a_last_run_without_an_object_says_what_became_of_it() {
    let forbidden = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "message": "jobs.batch \"hello-a\" is forbidden: User \"bob\" cannot get resource \"jobs\"", "reason": "Forbidden" });
    let cases = [
        (
            json!({ "phase": "Rejected" }),
            None,
            "Refused",
            "was refused and never created: all of the run is shown",
        ),
        (
            json!({ "phase": "Pending" }),
            None,
            "BeingMade",
            "is being made: all of the run is shown",
        ),
        (
            json!({ "phase": "Created", "uid": "r" }),
            None,
            "Gone",
            "was removed before its end: only hashes",
        ),
        (
            json!({ "phase": "Created", "uid": "r", "result": "Succeeded" }),
            None,
            "Gone",
            "was removed after its end, by its TTL or by a delete: only hashes",
        ),
        (
            json!({ "phase": "Created", "uid": "r" }),
            Some(forbidden),
            "NotSeen",
            ": all of the run is shown",
        ),
    ];
    for (run, job, state, said) in cases {
        let played = server(&run, job);
        let text = played.cartouche(&["diff", "hello"]);
        assert!(text.out.contains(said), "{run}: {}{}", text.out, text.err);
        let is_whole = text.out.contains("+   backoffLimit: 0\n");
        assert_eq!(is_whole, state != "Gone", "{run}: {}", text.out);
        let json = played.cartouche(&["diff", "hello", "-o", "json"]);
        let found: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(found[0]["last"]["state"], state, "{run}");
    }
}
