//! A template that says neither apiVersion nor kind.

use cartouche_templating::{Diagnostic, DiagnosticKind};

use crate::{
    finding::{Finding, Rule},
    source::{Content, Document},
    template_file,
};

const FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// True for what is said of one of the two fields alone.
pub(super) fn is_of(problem: &Diagnostic) -> bool {
    matches!(problem.kind, DiagnosticKind::NoKind(_))
}

/// One finding for both fields, where neither is there.
pub(super) fn check(document: &Document) -> Option<Finding> {
    let body = template_file::body(document)?;
    let is_object = matches!(body.content, Content::Object(_));
    if !is_object || FIELDS.iter().any(|field| body.get(field).is_some()) {
        return None;
    }
    let help = if body.at(&["spec", "containers"]).is_some() {
        "this is a pod: write apiVersion: v1 and kind: Pod, or put it below spec.template of a Job"
    } else {
        "add, for example, apiVersion: batch/v1 and kind: Job"
    };
    let place = body.first_key().unwrap_or(&body.span);
    let message = "the template has neither apiVersion nor kind";
    Some(
        Finding::error(Rule::Kind, message)
            .at(document.place(place))
            .label("say here what kind of object to create")
            .help(help),
    )
}
