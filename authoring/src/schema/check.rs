//! Checks a value that is known only in part against the schema of a kind.

use cartouche_language::{SchemaType, TypeCure, fits_format, suggestion};
use serde_json::Value;

use super::{
    MemberSchema, Schema,
    encoded::unreadable,
    limits::{find_mismatch, out_of_range, wrong_choice, wrong_count},
    mismatch::{Mismatch, MismatchKind},
    partial::Partial,
};
use crate::source::Segment;

/// Returns every mismatch between a value and a schema.
pub(crate) fn check(schema: Schema<'_>, value: &Partial) -> Vec<Mismatch> {
    let mut walk = Checker::default();
    walk.value(schema, value);
    walk.found
}

#[derive(Default)]
struct Checker<'a> {
    /// The schemas of the objects above.
    above: Vec<Schema<'a>>,
    at: Vec<Segment>,
    found: Vec<Mismatch>,
}

impl<'a> Checker<'a> {
    fn report(&mut self, fault: MismatchKind, help: Option<String>) {
        self.found.push(Mismatch {
            at: self.at.clone(),
            fault,
            help,
        });
    }

    fn value(&mut self, schema: Schema<'a>, value: &Partial) {
        // The API server leaves nulls out; the object says which of its fields must have a value.
        if matches!(value, Partial::Open | Partial::Scalar(Value::Null)) {
            return;
        }
        if let Some((wanted, help)) = other_type(schema, value) {
            return self.report(wrong_type(wanted, value), help);
        }
        if let Partial::Scalar(Value::String(text)) = value
            && let Some((because, help)) = unreadable(schema, text)
        {
            return self.report(MismatchKind::Refused { because }, Some(help));
        }
        if schema.is_int_or_string() {
            return;
        }
        let count = match value {
            Partial::Object(fields) => wrong_count(schema, "Properties", fields.len(), "key"),
            Partial::Array(items) => wrong_count(schema, "Items", items.len(), "element"),
            Partial::Open | Partial::Typed(_) | Partial::Scalar(_) => None,
        };
        if let Some(because) = count {
            self.report(MismatchKind::Refused { because }, None);
        }
        match value {
            Partial::Object(fields) => self.object(schema, fields),
            Partial::Array(items) => {
                if let Some(item_schema) = schema.items() {
                    for (index, item) in items.iter().enumerate() {
                        self.below(Segment::Index(index), |walk| walk.value(item_schema, item));
                    }
                }
            }
            Partial::Scalar(scalar) => self.scalar(schema, scalar),
            Partial::Open | Partial::Typed(_) => {}
        }
    }

    fn below(&mut self, step: Segment, visit: impl FnOnce(&mut Self)) {
        self.at.push(step);
        visit(self);
        self.at.pop();
    }

    fn object(&mut self, schema: Schema<'a>, fields: &[(String, Partial)]) {
        self.above.push(schema);
        for (key, value) in fields {
            self.below(Segment::Key(key.clone()), |walk| match schema.member(key) {
                MemberSchema::Known(member) => walk.value(member, value),
                MemberSchema::Open => {}
                MemberSchema::Unknown => {
                    let meant = suggestion::nearest(key, schema.member_names());
                    let help = meant
                        .map(|meant| format!("did you mean '{meant}'?"))
                        .or_else(|| wrapped(schema, key, value))
                        .or_else(|| walk.elsewhere(schema, key))
                        .or_else(|| suggestion::hint(key, "the fields are", schema.member_names()))
                        .or_else(|| Some("check the spelling and the indentation".to_owned()));
                    walk.report(MismatchKind::Unknown { key: key.clone() }, help);
                }
            });
        }
        self.above.pop();
        for key in schema.required() {
            self.required(schema, key, fields);
        }
        if let Some(because) = wrong_choice(schema, fields) {
            self.report(MismatchKind::Refused { because }, None);
        }
    }

    /// Checks a required field. The API server leaves out a null that the schema does not allow, and then misses the
    /// field.
    fn required(&mut self, schema: Schema<'a>, key: &str, fields: &[(String, Partial)]) {
        let known = match schema.member(key) {
            MemberSchema::Known(member) => Some(member),
            MemberSchema::Open | MemberSchema::Unknown => None,
        };
        if known.is_some_and(Schema::is_filled_in) {
            return;
        }
        let about = || {
            let text = known?.description()?;
            Some(format!("{key}: {}", first_sentence(text)))
        };
        match fields.iter().find(|(name, _)| name == key) {
            None => {
                let key = key.to_owned();
                self.report(MismatchKind::Missing { key }, about());
            }
            Some((_, Partial::Scalar(Value::Null)))
                if known.is_some_and(|known| !known.is_nullable()) =>
            {
                let step = Segment::Key(key.to_owned());
                self.below(step, |walk| walk.report(MismatchKind::Null, about()));
            }
            Some(_) => {}
        }
    }

    /// Returns the level that has a field of this name: most often the indentation is wrong.
    fn elsewhere(&self, schema: Schema<'a>, key: &str) -> Option<String> {
        let has = |schema: Schema<'_>| schema.member_names().any(|name| name == key);
        let below = schema
            .member_names()
            .find(|name| match schema.member(name) {
                MemberSchema::Known(member) => has(member) || member.items().is_some_and(has),
                _ => false,
            });
        if let Some(name) = below {
            return Some(format!(
                "'{key}' is a field of '{name}': check the indentation"
            ));
        }
        let depth = self.above.iter().rposition(|schema| has(*schema))?;
        let objects = self
            .at
            .iter()
            .filter(|step| matches!(step, Segment::Key(_)))
            .take(depth)
            .cloned();
        match crate::source::field_path(&objects.collect::<Vec<_>>()).as_str() {
            "" => Some(format!(
                "'{key}' is a field of the object itself: check the indentation"
            )),
            place => Some(format!(
                "'{key}' is a field of {place}: check the indentation"
            )),
        }
    }

    fn scalar(&mut self, schema: Schema<'_>, value: &Value) {
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.contains(value)
        {
            let names = allowed.iter().filter_map(Value::as_str);
            let text = value.as_str().unwrap_or_default();
            let help = suggestion::hint(text, "allowed are", names);
            let because = format!("cannot be {value}");
            self.report(MismatchKind::Refused { because }, help);
        }
        let because = match value {
            Value::Number(number) => out_of_range(schema, number),
            Value::String(text) => {
                let count = text.chars().count();
                wrong_count(schema, "Length", count, "character")
                    .or_else(|| find_mismatch(schema, text))
            }
            _ => None,
        };
        let format = schema.text("format").filter(|_| because.is_none());
        let because = because.or_else(|| {
            let format = format.filter(|format| !fits_format(format, value))?;
            Some(format!("does not have the format {format}"))
        });
        if let Some(because) = because {
            self.report(MismatchKind::Refused { because }, None);
        }
    }
}

/// Returns the cure of an unknown field if all its members belong in its place.
fn wrapped(schema: Schema<'_>, key: &str, value: &Partial) -> Option<String> {
    let Partial::Object(fields) = value else {
        return None;
    };
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    let is_known = |name: &&str| matches!(schema.member(name), MemberSchema::Known(_));
    (!names.is_empty() && names.iter().all(is_known)).then(|| {
        let names = names.join(", ");
        format!("remove '{key}': {names} is here without it")
    })
}

fn type_of(value: &Partial) -> &str {
    match value {
        Partial::Open => "any",
        Partial::Typed(name) => name,
        Partial::Scalar(value) => match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        },
        Partial::Array(_) => "array",
        Partial::Object(_) => "object",
    }
}

/// Returns the type that a value should have, if it has another one, and the cure.
fn other_type(schema: Schema<'_>, value: &Partial) -> Option<(String, Option<String>)> {
    let is = type_of(value);
    if schema.is_int_or_string() {
        let fits = matches!(is, "integer" | "number" | "string");
        let wanted = "a number or a string".to_owned();
        return (!fits).then(|| (wanted, cure(SchemaType::IntOrString, value)));
    }
    let wanted = schema.type_name()?;
    let fits = wanted == is || (wanted, is) == ("number", "integer");
    let help = || cure(SchemaType::from_name(wanted)?, value);
    (!fits).then(|| (with_article(wanted), help()))
}

/// Returns the fault of a value with another type than the wanted one.
pub(crate) fn wrong_type(wanted: String, value: &Partial) -> MismatchKind {
    let is = with_article(type_of(value));
    let is = match value {
        Partial::Scalar(scalar) => format!("{is} {scalar}"),
        _ => is,
    };
    MismatchKind::Type { wanted, is }
}

/// Returns `string` as people say it: `a string`.
pub(crate) fn with_article(type_name: &str) -> String {
    match type_name {
        "string" | "number" | "boolean" => format!("a {type_name}"),
        "integer" | "object" | "array" => format!("an {type_name}"),
        other => other.to_owned(),
    }
}

/// Returns the cure of a wrong type, with the value as it then is.
fn cure(wanted: SchemaType, value: &Partial) -> Option<String> {
    let scalar = match value {
        Partial::Scalar(scalar) => Some(scalar),
        _ => None,
    };
    let cure = TypeCure::find(wanted, scalar)?;
    Some(match (cure, scalar) {
        (TypeCure::AddQuotes, Some(scalar)) => format!("{cure}: \"{scalar}\""),
        (TypeCure::TakeQuotesAway, Some(Value::String(text))) => format!("{cure}: {text}"),
        _ => cure.to_string(),
    })
}

fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or(text).trim_end()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_required_field_that_the_api_server_fills_in_is_not_missing() {
        for (default, open_api, missing) in [
            (json!("x"), true, false),
            (json!(""), true, true),
            (json!(0), true, true),
            (json!(""), false, false),
            (json!(false), false, false),
            (json!(null), false, true),
        ] {
            let mut document = json!({ "it": { "properties": { "x": { "default": default } }, "required": ["x"] } });
            if open_api {
                document["components"] = json!({});
            }
            let schema = Schema::new(&document, "/it").unwrap();
            for value in [json!({}), json!({ "x": null })] {
                let found = check(schema, &Partial::from(&value));
                assert_eq!(!found.is_empty(), missing, "{default} {value}");
            }
        }
    }

    #[test]
    fn null_is_missing_where_a_value_is_required_and_fine_elsewhere() {
        let text = json!({ "type": "string" });
        let nullable = [
            json!({ "type": "string", "nullable": true }),
            json!({ "type": ["string", "null"] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        ];
        let said = |schema: &Value, required: &[&str]| -> Vec<String> {
            let schema = json!({ "properties": { "x": schema }, "required": required });
            let value = Partial::from(&json!({ "x": null }));
            let found = check(Schema::new(&schema, "").unwrap(), &value);
            found.iter().map(Mismatch::message).collect()
        };
        assert_eq!(
            said(&text, &["x"]),
            ["x is required, and null counts as missing"]
        );
        assert_eq!(said(&text, &[]), [""; 0]);
        for schema in nullable {
            assert_eq!(said(&schema, &["x"]), [""; 0], "{schema}");
        }
    }

    fn help(schema: &Value, value: &Partial) -> Option<String> {
        let found = check(Schema::new(schema, "").unwrap(), value);
        found.into_iter().next().unwrap().help
    }

    #[test]
    fn only_what_would_mend_a_value_of_another_type_is_advised() {
        let quotes_away = |text: &str| Some(format!("take the quotes away: {text}"));
        for (wanted, value, advice) in [
            ("integer", json!("3"), quotes_away("3")),
            ("integer", json!("true"), None),
            ("integer", json!("1.5"), None),
            ("number", json!("1.5"), quotes_away("1.5")),
            ("number", json!("nan"), None),
            ("boolean", json!("true"), quotes_away("true")),
            ("boolean", json!("5"), None),
            (
                "string",
                json!(5),
                Some("put it in quotes: \"5\"".to_owned()),
            ),
        ] {
            let schema = json!({ "type": wanted });
            let found = help(&schema, &Partial::from(&value));
            assert_eq!(found, advice, "{wanted} {value}");
        }
    }
}
