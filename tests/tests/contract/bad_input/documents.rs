//! Templates that are wrong in themselves.

use anyhow::Result;
use serde_json::json;

use super::case::{REJECTED, STAMP, all, spec, tag, template};

#[tokio::test]
async fn templates_that_are_no_object_to_create() -> Result<()> {
    let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
    let many = vec!["$(runnable.kind)$"; 1001];
    all(
        "bad-template",
        vec![
            template("no kind", json!({ "kind": null }), STAMP, "kind: kind is missing"),
            template("no apiVersion", json!({ "apiVersion": null }), STAMP, "apiVersion: apiVersion is missing"),
            template("a number as kind", json!({ "kind": 3 }), STAMP, "kind: kind is missing or not a string"),
            template("metadata that are a list", json!({ "metadata": ["x"] }), STAMP, "metadata: it is not an object"),
            template("a namespace", json!({ "metadata": { "namespace": "default" } }), STAMP, "cannot set namespace in resource template"),
            template("annotations that are a list", json!({ "metadata": { "annotations": ["x"] } }), STAMP, "metadata.annotations: it is not an object"),
            template("too deep", json!({ "spec": { "deep": deep } }), STAMP, "nested more than 64 deep"),
            template("too many tags", json!({ "spec": { "many": many } }), STAMP, "more than 1000"),
            template("too large", json!({ "spec": { "big": "x".repeat(300_000) } }), STAMP, "it is larger than 262144 bytes"),
            template("data of the wrong type", json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": 3 }, "spec": null }), REJECTED, "create: "),
        ],
    )
    .await
}

#[tokio::test]
async fn tags_and_paths_that_lead_nowhere() -> Result<()> {
    let long = format!("$(runnable.spec.{})$", "(".repeat(2000));
    let phase = |key: &str| json!({ "matchFields": [{ "key": key, "operator": "Exists" }] });
    let rule = json!({ "multiMatch": { "healthy": phase(".a"), "unhealthy": phase(".a[") } });
    all(
        "bad-path",
        vec![
            tag(
                "an empty tag",
                "$()$",
                "[spec.foo]: evaluate tag $()$: empty jsonpath not allowed",
            ),
            tag(
                "a blank in front",
                "$( runnable.kind )$",
                "unrecognized identifier runnable",
            ),
            tag(
                "an unknown root",
                "$(inputs.foo)$",
                "a tag reads runnable or selected, not 'inputs'",
            ),
            tag(
                "a missing key",
                "$(runnable.spec.inputs.none)$",
                "jsonpath returned empty list: runnable.spec.inputs.none",
            ),
            tag(
                "an index out of range",
                "$(runnable.spec.inputs.list[9])$",
                "array index out of bounds: index 9, length 2",
            ),
            tag(
                "an index of a text",
                "$(runnable.spec.inputs.text[0])$",
                "is not array or slice",
            ),
            tag(
                "several results",
                "$(runnable.spec.inputs.list[*])$",
                "too many results for the query",
            ),
            tag(
                "null in a text",
                "x$(runnable.spec.inputs.nil)$",
                "tag must not point to nil value: runnable.spec.inputs.nil",
            ),
            tag(
                "the status",
                "$(runnable.status.outputs.answer)$",
                "runnable.status is not readable",
            ),
            tag(
                "the resourceVersion",
                "$(runnable.metadata.resourceVersion)$",
                "runnable.metadata.resourceVersion is not readable",
            ),
            tag(
                "a regular expression",
                "$(runnable.spec.inputs.list[?(@=~'x')])$",
                "failed to parse jsonpath",
            ),
            tag("2,000 parentheses", &long, "more than 1024"),
            tag(
                "a selected object without a selector",
                "$(selected.data.x)$",
                "jsonpath returned empty list: selected.data.x",
            ),
            spec(
                "two queries in an output",
                json!({ "outputs": { "bad": "{.a}{.b}" } }),
                "outputs.bad: failed to evaluate path [{.a}{.b}]",
            ),
            spec(
                "a healthRule that cannot be read",
                json!({ "healthRule": rule }),
                "healthRule.multiMatch.unhealthy.matchFields[0].key",
            ),
        ],
    )
    .await
}
