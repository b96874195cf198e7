mod properties;
mod structure;
mod template;

use serde_json::{Value, json};

use super::{InputSchema, fits_format, matches_pattern};
use crate::error::Problems;

fn compile(schema: &Value) -> Result<InputSchema, Vec<String>> {
    let mut problems = Vec::new();
    let compiled = InputSchema::compile(schema, &mut problems);
    compiled.ok_or_else(|| problems.iter().map(ToString::to_string).collect())
}

/// What is said of a schema that cannot be used.
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

fn said(outcome: Result<Option<Value>, Problems>) -> Vec<String> {
    let problems = outcome.unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

/// What is said of inputs that do not fit.
fn misfit(schema: &InputSchema, inputs: &Value) -> Vec<String> {
    said(schema.complete(Some(inputs)))
}

/// What is said of one value, without its path.
fn misfit_of(property: &Value, value: &Value) -> Option<String> {
    let schema = of(&json!({ "x": property }));
    let outcome = schema.complete(Some(&json!({ "x": value })));
    let mut all = outcome
        .err()?
        .iter()
        .map(|problem| problem.message.clone())
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
        ["runnable.spec.inputs: the input 'image' is missing: it has to be a text (What to build)"]
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
            "runnable.spec.inputs.fast: it has to be true or false, and is a text: take the quotes away",
            "runnable.spec.inputs.steps.[0]image: it has to be a text, and is a number: put it in quotes",
            "runnable.spec.inputs.steps.[1]retries: it has to be an integer, and is a number with a fraction",
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

/// A schema, a value that fits, one that does not, and what is said of it.
type Limit = (Value, Value, Value, &'static str);

fn keep_to(cases: &[Limit]) {
    for (schema, good, bad, message) in cases {
        assert_eq!(misfit_of(schema, good), None, "{schema} {good}");
        assert_eq!(
            misfit_of(schema, bad).as_deref(),
            Some(*message),
            "{schema} {bad}"
        );
    }
}

#[test]
fn texts_and_numbers_keep_to_their_limits() {
    let cases = [
        (
            json!({ "type": "string", "enum": ["dev", "prod"] }),
            json!("dev"),
            json!("test"),
            "it has to be one of \"dev\", \"prod\"",
        ),
        (
            json!({ "type": "string", "pattern": "^v[0-9]+$" }),
            json!("v1"),
            json!("1"),
            "it has to match the pattern ^v[0-9]+$",
        ),
        (
            json!({ "type": "string", "minLength": 2 }),
            json!("éé"),
            json!("é"),
            "it has to have at least 2 characters, and has 1",
        ),
        (
            json!({ "type": "string", "maxLength": 1 }),
            json!("é"),
            json!("éé"),
            "it has to have at most 1 character, and has 2",
        ),
        (
            json!({ "type": "string", "format": "date-time" }),
            json!("2026-11-21T10:00:00Z"),
            json!("today"),
            "it has to have the format date-time",
        ),
        (
            json!({ "type": "integer", "minimum": 1 }),
            json!(1),
            json!(0),
            "it has to be at least 1",
        ),
        (
            json!({ "type": "integer", "maximum": 9_007_199_254_740_992_i64 }),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_993_i64),
            "it has to be at most 9007199254740992",
        ),
        (
            json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true }),
            json!(1.5),
            json!(1),
            "it has to be more than 1",
        ),
        (
            json!({ "type": "number", "maximum": 1, "exclusiveMaximum": true }),
            json!(0.5),
            json!(1),
            "it has to be less than 1",
        ),
        (
            json!({ "type": "number", "multipleOf": 0.1 }),
            json!(0.3),
            json!(0.35),
            "it has to be a multiple of 0.1",
        ),
        (
            json!({ "type": "integer", "format": "int32" }),
            json!(1),
            json!(3_000_000_000_i64),
            "it has to have the format int32",
        ),
    ];
    keep_to(&cases);
}

#[test]
fn lists_objects_and_mixed_types_keep_to_their_limits() {
    let cases = [
        (
            json!({ "type": "array", "items": { "type": "integer" }, "minItems": 1 }),
            json!([1]),
            json!([]),
            "it has to have at least 1 element, and has 0",
        ),
        (
            json!({ "type": "array", "items": { "type": "integer" }, "maxItems": 1 }),
            json!([1]),
            json!([1, 2]),
            "it has to have at most 1 element, and has 2",
        ),
        (
            json!({ "type": "array", "items": { "type": "integer" }, "uniqueItems": true }),
            json!([1, 2]),
            json!([1, 1]),
            "no two of its elements may be equal",
        ),
        (
            json!({ "type": "object", "minProperties": 1 }),
            json!({ "a": 1 }),
            json!({}),
            "it has to have at least 1 key, and has 0",
        ),
        (
            json!({ "type": "object", "maxProperties": 0 }),
            json!({}),
            json!({ "a": 1 }),
            "it has to have at most 0 keys, and has 1",
        ),
        (
            json!({ "type": "integer" }),
            json!(2.0),
            json!(2.5),
            "it has to be an integer, and is a number with a fraction",
        ),
        (
            json!({ "x-kubernetes-int-or-string": true }),
            json!("50%"),
            json!(true),
            "it has to be an integer or a text, and is true or false",
        ),
        (
            json!({ "x-kubernetes-int-or-string": true }),
            json!(5),
            json!([]),
            "it has to be an integer or a text, and is a list",
        ),
    ];
    keep_to(&cases);
    let any = json!({ "x-kubernetes-preserve-unknown-fields": true });
    for value in [json!(1), json!("x"), json!([null]), json!({ "a": {} })] {
        assert_eq!(misfit_of(&any, &value), None);
    }
}

#[test]
fn combinations_narrow_what_is_said_outside() {
    let one = json!({
        "type": "object", "properties": { "tag": { "type": "string" }, "digest": { "type": "string" } },
        "oneOf": [{ "required": ["tag"] }, { "required": ["digest"] }],
    });
    assert_eq!(misfit_of(&one, &json!({ "tag": "x" })), None);
    assert_eq!(
        misfit_of(&one, &json!({})).unwrap(),
        "it has to fit one of oneOf, and fits none: the input 'tag' is missing, or the input 'digest' is missing"
    );
    assert_eq!(
        misfit_of(&one, &json!({ "tag": "x", "digest": "y" })).unwrap(),
        "it has to fit exactly one of oneOf, and fits 2: give only what belongs to one of them"
    );
    let any = json!({ "type": "integer", "anyOf": [{ "maximum": 1 }, { "minimum": 9 }] });
    assert_eq!(misfit_of(&any, &json!(0)), None);
    assert_eq!(
        misfit_of(&any, &json!(5)).unwrap(),
        "it has to fit one of anyOf, and fits none: it has to be at most 1, or it has to be at least 9"
    );
    let all = json!({ "type": "integer", "allOf": [{ "maximum": 9 }], "not": { "enum": [4] } });
    assert_eq!(misfit_of(&all, &json!(3)), None);
    assert_eq!(
        misfit_of(&all, &json!(10)).unwrap(),
        "it has to be at most 9"
    );
    assert_eq!(
        misfit_of(&all, &json!(4)).unwrap(),
        "it fits what `not` excludes"
    );
}

#[test]
fn combinations_inside_each_other_are_not_tried_again_and_again() {
    // Twice the work at each level would be four thousand times the work at the bottom.
    let mut schema = json!({ "enum": [0] });
    for _ in 0..12 {
        schema = json!({ "anyOf": [schema.clone(), { "enum": [1] }] });
    }
    schema["type"] = json!("integer");
    assert!(
        misfit_of(&schema, &json!(5))
            .unwrap()
            .starts_with("it has to fit one of anyOf")
    );
}

#[test]
fn a_check_without_end_is_refused() {
    let alternatives: Vec<Value> = (0..2_000).map(|n| json!({ "enum": [n] })).collect();
    let schema = of(
        &json!({ "list": { "type": "array", "items": { "type": "integer", "anyOf": alternatives } } }),
    );
    let told = misfit(&schema, &json!({ "list": vec![-1; 2_000] }));
    assert_eq!(
        told,
        [
            "runnable.spec.inputs: they take more than 1000000 steps to check: make them, or inputSchema, smaller"
        ]
    );
}
