//! Texts that look like tags and are none.

use serde_json::Value;

use crate::{
    diagnostic::{Segment, document_path, kept},
    tag,
};

/// Tags in keys, and tags without an end, of a document that is shallow.
pub(super) fn warnings(document: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    visit(document, &mut Vec::new(), &mut warnings);
    warnings
}

fn visit<'a>(value: &'a Value, at: &mut Vec<Segment<'a>>, warnings: &mut Vec<String>) {
    match value {
        Value::String(text) if tag::has_unclosed_tag(text) => warnings.push(format!(
            "{}: a tag is not closed and stays as it is: tags end with )$",
            document_path(&kept(at))
        )),
        Value::String(text) if is_of_another_tool(text) => warnings.push(format!(
            "{}: a tag of another tool stays as it is: here tags are $(path)$",
            document_path(&kept(at))
        )),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push(Segment::Index(index));
                visit(item, at, warnings);
                at.pop();
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                at.push(Segment::Key(key));
                if tag::has_tag(key) {
                    warnings.push(format!(
                        "{}: tags in keys stay as they are",
                        document_path(&kept(at))
                    ));
                }
                visit(field, at, warnings);
                at.pop();
            }
        }
        _ => {}
    }
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
    begins("${", &["runnable.", "selected."])
        || begins(
            "{{",
            &[
                "runnable.",
                "selected.",
                ".Values.",
                ".runnable.",
                ".selected.",
            ],
        )
}
