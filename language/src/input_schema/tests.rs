mod limits;
mod properties;
mod structure;

use serde_json::{Value, json};

use super::{InputSchema, fits_format, matches_pattern};
use crate::diagnostic::Diagnostics;

fn compile(schema: &Value) -> Result<InputSchema, Vec<String>> {
    let mut problems = Vec::new();
    let compiled = InputSchema::compile(schema, &mut problems);
    let told = || problems.iter().map(ToString::to_string).collect();
    compiled.filter(|_| problems.is_empty()).ok_or_else(told)
}

/// Returns the problems of an invalid schema.
fn refused(schema: &Value) -> Vec<String> {
    compile(schema).unwrap_err()
}

fn of(properties: &Value) -> InputSchema {
    compile(&json!({ "type": "object", "properties": properties })).unwrap()
}

fn completed(schema: &InputSchema, inputs: &Value) -> Value {
    schema
        .complete(Some(inputs))
        .unwrap()
        .unwrap_or_else(|| inputs.clone())
}

fn said(outcome: Result<Option<Value>, Diagnostics>) -> Vec<String> {
    let problems = outcome.unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

/// Returns the problems of inputs that do not fit.
fn misfit(schema: &InputSchema, inputs: &Value) -> Vec<String> {
    said(schema.complete(Some(inputs)))
}

/// Returns the problems of one value, without its path.
fn misfit_of(property: &Value, value: &Value) -> Option<String> {
    let schema = of(&json!({ "x": property }));
    let outcome = schema.complete(Some(&json!({ "x": value })));
    let mut all = outcome
        .err()?
        .iter()
        .map(crate::diagnostic::Diagnostic::message)
        .collect::<Vec<_>>();
    assert_eq!(all.len(), 1, "{all:?}");
    all.pop()
}

#[test]
fn formats_tell_what_they_are_from_what_they_are_not() {
    let cases = [
        ("date", "2026-11-21", "21.11.2026"),
        (
            "date-time",
            "2026-11-21T08:00:00.5+01:00",
            "2026-11-21 08:00",
        ),
        ("duration", "1h30m", "soon"),
        ("email", "a@b", "a b@c"),
        ("hostname", "a-b.example.com", "-a"),
        ("uri", "https://example.com/x", "example.com"),
        ("uuid", "00000000-0000-0000-0000-00000000000a", "0"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
    ];
    for (format, good, bad) in cases {
        assert!(fits_format(format, &json!(good)), "{format} {good}");
        assert!(!fits_format(format, &json!(bad)), "{format} {bad}");
    }
    assert!(fits_format("of-another-world", &json!("x")));
    assert_eq!(matches_pattern("abc", "b"), Some(true));
    assert_eq!(matches_pattern("abc", "^b"), Some(false));
    assert_eq!(matches_pattern("abc", "("), None);
}

#[test]
fn a_default_takes_the_place_of_a_missing_input_and_of_no_other() {
    let schema = of(&json!({
        "workers": { "type": "integer", "default": 2 },
        "name": { "type": "string" },
    }));
    assert_eq!(completed(&schema, &json!({})), json!({ "workers": 2 }));
    assert_eq!(
        completed(&schema, &json!({ "workers": 5, "name": "x" })),
        json!({ "workers": 5, "name": "x" })
    );
    assert_eq!(
        schema.complete(Some(&json!({ "workers": 5 }))).unwrap(),
        None
    );
}

#[test]
fn a_runnable_without_inputs_gets_the_defaults_too() {
    let schema = of(&json!({ "workers": { "type": "integer", "default": 2 } }));
    assert_eq!(
        schema.complete(None).unwrap(),
        Some(json!({ "workers": 2 }))
    );
    let without = of(&json!({ "workers": { "type": "integer" } }));
    assert_eq!(without.complete(None).unwrap(), None);
}

#[test]
fn defaults_reach_into_objects_lists_and_maps_that_are_there() {
    let schema = of(&json!({
        "build": { "type": "object", "properties": { "retries": { "type": "integer", "default": 3 } } },
        "steps": { "type": "array", "items": {
            "type": "object", "properties": { "image": { "type": "string", "default": "alpine" } } } },
        "env": { "type": "object", "additionalProperties": {
            "type": "object", "properties": { "secret": { "type": "boolean", "default": false } } } },
    }));
    let given = json!({ "build": {}, "steps": [{}, { "image": "busybox" }], "env": { "A": {} } });
    let expected = json!({
        "build": { "retries": 3 },
        "steps": [{ "image": "alpine" }, { "image": "busybox" }],
        "env": { "A": { "secret": false } },
    });
    assert_eq!(completed(&schema, &given), expected);
    assert_eq!(completed(&schema, &json!({})), json!({}));
}

#[test]
fn the_default_of_an_object_gets_the_defaults_of_its_members() {
    let schema = of(&json!({ "build": {
        "type": "object", "default": {},
        "properties": { "retries": { "type": "integer", "default": 3 } },
    } }));
    assert_eq!(
        completed(&schema, &json!({})),
        json!({ "build": { "retries": 3 } })
    );
}

#[test]
fn a_null_is_missing_where_null_is_not_allowed() {
    let schema = of(&json!({
        "a": { "type": "integer", "default": 1 },
        "b": { "type": "integer", "default": 1, "nullable": true },
    }));
    assert_eq!(
        completed(&schema, &json!({ "a": null, "b": null })),
        json!({ "a": 1, "b": null })
    );
    let plain = of(&json!({ "c": { "type": "integer" } }));
    assert_eq!(
        misfit(&plain, &json!({ "c": null })),
        [
            "runnable.spec.inputs.c: it has to be an integer, and is null: give it a value, or leave the key out"
        ]
    );
}

#[test]
fn defaults_that_multiply_are_stopped() {
    let schema = of(&json!({ "list": { "type": "array", "items": {
        "type": "object", "properties": { "text": { "type": "string", "default": "x".repeat(30_000) } } } } }));
    let few = json!({ "list": [{}, {}] });
    assert!(schema.complete(Some(&few)).is_ok());
    let many = json!({ "list": vec![json!({}); 1_000] });
    assert_eq!(
        misfit(&schema, &many),
        [
            "runnable.spec.inputs: the defaults of inputSchema would add more than 262144 bytes: give fewer or smaller defaults inside lists and maps"
        ]
    );
}

#[test]
fn an_input_that_is_not_described_is_refused_only_where_the_schema_says_so() {
    let open = of(&json!({ "a": { "type": "string" } }));
    assert_eq!(completed(&open, &json!({ "b": 1 })), json!({ "b": 1 }));
    let closed = compile(&json!({
        "type": "object", "additionalProperties": false,
        "properties": { "image": { "type": "string" }, "workers": { "type": "integer" } },
    }));
    assert_eq!(
        misfit(&closed.unwrap(), &json!({ "imgae": "x" })),
        ["runnable.spec.inputs.imgae: there is no such input: the inputs here are image, workers"]
    );
}

#[test]
fn a_missing_input_is_told_with_its_type_and_its_description() {
    let schema = compile(&json!({
        "type": "object", "required": ["image"],
        "properties": { "image": { "type": "string", "description": "What to build. With the registry." } },
    }));
    assert_eq!(
        said(schema.unwrap().complete(None)),
        [
            "runnable.spec.inputs: the input 'image' is missing: it has to be a string (What to build)"
        ]
    );
}

#[test]
fn every_problem_is_told_with_the_path_of_its_value() {
    let schema = of(&json!({
        "steps": { "type": "array", "items": { "type": "object", "properties": {
            "image": { "type": "string" }, "retries": { "type": "integer" } } } },
        "fast": { "type": "boolean" },
    }));
    let inputs = json!({ "fast": "true", "steps": [{ "image": 7 }, { "retries": 1.5 }] });
    assert_eq!(
        misfit(&schema, &inputs),
        [
            "runnable.spec.inputs.fast: it has to be a boolean, and is a string: take the quotes away",
            "runnable.spec.inputs.steps[0].image: it has to be a string, and is a number: put it in quotes",
            "runnable.spec.inputs.steps[1].retries: it has to be an integer, and is a number with a fraction",
        ]
    );
}

#[test]
fn a_value_is_never_repeated_in_what_is_said() {
    let schema = of(
        &json!({ "token": { "type": "string", "enum": ["a"], "pattern": "^a$", "maxLength": 3, "format": "uuid" } }),
    );
    let told = misfit(&schema, &json!({ "token": "hunter2" })).join("\n");
    assert!(!told.contains("hunter2"), "{told}");
}
