//! Reads objects that would take too much memory as a tree.

use std::collections::BTreeMap;

use cartouche_language::{
    bounds::MAX_WEIGHT,
    weight::{most_weight, weight, weight_of_levels},
};
use serde::de::DeserializeSeed;
use serde_json::{Map, Value, value::RawValue};

use super::{MAX_DEPTH, Position, ValueSeed};

/// Weight that the status of a too heavy object may have.
const STATUS_WEIGHT: usize = MAX_WEIGHT / 2;
/// Fields that identify the object, and are read whatever the rest weighs. The API server knows
/// these fields, which are flat.
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];
const STATUS: &str = "status";

/// Fields of an object, as text.
type ObjectFields<'a> = BTreeMap<String, &'a RawValue>;

/// Returns true if an object may be too heavy, by its text.
pub(super) fn may_be(text: &str) -> serde_json::Result<bool> {
    Ok(most_weight(text.len()) > MAX_WEIGHT && weight_of_levels(text, MAX_DEPTH)? > MAX_WEIGHT)
}

/// Reads an object that may be too heavy, and returns its weight if it is. Fields without room are
/// then null. The fields of the status have a room of their own, so that the state of the object is
/// always known.
pub(super) fn read(text: &str, is_deep: &mut bool) -> serde_json::Result<(Value, Option<usize>)> {
    let (mut object, mut total) = (Map::new(), 0);
    let mut parts = ObjectFields::new();
    for (field, text) in serde_json::from_str::<ObjectFields<'_>>(text)? {
        if IDENTITY.contains(&field.as_str()) {
            let value = tree(&field, text, 2, is_deep)?;
            total += weight(&value);
            object.insert(field, value);
        } else {
            total += weight_of_levels(text.get(), MAX_DEPTH - 1)?;
            parts.insert(field, text);
        }
    }
    let is_heavy = total > MAX_WEIGHT;
    if let Some(status) = parts.remove(STATUS) {
        let status = if is_heavy && status.get().starts_with('{') {
            let mut fields = Map::new();
            let parts = serde_json::from_str(status.get())?;
            fill(&mut fields, parts, 3, STATUS_WEIGHT, is_deep)?;
            Value::Object(fields)
        } else {
            tree(STATUS, status, 2, is_deep)?
        };
        object.insert(STATUS.to_owned(), status);
    }
    fill(&mut object, parts, 2, MAX_WEIGHT, is_deep)?;
    Ok((Value::Object(object), is_heavy.then_some(total)))
}

/// Reads the fields that there is room for.
fn fill(
    object: &mut Map<String, Value>,
    parts: ObjectFields<'_>,
    depth: usize,
    mut room: usize,
    is_deep: &mut bool,
) -> serde_json::Result<()> {
    for (field, text) in parts {
        let weight = weight_of_levels(text.get(), MAX_DEPTH + 1 - depth)?;
        let value = match room.checked_sub(weight) {
            Some(left) => {
                room = left;
                tree(&field, text, depth, is_deep)?
            }
            None => Value::Null,
        };
        object.insert(field, value);
    }
    Ok(())
}

/// Reads the tree of a field at this depth of its object.
fn tree(
    field: &str,
    text: &RawValue,
    depth: usize,
    shortened: &mut bool,
) -> serde_json::Result<Value> {
    let position = match field {
        "metadata" if depth == 2 => Position::Metadata,
        _ => Position::Elsewhere,
    };
    let seed = ValueSeed {
        position,
        depth,
        shortened,
    };
    seed.deserialize(&mut serde_json::Deserializer::from_str(text.get()))
}
