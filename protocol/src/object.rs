//! Objects of any kind, from any client.

mod heavy;

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value, value::RawValue};

use crate::managed_fields::Writers;

/// Deepest nesting of objects and arrays that is read; `serde_json` goes no deeper.
pub const MAX_DEPTH: usize = 127;
/// Key that marks an object with omitted parts; no kind has a field of this name. Its value is the
/// weight, if that is the reason.
const SHORTENED: &str = "\0shortened";

/// An object as a tree.
///
/// It omits what is deeper than [`MAX_DEPTH`] (see [`is_shortened`]), large fields of an object
/// that is [too heavy](too_heavy), and most of `managedFields`, which are as large as the rest of
/// most objects (see [`Writers`]). So every object that an API server can hold is readable.
#[derive(Clone, Debug)]
pub struct Object(pub Value);

/// Returns true if a part of the object was omitted, so that not every value in it is whole.
#[must_use]
pub fn is_shortened(object: &Value) -> bool {
    object.get(SHORTENED).is_some()
}

/// Returns the weight of an object with omitted parts if it is more than
/// [`MAX_WEIGHT`](cartouche_language::bounds::MAX_WEIGHT), else `None`.
#[must_use]
pub fn too_heavy(object: &Value) -> Option<usize> {
    let weight = object.get(SHORTENED)?.as_u64()?;
    usize::try_from(weight).ok()
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        read(text.get()).map(Self).map_err(serde::de::Error::custom)
    }
}

fn read(text: &str) -> serde_json::Result<Value> {
    let (mut is_deep, mut weight) = (false, None);
    let mut value = if text.starts_with('{') && heavy::may_be(text)? {
        let read = heavy::read(text, &mut is_deep)?;
        weight = read.1;
        read.0
    } else {
        let seed = ValueSeed {
            position: Position::Object,
            depth: 1,
            shortened: &mut is_deep,
        };
        seed.deserialize(&mut serde_json::Deserializer::from_str(text))?
    };
    let left_out = weight
        .map(Value::from)
        .or(is_deep.then_some(Value::Bool(true)));
    if let (Some(left_out), Value::Object(fields)) = (left_out, &mut value) {
        fields.insert(SHORTENED.to_owned(), left_out);
    }
    Ok(value)
}

#[derive(Clone, Copy, PartialEq)]
enum Position {
    Object,
    Metadata,
    Elsewhere,
}

/// Seed of a value that may nest down to [`MAX_DEPTH`].
struct ValueSeed<'a> {
    position: Position,
    depth: usize,
    shortened: &'a mut bool,
}

impl ValueSeed<'_> {
    fn inside(&mut self, position: Position) -> ValueSeed<'_> {
        ValueSeed {
            position,
            depth: self.depth + 1,
            shortened: self.shortened,
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.depth <= MAX_DEPTH {
            return deserializer.deserialize_any(self);
        }
        // Skipping text works at any depth; only a tree of it would need a stack.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        if text.get().starts_with(['{', '[']) {
            *self.shortened = true;
            return Ok(Value::Null);
        }
        serde_json::from_str(text.get()).map_err(serde::de::Error::custom)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.inside(Position::Elsewhere))? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let position = match (self.position, key.as_str()) {
                (Position::Metadata, "managedFields") => {
                    let writers = fields.next_value::<Writers>()?;
                    object.extend(writers.shorten().map(|writers| (key, writers)));
                    continue;
                }
                (Position::Object, "metadata") => Position::Metadata,
                _ => Position::Elsewhere,
            };
            let value = fields.next_value_seed(self.inside(position))?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use cartouche_language::{bounds::MAX_WEIGHT, weight::weight};

    use super::{MAX_DEPTH, Object, is_shortened, too_heavy};

    fn read(text: &str) -> Value {
        serde_json::from_str::<Object>(text).unwrap().0
    }

    /// An object with this nesting depth.
    fn nested(depth: usize, core: &str) -> String {
        let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        format!(r#"{{"a":{open}{core}{close},"b":1.5}}"#)
    }

    #[test]
    fn what_serde_json_reads_is_read_alike() {
        let text = nested(MAX_DEPTH, r#""core""#);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read(&text), value);
        assert!(!is_shortened(&value));
        let plain = json!({ "a": [null, true, -1, 1, 1.25, "x", { "managedFields": 1 }] });
        assert_eq!(read(&plain.to_string()), plain);
    }

    #[test]
    fn of_what_lies_deeper_nothing_is_read_and_that_is_told() {
        for depth in [MAX_DEPTH + 1, 140, 100_000] {
            let text = nested(depth, "1");
            assert!(serde_json::from_str::<Value>(&text).is_err());
            let value = read(&text);
            assert!(is_shortened(&value));
            assert_eq!(value["b"], 1.5);
        }
    }

    #[test]
    fn who_wrote_which_field_is_left_out_of_the_metadata_alone() {
        let text = r#"{"kind":"Job","metadata":{"name":"a","labels":{"managedFields":"b"},"managedFields":[{"manager":"c"}]},"status":{"managedFields":[1],"metadata":{"managedFields":[2]}}}"#;
        assert_eq!(
            read(text),
            json!({
                "kind": "Job",
                "metadata": { "name": "a", "labels": { "managedFields": "b" } },
                "status": { "managedFields": [1], "metadata": { "managedFields": [2] } },
            })
        );
    }

    /// Chains of nested maps, each of some 40 KiB as a tree.
    fn chains(count: usize) -> String {
        let chain = format!("{}1{}", r#"{"a":"#.repeat(58), "}".repeat(58));
        let chains = (0..count).map(|at| format!(r#""c{at}":{chain}"#));
        format!("{{{}}}", chains.collect::<Vec<_>>().join(","))
    }

    #[test]
    fn of_an_object_that_is_too_heavy_it_is_known_what_it_is_and_how_it_fares() {
        let heavy = chains(2_900);
        let of = |aaa: &str, spec: &str, status: &str| {
            format!(
                r#"{{"aaa":{aaa},"apiVersion":"a/v1","kind":"K","metadata":{{"name":"n","uid":"u","managedFields":[{{}}]}},"spec":{spec},"status":{status}}}"#
            )
        };
        let status = r#"{"conditions":[1],"z":2}"#;
        for text in [of(&heavy, "{}", status), of("{}", &heavy, status)] {
            let value = read(&text);
            assert!(weight(&value) < MAX_WEIGHT && is_shortened(&value));
            assert!(too_heavy(&value) > Some(100 << 20));
            assert_eq!(value["metadata"], json!({ "name": "n", "uid": "u" }));
            assert_eq!(value["status"], json!({ "conditions": [1], "z": 2 }));
        }
        let value = read(&of(
            "1",
            "2",
            &format!(r#"{{"all":{heavy},"conditions":[1]}}"#),
        ));
        assert_eq!(value["status"], json!({ "all": null, "conditions": [1] }));
        let many = vec![
            of("1", "2", &heavy),
            of(&heavy, &heavy, &heavy),
            heavy.clone(),
        ];
        for text in many {
            let value = read(&text);
            assert!(weight(&value) < 2 * MAX_WEIGHT && too_heavy(&value).is_some());
        }
    }

    #[test]
    fn who_wrote_which_field_counts_for_no_weight() {
        let heavy = chains(2_900);
        let text = format!(r#"{{"metadata":{{"name":"n","managedFields":[{heavy}]}},"spec":1}}"#);
        assert_eq!(
            read(&text),
            json!({ "metadata": { "name": "n" }, "spec": 1 })
        );
        assert!(!is_shortened(&read(&format!(
            r#"{{"spec":{}}}"#,
            chains(300)
        ))));
    }
}
