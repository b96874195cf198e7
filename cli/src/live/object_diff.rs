//! What differs between two objects, field by field.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use cartouche_templating::{may_be_left_out, remove_own_labels};
use serde::Serialize;
use serde_json::Value;

use crate::{
    foreign::in_one_line,
    source::{self, Segment},
    yaml,
};

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// A field with another value. `None`: it is not there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct FieldChange {
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<Value>,
    /// Where in another object the value comes from, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
}

/// All fields that differ, in the order of their names.
pub(crate) fn changes(old: &Value, new: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare(&mut Vec::new(), Some(old), Some(new), &mut found);
    found
}

fn compare(
    at: &mut Vec<Segment>,
    old: Option<&Value>,
    new: Option<&Value>,
    found: &mut Vec<FieldChange>,
) {
    match (old, new) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                at.push(Segment::Key(key.clone()));
                compare(at, left.get(key), right.get(key), found);
                at.pop();
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                at.push(Segment::Index(index));
                compare(at, left.get(index), right.get(index), found);
                at.pop();
            }
        }
        (old, new) if [old, new].into_iter().flatten().all(may_be_left_out) => {}
        (old, new) if old == new => {}
        (old, new) => found.push(FieldChange {
            path: source::shown(at),
            old: old.cloned(),
            new: new.cloned(),
            from: None,
        }),
    }
}

/// A line for each value, old before new.
pub(crate) fn shown(changes: &[FieldChange]) -> String {
    let mut out = String::new();
    for FieldChange {
        path,
        old,
        new,
        from,
    } in changes
    {
        let line = |value: &Value| in_one_line(&format!("{path}: {value}"));
        if let Some(old) = old {
            let _ = writeln!(out, "{REMOVED}- {}{REMOVED:#}", line(old));
        }
        if let Some(new) = new {
            // Where the tag reads now: the value itself is of the time of the run.
            let from = from.as_ref().map_or(String::new(), |from| {
                format!("  (now from {})", in_one_line(from))
            });
            let _ = writeln!(out, "{ADDED}+ {}{ADDED:#}{from}", line(new));
        }
    }
    out
}

/// The same of an object that is new as a whole: as YAML.
pub(crate) fn shown_new(object: &Value) -> String {
    let text = yaml::text(object).unwrap_or_else(|_| format!("{object:#}\n"));
    let mut out = String::new();
    for line in text.lines() {
        let _ = writeln!(out, "{ADDED}+ {}{ADDED:#}", in_one_line(line));
    }
    out
}

/// A run as its template renders it: without what makes each run unlike every other.
pub(crate) fn comparable(run: &Value) -> Value {
    let mut run = run.clone();
    if let Some(fields) = run.as_object_mut() {
        fields.remove("status");
    }
    let Some(metadata) = run.get_mut("metadata").and_then(Value::as_object_mut) else {
        return run;
    };
    metadata.retain(|key, _| matches!(key.as_str(), "generateName" | "labels" | "annotations"));
    remove_own_labels(metadata);
    run
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_differs_is_named_by_its_path() {
        let old = json!({ "spec": { "a": 1, "list": ["x", "y"], "gone": true } });
        let new =
            json!({ "spec": { "a": 2, "list": ["x", "z", "w"], "labels": { "a.b/c": "d" } } });
        let shown = anstream::adapter::strip_str(&shown(&changes(&old, &new))).to_string();
        assert_eq!(
            shown,
            "- spec.a: 1\n+ spec.a: 2\n- spec.gone: true\n+ spec.labels: {\"a.b/c\":\"d\"}\n\
             - spec.list[1]: \"y\"\n+ spec.list[1]: \"z\"\n+ spec.list[2]: \"w\"\n"
        );
    }

    #[test]
    fn where_a_value_comes_from_is_said_of_now() {
        let mut changes = changes(&json!({ "a": "1" }), &json!({ "a": "2\u{9b}" }));
        changes[0].from = Some("ConfigMap rel .data.version".to_owned());
        let shown = shown(&changes);
        let from = "+ a: \"2\\u009b\"\u{1b}[0m  (now from ConfigMap rel .data.version)\n";
        assert!(shown.ends_with(from), "{shown:?}");
    }

    #[test]
    fn what_the_api_server_drops_is_no_difference() {
        assert_eq!(
            changes(
                &json!({ "a": {}, "b": null, "c": [], "d": { "e": null } }),
                &json!({})
            ),
            []
        );
    }

    #[test]
    fn a_run_that_was_asked_for_differs_in_nothing_that_its_template_renders() {
        let run = |annotations: Value| json!({ "metadata": { "annotations": annotations } });
        let asked = run(json!({
            "carto.run/input-hash": "v1:1",
            "carto.run/rerun-token": "2",
            "carto.run/rerun-request": r#"{"by":"ada","reason":"flaky"}"#,
        }));
        let first = run(json!({ "carto.run/input-hash": "v1:1" }));
        assert_eq!(changes(&comparable(&first), &comparable(&asked)), []);
    }

    #[test]
    fn the_marks_of_a_run_are_not_compared() {
        let run = |name: &str, sequence: &str| {
            json!({
                "metadata": {
                    "name": name,
                    "uid": name,
                    "labels": { "carto.run/run-sequence": sequence, "app": "x" },
                },
                "spec": {},
                "status": { "sequence": sequence },
            })
        };
        assert_eq!(
            changes(&comparable(&run("a", "1")), &comparable(&run("b", "2"))),
            []
        );
    }
}
