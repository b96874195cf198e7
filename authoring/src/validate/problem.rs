//! Diagnostics of the engine about a template, as findings.

use cartouche_language::{Diagnostic, DiagnosticKind, Root, Segment, explained};

use crate::{
    finding::{Finding, Rule},
    source::{Content, Document, SourceSpan},
    template_file,
};

/// Returns the finding about a problem, at its place.
#[must_use]
pub fn problem_finding(document: &Document, problem: &Diagnostic) -> Finding {
    let first = match problem.at.first() {
        Some(Segment::Key(key)) => key.as_str(),
        _ => "",
    };
    let rule = match (problem.root, first) {
        _ if problem.tag.is_some() => Rule::Tag,
        _ if matches!(problem.kind, DiagnosticKind::NotAText { .. }) => Rule::FieldType,
        (Root::Spec, "outputs" | "optionalOutputs" | "sensitiveOutputs" | "failureOutputs") => {
            Rule::Output
        }
        (Root::Spec, "healthRule") => Rule::HealthRule,
        (Root::Spec, "inputSchema") => Rule::InputSchema,
        (Root::Template, "kind" | "apiVersion") => Rule::Kind,
        _ => Rule::Template,
    };
    let message = explained::explain(problem);
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

/// Returns the place of an invalid generateName, if that is the problem.
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
