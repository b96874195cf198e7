//! The hash of values from a selected Secret.

use cartouche_language::{HashVersion, digest};

use super::*;

fn template(spec: &Value) -> Template {
    let spec = json!({ "template": {
        "apiVersion": "example.com/v1", "kind": "Trial", "metadata": { "generateName": "r-" }, "spec": spec,
    } });
    Template::compile(&serde_json::from_value(spec).unwrap()).unwrap()
}

fn object(uid: &str, pin: &str) -> Value {
    json!({
        "metadata": { "name": "s", "uid": uid, "resourceVersion": "1", "labels": { "a": "b" } }, "data": { "pin": pin },
    })
}

fn rendered_with(template: &Template, kind: &str, object: &Value) -> Rendered {
    let runnable = json!({
        "metadata": { "name": "r" },
        "spec": { "inputs": { "own": 1 }, "selector": {
            "matchingLabels": {}, "resource": { "apiVersion": "v1", "kind": kind },
        } },
    });
    template
        .render(&Context::new(&runnable, Some(object)).unwrap())
        .unwrap()
}

#[test]
fn it_is_not_found_by_trying_values() {
    let template = template(&json!({ "pin": "$(selected.data.pin)$" }));
    let secret = rendered_with(&template, "Secret", &object("uid", "7306"));
    assert!(secret.is_keyed());
    assert_ne!(secret.input_hash(), digest::hash(secret.document()));
    let open = rendered_with(&template, "ConfigMap", &object("uid", "7306"));
    assert!(!open.is_keyed());
    assert_eq!(open.document(), secret.document());
    // Only an attacker who knows the uid succeeds.
    for (uid, is_it) in [("uid", true), ("", false), ("other", false)] {
        let tried = HashVersion::V1.hash(&json!({ "document": secret.document() }), Some(uid));
        assert_eq!(tried == secret.input_hash(), is_it, "{uid}");
    }
}

#[test]
fn it_is_the_same_for_the_same_content_of_the_same_secret() {
    let template = template(&json!({ "pin": "x $(selected.data.pin)$", "as": "$(run.name)$" }));
    let hash = |object: &Value| {
        rendered_with(&template, "Secret", object)
            .input_hash()
            .to_owned()
    };
    let secret = object("uid", "7306");
    let mut written = secret.clone();
    written["metadata"]["resourceVersion"] = json!("2");
    written["metadata"]["labels"]["c"] = json!("d");
    written["data"]["other"] = json!("x");
    assert_eq!(hash(&secret), hash(&written));
    assert_ne!(hash(&secret), hash(&object("uid", "7307")));
    assert_ne!(hash(&secret), hash(&object("made anew", "7306")));
    // The object's own kind has the same effect.
    let mut named = secret.clone();
    named["kind"] = json!("Secret");
    let by_itself = rendered_with(&template, "", &named);
    assert_eq!(hash(&secret), by_itself.input_hash());
}

#[test]
fn what_reads_nothing_of_it_keeps_its_hash() {
    let template = template(&json!({ "own": "$(runnable.spec.inputs.own)$" }));
    for secret in [object("uid", "7306"), object("made anew", "7307")] {
        let rendered = rendered_with(&template, "Secret", &secret);
        assert!(!rendered.is_keyed());
        assert_eq!(rendered.input_hash(), digest::hash(rendered.document()));
    }
}

#[test]
fn whatever_may_lead_to_it_counts() {
    for tag in [
        "selected.data.pin",
        "selected['data'].pin",
        "selected.metadata.name",
        "*.data.pin",
        "..pin",
        "selected",
    ] {
        let template = template(&json!({ "pin": format!("$({tag})$") }));
        let rendered = rendered_with(&template, "Secret", &object("uid", "7306"));
        assert!(rendered.is_keyed(), "{tag}");
    }
}

/// A profile and open tags are filled in when the run is made.
#[test]
fn what_is_made_of_it_keeps_its_hash() {
    let template = template(&json!({ "pin": "$(selected.data.pin)$", "as": "$(run.name)$" }));
    let rendered = rendered_with(&template, "Secret", &object("uid", "7306"));
    let run = cartouche_language::RunFacts {
        name: "r-1",
        sequence: 1,
        input_hash: rendered.input_hash(),
        rerun_token: None,
    };
    let made = rendered.fill(&run, None).unwrap();
    assert_eq!(made.document()["spec"]["as"], "r-1");
    assert!(made.is_keyed());
    assert_eq!(made.input_hash(), rendered.input_hash());
}
