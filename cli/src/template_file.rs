//! A `ClusterRunTemplate` in a file: compiled, and with the places of its problems.

use std::{collections::BTreeMap, ops::Range};

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_templating::syntax::{self, Tag};
use cartouche_templating::{Diagnostic, Diagnostics, Draft, Root, Template};
use serde_json::Value;

use crate::source::{Content, Document, Node, Place, Step};

/// A tag, where it is, and the steps from the template to its text.
pub(crate) struct PlacedTag {
    pub(crate) tag: Tag,
    pub(crate) at: Vec<Step>,
    /// The place of the path between the markers.
    pub(crate) path_place: Place,
}

/// The spec, as far as it can be read: each output and a healthRule of the wrong shape are left out, since
/// the schema of the kind says what is wrong with them.
pub(crate) fn spec(document: &Document) -> Option<ClusterRunTemplateSpec> {
    let spec = document.value.get("spec")?;
    let part = |key: &str| spec.get(key).filter(|value| !value.is_null()).cloned();
    Some(ClusterRunTemplateSpec {
        template: part("template")?,
        input_schema: part("inputSchema"),
        outputs: part("outputs").and_then(|value| readable_outputs(&value)),
        health_rule: part("healthRule").and_then(|value| serde_json::from_value(value).ok()),
    })
}

fn readable_outputs(outputs: &Value) -> Option<BTreeMap<String, String>> {
    let path = |(name, path): (&String, &Value)| Some((name.clone(), path.as_str()?.to_owned()));
    Some(outputs.as_object()?.iter().filter_map(path).collect())
}

/// The template of a document as far as it can be read. `None` when it has none.
pub(crate) fn draft(document: &Document) -> Option<Draft> {
    Some(Draft::new(&spec(document)?))
}

/// Compiles the template of a document. `None` when it has none.
pub(crate) fn compile(document: &Document) -> Option<Result<Template, Diagnostics>> {
    Some(Template::compile(&spec(document)?))
}

/// The node of the object to create.
pub(crate) fn body(document: &Document) -> Option<&Node> {
    document.root.at(&["spec", "template"])
}

/// The place that a diagnostic speaks of: the deepest part of it that is there.
pub(crate) fn place_of(document: &Document, diagnostic: &Diagnostic) -> Place {
    let spec = document.root.get("spec").unwrap_or(&document.root);
    let root = match diagnostic.root {
        Root::Spec => spec,
        Root::Template | Root::Context => body(document).unwrap_or(spec),
    };
    let (node, key, _) = root.follow(&diagnostic.at);
    if let Some(tag) = &diagnostic.tag {
        return tag_place(document, node, tag, 0);
    }
    let multi_line = !matches!(node.content, Content::Scalar(_));
    document.place(key.filter(|_| multi_line).unwrap_or(&node.span))
}

/// The place of the n-th tag with this path in a text, or of the text if it cannot be found as written.
pub(crate) fn tag_place(document: &Document, leaf: &Node, path: &str, nth: usize) -> Place {
    let written = document
        .source
        .text
        .get(leaf.span.clone())
        .unwrap_or_default();
    let tag = format!("$({path})$");
    match written.match_indices(&tag).nth(nth) {
        Some((offset, _)) => {
            let start = leaf.span.start + offset;
            document.place(&(start..start + tag.len()))
        }
        None => document.place(&leaf.span),
    }
}

/// Every tag of the template, in the order of the file.
pub(crate) fn tags(document: &Document) -> Vec<PlacedTag> {
    let mut found = Vec::new();
    if let Some(body) = body(document) {
        collect(document, body, &mut Vec::new(), &mut found);
    }
    found
}

fn collect(document: &Document, node: &Node, at: &mut Vec<Step>, found: &mut Vec<PlacedTag>) {
    match &node.content {
        Content::Scalar(Value::String(text)) => found.extend(tags_of(document, node, text, at)),
        Content::Scalar(_) => {}
        Content::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push(Step::Index(index));
                collect(document, item, at, found);
                at.pop();
            }
        }
        Content::Object(entries) => {
            for entry in entries {
                at.push(Step::Key(entry.key.clone()));
                collect(document, &entry.value, at, found);
                at.pop();
            }
        }
    }
}

fn tags_of(document: &Document, leaf: &Node, text: &str, at: &[Step]) -> Vec<PlacedTag> {
    let tags = syntax::tags(text);
    let placed = tags.iter().enumerate().map(|(index, tag)| {
        let earlier = tags
            .iter()
            .take(index)
            .filter(|other| other.path == tag.path)
            .count();
        let place = tag_place(document, leaf, &tag.path, earlier);
        PlacedTag {
            tag: tag.clone(),
            at: at.to_vec(),
            path_place: inner(place, &tag.path),
        }
    });
    placed.collect()
}

/// The place of the path inside the place of its tag.
fn inner(place: Place, path: &str) -> Place {
    let span = place.span.clone();
    if span.len() == path.len() + 4 {
        return part(&place, 2..2 + path.len());
    }
    place
}

/// Some bytes of a place.
pub(crate) fn part(place: &Place, bytes: Range<usize>) -> Place {
    Place {
        source: place.source.clone(),
        span: place.span.start + bytes.start..(place.span.start + bytes.end).min(place.span.end),
    }
}
