//! Unknown fields of a run when it moves from an object to a line, and back.

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::{
    ATTEMPT, HistoryEntry, INTENT_AT, RERUN_TOKEN, RULES_HASH, STOP, TAKEN_BY, escape, unescaped,
};
use crate::unknown_fields::UnknownFields;

/// Maximum bytes of a run's unknown fields in its line. With them, the line stays within its limit.
pub(super) const PAIRS_BYTES: usize = 1024;

/// Known fields of an earlier run, as an object or as a line.
pub(super) const FIELDS: [&str; 17] = [
    "sequence",
    "inputHash",
    "apiVersion",
    "kind",
    "name",
    "uid",
    "result",
    "startedAt",
    INTENT_AT,
    TAKEN_BY,
    ATTEMPT,
    RERUN_TOKEN,
    STOP,
    "finishedAt",
    "message",
    RULES_HASH,
    "sources",
];

impl HistoryEntry {
    /// Moves the unknown fields of an ended run into its line: strings, numbers and booleans, as far as there is
    /// room. All others are dropped.
    pub fn put_unknown_fields_into_line(&mut self) {
        let fields = std::mem::take(&mut self.unknown_fields);
        let mut room = PAIRS_BYTES;
        for pair in fields.iter().filter_map(|(key, value)| pair(key, value)) {
            if let Some(left) = room.checked_sub(pair.len()) {
                room = left;
                self.unknown.push(pair);
            }
        }
    }

    /// Turns the unknown keys of the line back into fields, for a run that has not ended after all.
    pub fn take_unknown_fields_from_line(&mut self) {
        for pair in std::mem::take(&mut self.unknown) {
            let Some((key, value)) = pair.split_once('=') else {
                continue;
            };
            let read = unescaped(key).ok().zip(unescaped(value).ok());
            if let Some((key, value)) = read
                && !FIELDS.contains(&key.as_str())
                && let Some(value) = field(value)
            {
                self.unknown_fields.add(key, value);
            }
        }
    }

    /// Takes over the unknown fields of the run from when it was the current one.
    #[must_use]
    pub fn with_unknown_fields(mut self, mut fields: UnknownFields) -> Self {
        // A current run has none of these names, but an earlier one does.
        fields.retain(|key, _| !FIELDS.contains(&key));
        self.unknown_fields = fields;
        if self.result.is_some() {
            self.put_unknown_fields_into_line();
        }
        self
    }
}

/// Formats a field for a line. Returns `None` unless it is a string, a number or a boolean.
fn pair(key: &str, value: &str) -> Option<String> {
    if key.is_empty() || value.starts_with(['{', '[', 'n']) {
        return None;
    }
    // A number keeps its spelling: to the release that wrote it, 3.0 may differ from 3.
    let value = match serde_json::from_str(value).ok()? {
        Value::String(text) if !is_scalar(&text) => text,
        _ => value.to_owned(),
    };
    let mut pair = String::new();
    escape(&mut pair, key, "=%");
    pair.push('=');
    escape(&mut pair, &value, "%");
    Some(pair)
}

/// Restores a field from its value in a line.
fn field(value: String) -> Option<Box<RawValue>> {
    if is_scalar(&value) {
        return RawValue::from_string(value).ok();
    }
    to_raw_value(&value).ok()
}

/// Returns true if a value of a line is a JSON string in quotes, a number or a boolean. A text that looks like one
/// of these is written in quotes, so that it is read back as a text.
fn is_scalar(value: &str) -> bool {
    let read = serde_json::from_str(value);
    matches!(
        read,
        Ok(Value::String(_) | Value::Number(_) | Value::Bool(_))
    )
}

#[cfg(test)]
mod tests;
