//! Rules for a rendered document before Cartouche adds its own metadata to it.

use cartouche_crds::GROUP;
use cartouche_language::{
    Diagnostic, DiagnosticKind, Diagnostics, Root, Segment, Warning, WarningKind,
    bounds::{self, MAX_DEPTH, MAX_LEAVES, MAX_RENDERED_BYTES, MAX_RENDERED_WEIGHT},
    object::text,
    own_metadata::{ANNOTATIONS, LABELS, OWN, STRIPPED_METADATA},
    remove_own_labels,
    syntax::may_hold_tags,
    tag,
};
use serde_json::{Map, Value};

/// Reason for which a document cannot become a run of a Runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// It asks for a namespace other than the Runnable's.
    #[error("{}", DiagnosticKind::Namespace)]
    Namespace,
    /// It has tags that are still open.
    #[error("tags of run or profile are not filled in")]
    Open,
}

impl StampError {
    /// Returns the error as a diagnostic of a template.
    #[must_use]
    pub fn diagnostic(self) -> Diagnostic {
        match self {
            Self::Namespace => Diagnostic::of_namespace(),
            Self::Open => Diagnostic::in_template("", DiagnosticKind::plain(self.to_string())),
        }
    }
}

/// Checks the namespace of a document: a run lives in the namespace of its Runnable. Any other one is an error,
/// and so is any in a template, which knows no Runnable. An empty one leaves it to Cartouche.
pub(crate) fn check_namespace(
    asked_for: &str,
    of_runnable: Option<&str>,
) -> Result<(), StampError> {
    if asked_for.is_empty() || Some(asked_for) == of_runnable {
        Ok(())
    } else {
        Err(StampError::Namespace)
    }
}

/// Checks that a rendered document is neither too large nor too deep.
pub(crate) fn check_rendered_size(document: &Value) -> Result<(), Diagnostics> {
    let refuse = |message: String| {
        let kind = DiagnosticKind::Limit(format!("the rendered document {message}"));
        Err(Diagnostic::in_template("", kind).into())
    };
    if !bounds::is_shallow(document) {
        return refuse(format!(
            "nests objects and arrays more than {MAX_DEPTH} deep"
        ));
    }
    if bounds::json_bytes_within(document, MAX_RENDERED_BYTES).is_none() {
        return refuse(format!("is larger than {MAX_RENDERED_BYTES} bytes"));
    }
    if bounds::leaves(document) > MAX_LEAVES {
        return refuse(format!("has more than {MAX_LEAVES} values"));
    }
    match bounds::too_heavy(document, MAX_RENDERED_WEIGHT) {
        Some(takes) => refuse(takes),
        None => Ok(()),
    }
}

/// Strips a document with some open values of the fields that no template may set, and returns the problems of its
/// other values.
pub(crate) fn review(
    document: &mut Value,
    open: &[Vec<Segment>],
    namespace: &str,
) -> Vec<Diagnostic> {
    for at in open {
        // A label of unknown value must not remove the others.
        if let [
            Segment::Key(metadata),
            Segment::Key(labels),
            Segment::Key(label),
        ] = at.as_slice()
            && (metadata.as_str(), labels.as_str()) == ("metadata", LABELS)
            && let Some(value) = document.pointer_mut("/metadata/labels")
        {
            value[label.as_str()] = "".into();
        }
    }
    strip(document);
    let is_open = |at: &[&str]| {
        let is = |step: &Segment, key: &&str| matches!(step, Segment::Key(name) if name == key);
        open.iter()
            .any(|open| open.len() <= at.len() && open.iter().zip(at).all(|(a, b)| is(a, b)))
    };
    let is_open = |at: &[&str], _: &Value| is_open(at);
    let mut found = problems(document, &is_open);
    found.extend(wrong_namespace(document, Some(namespace), &is_open));
    found
}

/// Removes the fields that no template may set.
pub(crate) fn strip(document: &mut Value) {
    if let Some(fields) = document.as_object_mut() {
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            strip_metadata(metadata);
        }
    }
}

fn strip_metadata(metadata: &mut Map<String, Value>) {
    for field in STRIPPED_METADATA {
        metadata.remove(field);
    }
    // As in Cartographer: unless all labels can be read as texts, there are none.
    if metadata
        .get(LABELS)
        .is_some_and(|labels| !is_text_map(labels))
    {
        metadata.remove(LABELS);
    }
    remove_own_labels(metadata);
    // However a lack of labels is written, it must have one hash.
    for field in [LABELS, ANNOTATIONS] {
        if metadata.get(field).is_some_and(is_empty) {
            metadata.remove(field);
        }
    }
}

/// Returns the path of the tag that yields the value at the end of some steps, if there is one.
type GivenBy<'a> = &'a dyn Fn(&[Segment]) -> Option<String>;

/// Returns a diagnostic for each label and annotation of a run that is not a text. One such label removes all,
/// that of a queue among them, and with such an annotation the API server refuses the run. A null annotation
/// counts as empty. If the template itself has such a label, its labels are `dropped`.
pub(crate) fn not_texts(document: &Value, dropped: bool, given_by: GivenBy<'_>) -> Vec<Diagnostic> {
    let fields = [(ANNOTATIONS, "an annotation"), (LABELS, "a label")].into_iter();
    let fields = fields.filter(|(field, _)| *field == ANNOTATIONS || !dropped);
    fields
        .flat_map(|(field, what)| not_texts_of(document, field, what, given_by))
        .collect()
}

fn not_texts_of(
    document: &Value,
    field: &'static str,
    what: &'static str,
    given_by: GivenBy<'_>,
) -> Vec<Diagnostic> {
    let all = document
        .get("metadata")
        .and_then(|metadata| metadata.get(field));
    match all {
        Some(Value::Object(all)) => {
            let is_text =
                |value: &Value| value.is_string() || field == ANNOTATIONS && value.is_null();
            let wrong = all.iter().filter(|(_, value)| !is_text(value));
            let diagnostics = wrong.map(|(key, value)| {
                let at = Segment::keys(["metadata", field, key]);
                let (is, tag) = (named_type(value), given_by(&at));
                Diagnostic::new(
                    Root::Template,
                    at,
                    DiagnosticKind::NotAText { what, is, tag },
                )
            });
            diagnostics.collect()
        }
        Some(other) if field == LABELS && !other.is_null() => {
            let kind =
                DiagnosticKind::plain(format!("it is {}, and not an object", named_type(other)));
            vec![Diagnostic::in_template("metadata.labels", kind)]
        }
        _ => Vec::new(),
    }
}

fn named_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn is_text_map(value: &Value) -> bool {
    value.is_null()
        || value
            .as_object()
            .is_some_and(|map| map.values().all(Value::is_string))
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// Returns the problems of a template that exist whatever its tags yield.
pub(crate) fn static_problems(template: &Value) -> Vec<Diagnostic> {
    let is_open = |_: &[&str], value: &Value| has_tag(value);
    let mut problems = problems(template, &is_open);
    problems.extend(wrong_namespace(template, None, &is_open));
    problems
}

fn wrong_namespace(
    document: &Value,
    of_runnable: Option<&str>,
    open: IsUndecided<'_>,
) -> Option<Diagnostic> {
    let value = document.pointer("/metadata/namespace")?;
    let refused = check_namespace(value.as_str().unwrap_or_default(), of_runnable).is_err();
    (refused && !open(&["metadata", "namespace"], value)).then(Diagnostic::of_namespace)
}

/// Returns true if the value at the end of some keys is not decided yet.
type IsUndecided<'a> = &'a dyn Fn(&[&str], &Value) -> bool;

/// Returns the problems of a document, without those of values that are still `open`.
pub(crate) fn problems(document: &Value, open: IsUndecided<'_>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for field in ["apiVersion", "kind"] {
        let is_open = |value: &Value| open(&[field], value);
        if text(document, field).is_empty() && !document.get(field).is_some_and(is_open) {
            let is_pod = document.pointer("/spec/containers").is_some();
            let kind = DiagnosticKind::NoKind { field, is_pod };
            problems.push(Diagnostic::in_template(field, kind));
        }
    }
    problems.extend(own_kind(document, open));
    match document.get("metadata") {
        Some(value) if open(&["metadata"], value) => {}
        Some(Value::Object(metadata)) => problems.extend(metadata_problems(metadata, open)),
        None | Some(Value::Null) => problems.push(nameless()),
        Some(_) => problems.push(Diagnostic::in_template("metadata", "it is not an object")),
    }
    problems
}

/// Returns true for kinds that no run can be: a Runnable that makes Runnables, or templates, could go on for ever.
/// Other kinds of the group, which are Cartographer's, can be.
#[must_use]
pub fn is_own_kind(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map(|(group, _)| group);
    group == Some(GROUP) && matches!(kind, "Runnable" | "ClusterRunTemplate")
}

fn own_kind(document: &Value, open: IsUndecided<'_>) -> Option<Diagnostic> {
    let (api_version, kind) = (text(document, "apiVersion"), text(document, "kind"));
    let is_open = |field: &str| document.get(field).is_some_and(|it| open(&[field], it));
    (is_own_kind(api_version, kind) && !is_open("apiVersion") && !is_open("kind"))
        .then(|| Diagnostic::in_template("kind", DiagnosticKind::OwnKind(kind.to_owned())))
}

fn metadata_problems(metadata: &Map<String, Value>, open: IsUndecided<'_>) -> Vec<Diagnostic> {
    let is_open = |field: &str, value: &Value| open(&["metadata", field], value);
    let mut problems = Vec::new();
    for field in [ANNOTATIONS, "namespace", "generateName", "name"] {
        let Some(value) = metadata.get(field).filter(|value| !value.is_null()) else {
            continue;
        };
        let (is_right, message) = match field {
            ANNOTATIONS => (value.is_object(), "it is not an object"),
            _ => (value.is_string(), "it is not a string"),
        };
        if !is_right && !is_open(field, value) {
            let field = format!("metadata.{field}");
            problems.push(Diagnostic::in_template(&field, message));
        }
    }
    let names = |field: &str| {
        let is_empty = |value: &Value| value.is_null() || value == "";
        let value = metadata.get(field);
        value.is_some_and(|value| !is_empty(value) || is_open(field, value))
    };
    if !names("generateName") && !names("name") {
        problems.push(nameless());
    }
    problems.extend(tags_in_keys(metadata));
    problems
}

/// Returns the problems of keys of labels and annotations that hold a tag, which the API server refuses. Unless
/// all labels can be read as texts, there are none.
fn tags_in_keys(metadata: &Map<String, Value>) -> Vec<Diagnostic> {
    let keys = [(LABELS, "a label"), (ANNOTATIONS, "an annotation")]
        .into_iter()
        .flat_map(|(field, what)| {
            let map = metadata.get(field).filter(|map| is_text_map(map));
            let keys = map
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(Map::keys);
            keys.map(move |key| (field, what, key))
        });
    keys.filter(|(_, _, key)| tag::has_tag(key))
        .map(|(field, what, key)| {
            let at = Segment::keys(["metadata", field, key]);
            Diagnostic::new(Root::Template, at, DiagnosticKind::TagInKey(what))
        })
        .collect()
}

fn nameless() -> Diagnostic {
    Diagnostic::in_template("metadata", DiagnosticKind::NoName)
}

/// Returns true if a value may change when its tags are replaced.
fn has_tag(value: &Value) -> bool {
    value.as_str().is_some_and(may_hold_tags)
}

/// Returns warnings for fields of a template that have no effect, or hardly the intended one.
pub(crate) fn warnings(template: &Value) -> Vec<Warning> {
    let metadata = template.get("metadata").and_then(Value::as_object);
    let field = |field: &str| metadata.and_then(|metadata| metadata.get(field));
    let warning = |field: &str, kind| {
        let at = Segment::keys(["metadata", field]);
        Warning::in_template(at, kind)
    };
    let mut warnings = Vec::new();
    for name in STRIPPED_METADATA {
        if field(name).is_some() {
            warnings.push(warning(name, WarningKind::Removed));
        }
    }
    for (name, own) in OWN {
        let map = field(name).and_then(Value::as_object);
        let keys = map.into_iter().flat_map(Map::keys);
        let overwritten = keys.filter(|key| own.contains(&key.as_str()));
        warnings
            .extend(overwritten.map(|key| warning(name, WarningKind::Overwritten(key.clone()))));
    }
    if field(LABELS).is_some_and(|labels| !has_tag(labels) && !is_text_map(labels)) {
        warnings.push(warning(LABELS, WarningKind::NoLabels));
    }
    if field("name").is_some_and(|name| !is_empty(name) && name != "") {
        warnings.push(warning("name", WarningKind::FixedName));
    }
    if template.get("status").is_some() {
        let at = Segment::keys(["status"]);
        warnings.push(Warning::in_template(at, WarningKind::Removed));
    }
    warnings
}

#[cfg(test)]
mod tests;
