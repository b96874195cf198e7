//! Parser of a schema, which reports features that a structural schema cannot have.

mod consistent;
mod limits;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    defaults, fit,
    node::{Others, SchemaNode, SchemaType},
};
use crate::{
    diagnostic::{Diagnostic, DiagnosticKind, Root, Segment},
    suggestion,
};

/// The field of the template that holds the schema.
pub(crate) const FIELD: &str = "inputSchema";
const ADDITIONAL: &str = "additionalProperties";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
/// Keywords that define the structure of a value, which are not permitted inside a combination.
const MAKE_UP: [&str; 8] = [
    "type",
    "default",
    ADDITIONAL,
    "nullable",
    "description",
    "title",
    PRESERVE,
    INT_OR_STRING,
];
/// Keywords that are permitted beside them, and in combinations.
const LIMITS: [&str; 27] = [
    "properties",
    "required",
    "items",
    "enum",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "example",
    "externalDocs",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];

/// Parses the schema of all inputs.
pub(super) fn root(schema: &Value, problems: &mut Vec<Diagnostic>) -> SchemaNode {
    let mut reader = SchemaReader {
        at: Segment::keys([FIELD]),
        problems,
        is_unsound: false,
    };
    let is_of_object =
        |fields: &Map<String, Value>| fields.get("type").is_some_and(|kind| kind == "object");
    if let Some(fields) = schema.as_object().filter(|fields| !is_of_object(fields)) {
        for key in fields.keys() {
            reader.keyword(key, Where::Structure);
        }
        let is_misspelt = |key: &String| suggestion::nearest(key, ["type"]).is_some();
        if fields.contains_key("type") || !fields.keys().any(is_misspelt) {
            reader.refuse("type", "inputs are an object: write type: object");
        }
        return SchemaNode::default();
    }
    let node = reader.node(schema, Where::Structure);
    if node.default.is_some() {
        reader.refuse("default", "give the defaults to the properties, one by one");
    }
    node
}

/// Returns the defaults and permitted values that do not fit their own schema.
pub(super) fn misfits(root: &SchemaNode) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut at = Segment::keys([FIELD]);
    check_defaults(root, &mut at, &mut problems);
    problems
}

fn check_defaults(node: &SchemaNode, at: &mut Vec<Segment>, problems: &mut Vec<Diagnostic>) {
    if let Some(default) = &node.default {
        let mut completed = default.clone();
        let mut refuse = |below: Vec<Segment>, kind| {
            let at = at.iter().cloned().chain(["default".into()]).chain(below);
            problems.push(Diagnostic::new(Root::Spec, at.collect(), kind));
        };
        match defaults::add(node, &mut completed) {
            Ok(_) => {
                for Diagnostic { at, kind, .. } in fit::problems(node, &completed, &[]) {
                    refuse(at, DiagnosticKind::Default(Box::new(kind)));
                }
            }
            Err(error) => refuse(Vec::new(), error.into()),
        }
    }
    let mut below = |steps: &[&str], node: &SchemaNode| {
        let length = at.len();
        at.extend(steps.iter().map(|key| Segment::from(*key)));
        check_defaults(node, at, problems);
        at.truncate(length);
    };
    for (key, property) in &node.properties {
        below(&["properties", key], property);
    }
    if let Some(items) = &node.items {
        below(&["items"], items);
    }
    if let Others::Each(each) = &node.others {
        below(&[ADDITIONAL], each);
    }
}

/// The role of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// It defines the structure of a value.
    Structure,
    /// It is part of allOf, anyOf, oneOf or not, and only narrows the schema around it.
    Combination,
}

struct SchemaReader<'a> {
    at: Vec<Segment>,
    problems: &'a mut Vec<Diagnostic>,
    /// True if the current schema itself has a problem, not only one below it.
    is_unsound: bool,
}

impl SchemaReader<'_> {
    fn refuse(&mut self, key: &str, kind: impl Into<DiagnosticKind>) {
        let mut at = self.at.clone();
        at.push(key.into());
        self.is_unsound = true;
        self.problems.push(Diagnostic::new(Root::Spec, at, kind));
    }

    /// Parses a schema below this one.
    fn below<const N: usize>(
        &mut self,
        steps: [Segment; N],
        schema: &Value,
        place: Where,
    ) -> SchemaNode {
        let length = self.at.len();
        self.at.extend(steps);
        let node = self.node(schema, place);
        self.at.truncate(length);
        node
    }

    /// Parses the schema that is the value of a keyword.
    fn inner(
        &mut self,
        schema: &Map<String, Value>,
        key: &str,
        place: Where,
    ) -> Option<Box<SchemaNode>> {
        let inner = schema.get(key)?;
        Some(Box::new(self.below([key.into()], inner, place)))
    }

    fn node(&mut self, schema: &Value, place: Where) -> SchemaNode {
        let Some(schema) = schema.as_object() else {
            let message = "a schema is an object: write {type: string}, or whatever it is";
            let at = self.at.clone();
            self.problems.push(Diagnostic::new(Root::Spec, at, message));
            return SchemaNode::default();
        };
        let around = std::mem::replace(&mut self.is_unsound, false);
        for key in schema.keys() {
            self.keyword(key, place);
        }
        let kind = self.kind(schema, place);
        let mut node = SchemaNode {
            kind,
            nullable: self.flag(schema, "nullable"),
            description: self.text(schema, "description").unwrap_or_default().into(),
            default: schema.get("default").cloned(),
            properties: self.properties(schema, place),
            others: self.others(schema),
            required: self.texts(schema, "required"),
            items: self.inner(schema, "items", place),
            limits: self.limits(schema),
            all_of: self.combination(schema, "allOf"),
            any_of: self.combination(schema, "anyOf"),
            one_of: self.combination(schema, "oneOf"),
            not: self.inner(schema, "not", Where::Combination),
        };
        if place == Where::Structure {
            self.consistent(schema, &node);
        }
        if std::mem::replace(&mut self.is_unsound, around) {
            // Its intention is unknown, so inputs are not checked against it.
            node = SchemaNode {
                kind: node.kind,
                nullable: node.nullable,
                properties: node.properties,
                items: node.items,
                ..SchemaNode::default()
            };
        }
        node
    }

    fn keyword(&mut self, key: &str, place: Where) {
        if LIMITS.contains(&key) || (place == Where::Structure && MAKE_UP.contains(&key)) {
            return;
        }
        let message: &str = match key {
            _ if MAKE_UP.contains(&key) => {
                "it is not allowed inside allOf, anyOf, oneOf and not: write it in the schema around them"
            }
            "$ref" | "definitions" | "$defs" | "components" => {
                "references are not followed: write the schema out where it is used"
            }
            "x-kubernetes-validations" => {
                "CEL rules are not evaluated here: use enum, pattern, minimum, oneOf and their like"
            }
            "patternProperties" => "use additionalProperties with a schema for the values",
            "const" => "use enum with one value",
            "examples" => "use example, or say it in the description",
            _ => {
                let mut known: Vec<&str> = MAKE_UP.into_iter().chain(LIMITS).collect();
                known.retain(|known| !known.starts_with("x-"));
                known.sort_unstable();
                return self.refuse(key, DiagnosticKind::UnknownKeyword { known });
            }
        };
        self.refuse(key, message);
    }

    fn kind(&mut self, schema: &Map<String, Value>, place: Where) -> SchemaType {
        if place == Where::Combination {
            return SchemaType::Any;
        }
        let open = self.flag(schema, PRESERVE);
        let int_or_string = self.flag(schema, INT_OR_STRING);
        match schema.get("type") {
            Some(Value::String(name)) => {
                if let Some(kind) = SchemaType::from_name(name) {
                    return kind;
                }
                let known = SchemaType::NAMED.iter().map(|(name, _)| *name).collect();
                let name = name.clone();
                self.refuse("type", DiagnosticKind::UnknownType { name, known });
            }
            Some(Value::Array(_)) => {
                self.refuse(
                    "type",
                    "it has to be one type: where null is allowed too, write nullable: true",
                );
            }
            Some(_) => self.refuse("type", "it has to be a string, such as integer"),
            None if int_or_string => return SchemaType::IntOrString,
            // The alternative has already been reported.
            None if open || schema.contains_key("$ref") => {}
            None => {
                let cure = format!(
                    "write type: string, or whatever it is; where any value will do, {PRESERVE}: true"
                );
                let kind = DiagnosticKind::with_cure("the type is missing", cure);
                self.refuse("type", kind);
            }
        }
        SchemaType::Any
    }

    fn properties(
        &mut self,
        schema: &Map<String, Value>,
        place: Where,
    ) -> BTreeMap<String, SchemaNode> {
        match schema.get("properties") {
            None => BTreeMap::new(),
            Some(Value::Object(properties)) => {
                let properties = properties.iter().map(|(key, property)| {
                    let steps = ["properties".into(), key.as_str().into()];
                    (key.clone(), self.below(steps, property, place))
                });
                properties.collect()
            }
            Some(_) => {
                let message = "it has to be an object: a schema for each name";
                self.refuse("properties", message);
                BTreeMap::new()
            }
        }
    }

    fn others(&mut self, schema: &Map<String, Value>) -> Others {
        match schema.get(ADDITIONAL) {
            None | Some(Value::Bool(true)) => Others::Open,
            Some(Value::Bool(false)) => Others::Closed,
            Some(each @ Value::Object(_)) => {
                let each = self.below([ADDITIONAL.into()], each, Where::Structure);
                Others::Each(Box::new(each))
            }
            Some(_) => {
                self.refuse(
                    ADDITIONAL,
                    "it has to be true, false or a schema: write false to refuse what is not declared",
                );
                Others::Open
            }
        }
    }

    fn combination(&mut self, schema: &Map<String, Value>, key: &str) -> Vec<SchemaNode> {
        match schema.get(key) {
            None => Vec::new(),
            Some(Value::Array(parts)) if !parts.is_empty() => {
                let parts = parts.iter().enumerate().map(|(index, part)| {
                    let steps = [key.into(), Segment::Index(index)];
                    self.below(steps, part, Where::Combination)
                });
                parts.collect()
            }
            Some(_) => {
                self.refuse(key, "it has to be an array of schemas");
                Vec::new()
            }
        }
    }

    fn flag(&mut self, schema: &Map<String, Value>, key: &str) -> bool {
        match schema.get(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(_)) if key.starts_with("exclusive") => {
                self.refuse(key, "it has to be a boolean, beside minimum or maximum");
                false
            }
            Some(_) => {
                self.refuse(key, "it has to be a boolean");
                false
            }
        }
    }

    fn text<'v>(&mut self, schema: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
        let value = schema.get(key)?;
        if value.as_str().is_none() {
            self.refuse(key, "it has to be a string");
        }
        value.as_str()
    }

    fn texts(&mut self, schema: &Map<String, Value>, key: &str) -> Vec<String> {
        let Some(value) = schema.get(key) else {
            return Vec::new();
        };
        let texts: Option<Vec<String>> = value.as_array().and_then(|items| {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect()
        });
        texts.unwrap_or_else(|| {
            let message = match value {
                Value::Bool(_) => "it is an array of names: write required: [name] beside properties, not inside one",
                _ => "it has to be an array of names",
            };
            self.refuse(key, message);
            Vec::new()
        })
    }
}
