//! Faults of profiles, and references of theirs that no template has.

use cartouche_language::suggestion;

use super::{
    keys, knowledge::Knowledge, merged, names, pod_spec, policy, profile_rules, shape, ties,
    warnings,
};
use crate::{
    finding::{Finding, Rule},
    objects::Objects,
    profile_file::{self, value_read, values},
    schema::own,
    source::Document,
    template_file::{self, PlacedTag},
};

/// Returns all findings about profiles, and about the parts of templates that refer to them.
pub(super) fn check(objects: &Objects, knowledge: &Knowledge) -> Vec<Finding> {
    let profiles = objects.profiles.iter();
    let mut findings = alone(objects);
    findings.extend(profiles.clone().flat_map(keys::check));
    findings.extend(profiles.clone().flat_map(names::check_own));
    findings.extend(profiles.clone().flat_map(own_values));
    findings.extend(profiles.flat_map(|profile| pod_spec::in_profile(objects, profile)));
    findings.extend(
        objects
            .profiles
            .iter()
            .flat_map(|it| merged::check(it, knowledge)),
    );
    findings.extend(profile_rules::check(objects));
    findings.extend(ties::check(objects));
    let templates = objects.templates.iter();
    findings.extend(templates.flat_map(|template| values_read(objects, template)));
    findings
}

/// Returns all findings about each of the profiles by itself.
#[must_use]
pub fn alone(objects: &Objects) -> Vec<Finding> {
    if objects.profiles.is_empty() {
        return Vec::new();
    }
    let schema = own::cluster_run_profile();
    let profiles = objects.profiles.iter();
    let found = profiles.flat_map(|document| {
        let shape = shape::check(document, &schema);
        policy::added_to(shape, compiled(document))
    });
    found.collect()
}

/// Compiles a profile, and returns its errors or its warnings as the controller reports them.
fn compiled(document: &Document) -> Vec<Finding> {
    match profile_file::compile(document).compiled {
        Ok(profile) => {
            let warned = profile.warnings();
            let mut findings = warnings::find_unclosed(document, warned);
            findings.extend(warnings::surprises(document, warned));
            findings
        }
        Err(problems) => {
            let problems = problems.iter();
            let found = problems.map(|problem| profile_file::problem_finding(document, problem));
            found.collect()
        }
    }
}

/// Finds tags of a profile that read a value which it does not give: they can never be filled in.
fn own_values(profile: &Document) -> Vec<Finding> {
    let given = values(profile);
    let tags = profile_file::tags(profile);
    let unfilled = tags.into_iter().filter_map(|tag| {
        let key = value_read(&tag.tag.path)?;
        (!given.contains(&key.as_str())).then(|| {
            let message = format!(
                "the tag $({})$ reads '{key}', which is not among the values of the profile",
                tag.tag.path
            );
            Finding::error(Rule::Profile, message)
                .at(tag.place_of(None))
                .label("has no value")
                .help(format!("give it under spec.values: {key}: ..."))
                .maybe_help(suggestion::hint(
                    &key,
                    "its values are",
                    given.iter().copied(),
                ))
        })
    });
    unfilled.collect()
}

/// Finds tags of a template that read a value which no profile of the files gives.
fn values_read(objects: &Objects, template: &Document) -> Vec<Finding> {
    if objects.profiles.is_empty() {
        return Vec::new();
    }
    let given: Vec<&str> = objects.profiles.iter().flat_map(values).collect();
    let tags = template_file::tags(template).into_iter();
    let tags = tags.chain(template_file::runner_tags(template));
    let unfilled = |tag: PlacedTag| {
        let key = value_read(&tag.tag.path)?;
        (!given.contains(&key.as_str())).then(|| {
            let message = format!(
                "the tag $({})$ reads '{key}', which no profile among these files has",
                tag.tag.path
            );
            Finding::warning(Rule::Profile, message)
                .at(tag.place_of(None))
                .label("cannot be filled in")
                .help(format!(
                    "give it under spec.values of the profiles: {key}: ..."
                ))
                .maybe_help(suggestion::hint(&key, "they give", given.iter().copied()))
        })
    };
    tags.filter_map(unfilled).collect()
}
