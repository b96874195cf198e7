//! Limits of values that have the right type.

use cartouche_language::{NumberLimit, count_breach, fits_format, matches_pattern};
use serde_json::{Number, Value};

use super::{MemberSchema, Schema, partial::Partial};

pub(super) fn out_of_range(schema: Schema<'_>, number: &Number) -> Option<String> {
    let too_wide = schema.text("format") == Some("int32")
        && !fits_format("int32", &Value::Number(number.clone()));
    if too_wide {
        return Some(format!("is {number}, which is more than 32 bits hold"));
    }
    let limit = |key: &str| schema.get(key).and_then(Value::as_number);
    // A flag beside the limit in OpenAPI 3.0 and CustomResourceDefinitions, a limit of its own in 3.1.
    let limits = [
        limit("minimum").map(|it| NumberLimit::least(it, schema.flag("exclusiveMinimum"))),
        limit("maximum").map(|it| NumberLimit::most(it, schema.flag("exclusiveMaximum"))),
        limit("exclusiveMinimum").map(NumberLimit::MoreThan),
        limit("exclusiveMaximum").map(NumberLimit::LessThan),
    ];
    let mut limits = limits.into_iter().flatten();
    let breach = limits.find_map(|limit| limit.breach(number))?;
    Some(format!("is {number}, and {breach}"))
}

/// Returns the fault of a text that does not match the pattern. A pattern that cannot be read is ignored: the API
/// server may support more.
pub(super) fn find_mismatch(schema: Schema<'_>, text: &str) -> Option<String> {
    let pattern = schema.text("pattern")?;
    (matches_pattern(text, pattern) == Some(false))
        .then(|| format!("does not match the pattern {pattern}"))
}

/// Returns the breach if there are too few or too many of what a keyword counts: `minItems` and `maxItems` of `Items`.
pub(super) fn wrong_count(
    schema: Schema<'_>,
    keyword: &str,
    count: usize,
    what: &str,
) -> Option<String> {
    let limit = |end: &str| schema.get(&[end, keyword].concat()).and_then(Value::as_u64);
    count_breach(limit("min"), limit("max"), count, what)
}

/// Returns the fault of an object that does not have exactly one of the fields of which `oneOf` requires one. The API
/// server checks other alternatives, and an unknown field is reported by itself.
pub(super) fn wrong_choice(schema: Schema<'_>, fields: &[(String, Partial)]) -> Option<String> {
    let mut members = fields.iter().map(|(key, _)| schema.member(key));
    if members.any(|member| matches!(member, MemberSchema::Unknown)) {
        return None;
    }
    let choices = schema.get("oneOf")?.as_array()?;
    let names: Option<Vec<&str>> = choices.iter().map(only_required).collect();
    let names = names.filter(|names| names.len() > 1)?;
    let is_given = |(name, value): &(String, Partial), wanted: &str| {
        name == wanted && !matches!(value, Partial::Scalar(Value::Null))
    };
    let given = names.iter();
    let given = given.filter(|wanted| fields.iter().any(|field| is_given(field, wanted)));
    let given: Vec<&str> = given.copied().collect();
    match given.as_slice() {
        [] => Some(format!("has to have one of {}", names.join(", "))),
        [_] => None,
        several => Some(format!("cannot have both {}", several.join(" and "))),
    }
}

/// Returns the field that an alternative requires, if it requires nothing else.
fn only_required(choice: &Value) -> Option<&str> {
    let choice = choice.as_object().filter(|choice| choice.len() == 1)?;
    match choice.get("required")?.as_array()?.as_slice() {
        [only] => only.as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::{Schema, check::check, mismatch::Mismatch, partial::Partial};

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
                json!({ "type": "string", "minLength": 1 }),
                json!(""),
                "x must not be empty",
            ),
            (
                json!({ "type": "string", "minLength": 3 }),
                json!("é"),
                "x has to have at least 3 characters, and has 1",
            ),
            (
                json!({ "type": "array", "items": {}, "minItems": 1 }),
                json!([]),
                "x must not be empty",
            ),
            (
                json!({ "type": "array", "items": {}, "maxItems": 1 }),
                json!([1, 2]),
                "x has to have at most 1 element, and has 2",
            ),
            (
                json!({ "type": "object", "maxProperties": 1 }),
                json!({ "a": 1, "b": 2 }),
                "x has to have at most 1 key, and has 2",
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
    fn numbers_that_no_float_tells_apart_are_compared_exactly() {
        are_said(&[
            (
                json!({ "type": "integer", "maximum": 9_007_199_254_740_992_u64 }),
                json!(9_007_199_254_740_993_u64),
                "x is 9007199254740993, and has to be at most 9007199254740992",
            ),
            (
                json!({ "type": "integer", "exclusiveMinimum": 9_007_199_254_740_993_u64 }),
                json!(9_007_199_254_740_992_u64),
                "x is 9007199254740992, and has to be more than 9007199254740993",
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

    #[test]
    fn one_of_two_fields_has_to_be_there_where_the_definition_says_so() {
        let schema = json!({
            "properties": { "a": {}, "b": {} },
            "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
        });
        are_said(&[
            (schema.clone(), json!({}), "x has to have one of a, b"),
            (
                schema.clone(),
                json!({ "a": null }),
                "x has to have one of a, b",
            ),
            (
                schema.clone(),
                json!({ "a": 1, "b": 2 }),
                "x cannot have both a and b",
            ),
        ]);
        assert!(said(&schema, &json!({ "b": 1 })).is_empty());
        let misspelt = said(&schema, &json!({ "bb": 1 }));
        assert_eq!(misspelt, ["unknown field 'bb' in x"]);
        let more = json!({ "properties": { "a": {} }, "oneOf": [{ "required": ["a"] }, { "type": "object" }] });
        assert!(said(&more, &json!({})).is_empty());
    }
}
