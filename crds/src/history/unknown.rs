//! Unknown fields of a run once it has ended, and of one that has not after all.

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::{
    ATTEMPT, HistoryEntry, INTENT_AT, RERUN_TOKEN, RULES_HASH, STOP, TAKEN_BY, escape, unescaped,
};
use crate::unknown_fields::UnknownFields;

/// Bytes of the unknown fields of a run in its line. With them it is shorter than a line may be.
pub(super) const PAIRS_BYTES: usize = 1024;

/// What an earlier run has, as an object or in its line: none of them is unknown.
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
    /// It has ended: of its unknown fields each text, number and truth value comes to stand in its line, as far as there is
    /// room, and all others go.
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

    /// It has not ended after all: what its line has under keys that this release does not know becomes fields again.
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

    /// Takes over the unknown fields of the current run that it was.
    #[must_use]
    pub fn with_unknown_fields(mut self, mut fields: UnknownFields) -> Self {
        // A current run has none of these names, and an earlier one does.
        fields.retain(|key, _| !FIELDS.contains(&key));
        self.unknown_fields = fields;
        if self.result.is_some() {
            self.put_unknown_fields_into_line();
        }
        self
    }
}

/// A field as it stands in a line; nothing if it is no text, number or truth value.
fn pair(key: &str, value: &str) -> Option<String> {
    if key.is_empty() || value.starts_with(['{', '[', 'n']) {
        return None;
    }
    // A number stays as it was written: 3.0 is no 3 to the release that has written it.
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

/// The field that a value of a line was.
fn field(value: String) -> Option<Box<RawValue>> {
    if is_scalar(&value) {
        return RawValue::from_string(value).ok();
    }
    to_raw_value(&value).ok()
}

/// True if a value of a line is a text in quotes, a number or a truth value, as JSON has them. A text that looks like one of these
/// stands in quotes, so that it comes back as a text.
fn is_scalar(value: &str) -> bool {
    let read = serde_json::from_str(value);
    matches!(
        read,
        Ok(Value::String(_) | Value::Number(_) | Value::Bool(_))
    )
}

#[cfg(test)]
mod tests;
