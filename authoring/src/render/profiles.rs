//! Chooses the profile of a run from files: as the controller does, or as the user asks.

use std::sync::Arc;

use cartouche_crds::{ClusterRunProfileSpec, ProfileVersion, Runnable};
use cartouche_language::Diagnostics;
use cartouche_protocol::{
    facts::{RunnableFacts, Unknown, choose_profile, subject},
    ledger::Ledger,
    messages::diagnosis::{Held, Unchosen},
    profiles::{KnownProfile, Labels, NAMESPACE_NAME_LABEL, Profiles, Rank, Subject, misses, rank},
};
use cartouche_templating::Profile;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    objects::Objects,
    profile_file,
    source::Document,
};

/// The profile that a run is made with.
#[derive(Clone, Copy)]
pub struct With<'a> {
    /// Name and generation of the profile.
    pub version: &'a ProfileVersion,
    /// Uid of the profile.
    pub uid: &'a str,
    /// Compiled profile.
    pub profile: &'a Profile,
    /// The refresh request that the choice answers.
    pub refresh_token: Option<&'a str>,
}

impl<'a> With<'a> {
    /// Returns the profile, or its problems if it cannot be used.
    pub fn from_profile(
        known: &'a KnownProfile,
        refresh_token: Option<&'a str>,
    ) -> Result<Self, &'a Diagnostics> {
        Ok(Self {
            version: &known.version,
            uid: &known.uid,
            profile: known.compiled.as_ref()?,
            refresh_token,
        })
    }
}

/// Returns the profiles of some files, for Runnables of a namespace with these labels; without labels, with those of
/// the file of the namespace, if there is one.
#[must_use]
pub fn read_profiles(objects: &Objects, namespace: &str, labels: Option<&Labels>) -> Profiles {
    let all = objects.profiles.iter();
    let all = all.map(|document| Arc::new(profile_file::compile(document)));
    Profiles {
        all: Arc::new(all.collect()),
        namespace_labels: namespace_labels(objects, namespace, labels).map(Arc::new),
    }
}

/// Returns the labels of a namespace that are given, or that its file has.
pub(crate) fn namespace_labels(
    objects: &Objects,
    namespace: &str,
    given: Option<&Labels>,
) -> Option<Labels> {
    let mut labels = given.cloned().or_else(|| of_file(objects, namespace))?;
    labels
        .entry(NAMESPACE_NAME_LABEL.to_owned())
        .or_insert_with(|| namespace.to_owned());
    Some(labels)
}

fn of_file(objects: &Objects, namespace: &str) -> Option<Labels> {
    let is_meant = |document: &&Document| {
        (document.api_version(), document.kind()) == ("v1", "Namespace")
            && document.name() == namespace
    };
    let found = objects.others.iter().find(is_meant)?;
    Some(labels_of(&found.value))
}

fn labels_of(object: &Value) -> Labels {
    let labels = object.pointer("/metadata/labels").cloned();
    serde_json::from_value(labels.unwrap_or_default()).unwrap_or_default()
}

/// Returns the facts of a Runnable that rules read. Other fields that cannot be read do not matter.
pub(crate) fn facts(runnable: &Value) -> RunnableFacts {
    if let Ok(typed) = serde_json::from_value::<Runnable>(runnable.clone()) {
        return RunnableFacts::from_runnable(&typed);
    }
    let text = |pointer: &str| runnable.pointer(pointer)?.as_str().map(str::to_owned);
    RunnableFacts {
        template: text("/spec/runTemplateRef/name").unwrap_or_default(),
        labels: labels_of(runnable),
        profile_name: text("/spec/profileName"),
        ..RunnableFacts::default()
    }
}

/// Returns the profile that the rules choose for the first run of a Runnable, or the finding if none can be chosen.
pub fn by_rules(
    objects: &Objects,
    profiles: &Profiles,
    (runnable, namespace): (&Document, &str),
    is_required: bool,
) -> Result<Option<Arc<KnownProfile>>, Box<Finding>> {
    let facts = facts(&runnable.value);
    let found = choose_profile(&facts, profiles, is_required, &Ledger::default());
    match found {
        Ok(found) => Ok(found
            .pinned
            .and_then(|pinned| profiles.get(&pinned.name).cloned())),
        Err(Unknown::Namespace) => Err(Box::new(unknown_namespace(runnable, namespace))),
        Err(Unknown::Held(held)) => {
            let finding = unchosen(objects, runnable, &held);
            let finding = match held {
                Held::Unchosen(Unchosen::NoneMatches(_)) => {
                    let labels = profiles.namespace_labels.as_deref();
                    let labels = labels.cloned().unwrap_or_default();
                    let subject = subject(&facts, &labels, is_required);
                    with_misses(finding, &misses(&profiles.candidates(), &subject))
                }
                _ => finding,
            };
            Err(Box::new(finding))
        }
    }
}

/// Adds the reasons why no profile matches to a finding, the nearest first.
pub(crate) fn with_misses(finding: Finding, misses: &[String]) -> Finding {
    const MOST: usize = 3;
    let shown = misses.iter().take(MOST);
    shown.fold(finding, |finding, miss| {
        finding.with_note(format!("not the profile {miss}"))
    })
}

fn unknown_namespace(runnable: &Document, namespace: &str) -> Finding {
    let message = format!(
        "Runnable {}: a rule of a profile selects namespaces, and the labels of the namespace {namespace} are not known",
        runnable.name()
    );
    Finding::error(Rule::Profile, message)
        .at_document(runnable)
        .help("pass --namespace-labels, or have the Namespace among the files")
}

fn unchosen(objects: &Objects, runnable: &Document, held: &Held) -> Finding {
    let by_name = ["spec", "profileName"];
    let place = match runnable.root.at(&by_name) {
        Some(_) => runnable.place_of(&by_name),
        None => runnable.place_of(&["metadata", "name"]),
    };
    let message = format!("Runnable {}: {held}", runnable.name());
    let finding = Finding::error(Rule::Profile, message)
        .at(place)
        .help(held.cure());
    let offered: &[String] = match held {
        Held::Unchosen(
            Unchosen::Ambiguous(names) | Unchosen::NotOffered { offered: names, .. },
        ) => names,
        _ => &[],
    };
    let offered = offered.iter().filter_map(|name| objects.profile(name));
    offered.fold(finding, |finding, profile| {
        finding.with_related(profile.place_of(&["metadata", "name"]), "it matches")
    })
}

/// Returns the most specific matching rule of a profile, by its position, and its rank.
#[must_use]
pub fn best_rule(spec: &ClusterRunProfileSpec, subject: &Subject<'_>) -> Option<(usize, Rank)> {
    let best = rank(spec, subject)?;
    let mut rules = spec.rules.iter().flatten();
    let at = rules.position(|rule| {
        let alone = ClusterRunProfileSpec {
            rules: Some(vec![rule.clone()]),
            ..ClusterRunProfileSpec::default()
        };
        rank(&alone, subject) == Some(best)
    })?;
    Some((at, best))
}
