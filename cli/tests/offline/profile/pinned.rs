//! Runnables whose pin no rule holds any more.

use serde_json::{Value, json};

use super::{profile, runnable, server};
use crate::support::played::{Played, Request};

#[test]
fn of_several_the_others_are_asked_for_where_one_can_choose_nothing() {
    let stuck = || {
        let mut stuck = runnable("stuck", Some("old"));
        stuck["spec"]["runTemplateRef"]["name"] = json!("another");
        stuck
    };
    for named in [&["stuck", "hello"][..], &["--all"]] {
        let played = Played::serve(move |request: &Request| {
            let path = request.path.split('?').next().unwrap_or_default();
            let list = |kind: &str, items: &[Value]| json!({ "apiVersion": "carto.run/v1alpha1", "kind": kind, "metadata": {}, "items": items });
            let for_greet = json!([{ "templates": ["greet"] }]);
            Some(match path.rsplit('/').next().unwrap_or_default() {
                "clusterrunprofiles" => list(
                    "ClusterRunProfileList",
                    &[
                        profile("old", 3, &json!([]), "small"),
                        profile("new", 1, &for_greet, "batch"),
                    ],
                ),
                "runnables" => list("RunnableList", &[stuck(), runnable("hello", Some("old"))]),
                "demo" => {
                    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "demo" } })
                }
                "hello" => runnable("hello", Some("old")),
                "stuck" => stuck(),
                _ => return None,
            })
        });
        let done =
            played.cartouche(&[&["profile", "refresh", "--yes", "--token", "t"], named].concat());
        assert_eq!(done.code, 2, "{named:?}: {}{}", done.out, done.err);
        for part in [
            "stuck keeps its profile: no other profile can be chosen",
            "1 of 2 failed\n",
        ] {
            assert!(done.err.contains(part), "{named:?}: {}", done.err);
        }
        let told = "by the current rules that is new@1 instead of old@3\n";
        assert!(done.out.ends_with(told), "{named:?}: {}", done.out);
        let patches = played.asked("PATCH");
        let [patch] = &patches[..] else {
            panic!("{named:?}: {patches:?}");
        };
        assert!(patch.path.contains("/runnables/hello?"), "{}", patch.path);
        let body: Value = serde_json::from_str(&patch.body).unwrap();
        assert_eq!(
            body["metadata"]["annotations"],
            json!({ "carto.run/profile-refresh": "t" })
        );
    }
}

#[test]
fn a_pin_that_no_rule_holds_any_more_is_told_as_that() {
    let profiles = vec![
        profile("old", 3, &json!([{ "templates": ["another"] }]), "small"),
        profile("new", 1, &json!([{}]), "batch"),
    ];
    let which = server(profiles).cartouche(&["profile", "which", "hello"]);
    assert_eq!((which.code, which.err.as_str()), (0, ""));
    let told = "hello: old, generation 3: pinned (none of its rules matches any more)\n";
    assert!(which.out.starts_with(told), "{}", which.out);
}
