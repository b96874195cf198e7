//! Values that are small as text and large as a tree are refused at every entrance.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "helpers of tests fail like tests, and take what the tests make for them"
)]

use std::collections::BTreeMap;

use cartouche_crds::{ClusterRunTemplateSpec, ReadAs};
use cartouche_engines::OutputError;
use cartouche_language::{
    bounds::{MAX_CONTEXT_BYTES, MAX_RENDERED_WEIGHT, MAX_TEMPLATE_BYTES, MAX_WEIGHT},
    weight::weight,
};
use cartouche_templating::{Context, Fields, NoValue, Room, Sourced, Template, read_text};
use serde_json::{Value, json};

/// Nests maps of one entry, so often that they have about this weight.
fn maps(weighs: usize) -> Value {
    let chain = (0..50).fold(json!(1), |inside, _| json!({ "a": inside }));
    many(&chain, weighs)
}

/// Nests lists in the same way.
fn lists(weighs: usize) -> Value {
    let chain = (0..50).fold(json!(1), |inside, _| json!([inside]));
    many(&chain, weighs)
}

fn many(value: &Value, weighs: usize) -> Value {
    vec![value.clone(); weighs / weight(value)].into()
}

fn spec(data: Value) -> Value {
    json!({ "template": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" }, "data": data,
    } })
}

fn compile(spec: Value) -> Result<Template, String> {
    let spec: ClusterRunTemplateSpec = serde_json::from_value(spec).unwrap();
    Template::compile(&spec).map_err(|problems| problems.to_string())
}

fn runnable(inputs: Value) -> Value {
    json!({
        "metadata": { "name": "r", "namespace": "ns" },
        "spec": { "runTemplateRef": { "name": "t" }, "inputs": inputs },
    })
}

#[track_caller]
fn is_refused(problem: impl ToString) {
    let problem = problem.to_string();
    assert!(
        problem.contains("MiB of memory as a tree of values"),
        "{problem}"
    );
}

#[test]
fn a_template_is_refused() {
    let taken = spec(maps(MAX_RENDERED_WEIGHT / 2));
    assert!(taken.to_string().len() < MAX_TEMPLATE_BYTES);
    assert!(compile(taken).is_ok());
    for heavy in [
        maps(MAX_RENDERED_WEIGHT * 5 / 4),
        maps(MAX_RENDERED_WEIGHT * 2),
    ] {
        assert!(heavy.to_string().len() < MAX_TEMPLATE_BYTES);
        is_refused(compile(spec(heavy)).unwrap_err());
    }
}

#[test]
fn what_tags_read_is_refused_wherever_it_comes_from() {
    let fits = maps(MAX_WEIGHT * 3 / 5);
    let small = runnable(json!({ "a": 1 }));
    assert!(Context::new(&runnable(json!({ "a": fits })), None).is_ok());
    for heavy in [maps(MAX_WEIGHT * 2), lists(MAX_WEIGHT * 2)] {
        assert!(heavy.to_string().len() < MAX_CONTEXT_BYTES);
        let selected = json!({ "spec": heavy });
        is_refused(Context::new(&small, Some(&selected)).unwrap_err());
        let given = runnable(json!({ "a": heavy }));
        is_refused(Context::new(&given, None).unwrap_err());
        is_refused(Context::from_owned(given, None).unwrap_err());
        let sourced = BTreeMap::from([("b".to_owned(), Sourced::plain(heavy))]);
        let context = Context::new(&small, None).unwrap();
        is_refused(context.with_sources(&sourced).unwrap_err());
    }
    // Each fits, but not both together.
    let selected = json!({ "spec": fits });
    let both = Context::new(&runnable(json!({ "a": fits, "b": 1 })), Some(&selected));
    is_refused(both.unwrap_err());
}

#[test]
fn a_context_of_its_own_is_the_same_as_a_copy() {
    let mut whole = runnable(json!({ "a": 1 }));
    whole["status"] = json!({ "outputs": { "b": 2 } });
    whole["metadata"]["resourceVersion"] = json!("7");
    whole["metadata"]["annotations"] = json!({ "carto.run/approved": "1:x" });
    let [copied, own] = [Context::new(&whole, None), Context::from_owned(whole, None)];
    assert_eq!(
        format!("{:?}", copied.unwrap()),
        format!("{:?}", own.unwrap())
    );
}

#[test]
fn what_is_rendered_is_refused_before_it_is_copied() {
    let tags: Vec<&str> = vec!["$(runnable.spec.inputs.a)$"; 4];
    let inputs = runnable(json!({ "a": maps(MAX_RENDERED_WEIGHT / 3) }));
    let context = Context::new(&inputs, None).unwrap();
    assert!(
        compile(spec(json!(tags[..2])))
            .unwrap()
            .render(&context)
            .is_ok()
    );
    is_refused(
        compile(spec(json!(tags)))
            .unwrap()
            .render(&context)
            .unwrap_err(),
    );
}

#[test]
fn defaults_are_refused_that_make_inputs_heavy() {
    let mut spec = spec(json!({ "all": "$(runnable.spec.inputs.list)$" }));
    let default = maps(MAX_RENDERED_WEIGHT / 20);
    spec["inputSchema"] = json!({ "type": "object", "properties": { "list": { "type": "array", "items": {
        "type": "object", "properties": { "d": { "x-kubernetes-preserve-unknown-fields": true, "default": default } },
    } } } });
    let template = compile(spec).unwrap();
    let given = |count: usize| {
        let list = vec![json!({}); count];
        Context::new(&runnable(json!({ "list": list })), None).unwrap()
    };
    assert!(template.complete(&given(10)).is_ok());
    let refused = template.complete(&given(30)).unwrap_err().to_string();
    assert!(
        refused.contains("would add more than 8 MiB of memory"),
        "{refused}"
    );
}

#[test]
fn outputs_are_refused() {
    let mut spec = spec(json!({}));
    let names = ["a", "b", "c", "d"];
    let paths = names.map(|name| (name.to_owned(), json!(format!(".data.{name}"))));
    spec["outputs"] = Value::Object(paths.into_iter().collect());
    let template = compile(spec).unwrap();
    let of = |value: &Value| {
        let data = names.map(|name| (name.to_owned(), value.clone()));
        let data = Value::Object(data.into_iter().collect());
        template.outputs(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": data }))
    };
    assert!(of(&json!("x".repeat(60 * 1024))).is_ok());
    let refused = of(&maps(3 << 17)).unwrap_err();
    assert!(
        matches!(&refused, OutputError::TooHeavy { name, .. } if name == "c"),
        "{refused}"
    );
    is_refused(refused);
}

#[test]
fn inputs_from_other_objects_are_refused_as_text_and_as_fields() {
    let mut room = Room::default();
    let text = maps(MAX_WEIGHT / 3).to_string();
    for fits in [true, true, false] {
        assert_eq!(read_text(&text, ReadAs::Json, &mut room).is_ok(), fits);
    }
    assert!(read_text(&text, ReadAs::Text, &mut Room::default()).is_ok());
    let object = json!({ "spec": maps(MAX_WEIGHT * 3 / 4) });
    let mut fields = Fields::new(&object);
    assert!(fields.read(".spec").is_ok());
    let Err(NoValue::TooMuch(why)) = fields.read(".spec") else {
        panic!("it is read twice");
    };
    is_refused(why);
}

/// One `ConfigMap` with a megabyte of texts, and the most that 32 references to ordinary objects yield.
#[test]
fn large_texts_are_not_heavy() {
    let texts = (0..16).map(|at| (format!("t{at}"), json!("x".repeat(63 * 1024))));
    let texts = Value::Object(texts.collect());
    assert!(Context::new(&runnable(texts), None).is_ok());
    let pod = json!({ "name": "a", "image": "b", "env": [{ "name": "c", "value": "d" }] });
    let many = (0..32).map(|at| (format!("i{at}"), json!(vec![pod.clone(); 100])));
    assert!(Context::new(&runnable(Value::Object(many.collect())), None).is_ok());
}
