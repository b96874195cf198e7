//! Tags that take a part of an input that has no such parts.

use cartouche_language::syntax::PathStep;
use serde_json::Value;

use crate::source::{Document, Segment};

/// Returns the cure if a tag takes a part of a value at some steps of the Runnable that is no object.
pub(super) fn cure(runnable: &Document, above: &[Segment], step: &PathStep) -> Option<String> {
    let key = step.key()?;
    match Segment::value_at(above, &runnable.value)? {
        Value::Array(items) if key.bytes().all(|it| it.is_ascii_digit()) => Some(format!(
            "elements of a list are written [{key}], with no dot before: it has {}",
            items.len()
        )),
        Value::Array(_) => Some(format!(
            "this is a list: pick an element first, as in [0].{key}"
        )),
        Value::String(text) => Some(of_text(runnable, above, text)),
        Value::Number(_) | Value::Bool(_) => Some(format!(
            "this has no parts: end the path before .{key}, or give the input as an object"
        )),
        Value::Object(known) => known.keys().find_map(|known| {
            let is_meant = known != key && known.trim_matches(|it: char| !it.is_ascii()).trim() == key;
            is_meant.then(|| {
                format!("the Runnable has a blank beside the key '{key}' that YAML takes for a letter: retype the line")
            })
        }),
        Value::Null => None,
    }
}

/// Returns true if the inputs cannot be read at all: the schema check reports that.
pub(super) fn inputs_are_unread(runnable: &Document) -> bool {
    let inputs = runnable.value.pointer("/spec/inputs");
    inputs.is_some_and(|inputs| !inputs.is_object() && !inputs.is_null())
}

fn of_text(runnable: &Document, above: &[Segment], text: &str) -> String {
    let is_json =
        serde_json::from_str::<Value>(text).is_ok_and(|it| it.is_object() || it.is_array());
    let from_config_map = above.get(2).is_some_and(|name| {
        let sources = runnable
            .value
            .pointer("/spec/inputsFrom")
            .and_then(Value::as_array);
        let mut sources = sources.into_iter().flatten();
        sources.any(|it| {
            it.get("configMapKeyRef").is_some()
                && it
                    .get("name")
                    .and_then(Value::as_str)
                    .map(Segment::from)
                    .as_ref()
                    == Some(name)
        })
    });
    match (is_json, from_config_map) {
        (true, true) => "the input is a text, though it looks like JSON: write as: JSON beside its key, and its parts can be read".to_owned(),
        (true, false) => "the input is a text, though it looks like JSON: write it as YAML, without the quotes around it".to_owned(),
        (false, true) => "the input is a text, which has no parts: let the ConfigMap hold JSON and write as: JSON beside its key, or end the path before".to_owned(),
        (false, false) => "the input is a text, which has no parts: give it as an object, or end the path before".to_owned(),
    }
}
