//! JSON exactly as it is written.
//!
//! With its feature `raw_value`, `serde_json::Value` does not read every text as it is written: a map whose first
//! key is a certain name of that library becomes the JSON in the text behind the key. Users and strangers could
//! thus hide a value from the policies and limits that inspect the text. This module reads everything that they
//! write.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// A value exactly as it is written.
struct Plain(Value);

/// Parses a value from a text.
///
/// # Errors
/// The text is not JSON, or nested too deep.
pub fn plain_json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|Plain(value)| value)
}

/// Parses a map of values from a text.
///
/// # Errors
/// The text is not a map, or nested too deep.
pub fn plain_json_map(text: &str) -> serde_json::Result<BTreeMap<String, Value>> {
    map(&mut serde_json::Deserializer::from_str(text))
}

/// Deserializes the value of a field.
pub(crate) fn value<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    Plain::deserialize(from).map(|Plain(value)| value)
}

/// Deserializes the value of an optional field; null becomes `None`.
pub(crate) fn option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    let read = Option::<Plain>::deserialize(from)?;
    Ok(read.map(|Plain(value)| value))
}

/// Deserializes a map of values.
pub(crate) fn map<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Value>, D::Error> {
    BTreeMap::<String, Plain>::deserialize(from).map(opened)
}

/// Deserializes a map of values in an optional field; null becomes `None`.
pub(crate) fn optional_map<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeMap<String, Value>>, D::Error> {
    let read = Option::<BTreeMap<String, Plain>>::deserialize(from)?;
    Ok(read.map(opened))
}

fn opened(map: BTreeMap<String, Plain>) -> BTreeMap<String, Value> {
    let entries = map.into_iter();
    entries.map(|(key, Plain(value))| (key, value)).collect()
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(Self)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, inside: D) -> Result<Value, D::Error> {
        inside.deserialize_any(self)
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Plain(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, Plain(value))) = fields.next_entry::<String, Plain>()? {
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{plain_json, plain_json_map};
    use crate::{ClusterRunProfileSpec, ClusterRunTemplateSpec, RunnableSpec, RunnableStatus};

    /// The key with a special meaning in `serde_json`.
    const TOKEN: &str = "$serde_json::private::RawValue";

    #[test]
    fn what_serde_json_reads_is_read_alike() {
        for text in [
            r#"{"a":[null,true,-1,1,1.25,1e300,18446744073709551615,"\u00e9",{}],"b":{"c":[]},"a":2}"#,
            "null",
            "\"x\"",
            "-0.0",
        ] {
            let read: Value = serde_json::from_str(text).unwrap();
            assert_eq!(plain_json(text).unwrap(), read, "{text}");
        }
        for text in ["", "{", "[1,]", "1 2", "1e999", &"[".repeat(200)] {
            assert!(plain_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_of_the_library_is_a_key_like_any_other_wherever_users_write() {
        let hidden = json!({ TOKEN: "[true]" });
        assert_eq!(plain_json(&hidden.to_string()).unwrap(), hidden);
        let map = json!({ "a": hidden }).to_string();
        assert_eq!(plain_json_map(&map).unwrap()["a"], hidden);
        let runnable = json!({ "runTemplateRef": { "name": "t" }, "inputs": { "a": hidden } });
        let runnable: RunnableSpec = serde_json::from_str(&runnable.to_string()).unwrap();
        assert_eq!(runnable.inputs.unwrap()["a"], hidden);
        let runner = json!({ "args": hidden, "dryRun": hidden, "files": [{ "path": "/a", "json": hidden }] });
        let template = json!({ "template": hidden, "inputSchema": hidden, "runner": runner, "stop": { "mergePatch": hidden } });
        let read: ClusterRunTemplateSpec = serde_json::from_str(&template.to_string()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), template);
        let profile = json!({
            "podTemplate": hidden, "values": { "a": hidden },
            "patches": [{ "apiVersion": "v1", "kind": "K", "patch": hidden }],
        });
        let read: ClusterRunProfileSpec = serde_json::from_str(&profile.to_string()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), profile);
        let status = json!({ "outputs": { "a": hidden } });
        let read: RunnableStatus = serde_json::from_str(&status.to_string()).unwrap();
        assert_eq!(read.outputs.unwrap()["a"], hidden);
        assert_eq!(
            serde_json::from_str::<Value>(&hidden.to_string()).unwrap(),
            json!([true]),
            "if the library changes that, this module can go"
        );
    }
}
