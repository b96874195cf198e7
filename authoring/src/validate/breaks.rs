//! Values that break the text that they are put into: JSON, YAML or a script.
//!
//! A tag in a longer text puts its value there as it is. In JSON and YAML the text is read twice, with numbers in the
//! place of the tags and with the values. A value breaks the text if it changes more of it than its own place.

mod shell;

use std::ops::Range;

use cartouche_language::syntax;
use cartouche_templating::Context;
use serde_json::Value;

use super::{secrets, subject};
use crate::{
    finding::{Finding, Rule},
    source::{Content, Document, MapEntry, Node},
    template_file,
};

/// Stands for the first tag of a text, and the next numbers for the next ones. Hardly a text holds it.
const FIRST: u64 = 731_099_000;

/// Format of a text, as far as it can be recognized.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextFormat {
    Json,
    Yaml,
}

/// A tag in a text, and its replacement.
struct Filled {
    path: String,
    span: Range<usize>,
    value: String,
    /// True if it is a list or an object, which is JSON.
    is_json: bool,
}

/// Finds texts of a template that the values of a Runnable break.
pub(super) fn check(document: &Document, runnable: &Document, context: &Context) -> Vec<Finding> {
    let mut check = Check {
        document,
        runnable,
        context,
        findings: Vec::new(),
    };
    if let Some(body) = template_file::body(document) {
        check.node(body, "");
    }
    let files = document.root.at(&["spec", "runner", "files"]);
    for file in files.map(Node::items).unwrap_or_default() {
        if let Some(text) = file.get("text") {
            check.text(text, false);
        }
    }
    check.findings
}

struct Check<'a> {
    document: &'a Document,
    runnable: &'a Document,
    context: &'a Context,
    findings: Vec<Finding>,
}

impl Check<'_> {
    /// Checks all texts below a node, which has this key.
    fn node(&mut self, node: &Node, key: &str) {
        match &node.content {
            Content::Scalar(_) => self.text(node, key == "script"),
            Content::Array(items) => items.iter().for_each(|item| self.node(item, "")),
            Content::Object(entries) => self.object(node, entries, key),
        }
    }

    fn object(&mut self, node: &Node, entries: &[MapEntry], key: &str) {
        let script = shell::script_of(node);
        for entry in entries {
            let is_source = key == "script" && entry.key == "source";
            match &entry.value.content {
                Content::Array(items) if ["command", "args"].contains(&entry.key.as_str()) => {
                    for item in items {
                        let is_script = script.is_some_and(|it| std::ptr::eq(it, item));
                        self.text(item, is_script);
                    }
                }
                _ if is_source => self.text(&entry.value, true),
                _ => self.node(&entry.value, &entry.key),
            }
        }
    }

    fn text(&mut self, node: &Node, is_script: bool) {
        let Some(text) = node.text().filter(|text| syntax::may_hold_tags(text)) else {
            return;
        };
        let Some(filled) = self.filled(text).filter(|filled| !filled.is_empty()) else {
            return;
        };
        if let Some(format) = format_of(text, &filled) {
            let broken = filled.iter().enumerate();
            let broken = broken.filter(|(index, _)| breaks(text, &filled, format, *index));
            for (index, _) in broken {
                self.add(node, &filled, index, &what(format), &cure(format));
            }
        } else if is_script {
            for (index, why) in shell::broken(text, &filled) {
                self.add(node, &filled, index, &why, shell::CURE);
            }
        }
    }

    /// Returns the tags of a text with their values. `None` if it is one tag, if a value is not known, or if one is a
    /// reference to a Secret, which is reported separately.
    fn filled(&self, text: &str) -> Option<Vec<Filled>> {
        let tags = syntax::tags(text).into_iter();
        let filled = tags.map(|tag| {
            let is_found_elsewhere = tag.alone || secrets::is_reference(self.runnable, &tag.path);
            let value = self
                .context
                .value(&tag.path)
                .filter(|_| !is_found_elsewhere)?;
            let is_json = value.is_object() || value.is_array();
            let value = match value {
                Value::Null => return None,
                Value::String(text) => text,
                other => other.to_string(),
            };
            Some(Filled {
                path: tag.path,
                span: tag.span,
                value,
                is_json,
            })
        });
        filled.collect()
    }

    fn add(&mut self, node: &Node, filled: &[Filled], index: usize, what: &str, cure: &str) {
        let name = self.runnable.name();
        let path = &filled[index].path;
        let tag = format!("$({path})$");
        let message = format!("Runnable {name}: the value of {tag} {what}");
        let whole = self.document.place(&node.span);
        // The same tag may stand there before.
        let before = filled[..index].iter().filter(|it| it.path == *path).count();
        let place = match whole.text().match_indices(&tag).nth(before) {
            Some((start, _)) => template_file::part(&whole, start..start + tag.len()),
            None => whole,
        };
        self.findings.push(
            Finding::warning(Rule::Surprise, message)
                .at(place)
                .label("is inserted into the text unchanged")
                .with_related(subject::place(self.runnable, &[]), "for this Runnable")
                .help(cure),
        );
    }
}

fn what(format: TextFormat) -> String {
    let name = match format {
        TextFormat::Json => "JSON",
        TextFormat::Yaml => "YAML",
    };
    format!("breaks the {name} around it, or changes its meaning")
}

fn cure(format: TextFormat) -> String {
    let escape = match format {
        TextFormat::Json => "jq -n --arg",
        TextFormat::Yaml => "yq",
    };
    format!(
        "give a Job or a Pod the whole as `json` in spec.runner.files, or the value as an environment variable to {escape}"
    )
}

/// Returns a text with numbers for its tags, except for one, which has its value.
fn with(text: &str, filled: &[Filled], valued: Option<usize>) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (index, one) in filled.iter().enumerate() {
        out.push_str(text.get(at..one.span.start).unwrap_or_default());
        if valued == Some(index) {
            out.push_str(&one.value);
        } else {
            out.push_str(&number(index));
        }
        at = one.span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn number(index: usize) -> String {
    (FIRST + u64::try_from(index).unwrap_or_default()).to_string()
}

/// Returns the format of a text that is an object or a list once its tags are numbers. YAML has more than one line.
fn format_of(text: &str, filled: &[Filled]) -> Option<TextFormat> {
    let plain = with(text, filled, None);
    let formats = [TextFormat::Json, TextFormat::Yaml].into_iter();
    let mut read = formats.filter_map(|format| Some((format, read(&plain, format)?)));
    let (format, value) = read.next()?;
    let is_whole = value.is_object() || value.is_array();
    (is_whole && (format == TextFormat::Json || text.trim().contains('\n'))).then_some(format)
}

fn read(text: &str, format: TextFormat) -> Option<Value> {
    match format {
        TextFormat::Json => serde_json::from_str(text).ok(),
        TextFormat::Yaml => serde_saphyr::from_str(text).ok(),
    }
}

/// Returns true if one of the values changes more of a text than its own place.
fn breaks(text: &str, filled: &[Filled], format: TextFormat, index: usize) -> bool {
    let Some(plain) = read(&with(text, filled, None), format) else {
        return false;
    };
    let Some(valued) = read(&with(text, filled, Some(index)), format) else {
        return true;
    };
    let place = TagPlace {
        number: number(index),
        filled: &filled[index],
        format,
    };
    !place.is_same(&plain, &valued)
}

/// The place of a tag in a document.
struct TagPlace<'a> {
    number: String,
    filled: &'a Filled,
    format: TextFormat,
}

impl TagPlace<'_> {
    /// Returns true if a document with a value differs from the one with the number only in its place.
    fn is_same(&self, plain: &Value, valued: &Value) -> bool {
        match (plain, valued) {
            (Value::Array(plain), Value::Array(valued)) => {
                let mut pairs = plain.iter().zip(valued);
                plain.len() == valued.len() && pairs.all(|(one, other)| self.is_same(one, other))
            }
            (Value::Object(plain), Value::Object(valued)) => {
                let is_there = |(key, one): (&String, &Value)| {
                    let other = valued.get(&self.text(key));
                    other.is_some_and(|other| self.is_same(one, other))
                };
                plain.len() == valued.len() && plain.iter().all(is_there)
            }
            (Value::String(plain), Value::String(valued)) => *valued == self.text(plain),
            // Beside a decimal point the digits are not those that were written.
            (Value::Number(number), Value::Number(_)) if number.is_f64() => true,
            (Value::Number(number), valued) if number.to_string().contains(&self.number) => {
                self.is_value(&self.text(&number.to_string()), valued)
            }
            (plain, valued) => plain == valued,
        }
    }

    fn text(&self, text: &str) -> String {
        text.replace(&self.number, &self.filled.value)
    }

    /// Returns true if that is the value at the place of a number that stood alone. In YAML a text may be read as a
    /// number, or as true.
    fn is_value(&self, text: &str, valued: &Value) -> bool {
        match (self.format, valued) {
            (TextFormat::Json, _) => {
                serde_json::from_str::<Value>(text).is_ok_and(|it| it == *valued)
            }
            (TextFormat::Yaml, Value::Array(_) | Value::Object(_)) => self.filled.is_json,
            (TextFormat::Yaml, Value::String(valued)) => valued == text.trim(),
            (TextFormat::Yaml, Value::Null) => text.trim().is_empty() || text == "null",
            (TextFormat::Yaml, Value::Bool(_) | Value::Number(_)) => !text.contains('#'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str, value: &str) -> bool {
        let tag = syntax::tags(text).remove(0);
        let filled = [Filled {
            path: tag.path,
            span: tag.span,
            value: value.to_owned(),
            is_json: false,
        }];
        let format = format_of(text, &filled).expect("a format");
        breaks(text, &filled, format, 0)
    }

    #[test]
    fn a_value_that_does_not_stay_in_its_place_breaks_json() {
        const TAG: &str = "$(runnable.x)$";
        let within = format!("{{\"a\": \"b {TAG}\", \"c\": [1]}}");
        let bare = format!("{{\"a\": {TAG}}}");
        let key = format!("{{\"k-{TAG}\": 1}}");
        for (text, value, is_broken) in [
            (&within, "plain", false),
            (&within, "it's {fine}: #1", false),
            (&within, "say \"hi\"", true),
            (&within, "two\nlines", true),
            (&within, "a\\b", true),
            (&within, "a\", \"d\": \"e", true),
            (&bare, "3", false),
            (&bare, "[1, 2]", false),
            (&bare, "word", true),
            (&bare, "1, \"b\": 2", true),
            (&key, "a", false),
            (&key, "\"", true),
        ] {
            assert_eq!(broken(text, value), is_broken, "{text} {value}");
        }
    }

    #[test]
    fn a_value_that_does_not_stay_in_its_place_breaks_yaml() {
        const TAG: &str = "$(runnable.x)$";
        let bare = format!("a: {TAG}\nb: [1]\n");
        let within = format!("a: \"{TAG}\"\nb: 1\n");
        let block = format!("a: |\n  one\n  {TAG}\nb: 1\n");
        for (text, value, is_broken) in [
            (&bare, "plain", false),
            (&bare, "1.10", false),
            (&bare, "true", false),
            (&bare, "", false),
            (&bare, "a: b", true),
            (&bare, "a #b", true),
            (&bare, "x\nc: d", true),
            (&bare, "[a", true),
            (&within, "a: b #c", false),
            (&within, "\"", true),
            (&block, "a: \"b\"", false),
            (&block, "x\nc: 2", true),
        ] {
            assert_eq!(broken(text, value), is_broken, "{text} {value}");
        }
    }

    #[test]
    fn a_script_and_a_single_line_are_neither() {
        for text in [
            "echo $(runnable.x)$",
            "note: $(runnable.x)$",
            "set -e\necho $(runnable.x)$",
        ] {
            let tag = syntax::tags(text).remove(0);
            let filled = Filled {
                path: tag.path,
                span: tag.span,
                value: String::new(),
                is_json: false,
            };
            assert!(format_of(text, &[filled]).is_none(), "{text}");
        }
    }
}
