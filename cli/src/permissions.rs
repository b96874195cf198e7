//! What a ServiceAccount needs to be allowed, so that the controller can act as it for Runnables. Which
//! requests the controller makes as the account is told in docs/security.md.

pub(crate) mod manifest;
pub(crate) mod resource;

use anyhow::bail;
use cartouche_crds::Selector;
use cartouche_templating::{
    Template,
    kinds::{self, OutputSource, PodsOf},
};

use resource::Resource;

/// Whose permissions they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// What a need is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// `apiVersion` and kind.
    Kind(String, String),
    /// Whatever was named on the command line: a tag decides which kind it is.
    Given,
}

/// Something that has to be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    target: Target,
    verbs: &'static [&'static str],
    why: String,
    /// Whether runs are made, followed and read without it as well.
    optional: bool,
}

/// A rule of a role, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) resource: Resource,
    pub(crate) grants: Vec<Grant>,
}

/// Verbs that are granted for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) why: String,
    pub(crate) optional: bool,
}

impl Rule {
    /// What is granted, each verb once, in the order in which it is first needed.
    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        let mut verbs = Vec::new();
        for verb in self.grants.iter().flat_map(|grant| &grant.verbs) {
            if !verbs.contains(verb) {
                verbs.push(verb);
            }
        }
        verbs
    }
}

/// What runs of a template need. Of a kind that a tag decides nothing more is known.
pub(crate) fn of_template(name: &str, template: &Template) -> Vec<Need> {
    let target = match template.literal_kind() {
        Some((api_version, kind)) => Target::Kind(api_version.to_owned(), kind.to_owned()),
        None => Target::Given,
    };
    let need = |verbs, why: &str, optional| Need {
        target: target.clone(),
        verbs,
        why: why.to_owned(),
        optional,
    };
    let mut needs = vec![
        need(
            &["list", "create"],
            &format!("to make and follow the runs of the template {name}"),
            false,
        ),
        need(&["get"], "to read one run without listing all", true),
        need(
            &["delete"],
            "to remove finished runs beyond spec.retentionPolicy",
            false,
        ),
    ];
    needs.extend(of_pods(name, template));
    needs
}

/// What is read of the pods of a run, where it is known which they are.
fn of_pods(name: &str, template: &Template) -> Vec<Need> {
    let known = template
        .literal_kind()
        .and_then(|(api_version, kind)| kinds::known_fields(api_version, kind));
    let Some(known) = known.filter(|known| matches!(known.pods, PodsOf::Labelled(_))) else {
        return Vec::new();
    };
    let need = |why: String, optional| Need {
        target: Target::Kind("v1".to_owned(), "Pod".to_owned()),
        verbs: &["list"],
        why,
        optional,
    };
    let is_read =
        known.outputs == OutputSource::RunAndMessageOfPods && template.reads_termination_message();
    let outputs = is_read.then(|| {
        let why = format!("to read .terminationMessage for the outputs of the template {name}");
        need(why, false)
    });
    let failure = "to tell in the status why a pod of a run failed or does not run".to_owned();
    outputs.into_iter().chain([need(failure, true)]).collect()
}

/// What a selector needs.
pub(crate) fn of_selector(runnable: &str, selector: &Selector) -> Need {
    let resource = &selector.resource;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    Need {
        target: Target::Kind(text(&resource.api_version), text(&resource.kind)),
        verbs: &["list"],
        why: format!("to find what the Runnable {runnable} selects"),
        optional: false,
    }
}

/// `apiVersion` and kind of everything that is needed.
pub(crate) fn kinds_of(needs: &[Need]) -> impl Iterator<Item = (&str, &str)> {
    needs.iter().filter_map(|need| match &need.target {
        Target::Kind(api_version, kind) => Some((&**api_version, &**kind)),
        Target::Given => None,
    })
}

/// The rules for these needs, one a resource. `find` knows the resource of a kind; those `given` stand for what
/// it does not know, and for kinds that a tag decides.
pub(crate) fn rules(
    needs: &[Need],
    given: &[Resource],
    find: impl Fn(&str, &str) -> Option<Resource>,
) -> anyhow::Result<Vec<Rule>> {
    let mut rules: Vec<Rule> = Vec::new();
    for need in needs {
        let resources = match &need.target {
            Target::Kind(api_version, kind) => {
                vec![resource::known_or_given(api_version, kind, given, &find)?]
            }
            Target::Given if given.is_empty() => bail!(
                "a tag decides of which kind these runs are ({}), so that no resource can be named\n\
                 hint: name each one that it can be: --resource PLURAL.GROUP, for example --resource jobs.batch",
                need.why
            ),
            Target::Given => given.to_vec(),
        };
        for resource in resources {
            add(&mut rules, resource, need);
        }
    }
    Ok(rules)
}

fn add(rules: &mut Vec<Rule>, resource: Resource, need: &Need) {
    let grant = Grant {
        verbs: need.verbs.to_vec(),
        why: need.why.clone(),
        optional: need.optional,
    };
    match rules.iter_mut().find(|rule| rule.resource == resource) {
        Some(rule) if rule.grants.contains(&grant) => {}
        Some(rule) => rule.grants.push(grant),
        None => rules.push(Rule {
            resource,
            grants: vec![grant],
        }),
    }
}

#[cfg(test)]
mod tests;
