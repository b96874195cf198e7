//! Inputs that come from other objects. Pure.

mod field;

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{InputSource, ReadAs, plain_json};
use cartouche_language::{
    bounds::{self, MAX_CONTEXT_BYTES, MAX_DEPTH, MAX_LEAVES, MAX_WEIGHT, takes},
    digest::hmac,
    weight::{weight, weight_of_text},
};
use serde_json::{Value, json};

pub use field::{Fields, NoValue, wrong_path};

/// An input from a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Sourced {
    /// The value of the input.
    pub value: Value,
    /// The mark of the secret value that the input refers to, if it refers to one; see [`secret_mark`].
    pub secret: Option<String>,
}

impl Sourced {
    /// Creates an input that everyone with access to the run may see.
    #[must_use]
    pub fn plain(value: Value) -> Self {
        Self {
            value,
            secret: None,
        }
    }

    /// Creates a reference to a key of a Secret, whose value has this [mark](secret_mark).
    #[must_use]
    pub fn secret(name: &str, key: &str, mark: String) -> Self {
        Self {
            value: json!({ "name": name, "key": key }),
            secret: Some(mark),
        }
    }
}

/// Reason for which a text is no input. It contains nothing of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableText {
    /// The text cannot be read as JSON.
    #[error("it cannot be read as JSON: line {0}, column {1}")]
    NotJson(usize, usize),
    /// The value is nested too deeply.
    #[error("it nests objects and arrays more than {MAX_DEPTH} deep")]
    TooDeep,
    /// With the inputs before it, it is too large.
    #[error(
        "with the inputs before it, it is larger than {MAX_CONTEXT_BYTES} bytes, or has more than {MAX_LEAVES} values"
    )]
    TooLarge,
    /// With the inputs before it, it is too heavy.
    #[error("with the inputs before it, it {}", takes(*.0, MAX_WEIGHT))]
    TooHeavy(usize),
}

/// Remaining room for the inputs of one Runnable from other objects. It is used before a text is parsed: as JSON,
/// a short text may take a hundred times as much memory.
#[derive(Debug)]
pub struct Room {
    bytes: usize,
    values: usize,
    weight: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            bytes: MAX_CONTEXT_BYTES,
            values: MAX_LEAVES,
            weight: MAX_WEIGHT,
        }
    }
}

impl Room {
    fn take(&mut self, text: &str, read_as: ReadAs) -> Option<()> {
        self.bytes = self.bytes.checked_sub(text.len())?;
        if read_as == ReadAs::Json {
            // Each value but the first follows one of these. Inside strings they count as well.
            let begun = text
                .bytes()
                .filter(|byte| matches!(byte, b',' | b'[' | b'{'));
            self.values = self.values.checked_sub(begun.count() + 1)?;
        }
        Some(())
    }

    /// Uses the room that an existing value needs.
    pub fn take_value(&mut self, value: &Value) -> Result<(), UnreadableText> {
        if !bounds::is_shallow(value) {
            return Err(UnreadableText::TooDeep);
        }
        let mut fits = || {
            self.bytes -= bounds::json_bytes_within(value, self.bytes)?;
            self.values = self.values.checked_sub(bounds::leaves(value))?;
            Some(())
        };
        fits().ok_or(UnreadableText::TooLarge)?;
        self.take_weight(weight(value))
    }

    fn take_weight(&mut self, weight: usize) -> Result<(), UnreadableText> {
        let before = MAX_WEIGHT - self.weight;
        let left = self.weight.checked_sub(weight);
        self.weight = left.ok_or(UnreadableText::TooHeavy(before + weight))?;
        Ok(())
    }
}

/// Parses a text as an input, if there is room for it.
pub fn read_text(text: &str, read_as: ReadAs, room: &mut Room) -> Result<Value, UnreadableText> {
    room.take(text, read_as).ok_or(UnreadableText::TooLarge)?;
    if read_as == ReadAs::Text {
        return Ok(text.into());
    }
    // The parser's message may contain a part of the text.
    let not_json = |error: serde_json::Error| UnreadableText::NotJson(error.line(), error.column());
    room.take_weight(weight_of_text(text).map_err(not_json)?)?;
    let value = plain_json(text).map_err(not_json)?;
    if bounds::is_shallow(&value) {
        Ok(value)
    } else {
        Err(UnreadableText::TooDeep)
    }
}

/// Returns the mark of a secret value for the hash of its reader: 64 hexadecimal digits of HMAC-SHA256 (RFC 2104)
/// of the name of its key and the value, with the uid of its Secret as the key. Without the uid, a short value
/// cannot be found by trial. A re-created Secret counts as changed.
#[must_use]
pub fn secret_mark(uid: &str, key: &str, value: &[u8]) -> String {
    // The name of a key never contains a zero byte.
    hmac(uid.as_bytes(), &[key.as_bytes(), b"\0", value])
}

/// Returns the names of inputs that a Runnable has twice: in `inputs` and in `inputsFrom`, or there more than
/// once.
#[must_use]
pub fn given_twice(
    inputs: Option<&BTreeMap<String, Value>>,
    sources: &[InputSource],
) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let is_given = |name: &str| inputs.is_some_and(|inputs| inputs.contains_key(name));
    let twice = sources.iter().map(|source| source.name.as_str());
    let twice = twice.filter(|name| !seen.insert(*name) || is_given(name));
    let twice: BTreeSet<&str> = twice.collect();
    twice.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
