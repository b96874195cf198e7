//! The inputs that a template declares, with their places in its file.

pub mod explain;

use cartouche_language::syntax::{self, PathStep, To};

use crate::{
    schema::Schema,
    source::{Document, Node, Segment},
};

/// Returns the schema of the inputs of a template, or `None` if it declares none.
pub(crate) fn find_schema(template: &Document) -> Option<Schema<'_>> {
    Schema::new(&template.value, "/spec/inputSchema").filter(|schema| schema.is_object())
}

/// Returns the steps of a path below the inputs; `None` for a path to anything else.
pub(crate) fn below_inputs(steps: &[PathStep]) -> Option<&[PathStep]> {
    syntax::below(steps, &["runnable", "spec", "inputs"])
}

/// Returns the declaration of an input, or the deepest one on the way to it.
pub(crate) fn find_declaration<'a>(template: &'a Document, steps: &[Segment]) -> Option<&'a Node> {
    let mut node = template.root.at(&["spec", "inputSchema"])?;
    for (depth, step) in steps.iter().enumerate() {
        match below(node, step) {
            Some(next) => node = next,
            None if depth == 0 => return None,
            None => break,
        }
    }
    Some(node)
}

/// Returns the default that an input has when a Runnable does not give it, or one above it.
pub(crate) fn default_of<'a>(template: &'a Document, steps: &[PathStep]) -> Option<&'a Node> {
    let mut node = template.root.at(&["spec", "inputSchema"])?;
    let mut default = None;
    for step in steps {
        node = match &step.to {
            To::Key(key) => member(node, key)?,
            To::Index(_) | To::Elements => node.get("items")?,
        };
        default = node.get("default").or(default);
    }
    default
}

fn below<'a>(node: &'a Node, step: &Segment) -> Option<&'a Node> {
    match step {
        Segment::Key(key) => member(node, key),
        Segment::Index(_) => node.get("items"),
    }
}

fn member<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let declared = node.at(&["properties", key]);
    declared.or_else(|| node.get("additionalProperties"))
}
