//! Values that schemas permit and exclude, and the messages.

use serde_json::{Value, json};

use super::{misfit, misfit_of, of};

/// A schema, a value that fits, one that does not, and the message.
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
fn texts_keep_to_their_limits() {
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
    ];
    keep_to(&cases);
}

#[test]
fn numbers_keep_to_their_limits() {
    let cases = [
        (
            json!({ "type": "integer", "minimum": 1 }),
            json!(1),
            json!(0),
            "it has to be at least 1",
        ),
        (
            json!({ "type": "integer", "minimum": 1.0 }),
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
fn lists_and_objects_keep_to_their_limits() {
    let cases = [
        (
            json!({ "type": "array", "items": { "type": "integer" }, "minItems": 1 }),
            json!([1]),
            json!([]),
            "it must not be empty",
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
            "it must not be empty",
        ),
        (
            json!({ "type": "object", "maxProperties": 0 }),
            json!({}),
            json!({ "a": 1 }),
            "it has to have at most 0 keys, and has 1",
        ),
    ];
    keep_to(&cases);
}

#[test]
fn a_number_without_a_fraction_is_an_integer_and_mixed_types_take_both() {
    let cases = [
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
            "it has to be an integer or a string, and is a boolean",
        ),
        (
            json!({ "x-kubernetes-int-or-string": true }),
            json!(5),
            json!([]),
            "it has to be an integer or a string, and is an array",
        ),
    ];
    keep_to(&cases);
}

#[test]
fn what_has_no_type_may_be_anything() {
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
