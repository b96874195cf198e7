//! Everything that can be known of templates and Runnables before a cluster sees them.

mod chained;
mod inputs;
mod message;
mod names;
mod outputs;
mod restart_policy;
mod run_kind;
mod runnable_with_template;
mod shape;
mod tags;
mod template;

pub(crate) use runnable_with_template::problem_finding as for_runnable;
pub(crate) use template::problem_finding as for_every_runnable;

use std::{collections::BTreeSet, rc::Rc};

use crate::{
    finding::{ErrorPlaces, Finding, Rule, report},
    objects::{self, Objects},
    schema::{
        bundled,
        catalog::{Catalog, KindSchema},
    },
};

/// What the checks know.
pub(crate) struct Knowledge {
    pub(crate) catalog: Catalog,
    pub(crate) runnable: Rc<KindSchema>,
    pub(crate) template: Rc<KindSchema>,
}

impl Knowledge {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            runnable: bundled::runnable(),
            template: bundled::cluster_run_template(),
        }
    }
}

/// All that is wrong with some objects, in order.
pub(crate) fn validate(objects: &Objects, knowledge: &Knowledge) -> Vec<Finding> {
    let mut findings = objects.findings.clone();
    findings.extend(objects::duplicates(&objects.templates));
    findings.extend(objects::duplicates(&objects.runnables));
    let mut unknown_kinds = BTreeSet::new();
    let mut of_pairs = Vec::new();
    for document in &objects.templates {
        let checked = template::check(document, knowledge);
        findings.extend(checked.findings);
        unknown_kinds.extend(checked.unknown_kind);
    }
    for runnable in &objects.runnables {
        findings.extend(shape::check(runnable, &knowledge.runnable));
        of_pairs.extend(runnable_with_template::check(objects, runnable, knowledge));
    }
    // What is wrong for every Runnable is not said again for each.
    let known = ErrorPlaces::of(&findings);
    of_pairs.retain(|finding| !known.are_within(finding));
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
