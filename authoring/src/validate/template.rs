//! The findings about a template that do not depend on a Runnable.

use super::{
    endless, exported, health_rule, inputs, knowledge::Knowledge, names, no_kind, outputs,
    pod_spec, policy, problem::problem_finding, requires, run_kind, shape, tags, tekton, warnings,
};
use crate::{
    finding::{ErrorPlaces, Finding, Rule, Severity},
    objects::Objects,
    schema::kind_schema::KindName,
    source::{Document, SourceSpan},
    template_file,
};

/// The findings of a check of one template.
#[derive(Default)]
pub(super) struct CheckedTemplate {
    pub(super) findings: Vec<Finding>,
    /// The kind of its runs, if nothing is known of its fields.
    pub(super) unknown_kind: Option<KindName>,
}

pub(super) fn check(
    objects: &Objects,
    document: &Document,
    knowledge: &Knowledge,
) -> CheckedTemplate {
    let shape = shape::check(document, &knowledge.template);
    let mut findings = policy::added_to(shape, policy::check(document, true));
    let Some(draft) = template_file::draft(document) else {
        return CheckedTemplate {
            findings,
            unknown_kind: None,
        };
    };
    let template = draft.template();
    // Other findings about a text with an unclosed tag only follow from that.
    let unclosed = warnings::find_unclosed(document, template.warnings());
    let known = ErrorPlaces::from_findings(&unclosed);
    let problems = draft.problems();
    let others = problems.iter().filter(|it| !no_kind::is_of(it));
    findings.extend(others.map(|problem| problem_finding(document, problem)));
    findings.extend(no_kind::check(document, problems));
    let mut warned = warnings::surprises(document, template.warnings());
    let body = document.value.pointer("/spec/template");
    findings.extend(body.and_then(|body| policy::check_name(None, document, body)));
    findings.extend(body.and_then(|body| policy::check_stop(None, document, body)));
    findings.extend(inputs::check(document, &draft));
    findings.extend(tags::check(document, knowledge));
    findings.extend(names::check_template(document));
    findings.extend(exported::check(document));
    findings.extend(tekton::in_template(document));
    findings.extend(outputs::check_beginnings(document, &draft));
    findings.extend(outputs::check_statuses(document));
    findings.extend(endless::check(document, template));
    findings.extend(pod_spec::in_template(objects, document));
    findings.extend(requires::check(document, knowledge));
    let kind = run_kind::check(document, template, knowledge);
    // The finding about a wrong type has a cure.
    let typed = ErrorPlaces::from_findings(&kind.findings);
    findings.retain(|finding| finding.rule != Rule::Template || !typed.are_within(finding));
    findings.extend(kind.findings);
    if kind.schema.is_none() {
        // A kind that does not exist has no other finding.
        let of_kind = document.place_of(&["spec", "template", "kind"]);
        let is_there = |place: &SourceSpan| place.span == of_kind.span;
        warned.retain(|finding| {
            finding.rule != Rule::HealthRule || !finding.place.as_ref().is_some_and(is_there)
        });
    }
    if let Some(schema) = &kind.schema {
        // Findings from the table of kinds have a cure.
        let mut of_schema = outputs::check(document, &draft, schema);
        of_schema.extend(health_rule::check(document, template, schema));
        let places = ErrorPlaces::from_findings(&warned);
        of_schema.retain(|finding| !places.are_within(finding));
        let places = ErrorPlaces::from_findings(&of_schema);
        warned.retain(|finding| finding.severity == Severity::Error || !places.are_within(finding));
        findings.extend(of_schema);
    }
    findings.extend(warned);
    findings.retain(|finding| !known.are_within(finding));
    findings.extend(unclosed);
    CheckedTemplate {
        findings,
        unknown_kind: kind.unknown,
    }
}
