use cartouche_crds::ClusterRunTemplateSpec;
use serde_json::{Value, json};

use crate::{Context, Template};

fn template(schema: Option<Value>) -> Template {
    let spec: ClusterRunTemplateSpec = serde_json::from_value(json!({
        "template": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" },
            "data": { "workers": "$(runnable.spec.inputs.workers)$ of them" },
        },
    }))
    .unwrap();
    Template::compile(&ClusterRunTemplateSpec {
        input_schema: schema,
        ..spec
    })
    .unwrap()
}

fn context(inputs: &Value) -> Context {
    let runnable = json!({
        "metadata": { "name": "a", "namespace": "b" },
        "spec": { "runTemplateRef": { "name": "t" }, "inputs": inputs },
    });
    Context::new(&runnable, None).unwrap()
}

#[test]
fn tags_see_the_defaults() {
    let schema = json!({ "type": "object", "properties": { "workers": { "type": "integer", "default": 2 } } });
    let rendered = template(Some(schema)).render(&context(&json!({}))).unwrap();
    assert_eq!(rendered.document()["data"]["workers"], "2 of them");
}

#[test]
fn a_schema_alone_does_not_change_the_hash() {
    let schema = json!({ "type": "object", "properties": { "workers": { "type": "integer", "default": 2 } } });
    let (with, without) = (template(Some(schema)), template(None));
    let given = context(&json!({ "workers": 2 }));
    let hash =
        |template: &Template, context| template.render(context).unwrap().input_hash().to_owned();
    assert_eq!(hash(&with, &given), hash(&without, &given));
    // A default has the same effect as the same written value.
    assert_eq!(hash(&with, &context(&json!({}))), hash(&with, &given));
    assert_eq!(with.rules_hash(), without.rules_hash());
}

#[test]
fn inputs_that_do_not_fit_render_nothing() {
    let schema = json!({ "type": "object", "properties": { "workers": { "type": "integer" } } });
    let problems = template(Some(schema))
        .render(&context(&json!({ "workers": "many" })))
        .unwrap_err();
    assert_eq!(
        problems.to_string(),
        "runnable.spec.inputs.workers: it has to be an integer, and is a string"
    );
}

#[test]
fn suspending_is_nothing_that_a_template_sees() {
    let spec = |text: &str| -> ClusterRunTemplateSpec {
        serde_json::from_value(json!({ "template": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" }, "data": { "all": text },
        } }))
        .unwrap()
    };
    let runnable = |suspend: Value| {
        let mut spec = json!({ "runTemplateRef": { "name": "t" } });
        if !suspend.is_null() {
            spec["suspend"] = suspend;
        }
        Context::new(&json!({ "metadata": { "name": "a" }, "spec": spec }), None).unwrap()
    };
    let template = Template::compile(&spec("$(runnable.spec)$")).unwrap();
    let hash = |suspend| {
        template
            .render(&runnable(suspend))
            .unwrap()
            .input_hash()
            .to_owned()
    };
    assert_eq!(hash(json!(true)), hash(Value::Null));
    assert_eq!(hash(json!(false)), hash(Value::Null));
    let refused = Template::compile(&spec("$(runnable.spec.suspend)$")).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("runnable.spec.suspend is not readable"),
        "{refused}"
    );
}

#[test]
fn a_colon_in_what_a_user_wrote_parts_no_message() {
    let spec = ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        template: json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x" } }),
        outputs: None,
        input_schema: Some(json!({ "type": "object", "properties": {
            "n": { "type": "integer", "enum": ["a: b", 1] },
        } })),
        optional_outputs: None,
        sensitive_outputs: None,
        failure_outputs: None,
        health_rule: None,
        retry: None,
        timeout: None,
        concurrency_policy: None,
        approval: None,
        start: None,
        stop: None,
    };
    let problems = Template::compile(&spec).unwrap_err();
    let kind = &problems.iter().next().unwrap().kind;
    assert_eq!(
        kind.to_string(),
        "\"a: b\" is not an integer, as the type says"
    );
    assert_eq!(
        kind.cure().as_deref(),
        Some("remove it, or change the type")
    );
}
