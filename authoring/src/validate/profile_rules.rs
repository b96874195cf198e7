//! Rules of profiles that match nothing of the files, and Runnables that no profile of the files matches.

use cartouche_crds::{ClusterRunProfileSpec, ProfileRule};
use cartouche_language::suggestion;
use cartouche_protocol::{
    facts::{RunnableFacts, subject},
    messages::diagnosis::Unchosen,
    profiles::{Candidate, Labels, Subject, choose, cure_of_miss, misses, rank},
};
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    objects::{Objects, namespace_of, template_name},
    profile_file, render,
    source::{Document, Segment, SourceSpan},
    template_file,
};

/// Profiles of files.
type FileProfiles<'a> = Vec<(&'a Document, ClusterRunProfileSpec)>;

pub(super) fn check(objects: &Objects) -> Vec<Finding> {
    let all = objects.profiles.iter();
    let profiles: FileProfiles<'_> = all
        .map(|profile| (profile, profile_file::compile(profile).spec))
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
        let namespace = namespace_of(runnable);
        let labels = render::profiles::namespace_labels(objects, namespace, None);
        let labels = labels.unwrap_or_default();
        let mut rules = profiles
            .iter()
            .flat_map(|(_, spec)| spec.rules.iter().flatten());
        let is_known = rules.all(|rule| has_keys(rule, &labels));
        let all = profiles.iter().cloned();
        let seen = RunnableProfiles {
            objects,
            profiles: all
                .map(|(profile, spec)| (profile, anywhere(spec, &labels)))
                .collect(),
            facts: render::profiles::facts(&runnable.value),
            labels,
            runnable,
        };
        findings.extend(seen.asks_in_vain());
        if is_known {
            findings.extend(seen.asks_for_outranked());
        }
        findings.extend(seen.required_in_vain());
    }
    findings
}

/// A Runnable, and the profiles as its namespace sees them.
struct RunnableProfiles<'a> {
    objects: &'a Objects,
    profiles: FileProfiles<'a>,
    facts: RunnableFacts,
    labels: Labels,
    runnable: &'a Document,
}

/// Returns a profile as it applies if the namespace has every label that files do not give: others may add it.
fn anywhere(mut spec: ClusterRunProfileSpec, labels: &Labels) -> ClusterRunProfileSpec {
    for rule in spec.rules.iter_mut().flatten() {
        if !has_keys(rule, labels) {
            rule.namespace_selector = None;
        }
    }
    spec
}

/// Returns true if each key by which a rule selects namespaces is among these labels.
fn has_keys(rule: &ProfileRule, labels: &Labels) -> bool {
    let selector = rule.namespace_selector.as_ref();
    let mut labelled = selector
        .into_iter()
        .flat_map(|it| it.match_labels.iter().flatten());
    let mut expressions = selector
        .into_iter()
        .flat_map(|it| it.match_expressions.iter().flatten());
    labelled.all(|(key, _)| labels.contains_key(key))
        && expressions.all(|it| labels.contains_key(&it.key))
}

fn without_rules(profile: &Document, spec: &ClusterRunProfileSpec) -> Option<Finding> {
    let is_empty = spec.rules.as_ref().is_none_or(Vec::is_empty);
    // The schema check reports rules that cannot be read.
    let is_given = |rules: &Value| rules.as_array().is_none_or(|rules| !rules.is_empty());
    let is_unread = profile.value.pointer("/spec/rules").is_some_and(is_given);
    let name = profile.name();
    let message = format!("ClusterRunProfile {name} has no rules, so no Runnable uses it");
    (is_empty && !is_unread).then(|| {
        Finding::warning(Rule::Profile, message)
            .at(profile.place_of(&["metadata", "name"]))
            .label("this is for no Runnable")
            .help("add rules: spec.rules: [{templates: [NAME]}], or [{}] for every Runnable")
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

impl RunnableProfiles<'_> {
    fn subject(&self) -> Subject<'_> {
        subject(&self.facts, &self.labels, true)
    }

    /// Finds a `profileName` of a profile that does not match.
    fn asks_in_vain(&self) -> Option<Finding> {
        let runnable = self.runnable;
        let path = ["spec", "profileName"];
        let asked = runnable.root.at(&path)?.text()?;
        let name = runnable.name();
        let finding = |message: String, label: &str| {
            Finding::warning(Rule::Profile, message)
                .at(runnable.place_of(&path))
                .label(label)
        };
        let mut all = self.profiles.iter();
        let Some((profile, spec)) = all.find(|(profile, _)| profile.name() == asked) else {
            let message = format!(
                "Runnable {name} asks for the profile '{asked}', which is not among these files: no run is made without it"
            );
            let known = self.objects.profiles.iter().map(Document::name);
            let finding = finding(message, "no such profile");
            return Some(finding.maybe_help(suggestion::hint(asked, "the profiles are", known)));
        };
        let message = format!(
            "Runnable {name} asks for the profile '{asked}', and none of its rules matches this Runnable: no run is made"
        );
        let candidate = Candidate { name: asked, spec };
        rank(spec, &self.subject()).is_none().then(|| {
            finding(message, "it does not match")
                .with_related(rules_of(profile), "its rules")
                .help(format!(
                    "remove spec.profileName, or add a rule to the profile: {}",
                    rule_for(runnable)
                ))
                .maybe_help(cure_of_miss(&[candidate], &self.subject()))
        })
    }

    /// Finds a `profileName` of a profile that matches, while another one has a more specific rule.
    fn asks_for_outranked(&self) -> Option<Finding> {
        let path = ["spec", "profileName"];
        let asked = self.runnable.root.at(&path)?.text()?;
        let subject = self.subject();
        let mut all = self.profiles.iter();
        let (_, spec) = all.find(|(profile, _)| profile.name() == asked)?;
        rank(spec, &subject)?;
        let unchosen = choose(&self.candidates(), &subject).err()?;
        if !matches!(unchosen, Unchosen::NotOffered { .. }) {
            return None;
        }
        let name = self.runnable.name();
        let message =
            format!("Runnable {name}: no run is made: {unchosen}, whose rule is more specific");
        let finding = Finding::warning(Rule::Profile, message).at(self.runnable.place_of(&path));
        Some(finding.label("it is outranked").help(unchosen.cure()))
    }

    fn candidates(&self) -> Vec<Candidate<'_>> {
        let all = self.profiles.iter();
        all.map(|(profile, spec)| Candidate {
            name: profile.name(),
            spec,
        })
        .collect()
    }

    /// Finds a template that makes no run without a profile, if none can match.
    fn required_in_vain(&self) -> Option<Finding> {
        let runnable = self.runnable;
        let template = self.objects.template_of(runnable)?;
        let mut specs = self.profiles.iter().map(|(_, spec)| spec);
        let is_asked = runnable.root.at(&["spec", "profileName"]).is_some();
        if is_asked
            || !template_file::needs_profile(template)
            || specs.any(|it| rank(it, &self.subject()).is_some())
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
            .with_related(template.place_of(&["spec", "profile"]), "required here")
            .help(format!(
                "add such a rule to a profile: {}",
                rule_for(runnable)
            ))
            .maybe_help(cure_of_miss(&self.candidates(), &self.subject()));
        let misses = misses(&self.candidates(), &self.subject());
        Some(render::profiles::with_misses(finding, &misses))
    }
}

fn rules_of(profile: &Document) -> SourceSpan {
    profile.place_of_key(&["spec", "rules"])
}

fn rule_for(runnable: &Document) -> String {
    format!("rules: [{{templates: [{}]}}]", template_name(runnable))
}
