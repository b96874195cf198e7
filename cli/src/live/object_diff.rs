//! Differences between two objects, field by field, and by file for files that their containers find.

mod lines;
pub(crate) mod pairs;

use std::{collections::BTreeMap, fmt::Write as _};

use anstyle::{AnsiColor, Style};
use cartouche_authoring::{
    foreign::{in_lines, in_one_line},
    source::{self, Segment},
    yaml,
};
use cartouche_language::remove_own_labels;
use cartouche_templating::{files_of_run, may_be_left_out};
use serde::Serialize;
use serde_json::Value;

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// Field with another value. `None` means that it does not exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct FieldChange {
    /// Path of the field in the object, or in the file if that holds a document.
    pub(crate) path: String,
    /// File that containers find the field in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// Line in the file, if that is a text; the value is then the whole line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<Value>,
    /// Object and field that the value derives from, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// Steps to the field in the object, and on into its file.
    #[serde(skip)]
    pub(crate) at: Vec<Segment>,
}

/// Returns all fields that differ, ordered by name, and then the differences in files.
pub(crate) fn changes(old: &Value, new: &Value) -> Vec<FieldChange> {
    let (mut old, mut new) = (old.clone(), new.clone());
    let (left, right) = (files_taken_out(&mut old), files_taken_out(&mut new));
    let mut found = Vec::new();
    compare(&mut Vec::new(), Some(&old), Some(&new), &mut found);
    found.retain(|change| {
        let mut sides = [&change.old, &change.new].into_iter().flatten();
        !sides.all(may_be_left_out)
    });
    let mut all: Vec<&Vec<Segment>> = left.keys().chain(right.keys()).collect();
    all.sort();
    all.dedup();
    for at in all {
        found.extend(changes_of_file(at, left.get(at), right.get(at)));
    }
    found
}

/// File of a run.
struct RunFile {
    path: String,
    text: String,
}

impl RunFile {
    /// Returns the document in the file, or `None` if it is plain text.
    fn document(&self) -> Option<Value> {
        let document = serde_json::from_str(&self.text).ok();
        document.filter(|it: &Value| it.is_object() || it.is_array())
    }
}

/// Takes the files of a run out of its annotations.
fn files_taken_out(object: &mut Value) -> BTreeMap<Vec<Segment>, RunFile> {
    let mut files = BTreeMap::new();
    for file in files_of_run(object) {
        let Some((Segment::Key(key), steps)) = file.at.split_last() else {
            continue;
        };
        let annotations = pairs::at_mut(object, steps).and_then(Value::as_object_mut);
        if let Some(annotations) = annotations
            && annotations.get(key).is_some_and(Value::is_string)
            && let Some(Value::String(text)) = annotations.remove(key)
        {
            let path = file.path;
            files.insert(file.at.clone(), RunFile { path, text });
        }
    }
    files
}

/// Returns the differences in a file: members of a document, or lines of a text.
fn changes_of_file(
    at: &[Segment],
    old: Option<&RunFile>,
    new: Option<&RunFile>,
) -> Vec<FieldChange> {
    let text = |side: Option<&RunFile>| side.map_or_else(String::new, |it| it.text.clone());
    if old.map(|it| &it.text) == new.map(|it| &it.text) {
        return Vec::new();
    }
    let path = new.or(old).map_or_else(String::new, |it| it.path.clone());
    let [left, right] = [old, new].map(|side| side.map(RunFile::document));
    let mut found = Vec::new();
    if left != Some(None) && right != Some(None) {
        let (left, right) = (left.flatten(), right.flatten());
        let mut steps = at.to_vec();
        compare(&mut steps, left.as_ref(), right.as_ref(), &mut found);
        for change in &mut found {
            change.path = source::field_path(change.at.get(at.len()..).unwrap_or_default());
        }
    }
    if found.is_empty() {
        found = lines::changes(at, &text(old), &text(new));
    }
    for change in &mut found {
        change.file = Some(path.clone());
    }
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
            for (old, new) in pairs::match_up(left, right) {
                let index = new.or(old).unwrap_or_default();
                at.push(Segment::Index(index));
                let old = old.and_then(|it| left.get(it));
                compare(at, old, new.and_then(|it| right.get(it)), found);
                at.pop();
            }
        }
        (old, new) if old == new => {}
        (old, new) => found.push(FieldChange {
            path: source::field_path(at),
            old: old.cloned(),
            new: new.cloned(),
            at: at.clone(),
            ..FieldChange::default()
        }),
    }
}

impl FieldChange {
    /// Returns the place of a value, and the value.
    fn line(&self, value: &Value) -> String {
        match (&self.file, self.line, value) {
            (Some(file), Some(line), Value::String(text)) => {
                format!("{}:{line}: {}", in_one_line(file), in_lines(text))
            }
            (Some(file), ..) if self.path.is_empty() => in_one_line(&format!("{file}: {value}")),
            (Some(file), ..) => in_one_line(&format!("{file}: {}: {value}", self.path)),
            (None, ..) => in_one_line(&format!("{}: {value}", self.path)),
        }
    }
}

/// Returns a line for each value, old before new.
pub(crate) fn format_changes(changes: &[FieldChange]) -> String {
    let mut out = String::new();
    for change in changes {
        if let Some(old) = &change.old {
            let _ = writeln!(out, "{REMOVED}- {}{REMOVED:#}", change.line(old));
        }
        if let Some(new) = &change.new {
            // The tag reads this field now; the value itself is of the time of the run.
            let from = change.from.as_ref().map_or(String::new(), |from| {
                format!("  (now from {})", in_one_line(from))
            });
            let _ = writeln!(out, "{ADDED}+ {}{ADDED:#}{from}", change.line(new));
        }
    }
    out
}

/// Returns a new object as YAML, followed by its files.
pub(crate) fn shown_new(object: &Value) -> String {
    let mut object = object.clone();
    let files = files_taken_out(&mut object);
    let mut out = String::new();
    for line in in_yaml(&object).lines() {
        let _ = writeln!(out, "{ADDED}+ {}{ADDED:#}", in_one_line(line));
    }
    for file in files.values() {
        let path = in_one_line(&file.path);
        let _ = writeln!(out, "{ADDED}+ file {path}:{ADDED:#}");
        let text = match file.document() {
            Some(document) => in_yaml(&document),
            None => file.text.clone(),
        };
        for line in text.lines() {
            let _ = writeln!(out, "{ADDED}+   {}{ADDED:#}", in_lines(line));
        }
    }
    out
}

fn in_yaml(value: &Value) -> String {
    yaml::text(value).unwrap_or_else(|_| format!("{value:#}\n"))
}

/// Returns a run as its template renders it, without what is unique to each run.
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
mod tests;
