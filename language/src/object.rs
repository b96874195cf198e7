//! Fields that objects of all kinds have: texts, the group of the kind, conditions.

use serde_json::Value;

/// The condition by which Tekton and many others report.
pub const SUCCEEDED: &str = "Succeeded";

/// Returns the text of a field, or an empty one.
#[must_use]
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the group of an `apiVersion`, `""` for the core group.
#[must_use]
pub fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Iterates over the conditions of one type; a well-formed run has at most one.
pub fn conditions<'a>(run: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    let all = run.pointer("/status/conditions").and_then(Value::as_array);
    all.into_iter()
        .flatten()
        .filter(move |condition| text(condition, "type") == kind)
}

/// Returns the condition of one type, if it is True.
#[must_use]
pub fn holding<'a>(run: &'a Value, kind: &str) -> Option<&'a Value> {
    conditions(run, kind).find(|condition| text(condition, "status") == "True")
}
