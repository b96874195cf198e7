//! What is wrong with a template whatever a Runnable says.

use cartouche_templating::{
    Diagnostic, DiagnosticKind, Root, Segment, Template, Warning, WarningKind, explained,
    syntax::{self, UnclosedTag},
};

use super::{
    Knowledge, endless, exported, inputs, names, outputs, policy, run_kind, shape, tags, tekton,
};
use crate::{
    finding::{ErrorPlaces, Finding, Rule},
    schema::catalog::KindName,
    source::{Content, Document, SourceSpan},
    template_file,
};

/// What a check of one template found.
#[derive(Default)]
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    /// The kind of its runs, if nothing is known of its fields.
    pub(super) unknown_kind: Option<KindName>,
}

pub(super) fn check(document: &Document, knowledge: &Knowledge) -> Checked {
    let shape = shape::check(document, &knowledge.template);
    let mut findings = policy::added_to(shape, policy::check(document, true));
    let Some(draft) = template_file::draft(document) else {
        return Checked {
            findings,
            unknown_kind: None,
        };
    };
    let template = draft.template();
    // What else is said of a text with half a tag in it only follows from that.
    let unclosed = unclosed(document, template);
    let known = ErrorPlaces::of(&unclosed);
    let problems = draft.problems().iter();
    findings.extend(problems.map(|problem| problem_finding(document, problem)));
    findings.extend(surprises(document, template));
    let body = document.value.pointer("/spec/template");
    findings.extend(body.and_then(|body| policy::check_name(None, document, body)));
    findings.extend(body.and_then(|body| policy::check_stop(None, document, body)));
    findings.extend(inputs::check(document, &draft));
    findings.extend(tags::check(document, knowledge));
    findings.extend(names::check_template(document));
    findings.extend(exported::check(document));
    findings.extend(tekton::in_template(document));
    findings.extend(outputs::check_beginnings(document, &draft));
    findings.extend(outputs::check_condition(document, template));
    findings.extend(outputs::check_statuses(document));
    findings.extend(endless::check(document, template));
    let kind = run_kind::check(document, template, knowledge);
    // A wrong type is said with what to do about it.
    let typed = ErrorPlaces::of(&kind.findings);
    findings.retain(|finding| finding.rule != Rule::Template || !typed.are_within(finding));
    findings.extend(kind.findings);
    if let Some(schema) = &kind.schema {
        findings.extend(outputs::check(document, &draft, schema));
        findings.extend(outputs::check_success(document, template, schema));
    }
    findings.retain(|finding| !known.are_within(finding));
    findings.extend(unclosed);
    Checked {
        findings,
        unknown_kind: kind.unknown,
    }
}

/// What is said of a problem to its author, at its place.
pub(crate) fn problem_finding(document: &Document, problem: &Diagnostic) -> Finding {
    let first = match problem.at.first() {
        Some(Segment::Key(key)) => key.as_str(),
        _ => "",
    };
    let rule = match (problem.root, first) {
        _ if problem.tag.is_some() => Rule::Tag,
        (Root::Spec, "outputs" | "optionalOutputs" | "sensitiveOutputs" | "failureOutputs") => {
            Rule::Output
        }
        (Root::Spec, "healthRule") => Rule::HealthRule,
        (Root::Spec, "inputSchema") => Rule::InputSchema,
        (Root::Template, "kind" | "apiVersion") => Rule::Kind,
        _ => Rule::Template,
    };
    let message = explained::of(problem);
    let mut finding = Finding::error(rule, message.text)
        .at(template_file::place_of(document, problem))
        .maybe_help(message.help);
    if !message.label.is_empty() {
        finding = finding.label(message.label);
    }
    match empty_name(document, problem) {
        Some((place, label)) => finding.at(place).label(label),
        None => finding,
    }
}

/// Where a template has a generateName that is none, if it is that.
fn empty_name(document: &Document, problem: &Diagnostic) -> Option<(SourceSpan, &'static str)> {
    const FIELD: [&str; 4] = ["spec", "template", "metadata", "generateName"];
    let is_that = matches!(problem.kind, DiagnosticKind::NoName);
    let node = document.root.at(&FIELD).filter(|_| is_that)?;
    let label = match &node.content {
        Content::Scalar(value) if value.is_null() => "this is null",
        Content::Scalar(value) if value == "" => "this is empty",
        _ => return None,
    };
    Some((document.place_of_key(&FIELD), label))
}

/// Tags without an end. The engine leaves them in the text, as Cartographer does, and nobody means that.
fn unclosed(document: &Document, template: &Template) -> Vec<Finding> {
    let warnings = template.warnings().iter();
    let texts = warnings.filter(|warning| warning.kind == WarningKind::UnclosedTag);
    let tags = texts.flat_map(|warning| template_file::unclosed_tags(document, &warning.at));
    let findings = tags.map(|(UnclosedTag { path, .. }, place)| {
        let close = match syntax::whole_steps(&path) {
            Some(_) => format!("write $({path})$"),
            None => "close it with )$".to_owned(),
        };
        Finding::error(Rule::Tag, format!("the tag $({path} is not closed"))
            .at(place)
            .label("tags end with )$")
            .help(format!("{close}; text that is no tag is written $('...')$"))
    });
    findings.collect()
}

/// What works, but hardly as the author expects.
fn surprises(document: &Document, template: &Template) -> Vec<Finding> {
    let body = template_file::body(document).unwrap_or(&document.root);
    let spec = document.root.get("spec").unwrap_or(&document.root);
    let finding = |warning: &Warning| {
        let root = match warning.root {
            Root::Spec | Root::Profile => spec,
            Root::Template | Root::Context => body,
        };
        let help = match &warning.kind {
            // It is told as an error.
            WarningKind::UnclosedTag => return None,
            WarningKind::FixedName => "use generateName instead of name",
            WarningKind::ForeignTag => {
                "write it as $(runnable.spec.inputs.x)$, with the path to what is meant"
            }
            WarningKind::TagInKey => "write the key as it is to be: only values can hold tags",
            WarningKind::NoTimeout => {
                "give spec.runner.timeout, or \"0s\" if no bound is meant and no such runner is used"
            }
            WarningKind::NoLabels => "put every value in quotes, or take it out",
            WarningKind::Removed | WarningKind::Overwritten(_) | WarningKind::OutputsOfSecret => {
                "take it out of the template"
            }
        };
        let text = match &warning.kind {
            WarningKind::ForeignTag | WarningKind::TagInKey => warning.kind.to_string(),
            _ => warning.to_string(),
        };
        let place = shape::place(document, root, &warning.at, true);
        Some(Finding::warning(Rule::Surprise, text).at(place).help(help))
    };
    template.warnings().iter().filter_map(finding).collect()
}
