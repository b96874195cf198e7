//! The role of a Runnable whose template the user may not read.

use serde_json::{Value, json};

use crate::support::played::{Played, Request};

const FORBIDDEN: &str = "clusterruntemplates.carto.run \"greet\" is forbidden: User \"bob\" cannot get resource \"clusterruntemplates\"";

/// Returns the answer of the server about a kind.
fn served(group: &str, kind: &str, plural: &str) -> Value {
    json!({
        "kind": "APIResourceList", "groupVersion": group,
        "resources": [{
            "kind": kind, "name": plural, "singularName": "", "namespaced": true, "verbs": ["get"],
        }],
    })
}

/// An API server whose user reads a Runnable with a Job, and no template.
fn without_templates() -> Played {
    Played::serve(|request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        Some(match path.trim_start_matches("/apis/carto.run/v1alpha1/") {
            "namespaces/demo/runnables/hello" => json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
                "metadata": { "name": "hello", "namespace": "demo", "uid": "1" },
                "spec": { "runTemplateRef": { "name": "greet" } },
                "status": { "currentRun": {
                    "sequence": 1, "inputHash": "v1:0", "phase": "Created", "name": "hello-x", "uid": "2",
                    "apiVersion": "batch/v1", "kind": "Job",
                } },
            }),
            "clusterruntemplates/greet" => json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403,
                "message": FORBIDDEN, "reason": "Forbidden",
            }),
            "/apis/batch/v1" => served("batch/v1", "Job", "jobs"),
            "/api/v1" => served("v1", "Pod", "pods"),
            _ => return None,
        })
    })
}

#[test]
fn it_says_that_it_may_lack_something_and_takes_no_name_of_a_complete_one() {
    let played = without_templates();
    let rbac = ["rbac", "-r", "hello", "-o", "json"];
    let printed = played.cartouche(&rbac);
    assert_eq!(printed.code, 2, "{}", printed.err);
    let list: Value = serde_json::from_str(&printed.out).unwrap();
    let [role, binding] = [0, 1].map(|item| &list["items"][item]["metadata"]);
    let said = role["annotations"]["carto.run/incomplete"].as_str();
    let said = said.unwrap();
    assert!(said.ends_with("the template may need more"), "{said}");
    assert!(printed.err.contains(said), "{}", printed.err);
    assert_eq!(binding["annotations"], Value::Null);
    for format in ["json", "yaml"] {
        let named = ["rbac", "-r", "hello", "--name", "whole", "-o", format];
        let named = played.cartouche(&named);
        assert_eq!((named.code, named.out.as_str()), (2, ""));
        let why = "the role whole would lack permissions that the template needs";
        assert!(named.err.contains(why), "{}", named.err);
        assert!(named.err.contains("leave out --name"), "{}", named.err);
    }
}
