//! A `ClusterRunTemplate` in a file: compiled, and with the places of its problems.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Range,
};

use cartouche_crds::{ClusterRunTemplateSpec, ProfileRequirement};
use cartouche_language::{
    Diagnostic, DiagnosticKind, Diagnostics, Root, Warning,
    syntax::{self, PathStep, Tag},
};
use cartouche_templating::{Draft, Template};
use serde_json::Value;

use crate::source::{Content, Document, Node, Segment, SourceSpan};

/// A tag, where it is, and the steps from the template to its text.
pub(crate) struct PlacedTag {
    pub(crate) tag: Tag,
    pub(crate) at: Vec<Segment>,
    /// The place of the path between the markers.
    pub(crate) path_place: SourceSpan,
}

impl PlacedTag {
    /// Returns the place of a step of its path; without one, of the path.
    pub(crate) fn place_of(&self, step: Option<&PathStep>) -> SourceSpan {
        let place = &self.path_place;
        step.map_or_else(|| place.clone(), |step| part(place, step.span.clone()))
    }
}

/// Returns the spec, as far as it can be read. Outputs, the lists of their names and a healthRule of the wrong shape
/// are left out, since the schema check reports them.
#[must_use]
pub fn spec(document: &Document) -> Option<ClusterRunTemplateSpec> {
    let spec = document.value.get("spec")?;
    let part = |key: &str| spec.get(key).filter(|value| !value.is_null()).cloned();
    let outputs = part("outputs");
    let named = |key: &str| part(key).filter(|_| outputs.as_ref().is_none_or(are_readable));
    let (optional, sensitive) = (named("optionalOutputs"), named("sensitiveOutputs"));
    Some(ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: document.field("profile"),
        runner: document.field("runner"),
        requires: document.field("requires"),
        retry: document.field("retry"),
        timeout: document.field("timeout"),
        concurrency_policy: document.field("concurrencyPolicy"),
        approval: document.field("approval"),
        start: document.field("start"),
        stop: document.field("stop"),
        template: part("template")?,
        input_schema: part("inputSchema"),
        outputs: outputs.and_then(|value| readable_outputs(&value)),
        optional_outputs: optional.and_then(|value| serde_json::from_value(value).ok()),
        sensitive_outputs: sensitive.and_then(|value| serde_json::from_value(value).ok()),
        failure_outputs: part("failureOutputs").and_then(|value| readable_outputs(&value)),
        health_rule: document.field("healthRule"),
    })
}

/// Returns true if each output has a path that is a text. An output without one is declared all the same.
fn are_readable(outputs: &Value) -> bool {
    let paths = outputs.as_object();
    paths.is_some_and(|paths| paths.values().all(Value::is_string))
}

fn readable_outputs(outputs: &Value) -> Option<BTreeMap<String, String>> {
    let path = |(name, path): (&String, &Value)| Some((name.clone(), path.as_str()?.to_owned()));
    Some(outputs.as_object()?.iter().filter_map(path).collect())
}

/// Returns the template of a document as far as it can be read, or `None` if it has none.
#[must_use]
pub fn draft(document: &Document) -> Option<Draft> {
    Some(Draft::new(&spec(document)?))
}

/// Compiles the template of a document. Returns `None` if it has none.
#[must_use]
pub fn compile(document: &Document) -> Option<Result<Template, Diagnostics>> {
    Some(Template::compile(&spec(document)?))
}

/// Returns true if the template makes no run without a profile.
#[must_use]
pub fn needs_profile(document: &Document) -> bool {
    document.field("profile") == Some(ProfileRequirement::Required)
}

/// Returns the node of the object to create.
pub(crate) fn body(document: &Document) -> Option<&Node> {
    document.root.at(&["spec", "template"])
}

/// Returns the place of a diagnostic: the deepest part of it that is there.
pub(crate) fn place_of(document: &Document, diagnostic: &Diagnostic) -> SourceSpan {
    let (node, key, _) = node_of(document, diagnostic.root).follow(&diagnostic.at);
    if let Some(tag) = &diagnostic.tag {
        return tag_place(document, node, tag);
    }
    let is_long = !matches!(node.content, Content::Scalar(_));
    let is_of_key = matches!(diagnostic.kind, DiagnosticKind::TagInKey(_));
    document.place(key.filter(|_| is_long || is_of_key).unwrap_or(&node.span))
}

/// Returns the place of the first tag with this path in a text, or of the text if it cannot be found as written.
fn tag_place(document: &Document, leaf: &Node, path: &str) -> SourceSpan {
    let whole = document.place(&leaf.span);
    let tag = format!("$({path})$");
    match whole.text().find(&tag) {
        Some(start) => part(&whole, start..start + tag.len()),
        None => whole,
    }
}

/// Returns every tag of the template, in the order of the file.
pub(crate) fn tags(document: &Document) -> Vec<PlacedTag> {
    let mut found = Vec::new();
    if let Some(body) = body(document) {
        collect(document, body, &mut Vec::new(), &mut found);
    }
    found
}

/// Returns every tag in `spec.runner`. Their steps begin at `spec`.
pub(crate) fn runner_tags(document: &Document) -> Vec<PlacedTag> {
    tags_below_spec(document, "runner")
}

/// Returns every tag in a field of the spec.
pub(crate) fn tags_below_spec(document: &Document, field: &str) -> Vec<PlacedTag> {
    let mut found = Vec::new();
    if let Some(node) = document.root.at(&["spec", field]) {
        collect(document, node, &mut vec![field.into()], &mut found);
    }
    found
}

fn collect(document: &Document, node: &Node, at: &mut Vec<Segment>, found: &mut Vec<PlacedTag>) {
    match &node.content {
        Content::Scalar(Value::String(text)) => found.extend(tags_of(document, node, text, at)),
        Content::Scalar(_) => {}
        Content::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push(Segment::Index(index));
                collect(document, item, at, found);
                at.pop();
            }
        }
        Content::Object(entries) => {
            for entry in entries {
                at.push(Segment::Key(entry.key.clone()));
                collect(document, &entry.value, at, found);
                at.pop();
            }
        }
    }
}

/// Returns the tags of a text. Tags with the same path get their places in the order of the file. A tag that the file
/// writes in another way than it is read, such as with an escape, has the place of the text.
fn tags_of(document: &Document, leaf: &Node, text: &str, at: &[Segment]) -> Vec<PlacedTag> {
    let whole = document.place(&leaf.span);
    let mut written: HashMap<String, VecDeque<Range<usize>>> = HashMap::new();
    for Tag { path, span, .. } in syntax::tags(whole.text()) {
        let inner = span.start + "$(".len()..span.end - ")$".len();
        written.entry(path).or_default().push_back(inner);
    }
    let placed = syntax::tags(text).into_iter().map(|tag| {
        let path = written.get_mut(&tag.path).and_then(VecDeque::pop_front);
        PlacedTag {
            path_place: path.map_or_else(|| whole.clone(), |path| part(&whole, path)),
            at: at.to_vec(),
            tag,
        }
    });
    placed.collect()
}

/// Returns the node that steps of this root begin at.
pub(crate) fn node_of(document: &Document, root: Root) -> &Node {
    let spec = document.root.get("spec").unwrap_or(&document.root);
    match root {
        Root::Spec | Root::Profile => spec,
        Root::Template | Root::Context => body(document).unwrap_or(spec),
    }
}

/// Finds parts of the text that a warning is about, with their places. A part that the file writes in another way has
/// the place of the text.
pub(crate) fn in_text<T>(
    document: &Document,
    warning: &Warning,
    find: impl Fn(&str) -> Vec<(T, Range<usize>)>,
) -> Vec<(T, SourceSpan)> {
    let (leaf, _, _) = node_of(document, warning.root).follow(&warning.at);
    let whole = document.place(&leaf.span);
    let found = find(leaf.text().unwrap_or_default());
    let written = find(whole.text());
    let is_as_written = written.len() == found.len();
    let found = found.into_iter().enumerate().map(|(index, (one, _))| {
        let place = written.get(index).filter(|_| is_as_written);
        let place = place.map_or_else(|| whole.clone(), |(_, span)| part(&whole, span.clone()));
        (one, place)
    });
    found.collect()
}

/// Returns the place of some bytes of a place.
pub(crate) fn part(place: &SourceSpan, bytes: Range<usize>) -> SourceSpan {
    SourceSpan {
        source: place.source.clone(),
        span: place.span.start + bytes.start..(place.span.start + bytes.end).min(place.span.end),
    }
}

/// Returns the names of the outputs that runs of a template give.
pub(crate) fn declared_outputs(template: &Document) -> Vec<&str> {
    let outputs = template.value.pointer("/spec/outputs");
    let outputs = outputs.and_then(Value::as_object).into_iter().flatten();
    outputs.map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use crate::manifests;

    /// Returns the position of each tag of a text, and the text there.
    fn placed(text: &str) -> Vec<(usize, String)> {
        const BEFORE: &str = "spec: {template: {x: ";
        let file = tempfile::NamedTempFile::new().unwrap();
        let boundary = manifests::Boundary::around(file.path().parent().unwrap()).unwrap();
        std::fs::write(file.path(), format!("{BEFORE}{text}}}}}")).unwrap();
        let document = manifests::load_one(file.path(), &boundary)
            .unwrap()
            .unwrap();
        let tags = super::tags(&document).into_iter();
        tags.map(|tag| {
            let place = tag.path_place;
            (place.span.start - BEFORE.len(), place.text().to_owned())
        })
        .collect()
    }

    #[test]
    fn each_tag_is_where_it_is_written() {
        for (text, places) in [
            ("$(run.a)$", &[(2, "run.a")][..]),
            ("'$(run.a)$'", &[(3, "run.a")]),
            (
                "$(run.a)$ $(run.b)$ $(run.a)$",
                &[(2, "run.a"), (12, "run.b"), (22, "run.a")],
            ),
            // The first is no tag, but text in quotes.
            ("x$('$(run.a)$')$ $(run.a)$", &[(19, "run.a")]),
        ] {
            let places = places.iter().map(|(at, path)| (*at, (*path).to_owned()));
            assert_eq!(placed(text), places.collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn a_tag_that_is_written_in_another_way_is_somewhere_in_its_text() {
        let text = r#""$(run.a\\.b)$ $(run.c)$""#;
        let placed = placed(text);
        assert_eq!(placed, [(0, text.to_owned()), (17, "run.c".to_owned())]);
    }
}
