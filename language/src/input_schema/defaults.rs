//! Defaults for missing inputs, added as the API server does for a custom resource.

use serde_json::{Map, Value};

use super::node::{Others, SchemaNode};
use crate::bounds::{self, MAX_DEFAULTED_BYTES, MAX_RENDERED_WEIGHT};
use crate::diagnostic::DiagnosticKind;
use crate::weight::{in_mib, weight};

/// Reason for which the defaults would make the inputs too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    /// The bytes of their text.
    Bytes,
    /// Their weight as a tree.
    Weight,
}

impl From<TooMuch> for DiagnosticKind {
    fn from(too_much: TooMuch) -> Self {
        let most = match too_much {
            TooMuch::Bytes => format!("{MAX_DEFAULTED_BYTES} bytes"),
            TooMuch::Weight => format!("{} of memory", in_mib(MAX_RENDERED_WEIGHT)),
        };
        Self::with_cure(
            format!("the defaults of inputSchema would add more than {most}"),
            "give fewer or smaller defaults inside lists and maps",
        )
    }
}

/// Adds defaults to a value, and below it. Returns the number of values that were set.
pub(super) fn add(node: &SchemaNode, value: &mut Value) -> Result<usize, TooMuch> {
    let mut adding = Adding {
        room: MAX_DEFAULTED_BYTES,
        weight: MAX_RENDERED_WEIGHT,
        added: 0,
    };
    adding.below(node, value)?;
    Ok(adding.added)
}

struct Adding {
    /// Remaining bytes.
    room: usize,
    /// Remaining weight.
    weight: usize,
    added: usize,
}

impl Adding {
    fn below(&mut self, node: &SchemaNode, value: &mut Value) -> Result<(), TooMuch> {
        match value {
            Value::Object(members) => self.members(node, members),
            Value::Array(items) => match &node.items {
                Some(item) => items
                    .iter_mut()
                    .try_for_each(|value| self.value(item, value)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn members(
        &mut self,
        node: &SchemaNode,
        members: &mut Map<String, Value>,
    ) -> Result<(), TooMuch> {
        for (key, property) in &node.properties {
            if property.default.is_some() && !members.contains_key(key) {
                members.insert(key.clone(), Value::Null);
                self.set(property, members.get_mut(key))?;
            }
        }
        for (key, value) in members {
            match (node.properties.get(key), &node.others) {
                (Some(property), _) => self.value(property, value)?,
                (None, Others::Each(each)) => self.value(each, value)?,
                (None, Others::Open | Others::Closed) => {}
            }
        }
        Ok(())
    }

    /// Adds defaults to a value. A null that the schema does not permit counts as missing.
    fn value(&mut self, node: &SchemaNode, value: &mut Value) -> Result<(), TooMuch> {
        if value.is_null() && !node.nullable {
            self.set(node, Some(&mut *value))?;
        }
        self.below(node, value)
    }

    fn set(&mut self, node: &SchemaNode, slot: Option<&mut Value>) -> Result<(), TooMuch> {
        let (Some(default), Some(slot)) = (&node.default, slot) else {
            return Ok(());
        };
        let bytes = bounds::json_bytes_within(default, self.room).ok_or(TooMuch::Bytes)?;
        self.room -= bytes;
        let left = self.weight.checked_sub(weight(default));
        self.weight = left.ok_or(TooMuch::Weight)?;
        self.added += 1;
        slot.clone_from(default);
        Ok(())
    }
}
