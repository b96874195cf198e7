//! A `CustomResourceDefinition` as a YAML file.

use std::io;

use serde_json::{Number, Value};

use crate::text;

/// Writes bounds as `1`, where the typed schema has the float `1.0`.
pub fn plain(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => members.values_mut().for_each(|m| *m = plain(m.take())),
        Value::Array(items) => items.iter_mut().for_each(|i| *i = plain(i.take())),
        Value::Number(number) => *number = integral(number),
        _ => {}
    }
    value
}

fn integral(number: &Number) -> Number {
    let text = number.to_string();
    text.strip_suffix(".0")
        .and_then(|whole| whole.parse::<i64>().ok())
        .map_or_else(|| number.clone(), Number::from)
}

/// Returns `<group>_<plural>.yaml`, the name that other generators of definitions use.
pub fn file_name(definition: &Value) -> String {
    format!(
        "{}_{}.yaml",
        text(definition, "/spec/group"),
        text(definition, "/spec/names/plural")
    )
}

/// Returns the content of the file, with a line about its origin.
pub fn yaml(definition: &Value) -> io::Result<String> {
    let body = serde_saphyr::to_string(definition).map_err(io::Error::other)?;
    Ok(format!(
        "# Written by `cargo generate` from the types in crds/src. Edit those.\n{body}"
    ))
}
