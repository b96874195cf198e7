//! The choice among profiles by their rules.

use std::collections::BTreeMap;

use cartouche_crds::{ClusterRunProfileSpec, ProfileRule, selects};
use cartouche_language::suggestion;

use crate::messages::diagnosis::Unchosen;

/// A profile that may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Name of the profile.
    pub name: &'a str,
    /// Spec of the profile.
    pub spec: &'a ClusterRunProfileSpec,
}

/// The data that rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Name of the Runnable's template.
    pub template: &'a str,
    /// Labels of the Runnable, which its author sets.
    pub labels: &'a BTreeMap<String, String>,
    /// Labels of its namespace.
    pub namespace_labels: &'a BTreeMap<String, String>,
    /// The profile that the Runnable names in `spec.profileName`.
    pub asks_for: Option<&'a str>,
    /// True if its template makes no run without a profile.
    pub is_required: bool,
}

/// The specificity of a rule. Any two rules compare: one that names the template outranks one that
/// does not, whatever else that one selects, and so on in the order of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    names_template: bool,
    selects_namespaces: bool,
    selects_runnables: bool,
}

impl Rank {
    /// Returns the rank as a number: 4 for the template, 2 for namespaces and 1 for Runnables,
    /// added up; 0 for a rule that is for all.
    #[must_use]
    pub fn points(self) -> u8 {
        let points = [
            self.names_template,
            self.selects_namespaces,
            self.selects_runnables,
        ];
        points
            .into_iter()
            .fold(0, |sum, said| 2 * sum + u8::from(said))
    }
}

/// The result of all rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// The profile of this name.
    Profile(&'a str),
    /// None matches, and none is needed.
    Nothing,
}

/// Returns the rank with which a profile matches, which is that of its best rule, or `None` if no
/// rule matches.
#[must_use]
pub fn rank(spec: &ClusterRunProfileSpec, subject: &Subject<'_>) -> Option<Rank> {
    let rules = spec.rules.iter().flatten();
    rules.filter_map(|rule| of_rule(rule, subject)).max()
}

fn of_rule(rule: &ProfileRule, subject: &Subject<'_>) -> Option<Rank> {
    let ProfileRule {
        templates,
        namespace_selector,
        runnable_selector,
    } = rule;
    let names = |templates: &Vec<String>| templates.iter().any(|name| name == subject.template);
    let matches = templates.as_ref().is_none_or(names)
        && namespace_selector
            .as_ref()
            .is_none_or(|selector| selects(selector, subject.namespace_labels))
        && runnable_selector
            .as_ref()
            .is_none_or(|selector| selects(selector, subject.labels));
    matches.then_some(Rank {
        names_template: templates.is_some(),
        selects_namespaces: namespace_selector.is_some(),
        selects_runnables: runnable_selector.is_some(),
    })
}

/// Returns the profile that is probably meant: a rule of it names a template almost like this one,
/// and no rule names this one. Any reader of the Runnable may see this, but neither labels of the
/// namespace nor those that a rule asks for.
fn misspelt(profiles: &[Candidate<'_>], subject: &Subject<'_>) -> Option<String> {
    let rules = profiles.iter().flat_map(|profile| {
        let rules = profile.spec.rules.iter().flatten();
        rules.filter_map(move |rule| Some((profile.name, rule.templates.as_ref()?)))
    });
    let template = subject.template;
    let mut nearest = None;
    for (profile, templates) in rules {
        if templates.iter().any(|it| it == template) {
            return None;
        }
        let known = templates.iter().map(String::as_str);
        if let Some(meant) = suggestion::slip(template, known) {
            let found = (profile, meant);
            nearest = Some(nearest.map_or(found, |before| found.min(before)));
        }
    }
    nearest.map(|(profile, meant)| format!("'{profile}': {}", nearly(meant, template)))
}

/// Returns the reason for a rule that names a template almost like this one.
pub(super) fn nearly(meant: &str, template: &str) -> String {
    format!("it is for the template '{meant}', and this one is '{template}'")
}

/// Chooses among all profiles; their order does not matter.
pub fn choose<'a>(
    profiles: &[Candidate<'a>],
    subject: &Subject<'_>,
) -> Result<Choice<'a>, Unchosen> {
    let ranked = profiles.iter();
    let ranked = ranked.filter_map(|profile| Some((rank(profile.spec, subject)?, profile)));
    let ranked: Vec<(Rank, &Candidate<'_>)> = ranked.collect();
    let mut matching = ranked.iter().map(|(_, profile)| profile);
    if let Some(newer) = matching.find(|it| !it.spec.unknown_fields.is_empty()) {
        return Err(Unchosen::Newer {
            name: newer.name.to_owned(),
            fields: newer.spec.unknown_fields.clone(),
        });
    }
    let highest = ranked.iter().map(|(rank, _)| *rank).max();
    let offered = ranked.iter().filter(|(rank, _)| Some(*rank) == highest);
    let mut offered: Vec<&'a str> = offered.map(|(_, profile)| profile.name).collect();
    offered.sort_unstable();
    let names = || offered.iter().map(|name| (*name).to_owned()).collect();
    match (subject.asks_for, offered.as_slice()) {
        (Some(name), _) => {
            let found = offered.iter().find(|offered| **offered == name);
            found
                .map(|name| Choice::Profile(name))
                .ok_or_else(|| Unchosen::NotOffered {
                    name: name.to_owned(),
                    offered: names(),
                })
        }
        (None, []) if subject.is_required => {
            Err(Unchosen::NoneMatches(misspelt(profiles, subject)))
        }
        (None, []) => Ok(Choice::Nothing),
        (None, [one]) => Ok(Choice::Profile(one)),
        (None, _) => Err(Unchosen::Ambiguous(names())),
    }
}
