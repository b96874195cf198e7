//! Fields of an object of Cartouche that its kind does not have, or has in another shape.

use cartouche_crds::{API_VERSION, BESIDE_TEMPLATE, TO_BESIDE_TEMPLATE};
use cartouche_language::TypeCure;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    schema::{
        check,
        kind_schema::KindSchema,
        mismatch::{Mismatch, MismatchKind},
        partial::Partial,
    },
    source::{Content, Document, Node, Segment, SourceSpan, values},
};

/// Finds unknown and missing fields and wrong types of a Runnable or a template.
pub(super) fn check(document: &Document, schema: &KindSchema) -> Vec<Finding> {
    let Some(schema) = schema.schema() else {
        return Vec::new();
    };
    let mismatches = check::check(schema, &Partial::from(&document.value));
    let found = mismatches
        .iter()
        .map(|mismatch| finding(document, &document.root, mismatch));
    other_version(document).into_iter().chain(found).collect()
}

/// Finds another version than the only one of the group.
fn other_version(document: &Document) -> Option<Finding> {
    let node = document.root.get("apiVersion")?;
    let version = document.api_version();
    let message = format!("there is no version {version} of {}", document.kind());
    (version != API_VERSION).then(|| {
        Finding::error(Rule::Kind, message)
            .at(document.place(&node.span))
            .label("not served")
            .help(format!("write apiVersion: {API_VERSION}"))
    })
}

/// Returns the finding about a mismatch in a part of a document.
pub(super) fn finding(document: &Document, root: &Node, mismatch: &Mismatch) -> Finding {
    let rule = match mismatch.fault {
        MismatchKind::Unknown { .. } | MismatchKind::Missing { .. } | MismatchKind::Null => {
            Rule::Field
        }
        MismatchKind::Type { .. } | MismatchKind::Refused { .. } => Rule::FieldType,
    };
    let label = match &mismatch.fault {
        MismatchKind::Unknown { .. } => "there is no such field".to_owned(),
        MismatchKind::Missing { key } => format!("'{key}' is missing here"),
        MismatchKind::Null => "a value is missing here".to_owned(),
        MismatchKind::Type { wanted, .. } => format!("this has to be {wanted}"),
        MismatchKind::Refused { .. } => "this is not allowed".to_owned(),
    };
    let on_key = matches!(
        mismatch.fault,
        MismatchKind::Unknown { .. } | MismatchKind::Null
    );
    Finding::error(rule, mismatch.message())
        .at(place(document, root, &mismatch.at, on_key))
        .label(label)
        .maybe_help(
            beside_template(document, root, mismatch)
                .or_else(|| suggest_quotes(document, root, mismatch))
                .or_else(|| written_flat(document, root, mismatch))
                .or_else(|| one_block(document, root, mismatch))
                .or_else(|| mismatch.help.clone())
                .or_else(|| default_help(&mismatch.fault)),
        )
}

/// Returns the cure of a field of a template that stands in its run, one level too deep.
fn beside_template(document: &Document, root: &Node, mismatch: &Mismatch) -> Option<String> {
    let MismatchKind::Unknown { key } = &mismatch.fault else {
        return None;
    };
    let is_in_run = !std::ptr::eq(root, &raw const document.root) && mismatch.at.len() == 1;
    (is_in_run && BESIDE_TEMPLATE.contains(&key.as_str())).then(|| TO_BESIDE_TEMPLATE.to_owned())
}

/// Returns the cure of a text without quotes, as it is written: it was read as another value, such as `1` for `1.0` or
/// `false` for `no`.
pub(super) fn suggest_quotes(
    document: &Document,
    root: &Node,
    mismatch: &Mismatch,
) -> Option<String> {
    let is_text =
        matches!(&mismatch.fault, MismatchKind::Type { wanted, .. } if wanted == "a string");
    let (node, _, taken) = root.follow(&mismatch.at);
    let Content::Scalar(Value::Number(_) | Value::Bool(_)) = &node.content else {
        return None;
    };
    let place = document.place(&node.span);
    let written = place.text().trim();
    let is_plain = !written.is_empty() && !written.contains(char::is_whitespace);
    let is_there = is_text && is_plain && taken == mismatch.at.len();
    is_there.then(|| format!("{}: \"{written}\"", TypeCure::AddQuotes))
}

/// Returns the cure of a text of several lines in the place of a list: `- ` before each element is meant, or one text
/// as the only element.
fn one_block(document: &Document, root: &Node, mismatch: &Mismatch) -> Option<String> {
    let is_list =
        matches!(&mismatch.fault, MismatchKind::Type { wanted, .. } if wanted == "an array");
    let (node, _, taken) = root.follow(&mismatch.at);
    let text = node.text()?;
    let place = document.place(&node.span);
    let mark = place.text().split_whitespace().next()?;
    if !is_list || taken < mismatch.at.len() || !mark.starts_with(['|', '>']) {
        return None;
    }
    if matches!(values(text).as_deref(), Ok([Value::Array(_)])) {
        return Some(format!(
            "remove the {mark}: these are the elements of a list"
        ));
    }
    let Some(Segment::Key(key)) = mismatch.at.last() else {
        return None;
    };
    match key.as_str() {
        "args" => Some(format!(
            "write the key alone, and `- {mark}` in the line below it: the text is one element"
        )),
        "command" => Some(format!(
            "write command: [sh, -c], and the text below args: as `- {mark}`"
        )),
        _ => None,
    }
}

/// Notation of each field of Cartouche that has others below it, with a sample value if none can be taken over.
const WRITTEN: [(&str, &str, &str); 6] = [
    ("retry", "retry: {limit: VALUE}", "3"),
    ("backoff", "backoff: {initial: VALUE}", "10s"),
    ("start", "start: {debounce: VALUE}", "30s"),
    ("runTemplateRef", "runTemplateRef: {name: VALUE}", "NAME"),
    (
        "retentionPolicy",
        "retentionPolicy: {maxFailedRuns: VALUE, maxSuccessfulRuns: VALUE}",
        "10",
    ),
    (
        "healthRule",
        "healthRule: {singleConditionType: VALUE}",
        "Complete",
    ),
];

/// Returns the cure of a single value in the place of a field of Cartouche that has others below it.
fn written_flat(document: &Document, root: &Node, mismatch: &Mismatch) -> Option<String> {
    let MismatchKind::Type { wanted, .. } = &mismatch.fault else {
        return None;
    };
    let Some(Segment::Key(key)) = mismatch.at.last() else {
        return None;
    };
    let (_, written, sample) = WRITTEN.iter().find(|(field, ..)| field == key)?;
    if wanted != "an object" || !std::ptr::eq(root, &raw const document.root) {
        return None;
    }
    let given = match Segment::value_at(&mismatch.at, &document.value)? {
        Value::Number(number) => number.to_string(),
        Value::String(text) if !text.is_empty() => text.clone(),
        Value::Array(_) | Value::Object(_) => return None,
        _ => (*sample).to_owned(),
    };
    Some(format!("write {}", written.replace("VALUE", &given)))
}

/// Returns the cure if nothing better is known.
fn default_help(fault: &MismatchKind) -> Option<String> {
    match fault {
        MismatchKind::Missing { key } => Some(format!("add the field '{key}'")),
        MismatchKind::Null => Some("give it a value".to_owned()),
        MismatchKind::Type { wanted, is } if wanted == "an object" && is == "an array" => {
            Some("remove the dashes: write what is below as NAME: VALUE".to_owned())
        }
        MismatchKind::Type { wanted, .. } if wanted == "an object" => {
            Some("write its fields below it, indented".to_owned())
        }
        MismatchKind::Type { wanted, .. } => Some(format!("give it {wanted}")),
        MismatchKind::Unknown { .. } | MismatchKind::Refused { .. } => None,
    }
}

/// Returns the place of a part of a document: of its key if the key is meant, or if the value spans several lines.
pub(super) fn place(document: &Document, root: &Node, at: &[Segment], on_key: bool) -> SourceSpan {
    document.place_below(root, at, on_key)
}
