//! A template that lacks apiVersion, kind or both.

use cartouche_language::{Diagnostic, DiagnosticKind, suggestion};

use super::problem::problem_finding;
use crate::{
    finding::Finding,
    source::{Content, Document},
    template_file,
};

const FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// Returns true if the problem is about one of the two fields.
pub(super) fn is_of(problem: &Diagnostic) -> bool {
    matches!(problem.kind, DiagnosticKind::NoKind { .. })
}

/// Returns the findings about these two fields: one if both are missing.
pub(super) fn check(document: &Document, problems: &[Diagnostic]) -> Vec<Finding> {
    let found = problems.iter().filter(|it| is_of(it));
    let mut found: Vec<Finding> = found.map(|it| problem_finding(document, it)).collect();
    let Some(body) = template_file::body(document) else {
        return found;
    };
    let is_there = |field: &&str| body.get(field).is_some();
    if matches!(body.content, Content::Object(_)) && !FIELDS.iter().any(is_there) {
        let first = body.first_key().unwrap_or(&body.span);
        found.truncate(1);
        for finding in &mut found {
            "the template has neither apiVersion nor kind".clone_into(&mut finding.message);
            finding.place = Some(document.place(first));
        }
    }
    let misspelt = FIELDS.iter().filter(|field| !is_there(field));
    let misspelt = misspelt.filter_map(|field| {
        let mut keys = body.entries().iter().map(|entry| entry.key.as_str());
        let key = keys.find(|key| suggestion::nearest(key, [*field]).is_some())?;
        Some(format!("did you mean '{field}' in the place of '{key}'?"))
    });
    let misspelt: Vec<String> = misspelt.collect();
    let help = (!misspelt.is_empty()).then(|| misspelt.join(" "));
    found
        .into_iter()
        .map(|it| it.maybe_help(help.clone()))
        .collect()
}
