//! Texts that look like tags and are none.

use serde_json::Value;

use crate::{
    diagnostic::{SegmentRef, kept},
    tag,
    warning::{Warning, WarningKind},
};

/// Tags in keys, and tags without an end, of a document that is shallow.
pub(super) fn warnings(document: &Value) -> Vec<Warning> {
    let mut warnings = Vec::new();
    visit(document, &mut Vec::new(), &mut warnings);
    warnings
}

fn visit<'a>(value: &'a Value, at: &mut Vec<SegmentRef<'a>>, warnings: &mut Vec<Warning>) {
    match value {
        Value::String(text) if !tag::unclosed(text).is_empty() => {
            warnings.push(Warning::in_template(kept(at), WarningKind::UnclosedTag));
        }
        Value::String(text) if is_of_another_tool(text) => {
            warnings.push(Warning::in_template(kept(at), WarningKind::ForeignTag));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push(SegmentRef::Index(index));
                visit(item, at, warnings);
                at.pop();
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                at.push(SegmentRef::Key(key));
                if tag::has_tag(key) && !is_of_metadata(at) {
                    warnings.push(Warning::in_template(kept(at), WarningKind::TagInKey));
                }
                visit(field, at, warnings);
                at.pop();
            }
        }
        _ => {}
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
