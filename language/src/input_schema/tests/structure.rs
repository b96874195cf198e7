use serde_json::{Value, json};

use super::refused;
use crate::bounds::MAX_INPUT_SCHEMA_BYTES;

/// Returns a schema with one property.
#[allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]
fn property(property: Value) -> Value {
    json!({ "type": "object", "properties": { "x": property } })
}

#[test]
fn what_no_structural_schema_has_is_refused_at_its_path() {
    let cases = [
        (
            json!([]),
            "inputSchema: a schema is an object: write {type: string}, or whatever it is",
        ),
        (
            json!({ "type": "string" }),
            "inputSchema.type: inputs are an object: write type: object",
        ),
        (
            json!({ "type": "object", "default": {} }),
            "inputSchema.default: give the defaults to the properties, one by one",
        ),
        (
            property(json!({})),
            "inputSchema.properties.x.type: the type is missing: write type: string, or whatever it is; where any value will do, x-kubernetes-preserve-unknown-fields: true",
        ),
        (
            property(json!("string")),
            "inputSchema.properties.x: a schema is an object: write {type: string}, or whatever it is",
        ),
        (
            property(json!({ "type": "text" })),
            "inputSchema.properties.x.type: there is no type 'text': it has to be one of object, array, string, integer, number, boolean",
        ),
        (
            property(json!({ "type": ["string", "null"] })),
            "inputSchema.properties.x.type: it has to be one type: where null is allowed too, write nullable: true",
        ),
        (
            property(json!({ "$ref": "#/x" })),
            "inputSchema.properties.x.$ref: references are not followed: write the schema out where it is used",
        ),
        (
            property(json!({ "type": "array" })),
            "inputSchema.properties.x.items: the schema of the elements is missing: write items: {type: string}, or whatever they are",
        ),
        (
            property(json!({ "type": "string", "pattern": "(" })),
            "inputSchema.properties.x.pattern: it is not a valid regular expression: unclosed group",
        ),
        (
            property(json!({ "type": "string", "pattern": "(a{1000}){1000}" })),
            "inputSchema.properties.x.pattern: it is not a valid regular expression: it is too large once its repetitions are written out: make them smaller",
        ),
    ];
    are_refused(&cases);
}

#[test]
fn a_keyword_that_there_is_not_is_told_with_those_that_there_are() {
    let unknown = refused(&property(json!({ "type": "string", "defualt": "x" })));
    assert!(
        unknown[0].starts_with("inputSchema.properties.x.defualt: there is no such keyword in a schema: it has additionalProperties, "),
        "{unknown:?}"
    );
    for misspelt in ["typ", "Type"] {
        let unknown = refused(&json!({ misspelt: "object", "properties": {} }));
        let wanted = format!("inputSchema.{misspelt}: there is no such keyword in a schema: ");
        assert!(unknown[0].starts_with(&wanted), "{unknown:?}");
        assert_eq!(unknown.len(), 1, "{unknown:?}");
    }
    let both = refused(&json!({ "typ": "object", "type": "string" }));
    assert_eq!(both.len(), 2, "{both:?}");
}

#[test]
fn keywords_in_the_wrong_place_are_refused() {
    let cases = [
        (
            property(json!({ "type": "string", "required": true })),
            "inputSchema.properties.x.required: it is an array of names: write required: [name] beside properties, not inside one",
        ),
        (
            property(json!({ "type": "string", "items": { "type": "string" } })),
            "inputSchema.properties.x.items: it is for an array: write type: array",
        ),
        (
            property(json!({ "type": "integer", "properties": {} })),
            "inputSchema.properties.x.properties: it is for an object: write type: object",
        ),
        (
            property(json!({ "type": "integer", "exclusiveMinimum": 2 })),
            "inputSchema.properties.x.exclusiveMinimum: it has to be a boolean, beside minimum or maximum",
        ),
        (
            property(json!({ "type": "integer", "anyOf": [{ "type": "integer" }] })),
            "inputSchema.properties.x.anyOf[0].type: it is not allowed inside allOf, anyOf, oneOf and not: write it in the schema around them",
        ),
        (
            property(json!({ "type": "string", "x-kubernetes-validations": [] })),
            "inputSchema.properties.x.x-kubernetes-validations: CEL rules are not evaluated here: use enum, pattern, minimum, oneOf and their like",
        ),
    ];
    are_refused(&cases);
}

#[test]
fn keywords_that_cannot_be_read_are_refused() {
    let cases = [
        (
            property(json!({ "type": "string", "enum": [] })),
            "inputSchema.properties.x.enum: it has to be an array of the values that are allowed: write enum: [a, b]",
        ),
        (
            property(json!({ "type": "string", "enum": ["a", 1] })),
            "inputSchema.properties.x.enum: 1 is not a string, as the type says: remove it, or change the type",
        ),
        (
            property(json!({ "type": "integer", "minimum": "1" })),
            "inputSchema.properties.x.minimum: it has to be a number",
        ),
        (
            property(json!({ "type": "integer", "minimum": 2, "maximum": 1 })),
            "inputSchema.properties.x.minimum: nothing fits: it is more than maximum",
        ),
        (
            property(json!({ "type": "string", "minLength": -1 })),
            "inputSchema.properties.x.minLength: it has to be a count: 0, 1, 2, ...",
        ),
        (
            property(json!({ "type": "integer", "multipleOf": 0 })),
            "inputSchema.properties.x.multipleOf: it has to be more than 0",
        ),
        (
            property(json!({ "type": "integer", "anyOf": {} })),
            "inputSchema.properties.x.anyOf: it has to be an array of schemas",
        ),
    ];
    are_refused(&cases);
}

#[test]
fn defaults_that_do_not_fit_are_refused() {
    let cases = [
        (
            property(json!({ "type": "integer", "default": "3" })),
            "inputSchema.properties.x.default: the default does not fit: it has to be an integer, and is a string: take the quotes away",
        ),
        (
            property(
                json!({ "type": "array", "items": { "type": "string" }, "default": ["a", 1] }),
            ),
            "inputSchema.properties.x.default[1]: the default does not fit: it has to be a string, and is a number: put it in quotes",
        ),
    ];
    are_refused(&cases);
}

fn are_refused(cases: &[(Value, &str)]) {
    for (schema, message) in cases {
        assert_eq!(refused(schema), [*message], "{schema}");
    }
}

#[test]
fn a_schema_that_is_too_deep_or_too_large_is_refused_unread() {
    let mut deep = json!({ "type": "string" });
    for _ in 0..40 {
        deep = json!({ "type": "object", "properties": { "x": deep } });
    }
    assert_eq!(
        refused(&deep),
        ["inputSchema: objects and arrays are nested more than 64 deep"]
    );
    let large = json!({ "type": "object", "description": "x".repeat(MAX_INPUT_SCHEMA_BYTES) });
    assert_eq!(
        refused(&large),
        ["inputSchema: it is larger than 65536 bytes"]
    );
}

#[test]
fn a_required_name_has_to_be_a_property() {
    let schema = json!({
        "type": "object", "required": ["image", "tag"], "properties": { "image": { "type": "string" } },
    });
    assert_eq!(
        refused(&schema),
        ["inputSchema.required: there is no property 'tag' beside it: the properties are image"]
    );
}
