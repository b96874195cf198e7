//! Whether the object that a template makes can be one of its kind.

use std::rc::Rc;

use cartouche_templating::{is_own_kind, syntax};

use super::{Knowledge, shape, tags};
use crate::{
    finding::{Finding, Rule},
    input_schema,
    schema::{
        catalog::{Catalog, KindName, KindSchema},
        check::{self, Fault, Mismatch, Partial},
    },
    source::{Content, Document, Node},
    suggestion, template_file,
};

/// What is known of the kind of the runs.
#[derive(Default)]
pub(super) struct RunKind {
    pub(super) findings: Vec<Finding>,
    pub(super) schema: Option<Rc<KindSchema>>,
    /// Its name, if nothing is known of its fields.
    pub(super) unknown: Option<KindName>,
}

/// Looks up the kind of the template, and checks the template as far as it is decided without tags.
pub(super) fn check(document: &Document, knowledge: &Knowledge) -> RunKind {
    let Some(body) = template_file::body(document) else {
        return RunKind::default();
    };
    let literal = |key: &str| {
        let node = body.get(key)?;
        node.text()
            .filter(|text| syntax::tags(text).is_empty() && !text.is_empty())
    };
    let (Some(api_version), Some(kind)) = (literal("apiVersion"), literal("kind")) else {
        return RunKind::default();
    };
    let Some(known) = knowledge.catalog.get(api_version, kind) else {
        return unknown(document, body, &knowledge.catalog, (api_version, kind));
    };
    let mut findings = Vec::new();
    if known.namespaced == Some(false) {
        let node = body.get("kind").unwrap_or(body);
        findings.push(
            Finding::error(Rule::Kind, format!("a run cannot be a {kind}: it is in no namespace"))
                .at(document.place(&node.span))
                .label("is cluster-scoped")
                .help("only namespaced kinds can be runs; a Job can make such an object as its ServiceAccount"),
        );
    }
    if let Some(schema) = known.schema() {
        let mismatches = check::check(schema, &partial(document, body, knowledge));
        findings.extend(
            mismatches
                .iter()
                .map(|mismatch| by_declaration(document, body, mismatch)),
        );
    }
    RunKind {
        findings,
        schema: Some(known),
        unknown: None,
    }
}

fn unknown(
    document: &Document,
    body: &Node,
    catalog: &Catalog,
    (api_version, kind): (&str, &str),
) -> RunKind {
    let names = catalog.names();
    let here: Vec<&str> = names
        .iter()
        .filter(|(version, _)| *version == api_version)
        .map(|(_, kind)| *kind)
        .collect();
    let elsewhere: Vec<&str> = names
        .iter()
        .filter(|(_, name)| *name == kind)
        .map(|(version, _)| *version)
        .collect();
    // What no run can be is told by the engine.
    let is_ours = is_own_kind(api_version, kind);
    let wrong_version =
        !elsewhere.is_empty() && (Catalog::is_complete(api_version) || !api_version.contains('.'));
    let node = |key: &str| document.place(body.get(key).map_or(&body.span, |node| &node.span));
    let finding = if is_ours {
        None
    } else if wrong_version {
        let message = format!("there is no kind {kind} in {api_version}");
        let help = format!("{kind} is in {}", elsewhere.join(" and in "));
        Some(
            Finding::error(Rule::Kind, message)
                .at(node("apiVersion"))
                .help(help),
        )
    } else if Catalog::is_complete(api_version) {
        let message = format!("there is no kind {kind} in {api_version}");
        let help = suggestion::hint(kind, "the kinds are", here.iter().copied());
        Some(
            Finding::error(Rule::Kind, message)
                .at(node("kind"))
                .maybe_help(help),
        )
    } else {
        let near = suggestion::nearest(api_version, names.iter().map(|(version, _)| *version));
        near.map(|meant| {
            Finding::warning(
                Rule::Kind,
                format!("the API version {api_version} is not known"),
            )
            .at(node("apiVersion"))
            .help(format!("did you mean '{meant}'?"))
        })
    };
    RunKind {
        unknown: finding
            .is_none()
            .then(|| (api_version.to_owned(), kind.to_owned()))
            .filter(|_| !is_ours),
        findings: finding.into_iter().collect(),
        schema: None,
    }
}

/// What a mismatch says; where a tag yields the wrong type because its input is declared so, that.
fn by_declaration(document: &Document, body: &Node, mismatch: &Mismatch) -> Finding {
    let finding = shape::finding(document, body, mismatch);
    let (Fault::Type { wanted, is }, (node, _, _)) = (&mismatch.fault, body.follow(&mismatch.at))
    else {
        return finding;
    };
    let tags = node.text().map(syntax::tags).unwrap_or_default();
    match tags.as_slice() {
        [tag] if tag.alone && input_schema::of(document).is_some() => {
            let steps = syntax::steps(&tag.path);
            if input_schema::below_inputs(&steps).is_none() {
                return finding;
            }
            finding.help(format!(
                "inputSchema declares this input as {is}: declare it as {wanted}"
            ))
        }
        _ => finding,
    }
}

/// A template, as far as it is decided: a text with tags in it is a text, and a tag alone has the type
/// that its field has in every Runnable.
fn partial(document: &Document, node: &Node, knowledge: &Knowledge) -> Partial {
    match &node.content {
        Content::Array(items) => Partial::Array(
            items
                .iter()
                .map(|item| partial(document, item, knowledge))
                .collect(),
        ),
        Content::Object(entries) => {
            let fields = entries.iter().map(|entry| {
                (
                    entry.key.clone(),
                    partial(document, &entry.value, knowledge),
                )
            });
            Partial::Object(fields.collect())
        }
        Content::Scalar(value) => match value.as_str() {
            Some(text) if text.contains("$(") => match syntax::tags(text).as_slice() {
                [tag] if tag.alone => tags::type_of(&tag.path, document, knowledge)
                    .map_or(Partial::Open, Partial::Typed),
                _ => Partial::Typed("string".to_owned()),
            },
            _ => Partial::from(&node.to_value()),
        },
    }
}
