//! What the keywords of one schema say of each other.

use serde_json::{Map, Value};

use crate::diagnostic::DiagnosticKind;

use super::{
    super::{SchemaNode, SchemaType, fit},
    ADDITIONAL, Reader,
};

impl Reader<'_> {
    /// What keywords say of each other.
    pub(super) fn consistent(&mut self, schema: &Map<String, Value>, node: &SchemaNode) {
        let belongs = |keys: &[&'static str], kind: SchemaType| {
            (node.kind != kind && node.kind != SchemaType::Any)
                .then(|| keys.iter().find(|key| schema.contains_key(**key)).copied())
                .flatten()
        };
        let objects = [
            "properties",
            "required",
            ADDITIONAL,
            "minProperties",
            "maxProperties",
        ];
        let lists = ["items", "minItems", "maxItems", "uniqueItems"];
        let texts = ["minLength", "maxLength"];
        let misplaced = [
            (belongs(&objects, SchemaType::Object), "an object", "object"),
            (belongs(&lists, SchemaType::Array), "an array", "array"),
            (
                belongs(&texts, SchemaType::String)
                    .filter(|_| node.kind != SchemaType::IntOrString),
                "a string",
                "string",
            ),
        ];
        for (key, what, kind) in misplaced {
            // A keyword that cannot be read says nothing of the type.
            if let Some(key) = key.filter(|key| !schema.get(*key).is_some_and(Value::is_boolean)) {
                let (what, cure) = (format!("it is for {what}"), format!("write type: {kind}"));
                self.refuse(key, DiagnosticKind::with_cure(what, cure));
            }
        }
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
        if let Some(allowed) = &node.limits.allowed {
            let plain = SchemaNode {
                kind: node.kind,
                nullable: node.nullable,
                ..SchemaNode::default()
            };
            for value in allowed {
                if !fit::problems(&plain, value, &[]).is_empty() {
                    let what = format!(
                        "{value} is not {}, as the type says",
                        node.kind.with_article()
                    );
                    let cure = "take it out, or change the type";
                    self.refuse("enum", DiagnosticKind::with_cure(what, cure));
                }
            }
        }
    }
}
