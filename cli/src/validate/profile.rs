//! What is wrong with profiles, and what no template has of what they speak of.

use cartouche_templating::{kinds, suggestion, syntax};
use serde_json::Value;

use super::{
    Knowledge, keys, merged, names, pod_spec, policy, profile_rules, shape, ties, warnings,
};
use crate::{
    finding::{Finding, Rule},
    objects::Objects,
    profile_file::{self, value_read, values},
    schema::bundled,
    source::{Document, Segment},
    template_file::{self, PlacedTag},
};

/// The lists of containers in a pod.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];
/// Stands for each container of a run.
const EACH: &str = "*";

/// Everything that is wrong with profiles, and with what stands in the templates about them.
pub(super) fn check(objects: &Objects, knowledge: &Knowledge) -> Vec<Finding> {
    let profiles = objects.profiles.iter();
    let mut findings = alone(objects);
    findings.extend(profiles.clone().flat_map(keys::check));
    findings.extend(profiles.clone().flat_map(names::check_own));
    findings.extend(profiles.clone().flat_map(own_values));
    findings.extend(
        profiles
            .clone()
            .flat_map(|profile| containers(objects, profile)),
    );
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

/// Everything that is wrong with each of the profiles by itself.
pub(crate) fn alone(objects: &Objects) -> Vec<Finding> {
    if objects.profiles.is_empty() {
        return Vec::new();
    }
    let schema = bundled::cluster_run_profile();
    let profiles = objects.profiles.iter();
    let found = profiles.flat_map(|document| {
        let shape = shape::check(document, &schema);
        policy::added_to(shape, compiled(document))
    });
    found.collect()
}

/// What cannot be used of a profile, as the controller says it.
fn compiled(document: &Document) -> Vec<Finding> {
    match profile_file::known(document).compiled {
        Ok(profile) => {
            let warned = profile.warnings();
            let mut findings = warnings::unclosed(document, warned);
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

/// Tags of a profile that read a value which it does not give: they can never be filled in.
fn own_values(profile: &Document) -> Vec<Finding> {
    let given = values(profile);
    let tags = profile_file::tags(profile);
    let unfilled = tags.into_iter().filter_map(|tag| {
        let key = value_read(&tag.tag.path)?;
        (!given.contains(&key.as_str())).then(|| {
            let message = format!(
                "the tag $({})$ reads '{key}', which is none of the values of the profile",
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

/// Tags of a template that read a value which no profile of the files gives.
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
                "the tag $({})$ reads '{key}', which no profile among these files gives",
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

/// Containers that a profile speaks of, and no template of the files has whose runs say what their pods are.
fn containers(objects: &Objects, profile: &Document) -> Vec<Finding> {
    let templates = objects.templates.iter();
    let pods: Vec<&Value> = templates.filter_map(pod_of).collect();
    if pods.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for list in CONTAINERS {
        let known = pods.iter().flat_map(|pod| names_in(pod, list));
        let known: Vec<&str> = known.collect();
        // What a tag names may be any.
        if known.iter().any(|name| syntax::may_hold_tags(name)) {
            continue;
        }
        let Some(pod) = profile.value.pointer("/spec/podTemplate") else {
            continue;
        };
        let wanted = names_in(pod, list).enumerate();
        let missing = wanted.filter(|(_, name)| {
            *name != EACH && !syntax::may_hold_tags(name) && !known.contains(name)
        });
        findings.extend(missing.map(|(index, name)| {
            let mut at = Segment::keys(["spec", "podTemplate", "spec", list]);
            at.extend([Segment::Index(index), "name".into()]);
            let message =
                format!("no template among these files has a container '{name}' in {list}");
            Finding::warning(Rule::Profile, message)
                .at(profile.place_at(&at))
                .label("runs without it cannot be made")
                .maybe_help(suggestion::hint(name, "they have", known.iter().copied()))
        }));
    }
    findings
}

/// The pod of the runs of a template, where they say what it is.
fn pod_of(template: &Document) -> Option<&Value> {
    let body = template.value.pointer("/spec/template")?;
    body.pointer(kinds::known_fields_of(body)?.pod_template?)
}

/// The names in a list of containers; an empty one where there is none, so that positions stay.
fn names_in<'a>(pod: &'a Value, list: &str) -> impl Iterator<Item = &'a str> {
    let list = pod.get("spec").and_then(|spec| spec.get(list));
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|container| container.get("name")?.as_str())
}
