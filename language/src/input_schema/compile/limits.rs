//! Parser of the limits of a value of the right type.

use serde_json::{Map, Number, Value};

use crate::{diagnostic::DiagnosticKind, number};

use super::{
    super::{format, node::Limits},
    SchemaReader,
};

impl SchemaReader<'_> {
    pub(super) fn limits(&mut self, schema: &Map<String, Value>) -> Limits {
        let allowed = match schema.get("enum") {
            None => None,
            Some(Value::Array(values)) if !values.is_empty() => Some(values.as_slice().into()),
            Some(_) => {
                self.refuse(
                    "enum",
                    "it has to be an array of the values that are allowed: write enum: [a, b]",
                );
                None
            }
        };
        let pattern = self.text(schema, "pattern").map(format::pattern);
        let pattern = pattern.and_then(|pattern| {
            let refuse = |reason| {
                let kind =
                    DiagnosticKind::with_cure("it is not a valid regular expression", reason);
                self.refuse("pattern", kind);
            };
            pattern.map_err(refuse).ok()
        });
        let limits = Limits {
            allowed,
            pattern,
            format: self.text(schema, "format").map(str::to_owned),
            minimum: self.number(schema, "minimum"),
            maximum: self.number(schema, "maximum"),
            exclusive_minimum: self.flag(schema, "exclusiveMinimum"),
            exclusive_maximum: self.flag(schema, "exclusiveMaximum"),
            multiple_of: self.step(schema),
            min_length: self.count(schema, "minLength"),
            max_length: self.count(schema, "maxLength"),
            min_items: self.count(schema, "minItems"),
            max_items: self.count(schema, "maxItems"),
            unique_items: self.flag(schema, "uniqueItems"),
            min_properties: self.count(schema, "minProperties"),
            max_properties: self.count(schema, "maxProperties"),
        };
        self.satisfiable(&limits);
        limits
    }

    /// Reports bounds that permit no value at all, a probable mistake.
    fn satisfiable(&mut self, limits: &Limits) {
        if let (Some(least), Some(most)) = (&limits.minimum, &limits.maximum)
            && number::compare(least, most).is_gt()
        {
            self.refuse("minimum", "nothing fits: it is more than maximum");
        }
        let pairs = [
            ("minLength", limits.min_length, limits.max_length),
            ("minItems", limits.min_items, limits.max_items),
            (
                "minProperties",
                limits.min_properties,
                limits.max_properties,
            ),
        ];
        for (key, least, most) in pairs {
            if least.zip(most).is_some_and(|(least, most)| least > most) {
                let other = key.replace("min", "max");
                let cure = format!("it is more than {other}");
                self.refuse(key, DiagnosticKind::with_cure("nothing fits", cure));
            }
        }
    }

    fn number(&mut self, schema: &Map<String, Value>, key: &str) -> Option<Number> {
        let value = schema.get(key)?;
        if !value.is_number() {
            self.refuse(key, "it has to be a number");
        }
        value.as_number().cloned()
    }

    fn step(&mut self, schema: &Map<String, Value>) -> Option<f64> {
        let step = self.number(schema, "multipleOf")?.as_f64()?;
        if step <= 0.0 {
            self.refuse("multipleOf", "it has to be more than 0");
            return None;
        }
        Some(step)
    }

    fn count(&mut self, schema: &Map<String, Value>, key: &str) -> Option<u64> {
        let value = schema.get(key)?;
        if value.as_u64().is_none() {
            self.refuse(key, "it has to be a count: 0, 1, 2, ...");
        }
        value.as_u64()
    }
}
