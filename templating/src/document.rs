//! What a rendered document must and must not be, before Cartouche adds its own metadata to it.

use cartouche_crds::{
    GROUP, INPUT_HASH_ANNOTATION, RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION,
    RUN_SEQUENCE_LABEL, RUN_TEMPLATE_NAME_LABEL, RUNNABLE_NAME_LABEL, RUNNABLE_UID_LABEL,
};
use serde_json::{Map, Value};

use crate::{
    diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Segment},
    digest, name,
    warning::{Warning, WarningKind},
};

/// Metadata that only the API server, other controllers or Cartouche may set.
const STRIPPED_METADATA: [&str; 5] = [
    "finalizers",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "uid",
];
/// Labels that Cartouche sets on every run.
pub const OWN_LABELS: [&str; 4] = [
    RUNNABLE_NAME_LABEL,
    RUN_TEMPLATE_NAME_LABEL,
    RUNNABLE_UID_LABEL,
    RUN_SEQUENCE_LABEL,
];
/// Annotations that Cartouche sets on runs.
pub const OWN_ANNOTATIONS: [&str; 3] = [
    INPUT_HASH_ANNOTATION,
    RERUN_REQUEST_ANNOTATION,
    RERUN_TOKEN_ANNOTATION,
];

const LABELS: &str = "labels";
const ANNOTATIONS: &str = "annotations";

/// A rendered document: what the API server is asked for, but for the metadata that
/// [`stamp`](crate::stamp()) adds. It has an `apiVersion`, a kind, and a name or a prefix for one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    document: Value,
    input_hash: String,
}

impl Rendered {
    /// The document itself.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The `apiVersion` of the run.
    #[must_use]
    pub fn api_version(&self) -> &str {
        text(&self.document, "apiVersion")
    }

    /// The kind of the run.
    #[must_use]
    pub fn kind(&self) -> &str {
        text(&self.document, "kind")
    }

    /// The hash of the document: equal for documents that mean the same. It decides whether a run is
    /// made.
    #[must_use]
    pub fn input_hash(&self) -> &str {
        &self.input_hash
    }

    /// The name, if the template gives one. Such a template can run only once.
    #[must_use]
    pub fn fixed_name(&self) -> Option<&str> {
        Some(self.metadata_text("name")).filter(|name| !name.is_empty())
    }

    /// What to call the run before it has a name: its fixed name or its prefix.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.fixed_name()
            .unwrap_or_else(|| self.metadata_text("generateName"))
    }

    /// The name of the run that has this sequence: the fixed name, or the prefix (cut so that the whole
    /// has at most 52 characters) with the [suffix](crate::name_suffix) of the sequence.
    #[must_use]
    pub fn run_name(&self, runnable_uid: &str, sequence: i64) -> String {
        match self.fixed_name() {
            Some(name) => name.to_owned(),
            None => name::run_name(
                self.metadata_text("generateName"),
                &name::name_suffix(runnable_uid, sequence),
            ),
        }
    }

    /// Whether it may be a run of a Runnable in this namespace. The error is what to say if not.
    pub fn check_namespace(&self, namespace: &str) -> Result<(), StampError> {
        check_namespace(self.metadata_text("namespace"), Some(namespace))
    }

    fn metadata_text(&self, field: &str) -> &str {
        self.document
            .get("metadata")
            .map_or("", |metadata| text(metadata, field))
    }
}

/// Why a document cannot become a run of a Runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// It asks for a namespace other than the Runnable's.
    #[error("{}", DiagnosticKind::Namespace)]
    Namespace,
}

/// A run lives in the namespace of its Runnable. What a document asks for beside that is an error, and so
/// is whatever stands in a template, which knows no Runnable; empty leaves it to Cartouche.
fn check_namespace(asked_for: &str, of_runnable: Option<&str>) -> Result<(), StampError> {
    if asked_for.is_empty() || Some(asked_for) == of_runnable {
        Ok(())
    } else {
        Err(StampError::Namespace)
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Takes away what no template may set, and checks what is left.
pub(crate) fn finish(mut document: Value) -> Result<Rendered, Diagnostics> {
    strip(&mut document);
    Diagnostics::check(problems(&document, &|_, _| false))?;
    Ok(Rendered {
        input_hash: digest::hash(&document),
        document,
    })
}

/// The same of a document of which some values are open, with what is wrong with the others.
pub(crate) fn review(
    document: &mut Value,
    open: &[Vec<Segment>],
    namespace: &str,
) -> Vec<Diagnostic> {
    for at in open {
        // A label of which nothing is known takes no other with it.
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
    let mut found = problems(document, &|at, _| is_open(at));
    let asked_for = document.pointer("/metadata/namespace");
    let asked_for = asked_for.and_then(Value::as_str).unwrap_or_default();
    if check_namespace(asked_for, Some(namespace)).is_err() && !is_open(&["metadata", "namespace"])
    {
        found.push(Diagnostic::of_namespace());
    }
    found
}

fn strip(document: &mut Value) {
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
    // As in Cartographer: labels that cannot all be read as texts are no labels at all.
    if metadata
        .get(LABELS)
        .is_some_and(|labels| !is_text_map(labels))
    {
        metadata.remove(LABELS);
    }
    for (field, own) in [
        (LABELS, &OWN_LABELS[..]),
        (ANNOTATIONS, &OWN_ANNOTATIONS[..]),
    ] {
        if let Some(map) = metadata.get_mut(field).and_then(Value::as_object_mut) {
            map.retain(|key, _| !own.contains(&key.as_str()));
        }
        // No labels is one thing, however it is written, and must have one hash.
        if metadata.get(field).is_some_and(is_empty) {
            metadata.remove(field);
        }
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

/// What is wrong with a template whatever its tags yield.
pub(crate) fn static_problems(template: &Value) -> Vec<Diagnostic> {
    let mut problems = problems(template, &|_, value| has_tag(value));
    let namespace = template
        .pointer("/metadata/namespace")
        .filter(|value| !has_tag(value));
    let asked_for = namespace.and_then(Value::as_str).unwrap_or_default();
    if check_namespace(asked_for, None).is_err() {
        problems.push(Diagnostic::of_namespace());
    }
    problems
}

/// Whether the value at the end of some keys is not decided yet.
type IsOpen<'a> = &'a dyn Fn(&[&str], &Value) -> bool;

/// What is wrong with a document; nothing is said of a value that is still `open`.
fn problems(document: &Value, open: IsOpen<'_>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for field in ["apiVersion", "kind"] {
        let value = document.get(field);
        let is_named = value
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty());
        if !is_named && !value.is_some_and(|value| open(&[field], value)) {
            problems.push(Diagnostic::in_template(
                field,
                DiagnosticKind::NoKind(field),
            ));
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

/// Whether a kind is one of those that no run can be: a Runnable that makes Runnables, or templates, could go
/// on for ever. Other kinds of the group, which are Cartographer's, can be.
#[must_use]
pub fn is_own_kind(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map(|(group, _)| group);
    group == Some(GROUP) && matches!(kind, "Runnable" | "ClusterRunTemplate")
}

fn own_kind(document: &Value, open: IsOpen<'_>) -> Option<Diagnostic> {
    let kind = text(document, "kind");
    let is_open = ["apiVersion", "kind"].iter().any(|field| {
        document
            .get(field)
            .is_some_and(|value| open(&[field], value))
    });
    (!is_open && is_own_kind(text(document, "apiVersion"), kind))
        .then(|| Diagnostic::in_template("kind", DiagnosticKind::OwnKind(kind.to_owned())))
}

fn metadata_problems(metadata: &Map<String, Value>, open: IsOpen<'_>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let annotations = metadata.get(ANNOTATIONS);
    if annotations.is_some_and(|value| {
        !is_empty(value) && !value.is_object() && !open(&["metadata", ANNOTATIONS], value)
    }) {
        problems.push(Diagnostic::in_template(
            "metadata.annotations",
            "it is not an object",
        ));
    }
    let namespace = metadata.get("namespace");
    if namespace.is_some_and(|value| {
        !value.is_null() && !value.is_string() && !open(&["metadata", "namespace"], value)
    }) {
        problems.push(Diagnostic::in_template(
            "metadata.namespace",
            "it is not a string",
        ));
    }
    let mut is_named = false;
    for field in ["generateName", "name"] {
        match metadata.get(field) {
            Some(value) if open(&["metadata", field], value) => is_named = true,
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => is_named |= !text.is_empty(),
            Some(_) => {
                is_named = true;
                problems.push(Diagnostic::in_template(
                    &format!("metadata.{field}"),
                    "it is not a string",
                ));
            }
        }
    }
    if !is_named {
        problems.push(nameless());
    }
    problems
}

fn nameless() -> Diagnostic {
    Diagnostic::in_template("metadata", DiagnosticKind::NoName)
}

/// Whether a value may become another when its tags are replaced.
fn has_tag(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains("$("))
}

/// What a template says in vain, or hardly means.
pub(crate) fn warnings(template: &Value) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let overwritten = |field: &str, key: &str| {
        Warning::of_field(
            &["metadata", field],
            WarningKind::Overwritten(key.to_owned()),
        )
    };
    let metadata = template.get("metadata").and_then(Value::as_object);
    let field = |field: &str| metadata.and_then(|metadata| metadata.get(field));
    let keys = |name: &str| {
        let map = field(name).and_then(Value::as_object);
        map.into_iter().flat_map(Map::keys).map(String::as_str)
    };
    for name in STRIPPED_METADATA {
        if field(name).is_some() {
            warnings.push(Warning::of_field(&["metadata", name], WarningKind::Removed));
        }
    }
    for key in keys(LABELS).filter(|key| OWN_LABELS.contains(key)) {
        warnings.push(overwritten(LABELS, key));
    }
    for key in keys(ANNOTATIONS).filter(|key| OWN_ANNOTATIONS.contains(key)) {
        warnings.push(overwritten(ANNOTATIONS, key));
    }
    if field(LABELS).is_some_and(|labels| !has_tag(labels) && !is_text_map(labels)) {
        warnings.push(Warning::of_field(
            &["metadata", LABELS],
            WarningKind::NoLabels,
        ));
    }
    if field("name").is_some_and(|name| !is_empty(name) && name.as_str() != Some("")) {
        warnings.push(Warning::of_field(
            &["metadata", "name"],
            WarningKind::FixedName,
        ));
    }
    if template.get("status").is_some() {
        warnings.push(Warning::of_field(&["status"], WarningKind::Removed));
    }
    warnings
}

#[cfg(test)]
mod tests;
