//! Texts that look like tags and are none.

use cartouche_crds::ClusterRunTemplateSpec;
use serde_json::{Value, json};

use crate::{
    bounds,
    diagnostic::{Root, Segment, SegmentRef, kept},
    tag,
    warning::{Warning, WarningKind},
};

/// Tags in keys, tags without an end and text with the markers of a tag, of a document that is shallow and stands there.
pub(crate) fn warnings(document: &Value, root: Root, at: &[Segment]) -> Vec<Warning> {
    let mut found = Found {
        root,
        warnings: Vec::new(),
    };
    let mut at: Vec<SegmentRef<'_>> = at.iter().map(Segment::borrowed).collect();
    found.visit(document, &mut at);
    found.warnings
}

/// The same where tags are read beside the document.
pub(super) fn beside(spec: &ClusterRunTemplateSpec) -> Vec<Warning> {
    let runner = spec.runner.as_ref().map(|it| ("runner", json!(it)));
    let requires = spec.requires.as_ref().map(|it| ("requires", json!(it)));
    let parts = runner.into_iter().chain(requires);
    // Deeper ones are refused.
    let parts = parts.filter(|(_, part)| bounds::is_shallow(part));
    parts
        .flat_map(|(field, part)| warnings(&part, Root::Spec, &[field.into()]))
        .collect()
}

struct Found {
    root: Root,
    warnings: Vec<Warning>,
}

impl Found {
    fn add(&mut self, at: &[SegmentRef<'_>], kind: WarningKind) {
        let (root, at) = (self.root, kept(at));
        self.warnings.push(Warning { root, at, kind });
    }

    fn visit<'a>(&mut self, value: &'a Value, at: &mut Vec<SegmentRef<'a>>) {
        match value {
            Value::String(text) => self.text(text, at),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    at.push(SegmentRef::Index(index));
                    self.visit(item, at);
                    at.pop();
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    at.push(SegmentRef::Key(key));
                    if tag::has_tag(key) && !is_of_metadata(at) {
                        self.add(at, WarningKind::TagInKey);
                    }
                    self.visit(field, at);
                    at.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, at: &[SegmentRef<'_>]) {
        if !tag::unclosed(text).is_empty() {
            self.add(at, WarningKind::UnclosedTag);
        } else if is_of_another_tool(text) {
            self.add(at, WarningKind::ForeignTag);
        }
        if let Some(first) = tag::left_alone(text).into_iter().next() {
            let first = text.get(first).unwrap_or_default();
            self.add(at, WarningKind::LeftAlone(tag::in_short(first)));
        }
    }
}

/// Whether it is the key of a label or an annotation of the run, of which an error is told.
fn is_of_metadata(at: &[SegmentRef<'_>]) -> bool {
    matches!(
        at,
        [
            SegmentRef::Key("metadata"),
            SegmentRef::Key("labels" | "annotations"),
            SegmentRef::Key(_),
        ]
    )
}

/// `${runnable...}` and `{{ .Values... }}`, out of habit. Engines have placeholders like these, but none
/// that reads what only a Runnable or a chart has.
fn is_of_another_tool(text: &str) -> bool {
    let begins = |opening: &str, names: &[&str]| {
        text.match_indices(opening).any(|(at, _)| {
            let inside = text[at + opening.len()..].trim_start();
            names.iter().any(|name| inside.starts_with(name))
        })
    };
    let of_go = [".Values.", ".runnable.", ".selected."];
    let roots = ["runnable.", "selected."];
    begins("${", &roots) || begins("{{", &roots) || begins("{{", &of_go)
}
