//! Remaining room of a rendered document.

use serde_json::Value;

use crate::{
    bounds::{MAX_RENDERED_BYTES, MAX_RENDERED_WEIGHT, json_bytes_within},
    tag_error::TagError,
    weight::weight,
};

/// Remaining room of a rendered document: bytes of its text, and its weight as a tree.
#[derive(Debug)]
pub struct RenderRoom {
    bytes: usize,
    weight: usize,
}

impl Default for RenderRoom {
    fn default() -> Self {
        Self::new()
    }
}

impl RenderRoom {
    /// The room of an empty document.
    #[must_use]
    pub fn new() -> Self {
        Self {
            bytes: MAX_RENDERED_BYTES,
            weight: MAX_RENDERED_WEIGHT,
        }
    }

    /// Uses the room for a value before it is copied.
    pub(super) fn pay(&mut self, value: &Value) -> Result<(), TagError> {
        let bytes = json_bytes_within(value, self.bytes).ok_or(TagError::TooLarge)?;
        let left = self.weight.checked_sub(weight(value));
        self.weight = left.ok_or(TagError::TooHeavy)?;
        self.bytes -= bytes;
        Ok(())
    }
}
