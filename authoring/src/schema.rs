//! Schemas of the fields of a kind: OpenAPI, bundled for the built-in kinds and read from files for others.

pub(crate) mod bundled;
pub mod catalog;
pub(crate) mod check;
mod definitions;
mod encoded;
pub mod from_files;
pub mod kind_schema;
mod limits;
pub(crate) mod mismatch;
pub(crate) mod own;
pub(crate) mod partial;
pub(crate) mod walk;

use serde_json::Value;

/// A schema inside a document that holds all schemas that it refers to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema<'a> {
    document: &'a Value,
    node: &'a Value,
}

/// The member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MemberSchema<'a> {
    /// It is described.
    Known(Schema<'a>),
    /// The member is allowed, and nothing more is known of it.
    Open,
    /// There is no such member.
    Unknown,
}

/// Longest chain of references that is followed.
const MAX_REFERENCES: usize = 16;

impl<'a> Schema<'a> {
    pub(crate) fn new(document: &'a Value, pointer: &str) -> Option<Self> {
        let node = document.pointer(pointer)?;
        Some(Self { document, node }.resolved())
    }

    /// Returns the schema behind references, and behind an `allOf` that only wraps one.
    fn resolved(self) -> Self {
        let mut node = self.node;
        for _ in 0..MAX_REFERENCES {
            let wrapped = match node
                .get("allOf")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
            {
                Some([only]) if node.get("properties").is_none() => Some(only),
                _ => None,
            };
            let referred = node
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|reference| {
                    let pointer = reference.strip_prefix('#')?;
                    self.document.pointer(pointer)
                });
            match referred.or(wrapped) {
                Some(next) => node = next,
                None => break,
            }
        }
        Self { node, ..self }
    }

    pub(crate) fn is_object(self) -> bool {
        self.node.is_object()
    }

    fn below(self, node: &'a Value) -> Self {
        Self { node, ..self }.resolved()
    }

    pub(crate) fn get(self, key: &str) -> Option<&'a Value> {
        self.node.get(key)
    }

    fn flag(self, key: &str) -> bool {
        self.get(key) == Some(&Value::Bool(true))
    }

    pub(crate) fn text(self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    pub(crate) fn description(self) -> Option<&'a str> {
        self.text("description").filter(|text| !text.is_empty())
    }

    /// Returns `object`, `array`, `string`, `integer`, `number` or `boolean`, if it is one of them alone.
    pub(crate) fn type_name(self) -> Option<&'a str> {
        match self.get("type")? {
            Value::String(name) => Some(name),
            // Draft 2020-12 writes a nullable type as a list.
            Value::Array(names) => {
                let mut names = names
                    .iter()
                    .filter_map(Value::as_str)
                    .filter(|name| *name != "null");
                let first = names.next();
                first.filter(|_| names.next().is_none())
            }
            _ => None,
        }
    }

    /// Returns true for a number or a text, such as ports and quantities.
    pub(crate) fn is_int_or_string(self) -> bool {
        self.flag("x-kubernetes-int-or-string") || self.text("format") == Some("int-or-string")
    }

    /// Returns true if null is a valid value: by a flag in a `CustomResourceDefinition`, by a type in JSON Schema.
    pub(crate) fn is_nullable(self) -> bool {
        let is_null = |schema: &Value| match schema.get("type") {
            Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
            Some(name) => name == "null",
            None => false,
        };
        let choices = ["anyOf", "oneOf"].iter().filter_map(|key| self.get(key));
        let mut choices = choices.filter_map(Value::as_array).flatten();
        self.flag("nullable") || is_null(self.node) || choices.any(is_null)
    }

    /// Returns true if the API server fills in a missing value. The OpenAPI documents of Kubernetes give the zero of Go
    /// as the default of every required field, and nothing is filled in: there such a default does not count.
    pub(crate) fn is_filled_in(self) -> bool {
        let parts = ["definitions", "components"];
        let is_open_api = parts.iter().any(|part| self.document.get(part).is_some());
        self.get("default").is_some_and(|default| match default {
            Value::Null => false,
            Value::Bool(given) => *given || !is_open_api,
            Value::Number(number) => number.as_f64() != Some(0.0) || !is_open_api,
            Value::String(text) => !text.is_empty() || !is_open_api,
            Value::Object(members) => !members.is_empty() || !is_open_api,
            Value::Array(_) => true,
        })
    }

    /// Returns true if members that are not described are kept.
    fn is_open(self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
            || self.get("additionalProperties") == Some(&Value::Bool(true))
            || (self.get("properties").is_none() && self.get("additionalProperties").is_none())
            || ["anyOf", "oneOf"].iter().any(|key| {
                let choices = self.get(key).and_then(Value::as_array);
                choices.into_iter().flatten().any(|choice| {
                    choice.get("properties").is_some() || choice.get("$ref").is_some()
                })
            })
    }

    pub(crate) fn member(self, key: &str) -> MemberSchema<'a> {
        if let Some(described) = self
            .get("properties")
            .and_then(|properties| properties.get(key))
        {
            return MemberSchema::Known(self.below(described));
        }
        if let Some(values @ Value::Object(_)) = self.get("additionalProperties") {
            return MemberSchema::Known(self.below(values));
        }
        let embedded = self.flag("x-kubernetes-embedded-resource")
            && matches!(key, "apiVersion" | "kind" | "metadata");
        if self.is_open() || embedded {
            MemberSchema::Open
        } else {
            MemberSchema::Unknown
        }
    }

    pub(crate) fn member_names(self) -> impl Iterator<Item = &'a str> {
        let properties = self.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flat_map(|properties| properties.keys().map(String::as_str))
    }

    pub(crate) fn required(self) -> impl Iterator<Item = &'a str> {
        let required = self.get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the schema as it is written.
    pub(crate) fn node(self) -> &'a Value {
        self.node
    }

    /// Returns the schema of the values of a map, or `None` if there is none.
    pub(crate) fn values(self) -> Option<Self> {
        let values = self
            .get("additionalProperties")
            .filter(|values| values.is_object());
        values.map(|values| self.below(values))
    }

    pub(crate) fn items(self) -> Option<Self> {
        self.get("items").map(|items| self.below(items))
    }
}
