#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

mod explained;
mod input_schema;
mod labels;
mod open;
mod rules;
mod selected_secret;
mod sensitive;
mod warnings;

use std::collections::BTreeMap;

use cartouche_crds::HealthRule;
use cartouche_language::bounds::{MAX_RENDER_VISITS, MAX_RENDERED_BYTES};
use serde_json::json;

use super::*;

fn template(data: Value) -> Value {
    let mut template = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" },
    });
    template["data"] = data;
    template
}

fn compile(template: Value) -> Result<Template, Diagnostics> {
    Template::compile(&ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        template,
        outputs: None,
        input_schema: None,
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
    })
}

fn context(inputs: &Value) -> Context {
    let runnable = json!({
        "metadata": { "name": "rn", "namespace": "ns", "uid": "u" },
        "spec": { "runTemplateRef": { "name": "t" }, "inputs": inputs },
    });
    Context::new(&runnable, None).unwrap()
}

fn render(data: Value, inputs: &Value) -> Result<Value, Diagnostics> {
    let rendered = compile(template(data))?.render(&context(inputs))?;
    Ok(rendered.document()["data"].clone())
}

#[test]
fn only_strings_are_rendered_and_everything_else_passes() {
    let data = json!({
        "list": [1, "$(runnable.spec.inputs.a)$", [], {}],
        "null": null, "flag": true, "number": 9_007_199_254_740_993_u64,
        "$(runnable.spec.inputs.a)$": "key",
    });
    assert_eq!(
        render(data, &json!({ "a": { "b": [null] } })).unwrap(),
        json!({
            "list": [1, { "b": [null] }, [], {}],
            "null": null, "flag": true, "number": 9_007_199_254_740_993_u64,
            "$(runnable.spec.inputs.a)$": "key",
        })
    );
}

#[test]
fn one_bad_tag_reads_as_in_cartographer() {
    let steps = json!({ "steps": [{ "name": "$(runnable.spec.inputs.x)$" }] });
    assert_eq!(
        render(steps, &json!({})).unwrap_err().to_string(),
        "failed to recursively evaluate template: failed to interpolate template at path \
         [data.steps.[0]name]: evaluate tag $(runnable.spec.inputs.x)$: jsonpath returned empty \
         list: runnable.spec.inputs.x"
    );
    assert_eq!(
        render(json!({ "a": "x $(runnable.spec.inputs.x)$" }), &json!({}))
            .unwrap_err()
            .to_string(),
        "failed to recursively evaluate template: failed to interpolate template at path [data.a]: \
         interpolate tag: evaluate jsonpath: jsonpath returned empty list: runnable.spec.inputs.x"
    );
    assert_eq!(
        render(
            json!({ "a": "x $(runnable.spec.inputs.x)$" }),
            &json!({ "x": null })
        )
        .unwrap_err()
        .to_string(),
        "failed to recursively evaluate template: failed to interpolate template at path [data.a]: \
         interpolate tag: tag must not point to nil value: runnable.spec.inputs.x"
    );
}

#[test]
fn bad_tags_are_reported_all_at_once_in_document_order() {
    let data = json!({
        "z": "$(runnable.spec.inputs.z)$",
        "a": ["$(runnable.spec.inputs.0)$", "ok", "$(runnable.spec.inputs.2)$"],
        "m": "$(runnable.spec.inputs.m1)$ $(runnable.spec.inputs.m2)$",
    });
    let problems = render(data, &json!({})).unwrap_err();
    let places: Vec<_> = problems
        .iter()
        .map(|problem| (problem.path(), problem.tag.clone().unwrap()))
        .collect();
    let places: Vec<_> = places
        .iter()
        .map(|(path, tag)| (path.as_str(), tag.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            ("data.a[0]", "runnable.spec.inputs.0"),
            ("data.a[2]", "runnable.spec.inputs.2"),
            ("data.m", "runnable.spec.inputs.m1"),
            ("data.m", "runnable.spec.inputs.m2"),
            ("data.z", "runnable.spec.inputs.z"),
        ]
    );
}

#[test]
fn what_is_wrong_whatever_a_runnable_says_is_found_by_compiling() {
    let spec = ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        retry: None,
        timeout: None,
        concurrency_policy: None,
        approval: None,
        start: None,
        stop: None,
        template: json!({
            "kind": "",
            "metadata": { "namespace": "other" },
            "spec": { "a": "$(runnable.spec[)$", "b": "$(runable.x)$", "c": "$(runnable.status)$" },
        }),
        outputs: Some(BTreeMap::from([(
            "digest".to_owned(),
            ".status[".to_owned(),
        )])),
        input_schema: None,
        optional_outputs: Some(vec!["digest".to_owned(), "x".to_owned()]),
        sensitive_outputs: None,
        failure_outputs: None,
        health_rule: Some(HealthRule::default()),
    };
    let problems = Template::compile(&spec).unwrap_err();
    let paths: Vec<_> = problems.iter().map(Diagnostic::path).collect();
    assert_eq!(
        paths,
        [
            "apiVersion",
            "kind",
            "metadata",
            "metadata.namespace",
            "spec.a",
            "spec.b",
            "spec.c",
            "optionalOutputs[1]",
            "outputs.digest",
            "healthRule",
        ]
    );
}

#[test]
fn the_kind_is_literal_only_without_tags() {
    let kind = |api_version: &str, kind: &str| {
        let metadata = json!({ "generateName": "x-", "labels": "$(runnable.metadata.labels)$" });
        let template =
            compile(json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata }));
        let template = template.unwrap();
        template
            .literal_kind()
            .map(|(version, kind)| (version.to_owned(), kind.to_owned()))
    };
    assert_eq!(kind("v1", "Pod"), Some(("v1".to_owned(), "Pod".to_owned())));
    assert_eq!(kind("v1", "$(runnable.spec.inputs.kind)$"), None);
    assert_eq!(
        kind("$('v1')$", "Pod"),
        Some(("v1".to_owned(), "Pod".to_owned()))
    );
}

#[test]
fn a_template_that_is_too_large_or_too_deep_is_refused() {
    let deep = |levels| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    for (data, expected) in [
        (
            json!({ "x": "x".repeat(MAX_TEMPLATE_BYTES) }),
            "template: it is larger than 262144 bytes",
        ),
        (
            json!(vec![1; MAX_LEAVES]),
            "template: it has more than 20000 values",
        ),
        (
            deep(64),
            "template: objects and arrays are nested more than 64 deep",
        ),
        (
            deep(3_000),
            "template: objects and arrays are nested more than 64 deep",
        ),
        (
            json!(vec!["$(runnable.metadata.name)$"; MAX_TAGS + 1]),
            "template: it has 1001 tags, more than 1000",
        ),
    ] {
        assert_eq!(compile(template(data)).unwrap_err().to_string(), expected);
    }
    assert_eq!(
        compile(json!([1])).unwrap_err().to_string(),
        "template: stamped resource is not a map[string]interface{}: it has to be an object"
    );
}

#[test]
fn a_rendering_that_is_too_large_or_too_deep_is_refused() {
    let deep = (0..62).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let tag = "$(runnable.spec.inputs.x)$";
    let refused = |data: Value, x: Value| render(data, &json!({ "x": x })).unwrap_err().to_string();
    assert!(render(json!([tag]), &json!({ "x": [1] })).is_ok());
    assert_eq!(
        refused(json!([[[[tag]]]]), deep[0][0].clone()),
        "the rendered document nests objects and arrays more than 64 deep"
    );
    assert_eq!(
        refused(json!([tag, tag]), json!(vec![1; MAX_LEAVES / 2])),
        "the rendered document has more than 20000 values"
    );
    let half = "x".repeat(MAX_RENDERED_BYTES / 2);
    let problem = refused(json!([tag, tag, "$(runnable.missing)$"]), json!(half));
    assert!(
        problem.ends_with("the rendered document is larger than 524288 bytes"),
        "{problem}"
    );
    assert!(!problem.contains("missing"), "it went on: {problem}");
    let problem = refused(
        json!({ "a": "x".repeat(100_000), "b": tag }),
        json!("x".repeat(430_000)),
    );
    assert_eq!(problem, "the rendered document is larger than 524288 bytes");
}

fn attempt(template: Value, inputs: &Value) -> Attempt {
    let draft = Draft::new(&ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        retry: None,
        timeout: None,
        concurrency_policy: None,
        approval: None,
        start: None,
        stop: None,
        template,
        outputs: None,
        input_schema: None,
        optional_outputs: None,
        sensitive_outputs: None,
        failure_outputs: None,
        health_rule: None,
    });
    draft.attempt(&context(inputs), &[])
}

#[test]
fn an_attempt_is_refused_what_a_rendering_is_refused() {
    let deep = |levels, inner| (0..levels).fold(inner, |inner, _| Value::Array(vec![inner]));
    let tag = json!("$(runnable.spec.inputs.x)$");
    for (data, x) in [
        (deep(40, tag.clone()), deep(40, json!(1))),
        (json!([tag, tag]), json!(vec![1; MAX_LEAVES / 2])),
        (
            json!({ "a": "x".repeat(100_000), "b": tag }),
            json!("x".repeat(430_000)),
        ),
    ] {
        let inputs = json!({ "x": x });
        let refused = render(data.clone(), &inputs).unwrap_err();
        let attempt = attempt(template(data), &inputs);
        assert_eq!(
            attempt.problems,
            refused.iter().cloned().collect::<Vec<_>>()
        );
        assert_eq!((attempt.document, attempt.open.len()), (Value::Null, 1));
    }
}

#[test]
fn nothing_follows_from_a_template_that_is_refused_as_a_whole() {
    let deep = (0..70).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    for data in [
        json!("x".repeat(MAX_TEMPLATE_BYTES)),
        deep,
        json!(vec!["$(runnable.missing)$"; MAX_TAGS + 1]),
    ] {
        assert_eq!(attempt(template(data), &json!({})).problems, []);
    }
    assert_eq!(attempt(json!([1]), &json!({})).problems, []);
}

#[test]
fn tags_that_cannot_be_read_are_counted_with_the_others() {
    let good = "$(runnable.metadata.name)$";
    let data = json!([
        format!("{good} $(run.x)$ {good}"),
        vec!["$(run.x)$"; MAX_TAGS - 2]
    ]);
    let problems = compile(template(data)).unwrap_err();
    assert_eq!(
        problems.iter().last().unwrap().to_string(),
        "template: it has 1001 tags, more than 1000"
    );
}

#[test]
fn paths_that_visit_too_much_together_end_the_rendering() {
    let x = json!(vec![1; 90_000]);
    let tags = vec!["$(runnable.spec.inputs.x[?(@==2)])$"; MAX_RENDER_VISITS / 90_000 + 5];
    let problems = render(json!(tags), &json!({ "x": x })).unwrap_err();
    let last = problems.iter().last().unwrap();
    assert!(
        last.message()
            .contains("the paths together visit more than 1000000 nodes"),
        "{last}"
    );
    assert_eq!(last.path(), "data[11]");
}

fn told(template: &Template) -> Vec<String> {
    let warnings = template.warnings().iter();
    warnings.map(ToString::to_string).collect()
}

#[test]
fn a_run_that_does_not_say_its_kind_has_that_of_the_template() {
    let spec = |kind: &str| ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        retry: None,
        timeout: None,
        concurrency_policy: None,
        approval: None,
        start: None,
        stop: None,
        template: json!({
            "apiVersion": "v1", "kind": kind, "metadata": { "generateName": "x-" },
        }),
        outputs: Some(BTreeMap::from([(
            "phase".to_owned(),
            "status.phase".to_owned(),
        )])),
        input_schema: None,
        optional_outputs: None,
        sensitive_outputs: None,
        failure_outputs: None,
        health_rule: None,
    };
    let run = json!({ "status": { "phase": "Succeeded" } });
    let pod = Template::compile(&spec("Pod")).unwrap();
    assert_eq!(pod.health(&run).reason, "PodPhase");
    assert!(pod.outputs(&run).is_ok());
    let secret = Template::compile(&spec("Secret")).unwrap();
    assert_eq!(told(&secret), ["outputs: a Secret gives no outputs"]);
    assert_eq!(secret.outputs(&run), Err(OutputError::Secret));
    let tagged = Template::compile(&spec("$(runnable.spec.inputs.kind)$")).unwrap();
    assert_eq!(tagged.outputs(&run), Err(OutputError::UnknownKind));
    let said = json!({ "apiVersion": "v1", "kind": "Pod", "status": { "phase": "Succeeded" } });
    assert!(tagged.outputs(&said).is_ok());
}
