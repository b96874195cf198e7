//! What is wrong with a template whatever a Runnable says.

use cartouche_templating::{Diagnostic, Root, Step, Template};

use super::{Knowledge, inputs, names, outputs, run_kind, shape, tags, words};
use crate::{
    finding::{Finding, Rule},
    schema::catalog::KindName,
    source::{self, Document},
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
    let mut findings = shape::check(document, &knowledge.template);
    if let Some(draft) = template_file::draft(document) {
        let problems = draft.problems().iter();
        findings.extend(problems.map(|problem| problem_finding(document, problem)));
        findings.extend(surprises(document, draft.template()));
        findings.extend(inputs::check(document, &draft));
    }
    findings.extend(tags::check(document, knowledge));
    findings.extend(names::check_template(document));
    let kind = run_kind::check(document, knowledge);
    findings.extend(kind.findings);
    if let Some(schema) = &kind.schema {
        findings.extend(outputs::check(document, schema));
        findings.extend(outputs::check_success(document, schema));
    }
    Checked {
        findings,
        unknown_kind: kind.unknown,
    }
}

/// A problem at its place, in words for its author.
pub(crate) fn problem_finding(document: &Document, problem: &Diagnostic) -> Finding {
    let first = match problem.at.first() {
        Some(Step::Key(key)) => key.as_str(),
        _ => "",
    };
    let rule = match (problem.root, first) {
        _ if problem.tag.is_some() => Rule::Tag,
        (Root::Spec, "outputs") => Rule::Output,
        (Root::Spec, "healthRule") => Rule::HealthRule,
        (Root::Spec, "inputSchema") => Rule::InputSchema,
        (Root::Template, "kind" | "apiVersion") => Rule::Kind,
        _ => Rule::Template,
    };
    let words = words::of(problem);
    let mut finding = Finding::error(rule, words.message)
        .at(template_file::place_of(document, problem))
        .maybe_help(words.help);
    if !words.label.is_empty() {
        finding = finding.label(words.label);
    }
    finding
}

/// What works, but hardly as the author expects.
fn surprises(document: &Document, template: &Template) -> Vec<Finding> {
    let body = template_file::body(document).unwrap_or(&document.root);
    let finding = |warning: &String| {
        let (path, rest) = warning
            .split_once(": ")
            .or(warning.split_once(" is "))
            .unwrap_or((warning, ""));
        let about_a_tag = rest.contains("tag");
        let text = if about_a_tag { rest } else { warning };
        let place = source::find(body, path).map_or_else(
            || shape::place(document, body, &[], false),
            |steps| shape::place(document, body, &steps, true),
        );
        let finding = Finding::warning(Rule::Surprise, text).at(place);
        finding.help(match path {
            "metadata.name" => "use generateName instead of name",
            _ if about_a_tag && rest.contains("another tool") => {
                "write it as $(runnable.spec.inputs.x)$, with the path to what is meant"
            }
            _ if about_a_tag && rest.contains("not closed") => {
                "close it with )$, or write it as $('...')$ if it is meant to be text"
            }
            _ if about_a_tag => "write the key as it is to be: only values can hold tags",
            _ => "take it out of the template",
        })
    };
    template.warnings().iter().map(finding).collect()
}
