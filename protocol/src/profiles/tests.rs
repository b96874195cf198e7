#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

mod pinned;
mod properties;

use std::collections::BTreeMap;

use cartouche_crds::ClusterRunProfileSpec;
use serde_json::{Value, json};

use super::*;
use crate::messages::diagnosis::{Held, Unchosen};

type Labels = BTreeMap<String, String>;

fn labels(key: &str, value: &str) -> Labels {
    [(key.to_owned(), value.to_owned())].into()
}

fn profile(rules: Value) -> ClusterRunProfileSpec {
    serde_json::from_value(json!({ "rules": rules })).unwrap()
}

/// A Runnable of the template `build` and of team a, in a namespace for production.
#[derive(Debug)]
struct Scene {
    labels: Labels,
    namespace_labels: Labels,
    profiles: Vec<(&'static str, ClusterRunProfileSpec)>,
    asks_for: Option<&'static str>,
    is_required: bool,
}

impl Scene {
    fn new(profiles: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let profiles = profiles.into_iter();
        Self {
            labels: labels("team", "a"),
            namespace_labels: labels("env", "production"),
            profiles: profiles
                .map(|(name, rules)| (name, profile(rules)))
                .collect(),
            asks_for: None,
            is_required: false,
        }
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            template: "build",
            labels: &self.labels,
            namespace_labels: &self.namespace_labels,
            asks_for: self.asks_for,
            is_required: self.is_required,
        }
    }

    fn candidates(&self) -> Vec<Candidate<'_>> {
        let candidates = self.profiles.iter();
        candidates
            .map(|(name, spec)| Candidate { name, spec })
            .collect()
    }

    fn choose(&self) -> Result<Choice<'_>, Unchosen> {
        choose(&self.candidates(), &self.subject())
    }

    fn pin(&self, known: &PinOrigin, requested: Option<&str>) -> Result<Settled, Held> {
        pin(known, requested, &self.candidates(), &self.subject())
    }
}

fn of_template() -> Value {
    json!({ "templates": ["deploy", "build"] })
}

fn of_namespaces() -> Value {
    json!({ "namespaceSelector": { "matchLabels": { "env": "production" } } })
}

fn of_runnables() -> Value {
    json!({ "runnableSelector": { "matchLabels": { "team": "a" } } })
}

fn both(mut one: Value, other: Value) -> Value {
    let members = other.as_object().unwrap().clone();
    one.as_object_mut().unwrap().extend(members);
    one
}

#[test]
fn a_rule_that_names_the_template_outranks_all_others_and_one_of_namespaces_that_of_runnables() {
    let scene = Scene::new([]);
    let ranked = [
        json!({}),
        of_runnables(),
        of_namespaces(),
        both(of_namespaces(), of_runnables()),
        of_template(),
        both(of_template(), of_runnables()),
        both(of_template(), of_namespaces()),
        both(both(of_template(), of_namespaces()), of_runnables()),
    ];
    let ranks: Vec<Rank> = ranked
        .iter()
        .map(|rule| rank(&profile(json!([rule])), &scene.subject()).unwrap())
        .collect();
    let points: Vec<u8> = ranks.iter().map(|rank| rank.points()).collect();
    assert_eq!(points, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(ranks.is_sorted());
    for (lower, higher) in ranked.iter().zip(&ranked[1..]) {
        let scene = Scene::new([("a", json!([lower])), ("b", json!([higher]))]);
        assert_eq!(scene.choose(), Ok(Choice::Profile("b")), "{higher}");
    }
}

#[test]
fn all_that_a_rule_says_has_to_hold() {
    for rule in [
        json!({ "templates": ["deploy"] }),
        json!({ "templates": [] }),
        json!({ "namespaceSelector": { "matchLabels": { "env": "test" } } }),
        json!({ "runnableSelector": { "matchExpressions": [{ "key": "team", "operator": "DoesNotExist" }] } }),
        both(
            of_template(),
            json!({ "namespaceSelector": { "matchLabels": { "team": "a" } } }),
        ),
        both(
            of_namespaces(),
            json!({ "runnableSelector": { "matchLabels": { "env": "production" } } }),
        ),
        json!({ "runnableSelector": { "matchExpressions": [{ "key": "team", "operator": "Is" }] } }),
    ] {
        let scene = Scene::new([("a", json!([rule]))]);
        assert_eq!(scene.choose(), Ok(Choice::Nothing), "{rule}");
    }
}

#[test]
fn a_selector_that_says_nothing_selects_all_and_ranks_as_one_that_selects() {
    let scene = Scene::new([
        ("a", json!([{ "namespaceSelector": {} }])),
        ("b", json!([of_runnables()])),
    ]);
    assert_eq!(scene.choose(), Ok(Choice::Profile("a")));
}

#[test]
fn the_best_rule_of_a_profile_counts() {
    let scene = Scene::new([
        (
            "a",
            json!([{}, { "templates": ["deploy"] }, of_namespaces()]),
        ),
        ("b", json!([of_runnables()])),
    ]);
    assert_eq!(scene.choose(), Ok(Choice::Profile("a")));
}

fn missed(scene: &Scene) -> Vec<String> {
    misses(&scene.candidates(), &scene.subject())
}

#[test]
fn the_nearest_rule_that_does_not_match_is_named_first() {
    let other_team = json!({ "runnableSelector": { "matchLabels": { "team": "b" } } });
    let scene = Scene::new([
        ("a", json!(null)),
        (
            "b",
            json!([{ "templates": ["biuld"] }, { "templates": ["deploy"] }]),
        ),
        ("c", json!([other_team])),
    ]);
    assert_eq!(
        missed(&scene),
        [
            "'b': it is for the template 'biuld', and this one is 'build'",
            "'c': it asks for team=b of the Runnable, which has team=a",
            "'a': it has no rules",
            "'b': it is for other templates than 'build'",
        ]
    );
}

#[test]
fn a_rule_that_names_the_template_is_the_nearest_and_says_which_labels_it_lacks() {
    let stage = json!({ "matchLabels": { "env": "prod" }, "matchExpressions": [
        { "key": "zone", "operator": "Exists" }, { "key": "env", "operator": "NotIn", "values": ["test"] },
    ] });
    let named = both(of_template(), json!({ "namespaceSelector": stage }));
    let one = both(
        of_template(),
        json!({ "runnableSelector": { "matchExpressions": [{ "key": "team", "operator": "In", "values": ["b", "c"] }] } }),
    );
    let mut scene = Scene::new([
        ("misspelt", json!([{ "templates": ["biuld"] }])),
        ("two", json!([named])),
        ("one", json!([one])),
    ]);
    scene.is_required = true;
    assert_eq!(
        missed(&scene),
        [
            "'one': it asks for team in (b, c) of the Runnable, which has team=a",
            "'two': it asks for env=prod and a label zone of the namespace, which has env=production and no label zone",
            "'misspelt': it is for the template 'biuld', and this one is 'build'",
        ]
    );
    // The nearest has another name than the one that any reader may see.
    assert_eq!(scene.choose(), Err(Unchosen::NoneMatches(None)));
    scene.profiles.truncate(1);
    let unchosen = scene.choose().unwrap_err().to_string();
    assert!(
        unchosen.contains("(the nearest is 'misspelt': "),
        "{unchosen}"
    );
}

#[test]
fn a_rule_that_is_misspelt_and_lacks_labels_too_says_both_and_few_of_many_values() {
    let values: Vec<String> = (0..1000).map(|at| format!("v{at}")).collect();
    let many =
        json!({ "matchExpressions": [{ "key": "team", "operator": "In", "values": values }] });
    let misspelt = json!({ "templates": ["biuld"], "runnableSelector": many });
    let mut scene = Scene::new([
        ("a", json!([misspelt])),
        ("b", json!([{ "templates": ["other"] }])),
    ]);
    scene.is_required = true;
    assert_eq!(
        missed(&scene)[0],
        "'a': it is for the template 'biuld', and this one is 'build'; it asks for team in (v0, v1, v2, v3, more) of the Runnable, which has team=a"
    );
    // The condition, which every reader of the Runnable sees, shows no label.
    assert_eq!(
        scene.choose().unwrap_err().to_string(),
        "no profile matches, and the template requires one (the nearest is 'a': it is for the template 'biuld', and this one is 'build')"
    );
}

#[test]
fn a_profile_without_rules_is_for_nobody_and_one_with_an_empty_rule_for_all() {
    let mut scene = Scene::new([("a", json!(null)), ("b", json!([]))]);
    assert_eq!(scene.choose(), Ok(Choice::Nothing));
    scene.is_required = true;
    let unchosen = scene.choose().unwrap_err();
    // Names of other profiles are for their readers.
    assert_eq!(
        (&unchosen, unchosen.category().as_str()),
        (&Unchosen::NoneMatches(None), "ProfileNotFound")
    );
    let scene = Scene::new([("a", json!(null)), ("b", json!([{}]))]);
    assert_eq!(scene.choose(), Ok(Choice::Profile("b")));
}

#[test]
fn a_tie_names_all_and_only_those_of_the_highest_rank_and_the_runnable_can_settle_it() {
    let mut scene = Scene::new([
        ("d", json!([{}])),
        ("c", json!([of_namespaces()])),
        ("a", json!([of_namespaces(), of_runnables()])),
        ("b", json!([of_namespaces()])),
    ]);
    let unchosen = scene.choose().unwrap_err();
    assert_eq!(unchosen.category().as_str(), "ProfileAmbiguous");
    assert_eq!(
        unchosen.to_string(),
        "the profiles 'a', 'b', 'c' match with the same rank"
    );
    assert!(unchosen.cure().contains("spec.profileName"));
    scene.asks_for = Some("b");
    assert_eq!(scene.choose(), Ok(Choice::Profile("b")));
    for other in ["d", "x", ""] {
        scene.asks_for = Some(other);
        let unchosen = scene.choose().unwrap_err();
        assert_eq!(unchosen.category().as_str(), "ProfileNotFound");
        assert_eq!(
            unchosen.to_string(),
            format!("spec.profileName is '{other}', and the profiles that match are 'a', 'b', 'c'")
        );
    }
}

#[test]
fn a_name_of_a_lower_rank_is_not_found_although_nothing_ties() {
    let mut scene = Scene::new([("a", json!([{}])), ("b", json!([of_template()]))]);
    scene.asks_for = Some("a");
    assert_eq!(
        scene.choose().unwrap_err().to_string(),
        "spec.profileName is 'a', and the profile that matches is 'b'"
    );
    scene.profiles.clear();
    assert_eq!(
        scene.choose().unwrap_err().to_string(),
        "spec.profileName is 'a', and no profile matches"
    );
}
