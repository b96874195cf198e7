//! The table in docs/how-to/flux.md of the values of a Runnable that the API server refuses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::runnable;

/// Fields with a refused value, by the description of that value.
type Rows = BTreeMap<String, BTreeSet<String>>;

const MISSING: &str = "a missing field";

#[test]
fn the_page_lists_all_that_the_definition_refuses_of_a_runnable() {
    let definition = json!(runnable());
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(texts(&schema["required"]), ["metadata", "spec"]);
    let mut rows = Rows::from([(MISSING.to_owned(), ["spec".to_owned()].into())]);
    add(&mut rows, "spec", &schema["properties"]["spec"]);
    let rows = rows.into_iter().map(|(what, fields)| {
        let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
        format!("| {what} | {} |\n", fields.join(", "))
    });
    let table = format!("| refused | of |\n|---|---|\n{}", rows.collect::<String>());
    let page = include_str!("../../../docs/how-to/flux.md");
    assert!(
        page.contains(&format!("{table}\n")),
        "docs/how-to/flux.md lacks this table:\n{table}"
    );
}

/// Adds the refusals of a schema and of the schemas below it.
fn add(rows: &mut Rows, at: &str, schema: &Value) {
    for (keyword, value) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "description"
            | "type"
            | "default"
            | "nullable"
            | "x-kubernetes-list-map-keys"
            | "x-kubernetes-preserve-unknown-fields" => {}
            "properties" => {
                for (name, member) in value.as_object().unwrap() {
                    add(rows, &format!("{at}.{name}"), member);
                }
            }
            "items" => add(rows, &format!("{at}[]"), value),
            "additionalProperties" => add(rows, &format!("{at}.*"), value),
            "required" => {
                let fields = rows.entry(MISSING.to_owned()).or_default();
                fields.extend(
                    texts(value)
                        .iter()
                        .map(|name| format_field(&format!("{at}.{name}"))),
                );
            }
            _ => {
                let what = what(keyword, value, schema.as_object().unwrap());
                rows.entry(what).or_default().insert(format_field(at));
            }
        }
    }
}

/// Describes the values that a keyword of a schema refuses. The table would lack a keyword without a description.
fn what(keyword: &str, value: &Value, schema: &Map<String, Value>) -> String {
    let is_one = value == 1;
    match keyword {
        "minimum" => format!("a number below {}", value.as_f64().unwrap()),
        "maximum" => format!("a number above {}", value.as_f64().unwrap()),
        "format" if value == "int64" => "a fraction, or a number of more than 64 bits".to_owned(),
        "minLength" if is_one => "an empty text".to_owned(),
        "maxLength" => format!("more than {value} characters"),
        "minItems" if is_one => "an empty list".to_owned(),
        "maxItems" => format!("more than {value} items"),
        "minProperties" if is_one => "an empty object".to_owned(),
        "maxProperties" => format!("more than {value} keys"),
        "pattern" => format!("a text that does not match `{}`", value.as_str().unwrap()),
        "enum" => format!("another word than {}", listed(&texts(value))),
        "oneOf" => {
            let fields = value.as_array().unwrap().iter();
            let fields: Vec<&str> = fields.flat_map(|one| texts(&one["required"])).collect();
            format!("none of {}, or several", listed(&fields))
        }
        "x-kubernetes-list-type" if value == "set" => "an item twice".to_owned(),
        "x-kubernetes-list-type" if value == "map" => {
            let keys = texts(&schema["x-kubernetes-list-map-keys"]);
            format!("two items of the same {}", keys.join(" and "))
        }
        _ => panic!("say here, and so on the page, what {keyword}: {value} refuses"),
    }
}

fn listed(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.filter_map(Value::as_str).collect()
}

/// Returns a field's name as the page writes it.
fn format_field(at: &str) -> String {
    at.strip_prefix("spec.").unwrap_or(at).to_owned()
}
