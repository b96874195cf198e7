//! Rules of profiles that match nothing of the files, and Runnables that no profile of the files matches.

use cartouche_crds::ClusterRunProfileSpec;
use cartouche_protocol::profiles::{Labels, Subject, rank};
use cartouche_templating::suggestion;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    objects::{Objects, template_name},
    profile_file,
    source::{Document, Segment, SourceSpan},
    template_file,
};

pub(super) fn check(objects: &Objects) -> Vec<Finding> {
    let profiles: Vec<(&Document, ClusterRunProfileSpec)> = objects
        .profiles
        .iter()
        .map(|profile| (profile, anywhere(profile_file::known(profile).spec)))
        .collect();
    if profiles.is_empty() || !objects.is_whole() {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (profile, spec) in &profiles {
        findings.extend(without_rules(profile, spec));
        findings.extend(misspelt_templates(objects, profile, spec));
    }
    for runnable in &objects.runnables {
        findings.extend(asks_in_vain(objects, runnable, &profiles));
        findings.extend(required_in_vain(objects, runnable, &profiles));
    }
    findings
}

/// A profile as it is where every namespace has the labels that it asks for: files do not say which ones one has.
fn anywhere(mut spec: ClusterRunProfileSpec) -> ClusterRunProfileSpec {
    for rule in spec.rules.iter_mut().flatten() {
        rule.namespace_selector = None;
    }
    spec
}

fn without_rules(profile: &Document, spec: &ClusterRunProfileSpec) -> Option<Finding> {
    let is_empty = spec.rules.as_ref().is_none_or(Vec::is_empty);
    // Of what cannot be read, its schema speaks.
    let is_given = |rules: &Value| rules.as_array().is_none_or(|rules| !rules.is_empty());
    let is_unread = profile.value.pointer("/spec/rules").is_some_and(is_given);
    let name = profile.name();
    let message = format!("ClusterRunProfile {name} has no rules, so no Runnable has it");
    (is_empty && !is_unread).then(|| {
        Finding::warning(Rule::Profile, message)
            .at(profile.place_of(&["metadata", "name"]))
            .label("this is for no Runnable")
            .help("say for which it is: spec.rules: [{templates: [NAME]}], or [{}] for every Runnable")
    })
}

fn misspelt_templates(
    objects: &Objects,
    profile: &Document,
    spec: &ClusterRunProfileSpec,
) -> Vec<Finding> {
    let known: Vec<&str> = objects.templates.iter().map(Document::name).collect();
    let mut findings = Vec::new();
    for (index, rule) in spec.rules.iter().flatten().enumerate() {
        for (number, name) in rule.templates.iter().flatten().enumerate() {
            // A rule may name templates of other files as well.
            let is_named = |it: &str| rule.templates.iter().flatten().any(|name| name == it);
            let others = known.iter().copied().filter(|it| !is_named(it));
            let meant = suggestion::slip(name, others);
            let Some(meant) = meant.filter(|_| !known.contains(&name.as_str())) else {
                continue;
            };
            let at: [Segment; 5] = [
                "spec".into(),
                "rules".into(),
                Segment::Index(index),
                "templates".into(),
                Segment::Index(number),
            ];
            let message = format!(
                "a rule of ClusterRunProfile {} names the template '{name}', and there is none among these files",
                profile.name()
            );
            let finding = Finding::warning(Rule::Profile, message)
                .at(profile.place_at(&at))
                .label("no such template");
            findings.push(finding.help(format!("did you mean '{meant}'?")));
        }
    }
    findings
}

/// True if a rule of a profile may match a Runnable.
fn may_match(spec: &ClusterRunProfileSpec, runnable: &Document) -> bool {
    let labels = runnable.value.pointer("/metadata/labels");
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    let labels: Labels = labels.collect();
    let subject = Subject {
        template: template_name(runnable),
        labels: &labels,
        namespace_labels: &Labels::default(),
        asks_for: None,
        is_required: false,
    };
    rank(spec, &subject).is_some()
}

/// A `profileName` of none that matches.
fn asks_in_vain(
    objects: &Objects,
    runnable: &Document,
    profiles: &[(&Document, ClusterRunProfileSpec)],
) -> Option<Finding> {
    let path = ["spec", "profileName"];
    let asked = runnable.root.at(&path)?.text()?;
    let name = runnable.name();
    let finding = |message: String, label: &str| {
        Finding::warning(Rule::Profile, message)
            .at(runnable.place_of(&path))
            .label(label)
    };
    let Some((profile, spec)) = profiles.iter().find(|(profile, _)| profile.name() == asked) else {
        let message = format!(
            "Runnable {name} asks for the profile '{asked}', and there is none of this name among these files: no run is made without it"
        );
        let known = objects.profiles.iter().map(Document::name);
        let finding = finding(message, "no such profile");
        return Some(finding.maybe_help(suggestion::hint(asked, "the profiles are", known)));
    };
    let message = format!(
        "Runnable {name} asks for the profile '{asked}', and none of its rules matches this Runnable: no run is made"
    );
    (!may_match(spec, runnable)).then(|| {
        finding(message, "it does not match")
            .related(rules_of(profile), "its rules")
            .help(format!(
                "take spec.profileName out, or add a rule to the profile: {}",
                rule_for(runnable)
            ))
    })
}

/// A template that makes no run without a profile, where none can match.
fn required_in_vain(
    objects: &Objects,
    runnable: &Document,
    profiles: &[(&Document, ClusterRunProfileSpec)],
) -> Option<Finding> {
    let template = objects.template_of(runnable)?;
    let mut specs = profiles.iter().map(|(_, spec)| spec);
    let is_asked = runnable.root.at(&["spec", "profileName"]).is_some();
    if is_asked
        || !template_file::needs_profile(template)
        || specs.any(|it| may_match(it, runnable))
    {
        return None;
    }
    let message = format!(
        "Runnable {}: no profile among these files matches it, and its template makes no run without a profile",
        runnable.name()
    );
    let finding = Finding::warning(Rule::Profile, message)
        .at(runnable.place_of(&["metadata", "name"]))
        .label("no run is made of this")
        .related(template.place_of(&["spec", "profile"]), "required here");
    Some(finding.help(format!(
        "let a rule of a profile match it: {}",
        rule_for(runnable)
    )))
}

fn rules_of(profile: &Document) -> SourceSpan {
    profile.place_of_key(&["spec", "rules"])
}

fn rule_for(runnable: &Document) -> String {
    format!("rules: [{{templates: [{}]}}]", template_name(runnable))
}
