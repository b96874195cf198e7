//! Properties that hold for all rules.

use proptest::prelude::*;

use super::*;
use crate::messages::diagnosis::{Held, Unchosen};

fn rule() -> impl Strategy<Value = Value> {
    let templates = prop::option::of(prop::sample::subsequence(vec!["build", "deploy"], 0..=2));
    let selector = |key: &'static str, value: &'static str| {
        let one = prop_oneof![
            Just(json!({})),
            Just(json!({ "matchLabels": { key: value } })),
            Just(json!({ "matchLabels": { key: "other" } })),
            Just(json!({ "matchExpressions": [{ "key": key, "operator": "DoesNotExist" }] })),
        ];
        prop::option::of(one)
    };
    (templates, selector("env", "production"), selector("team", "a")).prop_map(
        |(templates, namespaces, runnables)| {
            json!({ "templates": templates, "namespaceSelector": namespaces, "runnableSelector": runnables })
        },
    )
}

/// Two scenes that differ only in the order of profiles and rules.
fn scenes() -> impl Strategy<Value = (Scene, Scene)> {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let rules = prop::collection::vec(prop::collection::vec(rule(), 0..4), 0..=NAMES.len());
    let asks_for = prop::option::of(prop::sample::select(vec!["a", "b", "x"]));
    (rules, asks_for, any::<bool>()).prop_flat_map(|(rules, asks_for, is_required)| {
        let profiles: Vec<(&'static str, Value)> = NAMES
            .into_iter()
            .zip(rules.into_iter().map(Value::from))
            .collect();
        let scene = move |profiles: Vec<(&'static str, Value)>| Scene {
            asks_for,
            is_required,
            ..Scene::new(profiles)
        };
        let shuffled = Just(profiles.clone())
            .prop_shuffle()
            .prop_map(|mut profiles| {
                for (_, rules) in &mut profiles {
                    rules.as_array_mut().unwrap().reverse();
                }
                profiles
            });
        shuffled.prop_map(move |shuffled| (scene(profiles.clone()), scene(shuffled)))
    })
}

/// A second definition of the choice, by comparison of each pair.
fn by_beating(scene: &Scene) -> Vec<&'static str> {
    let subject = scene.subject();
    let points = |spec| rank(spec, &subject).map(Rank::points);
    let winners = scene.profiles.iter().filter(|(_, spec)| {
        let own = points(spec);
        own.is_some() && scene.profiles.iter().all(|(_, other)| points(other) <= own)
    });
    winners.map(|(name, _)| *name).collect()
}

proptest! {
    #[test]
    fn the_order_of_profiles_and_rules_never_matters((scene, shuffled) in scenes()) {
        prop_assert_eq!(scene.choose(), shuffled.choose());
        for requested in [None, Some("1")] {
            let pin = Pin { name: "a".to_owned(), refresh_token: None };
            for known in [PinOrigin::Status(None), PinOrigin::Run(Some(pin))] {
                prop_assert_eq!(scene.pin(&known, requested), shuffled.pin(&known, requested));
            }
        }
    }

    #[test]
    fn who_is_chosen_is_beaten_by_nobody_and_alone_or_asked_for((scene, _) in scenes()) {
        let winners = by_beating(&scene);
        match scene.choose() {
            Ok(Choice::Profile(name)) => {
                prop_assert!(winners.contains(&name));
                prop_assert!(scene.asks_for == Some(name) || scene.asks_for.is_none() && winners == [name]);
            }
            Ok(Choice::Nothing) => prop_assert!(winners.is_empty() && !scene.is_required && scene.asks_for.is_none()),
            Err(Unchosen::Ambiguous(names)) => prop_assert!(names == winners && names.len() > 1 && scene.asks_for.is_none()),
            Err(Unchosen::NoneMatches(_)) => prop_assert!(winners.is_empty() && scene.is_required),
            Err(Unchosen::NotOffered { name, offered }) => {
                prop_assert!(scene.asks_for == Some(name.as_str()) && offered == winners && !offered.contains(&name));
            }
            Err(newer @ Unchosen::Newer { .. }) => prop_assert!(false, "{newer}"),
        }
    }

    #[test]
    fn a_pin_changes_only_by_a_request((scene, _) in scenes(), token in prop::option::of("[12]")) {
        let pinned = Pin { name: "b".to_owned(), refresh_token: token.clone() };
        let exists = scene.profiles.iter().any(|(name, _)| *name == "b");
        match scene.pin(&PinOrigin::Status(Some(pinned.clone())), token.as_deref()) {
            Ok(settled) => {
                prop_assert!(exists);
                prop_assert_eq!(settled, Settled { pin: Some(pinned), not_refreshed: None });
            }
            Err(held) => {
                let gone = Held::Gone { name: "b".to_owned(), not_refreshed: None };
                prop_assert!(!exists);
                prop_assert_eq!(held, gone);
            }
        }
    }
}
