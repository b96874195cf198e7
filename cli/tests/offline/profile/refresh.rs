//! `profile refresh`: the request that it writes, and its dry run.

use serde_json::{Value, json};

use super::{profile, runnable, server, server_with, template, two};
use crate::support::played::{Played, Request};

#[test]
fn a_refresh_asks_with_a_request_of_its_own_and_for_a_run_only_if_that_is_said() {
    let played = server(two());
    let done = played.cartouche(&["profile", "refresh", "hello", "--token", "t"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (
            0,
            "hello will choose its profile again, and use it for its next run: t\n  \
             by the current rules that is new@1 instead of old@3\n"
        )
    );
    assert!(
        done.err.contains("`cartouche profile which hello`"),
        "{}",
        done.err
    );
    let done = played.cartouche(&[
        "profile", "refresh", "hello", "--rerun", "--reason", "moved", "--token", "u",
    ]);
    assert_eq!(done.code, 0, "{}", done.err);
    let bodies = played.asked("PATCH");
    let bodies = bodies
        .iter()
        .map(|it| serde_json::from_str::<Value>(&it.body).unwrap());
    let annotations: Vec<Value> = bodies
        .map(|body| body["metadata"]["annotations"].clone())
        .collect();
    assert_eq!(annotations[0], json!({ "carto.run/profile-refresh": "t" }));
    assert_eq!(annotations[1]["carto.run/profile-refresh"], "u");
    assert_eq!(annotations[1]["carto.run/rerun-token"], "u");
    assert!(
        annotations[1]["carto.run/rerun-request"]
            .as_str()
            .unwrap()
            .contains("moved")
    );
}

#[test]
fn what_was_asked_for_already_or_is_pinned_to_nothing_is_left_alone() {
    let played = server(two());
    let again = played.cartouche(&["profile", "refresh", "hello", "--token", "before"]);
    assert!(
        again.out.contains("was already requested: before"),
        "{}",
        again.out
    );
    let free = played.cartouche(&["profile", "refresh", "free"]);
    assert!(free.out.contains("is pinned to no profile"), "{}", free.out);
    assert!(played.asked("PATCH").is_empty());
    // A run may be asked for all the same.
    let free = played.cartouche(&["profile", "refresh", "free", "--rerun"]);
    assert!(free.out.contains("and run again with it"), "{}", free.out);
}

#[test]
fn a_dry_run_says_which_would_be_chosen_and_what_that_changes() {
    let played = server(two());
    let foreseen = played.cartouche(&["profile", "refresh", "hello", "--dry-run"]);
    assert_eq!(
        (foreseen.code, foreseen.err.as_str()),
        (0, "dry run: nothing was changed\n")
    );
    assert_eq!(
        foreseen.out,
        "hello: new@1 would be chosen instead of old@3\n\
         - spec.template.spec.nodeSelector.pool: \"small\"\n\
         + spec.template.spec.nodeSelector.pool: \"batch\"\n"
    );
    let same = server(two()[..1].to_vec()).cartouche(&["profile", "refresh", "hello", "--dry-run"]);
    assert_eq!(same.out, "hello: old@3 would be chosen again\n");
    let none = vec![
        profile("old", 3, &json!([{ "templates": ["another"] }]), "small"),
        profile("new", 1, &json!([{}]), "a"),
        profile("newer", 1, &json!([{}]), "a"),
    ];
    let tied = server(none).cartouche(&["profile", "refresh", "hello", "--dry-run"]);
    assert_eq!(tied.code, 1);
    assert_eq!(
        tied.out,
        "hello: no other profile can be chosen: the profiles 'new', 'newer' match with the same rank\n"
    );
    let gone = server(two()[1..].to_vec()).cartouche(&["profile", "refresh", "hello", "--dry-run"]);
    assert_eq!(
        gone.out,
        "hello: new@1 would be chosen; without the refresh: its profile 'old' does not exist\n  to do: create it again, or choose another one for the next run: `cartouche profile refresh`\n"
    );
    let unlisted = server(Vec::new()).cartouche(&["profile", "refresh", "hello", "--dry-run"]);
    assert_eq!(unlisted.code, 2, "{}{}", unlisted.out, unlisted.err);
    // A run that cannot be rendered without a profile shows no more.
    let mut reading = template();
    reading["spec"]["template"]["spec"]["template"]["spec"]["containers"][0]["args"] =
        json!(["$(profile.values.pool)$"]);
    let unlisted = server_with(Vec::new(), reading);
    let unlisted = unlisted.cartouche(&["profile", "refresh", "hello", "--dry-run"]);
    assert_eq!(unlisted.code, 2, "{}{}", unlisted.out, unlisted.err);
    assert!(played.asked("PATCH").is_empty());
}

#[test]
fn a_refresh_that_can_choose_nothing_is_an_error_and_writes_nothing() {
    let none = vec![profile(
        "old",
        3,
        &json!([{ "templates": ["another"] }]),
        "small",
    )];
    let played = server(none);
    for more in [&[][..], &["--rerun"], &["-o", "json"]] {
        let refused = played.cartouche(&[&["profile", "refresh", "hello"], more].concat());
        assert_eq!((refused.code, refused.out.as_str()), (2, ""));
        for part in [
            "hello keeps its profile: no other profile can be chosen: none matches",
            "hint: change a rule or a label so that a profile matches",
        ] {
            assert!(refused.err.contains(part), "{}", refused.err);
        }
    }
    let several = played.cartouche(&["profile", "refresh", "hello", "free", "--yes"]);
    assert_eq!(several.code, 2, "{}{}", several.out, several.err);
    assert!(several.err.contains("1 of 2 failed"), "{}", several.err);
    assert!(played.asked("PATCH").is_empty());
    // A user who may not list the profiles can request a refresh all the same, and the controller chooses.
    let unlisted = server(Vec::new()).cartouche(&["profile", "refresh", "hello"]);
    assert_eq!(unlisted.code, 0, "{}", unlisted.err);
}

#[test]
fn a_program_is_given_the_profile_before_and_after() {
    let played = server(two());
    let read = |more: &[&str]| {
        let done =
            played.cartouche(&[&["profile", "refresh", "hello", "-o", "json"], more].concat());
        serde_json::from_str::<Value>(&done.out).unwrap()
    };
    let one = json!({ "name": "hello", "namespace": "demo", "before": "old@3", "after": "new@1" });
    let mut asked = one.clone();
    asked["request"] = json!("t");
    assert_eq!(read(&["--token", "t"]), json!([asked]));
    let mut foreseen = one;
    foreseen["changes"] = json!([{
        "path": "spec.template.spec.nodeSelector.pool", "old": "small", "new": "batch",
    }]);
    assert_eq!(read(&["--dry-run"]), json!([foreseen]));
    let nothing = read(&["--token", "before"]);
    assert_eq!(
        [&nothing[0]["before"], &nothing[0]["after"]],
        ["old", "old"]
    );
    assert!(nothing[0].get("request").is_none(), "{nothing}");
}

#[test]
fn a_dry_run_goes_on_past_a_runnable_without_a_template() {
    let mut lost = runnable("lost", Some("old"));
    lost["spec"]["runTemplateRef"]["name"] = json!("not-there");
    let played = Played::serve(move |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        match path.rsplit('/').next().unwrap_or_default() {
            "lost" => Some(lost.clone()),
            "clusterrunprofiles" => Some(json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfileList", "metadata": {}, "items": two(),
            })),
            "greet" => Some(template()),
            "hello" => Some(runnable("hello", Some("old"))),
            _ => None,
        }
    });
    let foreseen = played.cartouche(&["profile", "refresh", "lost", "hello", "--dry-run"]);
    assert_eq!(foreseen.code, 2);
    assert!(
        foreseen.out.starts_with("hello: new@1 would be chosen"),
        "{}",
        foreseen.out
    );
    assert!(
        foreseen
            .err
            .contains("lost: there is no ClusterRunTemplate not-there"),
        "{}",
        foreseen.err
    );
}

#[test]
fn a_misfit_is_seen_by_the_dry_run() {
    let mut profiles = two();
    profiles[1]["spec"]["podTemplate"]["spec"] =
        json!({ "containers": [{ "name": "gret", "image": "b" }] });
    let foreseen = server(profiles).cartouche(&["profile", "refresh", "hello", "--dry-run"]);
    assert_eq!(foreseen.code, 1);
    assert!(
        foreseen
            .out
            .contains("ClusterRunProfile \"new\" does not fit"),
        "{}",
        foreseen.out
    );
}
