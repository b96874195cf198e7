//! Rules that do not match, and the reason for each.

use std::{collections::BTreeMap, fmt};

use cartouche_crds::{ProfileRule, selects};
use cartouche_language::suggestion;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::{
    NAMESPACE_NAME_LABEL,
    choice::{Candidate, Subject, nearly},
};

/// Maximum number of labels that are named one by one.
const SHOWN: usize = 4;

/// A rule that does not match, or a profile without rules. The nearest to a match is the least.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Miss {
    distance: Distance,
    /// Number of labels that would have to differ.
    lacking: usize,
    profile: String,
    why: String,
    cure: Option<String>,
}

/// The distance from a match, by the template of a rule.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    /// It names the template, and asks for other labels.
    OtherLabels,
    /// It names a template almost like this one.
    Misspelt,
    /// It is for all templates, and asks for other labels.
    OtherLabelsOfAll,
    /// There are no rules.
    NoRules,
    /// It is for other templates.
    OtherTemplates,
}

/// Returns the reasons why no rule of these profiles matches, nearest first, each with the name of
/// its profile. They contain profiles of others and labels, so they are for readers who may see
/// these.
#[must_use]
pub fn misses(profiles: &[Candidate<'_>], subject: &Subject<'_>) -> Vec<String> {
    let missed = sorted(profiles, subject).into_iter();
    missed
        .map(|it| format!("'{}': {}", it.profile, it.why))
        .collect()
}

/// Returns the cure of the nearest miss, if only the value of a namespace label has to change. It
/// is for the same readers.
#[must_use]
pub fn cure_of_miss(profiles: &[Candidate<'_>], subject: &Subject<'_>) -> Option<String> {
    sorted(profiles, subject).into_iter().next()?.cure
}

fn sorted(profiles: &[Candidate<'_>], subject: &Subject<'_>) -> Vec<Miss> {
    let missed = profiles.iter().flat_map(|profile| {
        let rules = profile.spec.rules.iter().flatten();
        let of_rules: Vec<Miss> = rules
            .filter_map(|rule| miss(profile.name, rule, subject))
            .collect();
        let has_none = profile.spec.rules.iter().flatten().next().is_none();
        let none = has_none.then(|| Miss {
            distance: Distance::NoRules,
            lacking: 0,
            profile: profile.name.to_owned(),
            why: "it has no rules".to_owned(),
            cure: None,
        });
        of_rules.into_iter().chain(none)
    });
    let mut missed: Vec<Miss> = missed.collect();
    // The order of profiles and their rules does not matter.
    missed.sort();
    missed.dedup();
    missed
}

/// Returns the lack of a rule, or `None` if it matches.
fn miss(profile: &str, rule: &ProfileRule, subject: &Subject<'_>) -> Option<Miss> {
    let named = rule.templates.as_ref();
    let is_named = named.map(|all| all.iter().any(|it| it == subject.template));
    let parts = [
        Lack::find(
            rule.namespace_selector.as_ref(),
            subject.namespace_labels,
            "namespace",
        ),
        Lack::find(rule.runnable_selector.as_ref(), subject.labels, "Runnable"),
    ];
    let of_namespace = match &parts {
        [Some(_), None] if is_named != Some(false) => rule.namespace_selector.as_ref(),
        _ => None,
    };
    let lacks: Vec<Lack> = parts.into_iter().flatten().collect();
    let template = subject.template;
    let asks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
    let asks = format!("it asks for {}", asks.join(", and for "));
    let (distance, why) = if is_named == Some(false) {
        let known = named.into_iter().flatten().map(String::as_str);
        match suggestion::slip(template, known) {
            None => (
                Distance::OtherTemplates,
                format!("it is for other templates than '{template}'"),
            ),
            Some(meant) if lacks.is_empty() => (Distance::Misspelt, nearly(meant, template)),
            Some(meant) => (
                Distance::Misspelt,
                format!("{}; {asks}", nearly(meant, template)),
            ),
        }
    } else if lacks.is_empty() {
        return None;
    } else if is_named.is_some() {
        (Distance::OtherLabels, asks)
    } else {
        (Distance::OtherLabelsOfAll, asks)
    };
    Some(Miss {
        distance,
        lacking: lacks.iter().map(|lack| lack.wanted.len()).sum(),
        profile: profile.to_owned(),
        why,
        cure: of_namespace.and_then(|selector| other_values(profile, selector, subject)),
    })
}

/// Returns the cure of a selector that only needs other values of labels that the namespace has.
fn other_values(profile: &str, selector: &LabelSelector, subject: &Subject<'_>) -> Option<String> {
    let labels = subject.namespace_labels;
    let mut meant = labels.clone();
    for one in requirements(selector) {
        if !selects(&one, labels) {
            let (key, value) = asked(&one)?;
            value.clone_into(meant.get_mut(key)?);
        }
    }
    let differing = || {
        meant
            .iter()
            .filter(|(key, value)| labels.get(*key) != Some(*value))
    };
    if !selects(selector, &meant) || differing().count() > SHOWN {
        return None;
    }
    let listed = |of: &BTreeMap<String, String>| {
        let labels = differing().filter_map(|(key, _)| Some(format!("{key}={}", of.get(key)?)));
        labels.collect::<Vec<_>>().join(" and ")
    };
    let select = format!("let a rule of {profile} select {}", listed(labels));
    Some(
        if meant.get(NAMESPACE_NAME_LABEL) == labels.get(NAMESPACE_NAME_LABEL) {
            format!("label the namespace {}, or {select}", listed(&meant))
        } else {
            select
        },
    )
}

/// Returns the key of a part and a value that it asks for, if any.
fn asked(part: &LabelSelector) -> Option<(&str, &str)> {
    if let Some((key, value)) = part.match_labels.iter().flatten().next() {
        return Some((key, value));
    }
    let one = part.match_expressions.iter().flatten().next()?;
    let value = one.values.iter().flatten().next();
    value
        .filter(|_| one.operator == "In")
        .map(|value| (one.key.as_str(), value.as_str()))
}

/// The labels that a selector asks for and an object lacks.
struct Lack {
    of: &'static str,
    wanted: Vec<String>,
    /// The labels of the object in their place.
    there: Vec<String>,
}

impl Lack {
    /// Returns the lack, or `None` if the selector selects these labels.
    fn find(
        selector: Option<&LabelSelector>,
        labels: &BTreeMap<String, String>,
        of: &'static str,
    ) -> Option<Self> {
        let selector = selector.filter(|selector| !selects(selector, labels))?;
        let mut lack = Self {
            of,
            wanted: Vec::new(),
            there: Vec::new(),
        };
        for one in requirements(selector) {
            if !selects(&one, labels) {
                let (key, wanted) = format_part(&one);
                lack.wanted.push(wanted);
                let there = match labels.get(&key) {
                    Some(value) => format!("{key}={value}"),
                    None => format!("no label {key}"),
                };
                if !lack.there.contains(&there) {
                    lack.there.push(there);
                }
            }
        }
        Some(lack)
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, wanted, there } = self;
        let (wanted, there) = (few(wanted, " and "), few(there, " and "));
        write!(f, "{wanted} of the {of}, which has {there}")
    }
}

/// Joins the first of some texts, which may be very many.
fn few(texts: &[String], between: &str) -> String {
    let shown = texts.iter().take(SHOWN).map(String::as_str);
    let more = (texts.len() > SHOWN).then_some("more");
    shown.chain(more).collect::<Vec<_>>().join(between)
}

/// Returns the parts of a selector, each as a selector of its own.
fn requirements(selector: &LabelSelector) -> Vec<LabelSelector> {
    let labels = selector.match_labels.iter().flatten();
    let labels = labels.map(|(key, value)| LabelSelector {
        match_labels: Some([(key.clone(), value.clone())].into()),
        match_expressions: None,
    });
    let expressions = selector.match_expressions.iter().flatten();
    let expressions = expressions.map(|it| LabelSelector {
        match_labels: None,
        match_expressions: Some(vec![it.clone()]),
    });
    labels.chain(expressions).collect()
}

/// Returns the key of a part, and the part as `kubectl` writes it.
fn format_part(part: &LabelSelector) -> (String, String) {
    if let Some((key, value)) = part.match_labels.iter().flatten().next() {
        return (key.clone(), format!("{key}={value}"));
    }
    let Some(LabelSelectorRequirement {
        key,
        operator,
        values,
    }) = part.match_expressions.iter().flatten().next()
    else {
        return (String::new(), String::new());
    };
    let values = few(values.as_deref().unwrap_or_default(), ", ");
    let shown = match operator.as_str() {
        "Exists" => format!("a label {key}"),
        "DoesNotExist" => format!("no label {key}"),
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} not in ({values})"),
        other => format!("{key} {other} ({values})"),
    };
    (key.clone(), shown)
}
