//! Profiles between which no rule decides.

use std::collections::BTreeSet;

use cartouche_protocol::{
    messages::diagnosis::Unchosen,
    profiles::{Candidate, KnownProfile, Labels, Subject, choose},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::{
    finding::{Finding, Rule},
    objects::Objects,
    profile_file,
    source::{Document, Segment},
};

/// Stands for the templates that no rule names. No template can have this name.
const OTHERS: &str = "";

/// Returns findings about profiles that match some Runnables with the same rank: the controller would find out with the
/// first of these. Each rule is checked for the Runnables that have exactly what it asks for.
pub(super) fn check(objects: &Objects) -> Vec<Finding> {
    let known = objects.profiles.iter();
    let known: Vec<(&Document, KnownProfile)> = known
        .map(|document| (document, profile_file::compile(document)))
        .collect();
    let candidates = known.iter().map(|(_, profile)| Candidate {
        name: &profile.version.name,
        spec: &profile.spec,
    });
    let candidates: Vec<Candidate<'_>> = candidates.collect();
    let (mut reported, mut findings) = (BTreeSet::new(), Vec::new());
    for (document, profile) in &known {
        for (index, rule) in profile.spec.rules.iter().flatten().enumerate() {
            let namespace_labels = labels_of(rule.namespace_selector.as_ref());
            let labels = labels_of(rule.runnable_selector.as_ref());
            let others = [OTHERS.to_owned()];
            for template in rule.templates.as_deref().unwrap_or(&others) {
                let subject = Subject {
                    template,
                    labels: &labels,
                    namespace_labels: &namespace_labels,
                    asks_for: None,
                    is_required: false,
                };
                if let Err(Unchosen::Ambiguous(names)) = choose(&candidates, &subject)
                    && names.contains(&profile.version.name)
                    && reported.insert((names.clone(), template.clone()))
                {
                    let at = [Segment::from("spec"), "rules".into(), Segment::Index(index)];
                    findings.push(finding(objects, document, &at, names, &subject));
                }
            }
        }
    }
    findings
}

/// Returns the labels that a selector asks for.
fn labels_of(selector: Option<&LabelSelector>) -> Labels {
    let selector = selector.cloned().unwrap_or_default();
    let mut labels = selector.match_labels.unwrap_or_default();
    for requirement in selector.match_expressions.unwrap_or_default() {
        let value = match requirement.operator.as_str() {
            "In" => requirement.values.unwrap_or_default().into_iter().next(),
            "Exists" => Some(String::new()),
            _ => None,
        };
        if let Some(value) = value {
            labels.entry(requirement.key).or_insert(value);
        }
    }
    labels
}

fn finding(
    objects: &Objects,
    document: &Document,
    at: &[Segment],
    names: Vec<String>,
    subject: &Subject<'_>,
) -> Finding {
    let others: Vec<_> = names
        .iter()
        .filter(|name| *name != document.name())
        .collect();
    let others: Vec<_> = others
        .into_iter()
        .filter_map(|name| objects.profile(name))
        .collect();
    let unchosen = Unchosen::Ambiguous(names);
    let message = format!("{unchosen}: {}", who(subject));
    let finding = Finding::warning(Rule::Profile, message)
        .at(document.place_at(at))
        .help(unchosen.cure());
    others.into_iter().fold(finding, |finding, other| {
        finding.with_related(
            other.place_of(&["metadata", "name"]),
            "it matches them, too",
        )
    })
}

/// Describes the Runnables of a subject.
fn who(subject: &Subject<'_>) -> String {
    let mut who = match subject.template {
        OTHERS => "Runnables of any template that no rule names".to_owned(),
        template => format!("Runnables of the template {template}"),
    };
    for (whose, labels) in [
        ("with the labels", subject.labels),
        ("in a namespace with the labels", subject.namespace_labels),
    ] {
        if !labels.is_empty() {
            let labels = labels.iter().map(|(key, value)| format!("{key}={value}"));
            let labels: Vec<_> = labels.collect();
            who = format!("{who} {whose} {}", labels.join(","));
        }
    }
    who
}
