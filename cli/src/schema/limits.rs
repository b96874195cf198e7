//! What a value of the right type must keep to.

use cartouche_templating::matches_pattern;
use serde_json::{Number, Value};

use super::Schema;

pub(super) fn out_of_range(schema: Schema<'_>, number: &Number) -> Option<String> {
    let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
    let value = number.as_f64()?;
    let too_wide = schema.text("format") == Some("int32")
        && (value < f64::from(i32::MIN) || value > f64::from(i32::MAX));
    if too_wide {
        return Some(format!("is {number}, which is more than 32 bits hold"));
    }
    if let Some(least) = limit("minimum").filter(|least| value < *least) {
        return Some(format!("is {number}, and has to be at least {least}"));
    }
    if let Some(most) = limit("maximum").filter(|most| value > *most) {
        return Some(format!("is {number}, and has to be at most {most}"));
    }
    // A flag beside the limit in OpenAPI 3.0 and CustomResourceDefinitions, a limit of its own in 3.1.
    let excluded = |key: &str, beside: &str| match schema.get(key) {
        Some(Value::Bool(true)) => limit(beside),
        _ => limit(key),
    };
    if let Some(least) = excluded("exclusiveMinimum", "minimum").filter(|least| value <= *least) {
        return Some(format!("is {number}, and has to be more than {least}"));
    }
    let most = excluded("exclusiveMaximum", "maximum").filter(|most| value >= *most)?;
    Some(format!("is {number}, and has to be less than {most}"))
}

/// A pattern that cannot be read here says nothing: the API server may know more of them.
pub(super) fn mismatched(schema: Schema<'_>, text: &str) -> Option<String> {
    let pattern = schema.text("pattern")?;
    (matches_pattern(text, pattern) == Some(false))
        .then(|| format!("does not match the pattern {pattern}"))
}

pub(super) fn wrong_size(
    least: Option<u64>,
    most: Option<u64>,
    size: usize,
    what: &str,
) -> Option<String> {
    let size = u64::try_from(size).ok()?;
    if let Some(least) = least.filter(|least| size < *least) {
        return Some(format!(
            "has {size} {what}, and has to have at least {least}"
        ));
    }
    let most = most.filter(|most| size > *most)?;
    Some(format!("has {size} {what}, and may have at most {most}"))
}

pub(super) fn wrong_length(schema: Schema<'_>, text: &str) -> Option<String> {
    let limit = |key: &str| schema.get(key).and_then(Value::as_u64);
    let length = u64::try_from(text.chars().count()).ok()?;
    match (limit("minLength"), limit("maxLength")) {
        (Some(1), _) if length == 0 => Some("is empty".to_owned()),
        (Some(least), _) if length < least => Some(format!("has fewer than {least} characters")),
        (_, Some(most)) if length > most => Some(format!("has more than {most} characters")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::{
        Schema,
        check::{Mismatch, Partial, check},
    };

    fn said(schema: &Value, value: &Value) -> Vec<String> {
        let schema = json!({ "properties": { "x": schema } });
        let value = json!({ "x": value });
        let found = check(Schema::new(&schema, "").unwrap(), &Partial::from(&value));
        found.iter().map(Mismatch::message).collect()
    }

    fn are_said(cases: &[(Value, Value, &str)]) {
        for (schema, value, message) in cases {
            assert_eq!(said(schema, value), [*message], "{schema}");
        }
    }

    #[test]
    fn texts_and_sizes_that_a_definition_limits_are_checked() {
        are_said(&[
            (
                json!({ "type": "string", "pattern": "^v[0-9]+$" }),
                json!("1"),
                "x does not match the pattern ^v[0-9]+$",
            ),
            (
                json!({ "type": "string", "format": "date-time" }),
                json!("today"),
                "x does not have the format date-time",
            ),
            (
                json!({ "type": "string", "format": "ipv4" }),
                json!("10.0.0"),
                "x does not have the format ipv4",
            ),
            (
                json!({ "type": "array", "items": {}, "minItems": 1 }),
                json!([]),
                "x has 0 elements, and has to have at least 1",
            ),
            (
                json!({ "type": "array", "items": {}, "maxItems": 1 }),
                json!([1, 2]),
                "x has 2 elements, and may have at most 1",
            ),
            (
                json!({ "type": "object", "maxProperties": 1 }),
                json!({ "a": 1, "b": 2 }),
                "x has 2 keys, and may have at most 1",
            ),
        ]);
    }

    #[test]
    fn numbers_that_a_definition_limits_are_checked() {
        are_said(&[
            (
                json!({ "type": "integer", "minimum": 1 }),
                json!(0),
                "x is 0, and has to be at least 1",
            ),
            (
                json!({ "type": "integer", "maximum": 1 }),
                json!(2),
                "x is 2, and has to be at most 1",
            ),
            (
                json!({ "type": "integer", "minimum": 1, "exclusiveMinimum": true }),
                json!(1),
                "x is 1, and has to be more than 1",
            ),
            (
                json!({ "type": "integer", "exclusiveMaximum": 5 }),
                json!(5),
                "x is 5, and has to be less than 5",
            ),
            (
                json!({ "type": "integer", "format": "int32" }),
                json!(3_000_000_000_i64),
                "x is 3000000000, which is more than 32 bits hold",
            ),
        ]);
    }

    #[test]
    fn what_cannot_be_judged_here_is_left_to_the_api_server() {
        assert!(
            said(
                &json!({ "type": "string", "pattern": "(?=x)" }),
                &json!("y")
            )
            .is_empty()
        );
        assert!(
            said(
                &json!({ "type": "string", "format": "of-another-world" }),
                &json!("y")
            )
            .is_empty()
        );
    }
}
