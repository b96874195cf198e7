//! Invalid fields of a Runnable: selectors, inputs, accounts.

use anyhow::Result;
use serde_json::{Value, json};

use super::case::{ACCOUNT, Case, STAMP, TWO, all, runnable, tag};

#[tokio::test]
async fn selectors_that_pick_nothing() -> Result<()> {
    let pick = |version: &str, kind: &str, labels: Value| {
        let resource = json!({ "apiVersion": version, "kind": kind });
        json!({ "selector": { "resource": resource, "matchingLabels": labels } })
    };
    let none = pick("test.run/v1", "TestObj", json!({ "no": "match" }));
    let several = pick("test.run/v1", "TestObj", json!({ "one-of": TWO }));
    all(
        "bad-selector",
        vec![
            runnable(
                "no match",
                none,
                STAMP,
                "kind [TestObj]: selector did not match any objects",
            ),
            runnable(
                "several matches",
                several,
                STAMP,
                "kind [TestObj]: selector matched multiple objects",
            ),
            runnable(
                "an unknown kind",
                pick("test.run/v1", "Nope", json!({})),
                STAMP,
                "no matches for kind \"Nope\" in version \"test.run/v1\"",
            ),
            runnable(
                "an unknown group",
                pick("nope.run/v1", "Nope", json!({})),
                STAMP,
                "no matches for kind \"Nope\" in version \"nope.run/v1\"",
            ),
            runnable(
                "no kind",
                json!({ "selector": { "resource": {}, "matchingLabels": {} } }),
                STAMP,
                "apiVersion [], kind []: failed to list server api resources",
            ),
            runnable(
                "a path as version",
                pick("../../api/v1", "Pod", json!({})),
                STAMP,
                "no matches for kind \"Pod\"",
            ),
            runnable(
                "a kind that may not be listed",
                pick("test.run/v1", "GuardedObj", json!({})),
                STAMP,
                "cannot list resource \"guardedobjs\"",
            ),
            runnable(
                "a label that is none",
                pick("test.run/v1", "TestObj", json!({ "not a label!": "x" })),
                STAMP,
                "\"not a label!\" is not a valid label key",
            ),
        ],
    )
    .await
}

#[tokio::test]
async fn inputs_that_the_template_cannot_use() -> Result<()> {
    let big = "x".repeat(300_000);
    let reads = |field: &str, tag: &str, inputs: Value, part: &str, what: &str| Case {
        what: what.to_owned(),
        template: json!({ "template": { "metadata": { field: tag } } }),
        runnable: json!({ "inputs": inputs }),
        tag: None,
        reason: STAMP.to_owned(),
        says: part.to_owned(),
    };
    let mut twice = tag(
        "",
        "$(runnable.spec.inputs.big)$$(runnable.spec.inputs.big)$",
        "the rendered document is larger than 524288 bytes",
    );
    twice.what = "too much text".to_owned();
    twice.runnable = json!({ "inputs": { "big": big } });
    all(
        "bad-input",
        vec![
            runnable(
                "an input is missing",
                json!({ "inputs": { "foo": null } }),
                STAMP,
                "jsonpath returned empty list: runnable.spec.inputs.foo",
            ),
            reads(
                "generateName",
                "$(runnable.spec.inputs.obj)$",
                json!({}),
                "metadata.generateName: it is not a string",
                "an object as name",
            ),
            reads(
                "namespace",
                "$(runnable.spec.inputs.ns)$",
                json!({ "ns": "kube-system" }),
                "cannot set namespace in resource template",
                "another namespace",
            ),
            reads(
                "annotations",
                "$(runnable.spec.inputs.list)$",
                json!({}),
                "metadata.annotations: it is not an object",
                "a list as annotations",
            ),
            twice,
            runnable(
                "a context that is too large",
                json!({ "inputs": { "big": "x".repeat(1_060_000) } }),
                STAMP,
                "together larger than 1048576 bytes",
            ),
        ],
    )
    .await
}

#[tokio::test]
async fn accounts_that_cannot_be_used() -> Result<()> {
    let account = |what, name: &str, part: &str| {
        runnable(what, json!({ "serviceAccountName": name }), ACCOUNT, part)
    };
    let long = "a".repeat(300);
    all(
        "bad-account",
        vec![
            account("nobody", "nobody", "ServiceAccount \"nobody\" not found"),
            account(
                "another namespace",
                "default:deployer",
                "is not the name of a ServiceAccount",
            ),
            account(
                "a group",
                "system:masters",
                "is not the name of a ServiceAccount",
            ),
            account(
                "a path",
                "../kube-system/default",
                "is not the name of a ServiceAccount",
            ),
            account(
                "300 characters",
                &long,
                "is not the name of a ServiceAccount",
            ),
            account(
                "a header",
                "a\r\nImpersonate-Group: system:masters",
                "is not the name of a ServiceAccount",
            ),
            account("a blank", " ", "is not the name of a ServiceAccount"),
        ],
    )
    .await
}
