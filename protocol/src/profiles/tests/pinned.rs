//! A Runnable keeps its profile.

use super::*;
use crate::messages::diagnosis::{Held, NotRefreshed, Unchosen};

fn to(name: &str, refresh_token: Option<&str>) -> Pin {
    Pin {
        name: name.to_owned(),
        refresh_token: refresh_token.map(str::to_owned),
    }
}

fn in_status(name: &str, refresh_token: Option<&str>) -> PinOrigin {
    PinOrigin::Status(Some(to(name, refresh_token)))
}

fn on_run(name: &str, refresh_token: Option<&str>) -> PinOrigin {
    PinOrigin::Run(Some(to(name, refresh_token)))
}

fn pinned(pin: Pin) -> Settled {
    Settled {
        pin: Some(pin),
        not_refreshed: None,
    }
}

#[test]
fn the_first_choice_is_pinned_and_a_request_that_is_there_is_answered_with_it() {
    let scene = Scene::new([("a", json!([{}]))]);
    for known in [PinOrigin::Status(None), PinOrigin::Run(None)] {
        assert_eq!(scene.pin(&known, None), Ok(pinned(to("a", None))));
        assert_eq!(scene.pin(&known, Some("1")), Ok(pinned(to("a", Some("1")))));
    }
}

#[test]
fn without_a_profile_there_is_no_pin_so_that_the_first_one_that_matches_is_taken_later() {
    let mut scene = Scene::new([]);
    let nothing = Settled {
        pin: None,
        not_refreshed: None,
    };
    assert_eq!(scene.pin(&PinOrigin::Status(None), Some("1")), Ok(nothing));
    scene.is_required = true;
    let held = scene.pin(&PinOrigin::Status(None), None).unwrap_err();
    assert!(
        matches!(held, Held::Unchosen(Unchosen::NoneMatches(_))),
        "{held:?}"
    );
    scene.profiles = vec![("a", profile(json!([{}])))];
    assert_eq!(
        scene.pin(&PinOrigin::Status(None), None),
        Ok(pinned(to("a", None)))
    );
}

#[test]
fn rules_labels_ties_and_names_move_nobody_who_is_pinned() {
    let mut scene = Scene::new([
        ("old", json!([{ "templates": ["deploy"] }])),
        ("new", json!([of_template()])),
        ("tie", json!([of_template()])),
    ]);
    for asks_for in [None, Some("new"), Some("missing")] {
        scene.asks_for = asks_for;
        assert_eq!(
            scene.pin(&in_status("old", Some("1")), Some("1")),
            Ok(pinned(to("old", Some("1"))))
        );
        assert_eq!(
            scene.pin(&in_status("old", None), None),
            Ok(pinned(to("old", None)))
        );
    }
}

#[test]
fn a_request_that_is_taken_away_asks_for_nothing() {
    let scene = Scene::new([("old", json!([])), ("new", json!([{}]))]);
    assert_eq!(
        scene.pin(&in_status("old", Some("1")), None),
        Ok(pinned(to("old", Some("1"))))
    );
}

#[test]
fn a_new_request_chooses_anew_once() {
    let scene = Scene::new([("old", json!([{}])), ("new", json!([of_template()]))]);
    let moved = scene.pin(&in_status("old", Some("1")), Some("2"));
    assert_eq!(moved, Ok(pinned(to("new", Some("2")))));
    let scene = Scene::new([("old", json!([of_template()])), ("new", json!([{}]))]);
    assert_eq!(
        scene.pin(&in_status("new", Some("2")), Some("2")),
        Ok(pinned(to("new", Some("2"))))
    );
}

#[test]
fn a_request_that_can_choose_nothing_leaves_the_pin_and_says_so() {
    let mut scene = Scene::new([("old", json!([]))]);
    let kept = |scene: &Scene| {
        let settled = scene.pin(&in_status("old", Some("1")), Some("2")).unwrap();
        assert_eq!(settled.pin, Some(to("old", Some("1"))));
        settled.not_refreshed.unwrap().to_string()
    };
    assert_eq!(kept(&scene), "no other profile can be chosen: none matches");
    scene.is_required = true;
    assert!(
        kept(&scene)
            .starts_with("no other profile can be chosen: no profile matches, and the template")
    );
    scene
        .profiles
        .extend(["b", "c"].map(|name| (name, profile(json!([{}])))));
    assert!(
        kept(&scene).starts_with("no other profile can be chosen: the profiles 'b', 'c' match")
    );
    scene.asks_for = Some("c");
    let moved = scene.pin(&in_status("old", Some("1")), Some("2"));
    assert_eq!(moved, Ok(pinned(to("c", Some("2")))));
}

fn gone(not_refreshed: Option<NotRefreshed>) -> Held {
    Held::Gone {
        name: "old".to_owned(),
        not_refreshed,
    }
}

#[test]
fn what_holds_a_run_says_what_to_do_and_what_a_request_was_answered() {
    assert_eq!(
        (gone(None).to_string(), gone(None).cure()),
        (
            "its profile 'old' does not exist".to_owned(),
            "create it again, or choose another one for the next run: `cartouche profile refresh`"
        )
    );
    let refused = gone(Some(NotRefreshed(None)));
    assert_eq!(
        (refused.to_string(), refused.cure()),
        (
            "its profile 'old' does not exist, and no other profile can be chosen: none matches"
                .to_owned(),
            "change a rule or a label so that a profile matches"
        )
    );
}

#[test]
fn a_profile_that_is_deleted_holds_new_runs_until_it_is_back_or_another_is_chosen() {
    let mut scene = Scene::new([("new", json!([{}]))]);
    let held = scene.pin(&in_status("old", None), None).unwrap_err();
    assert_eq!(
        (&held, held.category().as_str()),
        (&gone(None), "ProfileNotFound")
    );
    assert_eq!(
        scene.pin(&in_status("old", None), Some("1")),
        Ok(pinned(to("new", Some("1"))))
    );
    scene.profiles.clear();
    let refused = Some(NotRefreshed(None));
    assert_eq!(
        scene.pin(&in_status("old", None), Some("1")),
        Err(gone(refused))
    );
    scene.profiles = vec![("old", profile(json!([])))];
    assert_eq!(
        scene.pin(&in_status("old", None), None),
        Ok(pinned(to("old", None)))
    );
}

#[test]
fn after_a_lost_status_the_profile_of_the_newest_run_counts_only_if_it_matches_today() {
    let scene = Scene::new([
        ("matches", json!([of_runnables()])),
        ("other", json!([{ "templates": ["deploy"] }])),
        ("best", json!([of_template()])),
    ]);
    assert_eq!(
        scene.pin(&on_run("matches", Some("1")), Some("1")),
        Ok(pinned(to("matches", Some("1"))))
    );
    for name in ["other", "missing"] {
        let held = scene.pin(&on_run(name, Some("1")), Some("1")).unwrap_err();
        assert_eq!(
            (&held, held.category().as_str()),
            (
                &Held::Unproven {
                    name: name.to_owned(),
                    not_refreshed: None
                },
                "ProfileNotFound"
            )
        );
        assert_eq!(
            scene.pin(&on_run(name, Some("1")), Some("2")),
            Ok(pinned(to("best", Some("2"))))
        );
    }
}

#[test]
fn a_request_is_read_from_the_annotation_of_the_runnable() {
    let runnable = |annotations: Value| {
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "r", "annotations": annotations },
            "spec": { "runTemplateRef": { "name": "t" } },
        });
        requested_refresh(&serde_json::from_value(runnable).unwrap())
    };
    assert_eq!(
        runnable(json!({ "carto.run/profile-refresh": "1" })),
        Some("1".to_owned())
    );
    assert_eq!(runnable(json!({ "carto.run/profile-refresh": "" })), None);
    assert_eq!(runnable(json!({ "carto.run/rerun-token": "1" })), None);
}
