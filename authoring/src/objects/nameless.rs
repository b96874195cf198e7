//! Objects without a name: nothing can refer to them, and no run can be named after them.

use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    source::{Content, Document, Node},
};

/// Path to the name of an object.
const NAME: [&str; 2] = ["metadata", "name"];

/// Returns the finding about an object without a name. Its other faults are reported once it has one.
pub(super) fn check(document: &Document) -> Option<Finding> {
    if !document.name().is_empty() {
        return None;
    }
    let node = document.root.at(&NAME);
    let (rule, what, help) = match node.map(|node| &node.content) {
        Some(Content::Scalar(Value::String(_))) => (Rule::Name, "is empty".to_owned(), None),
        Some(Content::Scalar(Value::Null)) => (Rule::Name, "is null".to_owned(), None),
        Some(content) => {
            let what = format!("has to be a string, and is {}", describe(content));
            (Rule::FieldType, what, in_quotes(document, content, node))
        }
        None => (Rule::Name, "is missing".to_owned(), None),
    };
    let kind = document.kind();
    let finding = Finding::error(rule, format!("metadata.name {what}"))
        .at(place(document))
        .label(format!("this {kind} has no name"))
        .help("give it a name: lower-case letters, digits and -")
        .maybe_help(help);
    Some(finding)
}

/// Returns the place of the last key on the way to the name, or of the kind if there is none.
fn place(document: &Document) -> crate::source::SourceSpan {
    let is_there = |keys: &&[&str]| document.root.at(keys).is_some();
    let ways = [&NAME[..], &NAME[..1]];
    let keys = ways.into_iter().find(is_there).unwrap_or(&["kind"]);
    document.place_of_key(keys)
}

fn describe(content: &Content) -> String {
    match content {
        Content::Scalar(value) => value.to_string(),
        Content::Array(_) => "a list".to_owned(),
        Content::Object(_) => "a map".to_owned(),
    }
}

/// Returns the cure of a number or a truth value, as it is written.
fn in_quotes(document: &Document, content: &Content, node: Option<&Node>) -> Option<String> {
    let written = document.place(&node?.span).text().trim().to_owned();
    let is_scalar = matches!(content, Content::Scalar(_));
    is_scalar.then(|| format!("put it in quotes: \"{written}\""))
}

/// Returns the finding about a Runnable that has only a generateName: each creation makes another one.
pub(crate) fn only_prefixed(runnable: &Document) -> Option<Finding> {
    if runnable.name().is_empty()
        || runnable
            .root
            .at(&NAME)
            .is_some_and(|it| it.text().is_some())
    {
        return None;
    }
    let message = "with generateName each `kubectl create` makes another Runnable, and `kubectl apply` refuses it";
    let finding = Finding::warning(Rule::Surprise, message)
        .at(runnable.place_of_key(&["metadata", "generateName"]))
        .label("this is no name");
    Some(finding.help("write metadata.name: the same Runnable then makes its next run"))
}

/// Gives a Runnable that has only a generateName some name, as the API server does when it is created.
pub(super) fn name(document: &mut Document) {
    let metadata = document.value.get_mut("metadata");
    let Some(metadata) = metadata.and_then(Value::as_object_mut) else {
        return;
    };
    let is_named = metadata.get("name").is_some_and(|name| !name.is_null());
    let prefix = metadata.get("generateName").and_then(Value::as_str);
    if let Some(prefix) = prefix.filter(|prefix| !prefix.is_empty() && !is_named) {
        let name = format!("{prefix}xxxxx");
        metadata.insert("name".to_owned(), name.into());
    }
}
