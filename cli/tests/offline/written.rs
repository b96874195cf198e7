//! Outputs that are in other objects, against a server that plays an API server.

use crate::support::played::{Played, Request};
use serde_json::{Value, json};

fn runnable(outputs: Option<Value>) -> Value {
    let mut runnable = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "user", "namespace": "demo", "uid": "1", "generation": 1 },
        "spec": { "runTemplateRef": { "name": "make-user" } },
        "status": {
            "observedGeneration": 1,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "Ready", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
            "sensitiveOutputs": { "password": { "name": "shop-user", "key": "PASSWORD", "revision": "3f" } },
            "sinks": [
                { "kind": "Secret", "name": "shop-user", "sequence": 3 },
                { "kind": "ConfigMap", "name": "shop-info", "sequence": 2, "behind": true },
            ],
        },
    });
    if let Some(outputs) = outputs {
        runnable["status"]["outputs"] = outputs;
    }
    runnable
}

/// A cluster with that Runnable, and a Secret that must not be read.
fn server(outputs: Option<Value>) -> Played {
    Played::serve(move |request: &Request| {
        assert!(!request.path.contains("/secrets"), "{}", request.path);
        let path = request.path.split('?').next().unwrap_or_default();
        let found = runnable(outputs.clone());
        match path.rsplit('/').next().unwrap_or_default() {
            "user" => Some(found),
            "runnables" => Some(json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "RunnableList", "metadata": {}, "items": [found],
            })),
            _ => None,
        }
    })
}

const TOLD: &str =
    "the output password is sensitive: it is in the key PASSWORD of Secret shop-user\n";

#[test]
fn a_sensitive_output_is_named_with_its_place_and_not_printed() {
    let played = server(Some(json!({ "user": "shop" })));
    let all = played.cartouche(&["outputs", "user"]);
    assert_eq!((all.code, &*all.out, &*all.err), (0, "user: shop\n", TOLD));
    let env = played.cartouche(&["outputs", "user", "-o", "env"]);
    assert_eq!((env.code, &*env.err), (0, TOLD));
    assert!(!env.out.contains("PASSWORD"), "{}", env.out);
    // Nothing is to be taken for the value.
    let one = played.cartouche(&["outputs", "user", "password"]);
    assert_eq!((one.code, &*one.out, &*one.err), (1, "", TOLD));
    let misspelt = played.cartouche(&["outputs", "user", "pasword"]);
    assert!(
        misspelt.err.contains("did you mean 'password'?"),
        "{}",
        misspelt.err
    );
}

#[test]
fn where_all_outputs_are_sensitive_there_are_outputs_all_the_same() {
    let all = server(None).cartouche(&["outputs", "user", "-o", "json"]);
    assert_eq!((all.code, &*all.out, &*all.err), (0, "{}\n", TOLD));
}

#[test]
fn a_sensitive_output_is_waited_for_until_its_secret_has_it() {
    let played = server(None);
    let waited = played.cartouche(&["wait", "user", "--for", "output=password"]);
    let told = format!("user: {TOLD}");
    assert_eq!((waited.code, &*waited.out, &*waited.err), (0, "", &*told));
}

#[test]
fn lists_and_trees_say_what_outputs_are_written_to() {
    let played = server(Some(json!({ "user": "shop" })));
    let table = played.cartouche(&["get"]).out;
    assert!(
        table.contains("user=shop, password in Secret shop-user"),
        "{table}"
    );
    let wide = played.cartouche(&["get", "-o", "wide"]).out;
    let sinks =
        "Secret shop-user (outputs of run 3), ConfigMap shop-info (outputs of run 2, behind)";
    assert!(
        wide.contains("WRITTEN TO") && wide.contains(sinks),
        "{wide}"
    );
    let tree = played.cartouche(&["tree", "user"]).out;
    let lines = "├── outputs\n│   ├── user: \"shop\"\n│   └── password: sensitive, in the key PASSWORD of Secret shop-user\n\
                 └── outputs are written to\n    ├── Secret shop-user (outputs of run 3)\n    \
                 └── ConfigMap shop-info (outputs of run 2, behind)\n";
    assert!(tree.ends_with(lines), "{tree}");
    let json = played.cartouche(&["tree", "user", "-o", "json"]).out;
    let tree: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(tree[0]["sensitiveOutputs"]["password"]["key"], "PASSWORD");
    assert_eq!(tree[0]["sinks"][1]["behind"], true);
}
