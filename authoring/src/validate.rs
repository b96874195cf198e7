//! Findings about templates, Runnables and profiles before a cluster sees them.

mod account;
mod breaks;
mod chained;
mod chains;
mod endless;
mod exported;
mod health_rule;
mod hooks;
mod inputs;
pub mod keys;
mod knowledge;
mod merged;
mod misspelt;
mod names;
mod no_kind;
mod not_a_text;
mod optional_inputs;
mod outputs;
mod part_of;
mod pod_spec;
pub mod policy;
mod problem;
mod profile;
mod profile_rules;
mod references;
mod refused;
mod requires;
mod restart_policy;
mod run_kind;
mod runnable_with_template;
mod secrets;
mod selection;
mod shape;
mod sinks;
mod subject;
mod tags;
mod tekton;
mod template;
mod ties;
mod values;
mod warnings;

pub use knowledge::Knowledge;
pub use names::is_subdomain;
pub use problem::problem_finding as for_every_runnable;
pub use profile::alone as profiles_alone;
pub use runnable_with_template::made_finding as for_runnable;

use cartouche_language::suggestion;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use cartouche_crds::API_VERSION;

use crate::{
    finding::{ErrorPlaces, Finding, Rule, Severity, report},
    inputs_from,
    manifests::STANDARD_INPUT,
    objects::{self, Objects, PROFILE, RUNNABLE, TEMPLATE},
};

/// Returns the finding if everything was read and nothing of it can be checked: most often the path is wrong.
#[must_use]
pub fn nothing_to_check(objects: &Objects, paths: &[PathBuf]) -> Option<Finding> {
    let ours = [&objects.templates, &objects.runnables, &objects.profiles];
    if !objects.findings.is_empty() || ours.iter().any(|found| !found.is_empty()) {
        return None;
    }
    let shown = |path: &PathBuf| match path.to_str() {
        Some(STANDARD_INPUT) => "standard input".to_owned(),
        _ => path.display().to_string(),
    };
    let paths = paths.iter().map(shown).collect::<Vec<_>>().join(", ");
    let misspelt = objects.others.iter().find_map(|document| {
        let (file, kind) = (&document.source.name, document.kind());
        let meant = suggestion::nearest(kind, [TEMPLATE, RUNNABLE, PROFILE])?;
        Some(format!("{file} holds a {kind}: did you mean '{meant}'?"))
    });
    let mut others = objects.others.iter();
    if let Some(document) = others.find(|it| misspelt::is_of_cartographer(it)) {
        let (file, kind) = (&document.source.name, document.kind());
        let message = format!(
            "{file} holds a {kind}, which Cartographer has and Cartouche does not: there is nothing else to check in {paths}"
        );
        return Some(Finding::error(Rule::Unchecked, message).help(misspelt::CARTOGRAPHER));
    }
    let help = misspelt.unwrap_or_else(|| {
        format!(
            "name files or folders that hold some, of apiVersion: {API_VERSION}; cases of `cartouche test` are skipped"
        )
    });
    let message = format!("there is no {TEMPLATE}, no {RUNNABLE} and no {PROFILE} in {paths}");
    Some(Finding::error(Rule::Unchecked, message).help(help))
}

/// Removes the warnings of a template that are errors of one of its Runnables, in the same words.
fn without_repeated(warned: &mut Vec<Finding>, of_pairs: &[Finding]) {
    let is = |finding: &Finding, severity: Severity| {
        (finding.severity, finding.rule) == (severity, Rule::FieldType)
    };
    let mut said: BTreeMap<(&str, usize), Vec<&str>> = BTreeMap::new();
    for error in of_pairs.iter().filter(|it| is(it, Severity::Error)) {
        if let Some(place) = error.start() {
            said.entry(place).or_default().push(&error.message);
        }
    }
    warned.retain(|warning| {
        let here = warning.start().and_then(|place| said.get(&place));
        let mut here = here.into_iter().flatten();
        !is(warning, Severity::Warning) || !here.any(|error| error.ends_with(&warning.message))
    });
}

/// Returns all findings about some objects, in order.
#[must_use]
pub fn validate(objects: &Objects, knowledge: &Knowledge) -> Vec<Finding> {
    let mut findings = objects.findings.clone();
    findings.extend(objects::duplicates(&objects.templates));
    findings.extend(objects::duplicates(&objects.runnables));
    findings.extend(objects::duplicates(&objects.profiles));
    findings.extend(misspelt::check(objects));
    let ours = objects.templates.iter().chain(&objects.runnables);
    findings.extend(ours.clone().flat_map(keys::check));
    findings.extend(ours.flat_map(names::check_own));
    let mut unknown_kinds = BTreeSet::new();
    let mut of_pairs = Vec::new();
    for document in &objects.templates {
        let checked = template::check(objects, document, knowledge);
        findings.extend(checked.findings);
        findings.extend(hooks::of_template(document));
        findings.extend(values::large_integers(document));
        unknown_kinds.extend(checked.unknown_kind);
    }
    for runnable in &objects.runnables {
        let shape = shape::check(runnable, &knowledge.runnable);
        let mut given = inputs_from::read_given(objects, runnable);
        let asked = policy::added_to(shape, policy::check(runnable, false));
        let sources = std::mem::take(&mut given.findings);
        let asked = policy::added_to(asked, sources);
        findings.extend(policy::added_to(asked, sinks::check(objects, runnable)));
        findings.extend(account::check(runnable));
        findings.extend(hooks::of_runnable(runnable));
        findings.extend(objects::nameless::only_prefixed(runnable));
        findings.extend(references::check(runnable, knowledge));
        findings.extend(optional_inputs::check(objects, runnable));
        findings.extend(values::check(runnable));
        of_pairs.extend(runnable_with_template::check(
            objects, runnable, &given, knowledge,
        ));
    }
    findings.extend(chains::check(objects));
    findings.extend(sinks::find_shared(objects));
    findings.extend(profile::check(objects, knowledge));
    // A fault for every Runnable is not repeated for each.
    let known = ErrorPlaces::from_findings(&findings);
    of_pairs.retain(|finding| !known.are_within(finding));
    without_repeated(&mut findings, &of_pairs);
    findings.extend(of_pairs);
    for (api_version, kind) in unknown_kinds {
        findings.push(
            Finding::note(
                Rule::Unchecked,
                format!(
                    "the fields of {api_version} {kind} were not checked: its schema is not known"
                ),
            )
            .help("pass --schemas with a folder that holds its CustomResourceDefinition, or --schemas cluster"),
        );
    }
    report::in_order(findings)
}
