//! Consistency of the keywords of one schema.

use serde_json::{Map, Value};

use crate::diagnostic::DiagnosticKind;

use super::{
    super::{
        fit,
        node::{SchemaNode, SchemaType},
    },
    ADDITIONAL, SchemaReader,
};

/// Keywords that only one type has.
const OF_ONE_TYPE: [(SchemaType, &[&str]); 3] = [
    (
        SchemaType::Object,
        &[
            "properties",
            "required",
            ADDITIONAL,
            "minProperties",
            "maxProperties",
        ],
    ),
    (
        SchemaType::Array,
        &["items", "minItems", "maxItems", "uniqueItems"],
    ),
    (SchemaType::String, &["minLength", "maxLength"]),
];

impl SchemaReader<'_> {
    /// Reports keywords that contradict each other.
    pub(super) fn consistent(&mut self, schema: &Map<String, Value>, node: &SchemaNode) {
        self.belong_to_type(schema, node.kind);
        if node.kind == SchemaType::Array && node.items.is_none() {
            self.refuse(
                "items",
                "the schema of the elements is missing: write items: {type: string}, or whatever they are",
            );
        }
        for key in &node.required {
            if !node.properties.is_empty() && !node.properties.contains_key(key) {
                let known = node.properties.keys().cloned().collect();
                let name = key.clone();
                self.refuse("required", DiagnosticKind::UnknownProperty { name, known });
            }
        }
        self.allowed_are_of_type(node);
    }

    fn belong_to_type(&mut self, schema: &Map<String, Value>, is: SchemaType) {
        for (kind, keys) in OF_ONE_TYPE {
            let may_be_text = kind == SchemaType::String && is == SchemaType::IntOrString;
            if is == kind || is == SchemaType::Any || may_be_text {
                continue;
            }
            let given = keys.iter().find(|key| schema.contains_key(**key));
            // An unparsable keyword reveals nothing about the type.
            if let Some(key) = given.filter(|key| !schema.get(**key).is_some_and(Value::is_boolean))
            {
                let what = format!("it is for {}", kind.with_article());
                let cure = format!("write type: {}", kind.name());
                self.refuse(key, DiagnosticKind::with_cure(what, cure));
            }
        }
    }

    fn allowed_are_of_type(&mut self, node: &SchemaNode) {
        let plain = SchemaNode {
            kind: node.kind,
            nullable: node.nullable,
            ..SchemaNode::default()
        };
        for value in node.limits.allowed.as_deref().unwrap_or_default() {
            if !fit::problems(&plain, value, &[]).is_empty() {
                let wanted = node.kind.with_article();
                let what = format!("{value} is not {wanted}, as the type says");
                let cure = "remove it, or change the type";
                self.refuse("enum", DiagnosticKind::with_cure(what, cure));
            }
        }
    }
}
