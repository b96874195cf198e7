//! A template that says no apiVersion, no kind or neither.

use cartouche_templating::{Diagnostic, DiagnosticKind, suggestion};

use super::template::problem_finding;
use crate::{finding::Finding, source::Document, template_file};

const FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// True for what is said of one of the two fields.
pub(super) fn is_of(problem: &Diagnostic) -> bool {
    matches!(problem.kind, DiagnosticKind::NoKind { .. })
}

/// The findings about these two fields: one where neither is there.
pub(super) fn check(document: &Document, problems: &[Diagnostic]) -> Vec<Finding> {
    let found = problems.iter().filter(|it| is_of(it));
    let mut found: Vec<Finding> = found.map(|it| problem_finding(document, it)).collect();
    let Some(body) = template_file::body(document) else {
        return found;
    };
    let is_there = |field: &&str| body.get(field).is_some();
    if let (Some(first), false) = (body.first_key(), FIELDS.iter().any(is_there)) {
        found.truncate(1);
        for finding in &mut found {
            "the template has neither apiVersion nor kind".clone_into(&mut finding.message);
            finding.place = Some(document.place(first));
        }
    }
    let keys = body.entries().iter().map(|entry| entry.key.as_str());
    let misspelt = keys.filter_map(|key| {
        let meant = suggestion::nearest(key, FIELDS).filter(|it| !is_there(it))?;
        Some(format!("did you mean '{meant}' in the place of '{key}'?"))
    });
    let misspelt: Vec<String> = misspelt.collect();
    let help = (!misspelt.is_empty()).then(|| misspelt.join(" "));
    found
        .into_iter()
        .map(|it| it.maybe_help(help.clone()))
        .collect()
}
