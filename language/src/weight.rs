//! Memory of JSON as a tree of values. Pure.
//!
//! A map of one entry takes six bytes of text and more than a hundred times as much memory. So neither the length
//! of a text nor the number of its values bounds its memory.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Bytes of a map's node, which has room for eleven entries.
const NODE: usize = 640;
/// Usual number of entries of a node.
const ENTRIES: usize = 6;
const VALUE: usize = size_of::<Value>();
/// Bytes that the allocator adds to a text or a list.
const HEAP: usize = 16;
/// Capacity of the smallest list, in items.
const FEWEST: usize = 4;
/// Maximum weight of a byte of text.
const WORST: usize = 140;

/// Returns the approximate memory of a value, in bytes. Only for values that a stack can hold.
#[must_use]
pub fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE,
        Value::String(text) => VALUE + of_text(text.len()),
        Value::Array(items) => of_list(items.len()) + items.iter().map(weight).sum::<usize>(),
        Value::Object(map) => {
            let entries = map.iter();
            let entries = entries.map(|(key, value)| of_text(key.len()) + weight(value));
            of_map(map.len()) + entries.sum::<usize>()
        }
    }
}

/// Returns the weight of JSON that is still text, without building it. A repeated key counts twice. Fails if
/// `serde_json` could not parse it either.
pub fn weight_of_text(text: impl AsRef<[u8]>) -> serde_json::Result<usize> {
    weight_of_levels(text, usize::MAX)
}

/// Returns the weight of so many levels of nested objects and arrays: deeper values count as null.
pub fn weight_of_levels(text: impl AsRef<[u8]>, levels: usize) -> serde_json::Result<usize> {
    let mut weight = 0;
    let mut deserializer = serde_json::Deserializer::from_slice(text.as_ref());
    let scale = Scale {
        weight: &mut weight,
        levels,
    };
    scale.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(weight)
}

/// Returns the maximum weight of a text of this length.
#[must_use]
pub fn most_weight(length: usize) -> usize {
    length.saturating_mul(WORST)
}

/// Formats a weight for people.
#[must_use]
pub fn in_mib(weight: usize) -> String {
    let tenths = weight.saturating_mul(10).div_ceil(1024 * 1024);
    match tenths % 10 {
        0 => format!("{} MiB", tenths / 10),
        rest => format!("{}.{rest} MiB", tenths / 10),
    }
}

fn of_text(length: usize) -> usize {
    if length == 0 { 0 } else { HEAP + length }
}

/// Returns the weight of a list without its items. It grows by doubling.
fn of_list(items: usize) -> usize {
    let room = match items {
        0 => return VALUE,
        items => items.next_power_of_two().max(FEWEST),
    };
    VALUE + HEAP + (room - items) * VALUE
}

/// Returns the weight of a map without its entries.
fn of_map(entries: usize) -> usize {
    VALUE + entries.div_ceil(ENTRIES) * NODE
}

/// Deserializer that weighs a value, and discards it.
struct Scale<'a> {
    weight: &'a mut usize,
    levels: usize,
}

impl Scale<'_> {
    fn add(self, weight: usize) {
        *self.weight += weight;
    }

    fn inside(&mut self) -> Scale<'_> {
        Scale {
            weight: self.weight,
            levels: self.levels - 1,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Scale<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.levels > 0 {
            return deserializer.deserialize_any(self);
        }
        self.add(VALUE);
        deserializer.deserialize_ignored_any(IgnoredAny).map(drop)
    }
}

impl<'de> Visitor<'de> for Scale<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.add(VALUE);
        Ok(())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.visit_unit()
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.visit_unit()
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.visit_unit()
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.visit_unit()
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.add(VALUE + of_text(text.len()));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let mut count = 0;
        while items.next_element_seed(self.inside())?.is_some() {
            count += 1;
        }
        self.add(of_list(count));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let mut count = 0;
        while fields
            .next_key_seed(KeyWeigher(&mut *self.weight))?
            .is_some()
        {
            fields.next_value_seed(self.inside())?;
            count += 1;
        }
        self.add(of_map(count));
        Ok(())
    }
}

/// Deserializer that weighs the key of an entry.
struct KeyWeigher<'a>(&'a mut usize);

impl<'de> DeserializeSeed<'de> for KeyWeigher<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyWeigher<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        *self.0 += of_text(text.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 200, 12, |inside| {
            prop_oneof![
                prop::collection::vec(inside.clone(), 0..12).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inside, 0..12)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    /// Nests maps of one entry, the form that takes the most memory for its text.
    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!({}), |inside, _| json!({ "": inside }))
    }

    proptest! {
        #[test]
        fn a_text_weighs_what_its_tree_does(value in any_json()) {
            let text = value.to_string();
            prop_assert_eq!(weight_of_text(&text).unwrap(), weight(&value));
            prop_assert!(weight(&value) <= most_weight(text.len()));
        }
    }

    #[test]
    fn containers_weigh_far_more_than_their_text() {
        let value = nested(100);
        let text = value.to_string();
        assert!(weight(&value) > 100 * text.len());
        assert!(weight(&value) <= most_weight(text.len()));
        assert_eq!(weight_of_text(&text).unwrap(), weight(&value));
        let lists = json!([[[[1]]]]);
        assert!(weight(&lists) > 30 * lists.to_string().len());
        let text = json!("x".repeat(1_000_000));
        assert!(weight(&text) < 1_000_100);
    }

    #[test]
    fn what_lies_deeper_than_is_read_counts_as_null() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(weight_of_text(&deep).is_err());
        let read = weight_of_levels(&deep, 3).unwrap();
        assert_eq!(read, weight(&json!([[[null]]])));
    }

    #[test]
    fn what_cannot_be_read_has_no_weight() {
        for text in ["", "{", "[1,]", "1 2", r#""\ud800""#, "1e999", r#"{"a":}"#] {
            assert!(weight_of_text(text).is_err(), "{text}");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_weight_is_told_in_mib_and_never_less_than_it_is() {
        let told = [0, 1, 1024 * 1024, 16 * 1024 * 1024, 114_600_000].map(in_mib);
        assert_eq!(told, ["0 MiB", "0.1 MiB", "1 MiB", "16 MiB", "109.3 MiB"]);
    }
}
