//! Checks the object that a template makes against its kind.

use cartouche_language::{suggestion, syntax};
use std::rc::Rc;

use cartouche_templating::{Template, is_own_kind};

use super::{knowledge::Knowledge, shape, tags};
use crate::{
    finding::{Finding, Rule},
    input_schema,
    schema::{
        catalog::Catalog,
        check,
        kind_schema::{KindName, KindSchema},
        mismatch::{Mismatch, MismatchKind},
        partial::Partial,
    },
    source::{Content, Document, Node, SourceSpan},
    template_file,
};

/// Knowledge of the kind of the runs.
#[derive(Default)]
pub(super) struct RunKind {
    pub(super) findings: Vec<Finding>,
    pub(super) schema: Option<Rc<KindSchema>>,
    /// Its name, if nothing is known of its fields.
    pub(super) unknown: Option<KindName>,
}

/// Looks up the kind of the template, and checks the template as far as it is decided without tags.
pub(super) fn check(document: &Document, template: &Template, knowledge: &Knowledge) -> RunKind {
    let (Some(body), Some((api_version, kind))) =
        (template_file::body(document), template.literal_kind())
    else {
        return RunKind::default();
    };
    let Some(known) = knowledge.catalog.get(api_version, kind) else {
        // The engine reports an empty kind, and one that no run can be.
        if api_version.is_empty() || kind.is_empty() || is_own_kind(api_version, kind) {
            return RunKind::default();
        }
        let name = (api_version, kind);
        let place = |field| document.place_of(&["spec", "template", field]);
        let finding = unknown(place, &knowledge.catalog, name);
        let name = || (api_version.to_owned(), kind.to_owned());
        return RunKind {
            unknown: finding.is_none().then(name),
            findings: Vec::from_iter(finding),
            schema: None,
        };
    };
    let mut findings = Vec::new();
    if known.namespaced == Some(false) {
        findings.push(
            Finding::error(Rule::Kind, format!("a run cannot be a {kind}: it is in no namespace"))
                .at(document.place_of(&["spec", "template", "kind"]))
                .label("is cluster-scoped")
                .help("only namespaced kinds can be runs; a Job can make such an object as its ServiceAccount"),
        );
    }
    if let Some(schema) = known.schema() {
        let mismatches = check::check(schema, &partial(document, body, knowledge)).into_iter();
        findings.extend(mismatches.map(|mismatch| by_declaration(document, body, &mismatch)));
    }
    RunKind {
        findings,
        schema: Some(known),
        unknown: None,
    }
}

/// Returns the finding about the name of a kind that is not known, if its fault can be found.
pub(super) fn unknown(
    place: impl Fn(&'static str) -> SourceSpan,
    catalog: &Catalog,
    (api_version, kind): (&str, &str),
) -> Option<Finding> {
    let names = catalog.names();
    let elsewhere = names.iter().filter(|(_, name)| *name == kind);
    let elsewhere: Vec<&str> = elsewhere.map(|(version, _)| *version).collect();
    let is_complete = Catalog::is_complete(api_version);
    let no_such_kind = || {
        let message = format!("there is no kind {kind} in {api_version}");
        Finding::error(Rule::Kind, message)
    };
    if !elsewhere.is_empty() && (is_complete || !api_version.contains('.')) {
        let help = suggestion::of_kind(kind, &elsewhere, []);
        return Some(no_such_kind().at(place("apiVersion")).maybe_help(help));
    }
    if is_complete {
        let here = names.iter().filter(|(version, _)| *version == api_version);
        let help = suggestion::of_kind(kind, &[], here.map(|(_, kind)| *kind));
        return Some(no_such_kind().at(place("kind")).maybe_help(help));
    }
    let meant = suggestion::nearest(api_version, names.iter().map(|(version, _)| *version))?;
    let message = format!("the API version {api_version} is not known");
    let finding = Finding::warning(Rule::Kind, message).at(place("apiVersion"));
    Some(finding.help(format!("did you mean '{meant}'?")))
}

/// Returns the finding about a mismatch. If a tag yields the wrong type because its input is declared so, it says that.
fn by_declaration(document: &Document, body: &Node, mismatch: &Mismatch) -> Finding {
    let finding = shape::finding(document, body, mismatch);
    let (MismatchKind::Type { wanted, is }, (node, _, _)) =
        (&mismatch.fault, body.follow(&mismatch.at))
    else {
        return finding;
    };
    let tags = node.text().map(syntax::tags).unwrap_or_default();
    match tags.as_slice() {
        [tag] if tag.alone && input_schema::find_schema(document).is_some() => {
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

/// Returns the known part of a template: a text with tags in it is a text, and a tag alone has the type that its field
/// has in every Runnable.
fn partial(document: &Document, node: &Node, knowledge: &Knowledge) -> Partial {
    match &node.content {
        Content::Array(items) => {
            let items = items.iter();
            Partial::Array(
                items
                    .map(|item| partial(document, item, knowledge))
                    .collect(),
            )
        }
        Content::Object(entries) => {
            let fields = entries.iter().map(|entry| {
                let value = partial(document, &entry.value, knowledge);
                (entry.key.clone(), value)
            });
            Partial::Object(fields.collect())
        }
        Content::Scalar(value) => match value.as_str() {
            Some(text) if syntax::may_hold_tags(text) => match syntax::tags(text).as_slice() {
                [tag] if tag.alone => tags::type_of(&tag.path, document, knowledge)
                    .map_or(Partial::Open, Partial::Typed),
                _ => Partial::Typed("string".to_owned()),
            },
            _ => Partial::from(&node.to_value()),
        },
    }
}
