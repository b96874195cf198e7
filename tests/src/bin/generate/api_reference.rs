//! The API reference: a table of every field, from the schema that the API server uses.

use std::fmt::Write as _;

use serde_json::Value;

use crate::text;

const PREAMBLE: &str = "\
# API reference

<!-- Written by `cargo generate` from the types in crds/src. Edit those. -->

API version `carto.run/v1alpha1`. A field without a default is absent unless you set it. The
`metadata` of both kinds is that of every Kubernetes object and is left out here.
";

/// Returns the whole page.
pub fn markdown(definitions: &[Value]) -> String {
    let mut page = PREAMBLE.to_owned();
    for definition in definitions {
        kind_section(definition, &mut page);
    }
    page
}

fn kind_section(definition: &Value, page: &mut String) {
    let names = &definition["spec"]["names"];
    let version = &definition["spec"]["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"];
    let _ = writeln!(page, "\n## {}\n", text(names, "/kind"));
    let _ = writeln!(page, "{}\n", text(schema, "/description"));
    let _ = writeln!(
        page,
        "Scope: {}. Short name: `{}`.",
        text(definition, "/spec/scope"),
        text(names, "/shortNames/0"),
    );
    for part in ["spec", "status"] {
        let root = &schema["properties"][part];
        let _ = writeln!(page, "\n### `{part}`\n");
        let _ = writeln!(page, "{}{}\n", text(root, "/description"), note(root));
        page.push_str("| field | type | default | bounds | meaning |\n|---|---|---|---|---|\n");
        for row in rows(part, root) {
            page.push_str(&row);
        }
    }
    columns(version, page);
}

/// Returns the note beside the description of a whole part.
fn note(root: &Value) -> String {
    root.get("default")
        .map(|default| format!(" Default: `{default}`."))
        .unwrap_or_default()
}

/// Returns the rows of all fields below `schema`, depth first.
fn rows(path: &str, schema: &Value) -> Vec<String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|n| n == name))
    };
    let mut rows_below = Vec::new();
    for (name, member) in properties {
        let path = format!("{path}.{name}");
        rows_below.push(row(&path, member, required(name)));
        match member.get("items") {
            Some(item) => rows_below.extend(rows(&format!("{path}[]"), item)),
            None => rows_below.extend(rows(&path, member)),
        }
    }
    rows_below
}

fn row(path: &str, schema: &Value, required: bool) -> String {
    let default = schema
        .get("default")
        .map(|default| format!("`{default}`"))
        .unwrap_or_default();
    format!(
        "| `{path}` | {} | {default} | {} | {} |\n",
        type_name(schema),
        cell(&bounds(schema, required).join("; ")),
        cell(text(schema, "/description")),
    )
}

/// Escapes bars, which would end a table cell.
fn cell(content: &str) -> String {
    content.replace('|', "\\|")
}

fn type_name(schema: &Value) -> String {
    if let Some(values) = schema.get("additionalProperties") {
        return format!("map of {}", type_name(values));
    }
    if let Some(item) = schema.get("items") {
        return format!("list of {}", type_name(item));
    }
    // A status has its fields listed, although it preserves unknown fields for other releases.
    let free = schema["x-kubernetes-preserve-unknown-fields"] == true
        && schema.get("properties").is_none();
    match (text(schema, "/type"), text(schema, "/format"), free) {
        ("", _, true) => "any JSON".to_owned(),
        ("object", _, true) => "any JSON object".to_owned(),
        ("string", "date-time", _) => "time".to_owned(),
        (name, _, _) => name.to_owned(),
    }
}

/// Returns what the API server enforces: limits, and the messages of the rules.
fn bounds(schema: &Value, required: bool) -> Vec<String> {
    let mut found = Vec::new();
    if required {
        found.push("required".to_owned());
    }
    for (keyword, words) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "length at least"),
        ("maxLength", "length at most"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
    ] {
        if let Some(limit) = schema.get(keyword) {
            found.push(format!("{words} {limit}"));
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values.iter().filter_map(Value::as_str).collect();
        found.push(format!("one of {}", values.join(", ")));
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        found.push(format!("matches `{pattern}`"));
    }
    let rules = schema["x-kubernetes-validations"].as_array();
    found.extend(
        rules
            .into_iter()
            .flatten()
            .map(|rule| text(rule, "/message").to_owned()),
    );
    if let Some(keys) = schema["x-kubernetes-list-map-keys"].as_array() {
        let keys: Vec<_> = keys.iter().filter_map(Value::as_str).collect();
        found.push(format!("one entry a {}", keys.join(", ")));
    }
    found
}

fn columns(version: &Value, page: &mut String) {
    page.push_str("\n### Columns of `kubectl get`\n\n");
    page.push_str("| column | shown | value |\n|---|---|---|\n");
    for column in version["additionalPrinterColumns"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let wide = column["priority"].as_i64().unwrap_or_default() > 0;
        let _ = writeln!(
            page,
            "| {} | {} | `{}` |",
            text(column, "/name"),
            if wide { "with `-o wide`" } else { "always" },
            text(column, "/jsonPath"),
        );
    }
}
