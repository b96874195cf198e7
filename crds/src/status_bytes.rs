//! The size of a status in the API server's store, which refuses an object that is too large.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

use crate::{history::HistoryEntry, status::RunnableStatus, unknown_fields::UnknownFields};

/// Status size in bytes above which no further run number is given. The store then has room for the rest of a
/// current run.
pub const MAX_STATUS_BYTES: usize = 1024 * 1024;
/// Factor that bounds the growth of a character when it is escaped in JSON.
const LONGEST_ESCAPE: usize = 6;
/// Bytes for the numbers, times, field names and punctuation of one object of a status.
const OBJECT_BYTES: usize = 512;

/// The size of a status, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusBytes {
    /// The size of the whole status.
    pub all: usize,
    /// The size of each field, the largest first.
    pub fields: Vec<(String, usize)>,
}

/// Returns the size of this JSON in the store: the API server writes some characters as `\u` and four digits.
#[must_use]
pub fn stored_bytes(json: &[u8]) -> usize {
    let short = json
        .iter()
        .filter(|byte| matches!(byte, b'<' | b'>' | b'&'));
    let separators = json.windows(3).filter(|it| is_separator(it));
    json.len() + 5 * short.count() + 3 * separators.count()
}

/// Returns true for U+2028 and U+2029.
fn is_separator(bytes: &[u8]) -> bool {
    matches!(bytes, [0xE2, 0x80, 0xA8 | 0xA9])
}

impl RunnableStatus {
    /// Returns the size of the status if it exceeds `most`, or `None`. Most statuses are so small that nothing is
    /// counted.
    #[must_use]
    pub fn bytes_above(&self, most: usize) -> Option<StatusBytes> {
        if self.loose_bytes() <= most {
            return None;
        }
        Some(self.bytes()).filter(|bytes| bytes.all > most)
    }

    /// Returns the size of the status.
    #[must_use]
    pub fn bytes(&self) -> StatusBytes {
        // Serialization and parsing in memory do not fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(&text).unwrap_or_default();
        let fields = fields.into_iter();
        let sized = fields.map(|(name, value)| (name, stored_bytes(value.get().as_bytes())));
        let mut fields: Vec<_> = sized.collect();
        fields.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        StatusBytes {
            all: stored_bytes(text.as_bytes()),
            fields,
        }
    }

    /// Returns an upper bound of the size, without a look at any text.
    fn loose_bytes(&self) -> usize {
        let conditions = self.conditions.iter();
        let conditions = conditions.map(|it| OBJECT_BYTES + it.reason.len() + it.message.len());
        let outputs = self.outputs.iter().flatten();
        let failure = self.failure.iter();
        let gave = failure.flat_map(|it| &it.outputs);
        let values = outputs.chain(gave);
        let values = values.map(|(name, value)| name.len() + 4 + loose(value));
        let from = self.outputs_from.iter();
        let from = from.map(|it| OBJECT_BYTES + it.name.len() + sources(it.sources.as_ref()));
        let current = self.current_run.iter().map(|it| {
            let texts = [&it.approved, &it.rerun_token].into_iter().flatten();
            let texts: usize = texts.map(String::len).sum();
            2 * OBJECT_BYTES
                + texts
                + it.name.len()
                + it.api_version.len()
                + sources(it.sources.as_ref())
                + unknown(&it.unknown_fields)
        });
        let pending = self.pending.iter().map(|it| {
            let texts = [&it.approval, &it.dry_run].into_iter().flatten();
            OBJECT_BYTES + texts.map(String::len).sum::<usize>()
        });
        let failed = self
            .failure
            .iter()
            .map(|it| OBJECT_BYTES + it.message.len());
        let places = self.sensitive_outputs.iter();
        let places =
            places.map(|(name, it)| OBJECT_BYTES + name.len() + it.name.len() + it.key.len());
        let parts = conditions.chain(values).chain(from).chain(current);
        let parts = parts.chain(pending).chain(failed).chain(places);
        let lines = self.unreadable_history.iter().map(|line| line.len() + 3);
        let parts = parts.chain(lines).chain(self.history.iter().map(entry));
        let profile = self.profile.iter();
        let profile = profile.map(|it| it.refresh_token.as_ref().map_or(0, String::len));
        let few = [
            4 * OBJECT_BYTES + self.sinks.len() * OBJECT_BYTES,
            self.answered_token.as_ref().map_or(0, String::len),
            unknown(&self.unknown_fields),
        ];
        LONGEST_ESCAPE * parts.chain(profile).chain(few).sum::<usize>() + self.nested_unknown()
    }

    /// Returns the bytes of unknown fields in the objects that hardly have any.
    fn nested_unknown(&self) -> usize {
        let from = self.outputs_from.iter().map(|it| &it.unknown_fields);
        let pending = self.pending.iter().map(|it| &it.unknown_fields);
        let failure = self.failure.iter().map(|it| &it.unknown_fields);
        let profile = self.profile.iter().map(|it| &it.unknown_fields);
        let sinks = self.sinks.iter().map(|it| &it.unknown_fields);
        let places = self.sensitive_outputs.values();
        let places = places.map(|it| &it.unknown_fields);
        let current = self.current_run.iter().flat_map(|it| &it.stop);
        let stops = self.history.iter().flat_map(|it| &it.stop);
        let stops = current.chain(stops).map(|it| &it.unknown_fields);
        let all = from.chain(pending).chain(failure).chain(profile);
        let all = all.chain(sinks).chain(places).chain(stops);
        LONGEST_ESCAPE * all.map(unknown).sum::<usize>()
    }
}

fn entry(entry: &HistoryEntry) -> usize {
    let texts = [&entry.uid, &entry.taken_by, &entry.rerun_token];
    let texts: usize = texts.into_iter().flatten().map(String::len).sum();
    let keys: usize = entry.unknown.iter().map(|pair| pair.len() + 1).sum();
    OBJECT_BYTES
        + texts
        + keys
        + entry.input_hash.len()
        + entry.api_version.len()
        + entry.kind.len()
        + entry.name.len()
        + entry.message.len()
        + sources(entry.sources.as_ref())
        + unknown(&entry.unknown_fields)
}

fn sources(sources: Option<&BTreeMap<String, String>>) -> usize {
    let all = sources.into_iter().flatten();
    all.map(|(key, revision)| key.len() + revision.len() + 6)
        .sum()
}

fn unknown(fields: &UnknownFields) -> usize {
    fields
        .iter()
        .map(|(name, value)| name.len() + value.len() + 4)
        .sum()
}

fn loose(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => 3 + items.iter().map(loose).sum::<usize>(),
        Value::Object(fields) => {
            let fields = fields.iter();
            3 + fields
                .map(|(name, value)| name.len() + 4 + loose(value))
                .sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
    }
}

#[cfg(test)]
mod tests;
