//! The table of values in the chart's README, from the comments of `values.yaml`, and the checks that keep
//! these, the schema and the values together.

use std::{io, path::Path};

use serde_json::Value;

use crate::{
    kustomization::fault,
    page::{Block, Table, fill},
};

const VALUES: &str = "charts/cartouche/values.yaml";

/// The only key without a default: Helm gives it to charts below others.
const GLOBAL: &str = "global";

/// A value of the chart.
pub struct Row {
    path: String,
    default: String,
    meaning: String,
}

/// Returns the values that have a comment, in the order of the file.
pub fn rows(text: &str) -> io::Result<Vec<Row>> {
    let values = parsed(text)?;
    let mut rows = Vec::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    for line in text.lines() {
        let bare = line.trim_start();
        if let Some(words) = bare.strip_prefix('#') {
            comment.push(words.trim());
            continue;
        }
        let words = std::mem::take(&mut comment).join(" ");
        let Some(key) = key_of(bare) else { continue };
        let indent = line.len() - bare.len();
        above.retain(|(other, _)| *other < indent);
        above.push((indent, key.to_owned()));
        if words.is_empty() {
            continue;
        }
        let keys: Vec<&str> = above.iter().map(|(_, key)| key.as_str()).collect();
        let default = values.pointer(&format!("/{}", keys.join("/")));
        rows.push(Row {
            path: keys.join("."),
            default: default.map(Value::to_string).unwrap_or_default(),
            meaning: words,
        });
    }
    Ok(rows)
}

/// Returns the key that a line begins with.
fn key_of(bare: &str) -> Option<&str> {
    let (key, _) = bare.split_once(':')?;
    let plain = !key.is_empty() && key.chars().all(|it| it.is_ascii_alphanumeric());
    plain.then_some(key)
}

/// Fails if a value has no row, or if the schema has other keys than the values.
pub fn check(text: &str, rows: &[Row], schema: &Value) -> io::Result<()> {
    let values = parsed(text)?;
    compare("", &values, schema)?;
    let mut leaves = Vec::new();
    collect(String::new(), &values, &mut leaves);
    let has_row = |leaf: &str| {
        rows.iter().any(|row| {
            let rest = leaf.strip_prefix(&row.path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    match leaves.iter().find(|leaf| !has_row(leaf)) {
        Some(leaf) => Err(fault(Path::new(VALUES), &format!("{leaf} has no comment"))),
        None => Ok(()),
    }
}

fn compare(path: &str, values: &Value, schema: &Value) -> io::Result<()> {
    let keys = schema["properties"].as_object();
    let (Some(values), Some(keys)) = (values.as_object(), keys) else {
        return Ok(());
    };
    if !path.is_empty() && values.is_empty() {
        return Ok(());
    }
    if schema["additionalProperties"] != false {
        let what = format!("the schema allows any key below '{path}'");
        return Err(fault(Path::new(VALUES), &what));
    }
    let unset = keys
        .keys()
        .find(|key| *key != GLOBAL && !values.contains_key(*key));
    if let Some(key) = unset {
        let what = format!("{path}{key} is in the schema only");
        return Err(fault(Path::new(VALUES), &what));
    }
    for (key, value) in values {
        let Some(below) = keys.get(key) else {
            let what = format!("{path}{key} is not in the schema");
            return Err(fault(Path::new(VALUES), &what));
        };
        compare(&format!("{path}{key}."), value, below)?;
    }
    Ok(())
}

/// Collects the paths of all values that hold no others.
fn collect(path: String, value: &Value, leaves: &mut Vec<String>) {
    match value.as_object() {
        Some(members) if !members.is_empty() => {
            for (key, member) in members {
                let below = match path.as_str() {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                collect(below, member, leaves);
            }
        }
        _ => leaves.push(path),
    }
}

/// Replaces the table of a page.
pub fn with_table(page: &str, rows: &[Row]) -> io::Result<String> {
    let mut table = Table::new(&["value", "default", "meaning"]);
    for row in rows {
        let code = |text: &str| format!("`{text}`");
        table.add([code(&row.path), code(&row.default), row.meaning.clone()]);
    }
    let block = Block {
        name: "values",
        content: table.text(),
    };
    fill(page, &[block])
}

fn parsed(text: &str) -> io::Result<Value> {
    serde_saphyr::from_str(text).map_err(|error| fault(Path::new(VALUES), &error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = "# About the file.\n\na:\n  # The first\n  # value.\n  b: 1\n  # Second.\n  c:\n    d: {}\n";

    fn schema() -> Value {
        let closed =
            |properties| json!({ "additionalProperties": false, "properties": properties });
        closed(
            json!({ "a": closed(json!({ "b": {}, "c": closed(json!({ "d": {} })) })), "global": {} }),
        )
    }

    #[test]
    fn a_commented_value_is_a_row() {
        let rows = rows(TEXT).unwrap();
        let shown: Vec<_> = rows
            .iter()
            .map(|it| (&*it.path, &*it.default, &*it.meaning))
            .collect();
        let expected = [
            ("a.b", "1", "The first value."),
            ("a.c", "{\"d\":{}}", "Second."),
        ];
        assert_eq!(shown, expected);
        let page = "x\n<!-- generate values -->\nold\n<!-- /generate values -->\ny\n";
        let table = with_table(page, &rows).unwrap();
        assert!(
            table.contains("| `a.b` | `1` | The first value. |\n"),
            "{table}"
        );
        assert!(
            !table.contains("old") && table.ends_with("<!-- /generate values -->\ny\n"),
            "{table}"
        );
        assert!(with_table("no place", &rows).is_err());
    }

    #[test]
    fn values_and_schema_have_the_same_keys() {
        let rows = rows(TEXT).unwrap();
        assert!(check(TEXT, &rows, &schema()).is_ok());
        let mut more = schema();
        more["properties"]["e"] = json!({});
        assert!(check(TEXT, &rows, &more).is_err());
        let text = format!("{TEXT}e: 1\n");
        assert!(check(&text, &rows, &schema()).is_err());
        let mut open = schema();
        open["properties"]["a"]["additionalProperties"] = json!({});
        assert!(check(TEXT, &rows, &open).is_err());
        assert!(
            check(TEXT, &[], &schema()).is_err(),
            "a value without a comment"
        );
    }
}
