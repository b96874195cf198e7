//! Values of a Runnable that YAML reads as something else than was meant, or that nothing reads.

use cartouche_crds::{
    APPROVED_ANNOTATION, Approval, GROUP, PROFILE_REFRESH_ANNOTATION, REJECTED_ANNOTATION,
    RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION, RETRY_NOW_ANNOTATION,
};
use cartouche_language::suggestion;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    source::{Content, Document, Node, as_json},
};

const NOT_IN_QUOTES: &str = "this is not in quotes";

/// Returns findings about values that mean something to people and not to the engine.
pub(super) fn check(runnable: &Document) -> Vec<Finding> {
    let mut findings = annotations(runnable);
    if let Some(inputs) = runnable.root.at(&["spec", "inputs"]) {
        collect(runnable, inputs, scalar, &mut findings);
    }
    findings
}

/// Finds annotations in the group of Cartouche that nothing reads.
fn annotations(runnable: &Document) -> Vec<Finding> {
    const READ: [&str; 6] = [
        RERUN_TOKEN_ANNOTATION,
        RERUN_REQUEST_ANNOTATION,
        RETRY_NOW_ANNOTATION,
        APPROVED_ANNOTATION,
        REJECTED_ANNOTATION,
        PROFILE_REFRESH_ANNOTATION,
    ];
    let annotations = runnable.root.at(&["metadata", "annotations"]);
    let entries = annotations.map(Node::entries).unwrap_or_default();
    let is_unknown = |key: &str| {
        let group = key.split_once('/').map(|(group, _)| group);
        group == Some(GROUP) && !READ.contains(&key)
    };
    let unknown = entries.iter().filter(|entry| is_unknown(&entry.key));
    let finding = unknown.map(|entry| {
        let message = format!("Cartouche reads no annotation {} of a Runnable", entry.key);
        let hint = suggestion::hint(&entry.key, "it reads", READ);
        Finding::warning(Rule::Surprise, message)
            .at(runnable.place(&entry.key_span))
            .label("this does nothing")
            .maybe_help(hint)
    });
    finding.chain(approves_nothing(runnable)).collect()
}

/// Finds an approval annotation that approves nothing: an approval is for one run, so a word such as `true` is none.
fn approves_nothing(runnable: &Document) -> Option<Finding> {
    let path = ["metadata", "annotations", APPROVED_ANNOTATION];
    let node = runnable.root.at(&path)?;
    if node
        .text()
        .is_some_and(|text| Approval::parse(text).is_some())
    {
        return None;
    }
    let message = format!("the annotation {APPROVED_ANNOTATION} approves nothing");
    let finding = Finding::warning(Rule::Surprise, message)
        .at(runnable.place(&node.span))
        .label("it is not <number>:<hash>");
    Some(finding.help("remove it: `cartouche approve` writes it, for one run"))
}

/// Adds the findings of a check about the scalars of a node.
fn collect(
    document: &Document,
    node: &Node,
    check: fn(&Document, &Node, &Value) -> Option<Finding>,
    findings: &mut Vec<Finding>,
) {
    match &node.content {
        Content::Scalar(value) => findings.extend(check(document, node, value)),
        Content::Array(items) => {
            for item in items {
                collect(document, item, check, findings);
            }
        }
        Content::Object(entries) => {
            for entry in entries {
                collect(document, &entry.value, check, findings);
            }
        }
    }
}

fn scalar(runnable: &Document, node: &Node, value: &Value) -> Option<Finding> {
    let place = runnable.place(&node.span);
    let written = place.text().trim().to_owned();
    let warning = |message: String, label: &'static str| {
        Finding::warning(Rule::Surprise, message)
            .at(place.clone())
            .label(label)
    };
    if let Some(text) = value.as_str()
        && text.contains("$(")
        && text.contains(")$")
    {
        let message = "tags in inputs are not read: the template gets this text as it is";
        let finding = warning(message.to_owned(), "this is not a tag here");
        return Some(finding.help("write the tag in the template"));
    }
    if value.is_null() {
        let finding = warning("this input is null".to_owned(), "this has no value");
        return Some(finding.help(
            "give it a value (\"\" is an empty text), or remove it: a field that is only its tag is left out, and within a text it is an error",
        ));
    }
    if node.is_plain && value.is_string() && is_short_hash(&written) {
        let finding = warning(format!("{written} looks like a number"), NOT_IN_QUOTES);
        let help = format!("put it in quotes: \"{written}\"; others of its kind are numbers");
        return Some(finding.help(help));
    }
    if let Some(finding) = too_large(runnable, node, value) {
        return Some(finding);
    }
    let read = format_scalar(value).filter(|read| node.is_plain && *read != written)?;
    if !is_lossy(&written) {
        return None;
    }
    let finding = warning(format!("kubectl reads {written} as {read}"), NOT_IN_QUOTES);
    Some(finding.help(format!("{}; else write {read}", in_quotes(&written))))
}

/// Finds integers anywhere in a document that the API server does not keep as they are.
pub(super) fn large_integers(document: &Document) -> Vec<Finding> {
    let mut findings = Vec::new();
    collect(document, &document.root, too_large, &mut findings);
    findings
}

fn too_large(document: &Document, node: &Node, value: &Value) -> Option<Finding> {
    let place = document.place(&node.span);
    let written = place.text();
    let is_large = value.is_number() && value.as_i64().is_none();
    let read = format_scalar(value).filter(|read| *read != written)?;
    if !node.is_plain || !is_large || !is_integer(written) {
        return None;
    }
    let message = format!("the API server keeps {written} as {read}");
    let help = in_quotes(written);
    let finding = Finding::warning(Rule::Surprise, message).at(place.clone());
    Some(finding.label("this is too large for an integer").help(help))
}

fn in_quotes(written: &str) -> String {
    format!("if it is a string, such as a version, put it in quotes: \"{written}\"")
}

/// Returns a truth value or a number as JSON writes it.
fn format_scalar(value: &Value) -> Option<String> {
    match value {
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) if number.is_f64() => number.as_f64().and_then(as_json),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns true if a number has neither a point nor an exponent.
fn is_integer(written: &str) -> bool {
    let is_hexadecimal = written.contains(['x', 'X']);
    is_hexadecimal || !written.contains(['.', 'e', 'E'])
}

/// Returns true if more than the notation is lost: a last zero, an octal or hexadecimal number, separated digits, the
/// short hash of a commit, a word for a boolean.
fn is_lossy(written: &str) -> bool {
    let is_number = written.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let is_word = written.bytes().all(|it| it.is_ascii_alphabetic());
    let has_zero = is_number && written.contains('.') && written.ends_with('0');
    let is_octal = is_number && written.starts_with('0') && !written.contains('.');
    let has_prefix = ["0x", "0o", "0b"].iter().any(|it| written.starts_with(it));
    let is_separated = written.contains('_') && !are_thousands(written);
    is_word || has_zero || is_octal || has_prefix || is_separated || is_short_hash(written)
}

/// Returns true for digits in groups of three: they are meant as a number, unless a zero stands before them.
fn are_thousands(written: &str) -> bool {
    let mut groups = written.split('_');
    let is_first = |group: &str| (1..=3).contains(&group.len()) && !group.starts_with('0');
    groups.next().is_some_and(is_first) && groups.all(|group| group.len() == 3)
}

/// Returns true for digits with one `e` among them, as many as a short hash has: no person writes a number like that.
fn is_short_hash(written: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let parts = written.split_once('e');
    written.len() >= 7 && parts.is_some_and(|(before, after)| is_digits(before) && is_digits(after))
}
