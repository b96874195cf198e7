//! The profile that runs are made with, and the choice of another one, against a server that plays an API server.

mod pinned;
mod refresh;

use crate::support::played::{Played, Request};
use serde_json::{Value, json};

fn profile(name: &str, generation: i64, rules: &Value, pool: &str) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile",
        "metadata": { "name": name, "uid": name, "generation": generation },
        "spec": { "rules": rules, "podTemplate": { "spec": { "nodeSelector": { "pool": pool } } } },
    })
}

/// `old` is for all, and `new` for the template; a Runnable that is pinned stays.
fn two() -> Vec<Value> {
    vec![
        profile("old", 3, &json!([{}]), "small"),
        profile("new", 1, &json!([{}, { "templates": ["greet"] }]), "batch"),
    ]
}

fn runnable(name: &str, pinned: Option<&str>) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": name, "namespace": "demo", "uid": "1", "generation": 1, "resourceVersion": "7" },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": {
            "observedGeneration": 1, "conditions": [],
            "profile": pinned.map(|name| json!({ "name": name, "refreshToken": "before" })),
            "currentRun": {
                "sequence": 4, "inputHash": "v1:a", "phase": "Created", "uid": "r",
                "apiVersion": "batch/v1", "kind": "Job", "name": "hello-a",
            },
        },
    })
}

fn template() -> Value {
    template_that("Automatic")
}

fn template_that(approval: &str) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": "greet", "uid": "2", "generation": 1 },
        "spec": { "approval": approval, "template": {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "greet-" },
            "spec": { "template": { "spec": {
                "restartPolicy": "Never",
                "containers": [{ "name": "greet", "image": "a", "args": ["$(run.sequence)$"] }],
            } } },
        } },
    })
}

fn job() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "name": "hello-a", "namespace": "demo", "uid": "r", "annotations": { "carto.run/profile": "old@2" } },
        "spec": {},
    })
}

fn resources() -> Value {
    let resource = json!({ "name": "jobs", "singularName": "job", "namespaced": true, "kind": "Job", "verbs": ["get"] });
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1", "resources": [resource] })
}

fn forbidden() -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "message": "no", "reason": "Forbidden" })
}

/// A cluster with these profiles; Runnables whose names begin with `free` are pinned to none, and others to `old`.
fn server(profiles: Vec<Value>) -> Played {
    server_with(profiles, template())
}

fn server_with(profiles: Vec<Value>, template: Value) -> Played {
    Played::serve(move |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        Some(match name {
            "clusterrunprofiles" if profiles.is_empty() => forbidden(),
            "clusterrunprofiles" => json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfileList", "metadata": {}, "items": profiles,
            }),
            "demo" => {
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "demo", "labels": { "env": "test" } } })
            }
            "greet" => template.clone(),
            "v1" => resources(),
            "hello-a" => job(),
            "free" => runnable(name, None),
            "hello" | "other" => runnable(name, Some("old")),
            _ => return None,
        })
    })
}

#[test]
fn it_is_said_with_which_profile_the_next_run_is_made_and_why() {
    let played = server(two());
    let text = played.cartouche(&["profile", "which", "hello", "free"]);
    assert_eq!((text.code, text.err.as_str()), (0, ""));
    let json = played.cartouche(&["profile", "which", "hello", "-o", "json"]);
    insta::assert_snapshot!(format!("{}\n{}", text.out, json.out));
    // Nothing is changed by that.
    assert!(played.asked("PATCH").is_empty());
}

#[test]
fn what_keeps_a_run_from_being_made_is_said_in_the_words_of_the_conditions() {
    let tied = server(vec![
        profile("new", 1, &json!([{}]), "a"),
        profile(
            "newer",
            1,
            &json!([{ "namespaceSelector": { "matchLabels": { "env": "production" } } }, {}]),
            "a",
        ),
    ]);
    let held = tied.cartouche(&["profile", "which", "hello", "free"]);
    assert_eq!(held.code, 1);
    insta::assert_snapshot!(held.out);
    let unlisted = server(Vec::new()).cartouche(&["profile", "which", "hello"]);
    assert_eq!(unlisted.code, 2);
    let by_status = "hello: old: pinned\n  run 4 was made with old@2\n";
    assert_eq!(unlisted.out, by_status, "{}", unlisted.err);
    let right = "listing ClusterRunProfiles needs a permission that you lack: the ClusterRole cartouche-templates-view has it; ";
    assert!(unlisted.err.starts_with(right), "{}", unlisted.err);
}

/// Returns the hash of what is rendered, as `diff` shows it.
fn hash() -> String {
    let diff = server(two()).cartouche(&["diff", "hello"]);
    let hash = diff.out.rsplit_once('(').unwrap().1;
    hash.trim_end().trim_end_matches(')').to_owned()
}

/// A cluster where the run for the present inputs exists, made with generation 2 of its profile.
fn made(profiles: Vec<Value>, approval: &'static str, changes: &Value) -> Played {
    let mut hello = runnable("hello", Some("old"));
    hello["status"]["currentRun"]["inputHash"] = json!(hash());
    merge(&mut hello, changes);
    Played::serve(move |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        Some(match path.rsplit('/').next().unwrap_or_default() {
            "clusterrunprofiles" => json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfileList", "metadata": {}, "items": profiles,
            }),
            "greet" => template_that(approval),
            "v1" => resources(),
            "hello-a" => job(),
            "hello" => hello.clone(),
            _ => return None,
        })
    })
}

fn merge(into: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) => {
            for (key, value) in fields {
                merge(&mut into[key.as_str()], value);
            }
        }
        value => *into = value.clone(),
    }
}

#[test]
fn a_change_of_the_profile_alone_makes_no_run() {
    let diff = |generation| {
        let profiles = vec![profile("old", generation, &json!([{}]), "small")];
        made(profiles, "Automatic", &json!({})).cartouche(&["diff", "hello"])
    };
    let changed = diff(3);
    assert_eq!(changed.code, 0, "{}", changed.err);
    let verdict = format!(
        "only the profile changed: no run. Run 4 is the same ({}): it used old@2, and the next run will use old@3\n",
        hash()
    );
    assert!(changed.out.ends_with(&verdict), "{}", changed.out);
    let same = diff(2);
    assert!(
        same.out.contains("nothing to run: run 4 is the same"),
        "{}",
        same.out
    );
    assert!(!same.out.contains("profile"), "{}", same.out);
}

/// Approves a run that waits with this approval, made with the profile of this size.
fn approve_as(asked: &str, size: &str) -> crate::support::Output {
    let waits = json!({
        "metadata": { "annotations": { "carto.run/rerun-token": "again" } },
        "status": { "pending": {
            "sequence": 5, "inputHash": hash(), "reason": "ApprovalRequired", "approval": asked, "since": "2026-01-01T00:00:00Z",
        } },
    });
    let profiles = vec![profile("old", 3, &json!([{}]), size)];
    made(profiles, "Manual", &waits).cartouche(&["approve", "hello", "--dry-run"])
}

/// Returns the approval of the run that is shown with the profile of this size.
fn approval_of(size: &str) -> String {
    let refused = approve_as("5:m1:0", size);
    let (_, said) = refused.err.split_once("error: ").unwrap();
    said.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_run_that_waits_is_shown_with_its_profile_and_approved_as_that_makes_it() {
    let asked = approval_of("small");
    assert!(asked.starts_with("5:m1:"), "{asked}");
    let shown = approve_as(&asked, "small");
    assert_eq!(shown.code, 0, "{}", shown.err);
    for part in ["pool: small", "it uses ClusterRunProfile old@3\n"] {
        assert!(shown.err.contains(part), "{}", shown.err);
    }
    let changed = approve_as(&asked, "large");
    assert_eq!(changed.code, 2);
    let said = format!("by its status, which is {asked}: nothing is approved");
    assert!(changed.err.contains(&said), "{}", changed.err);
    let later = approve_as("5:x9:0", "small");
    let said = "in a form that this release of the command does not know";
    assert!(later.err.contains(said), "{}", later.err);
}

#[test]
fn inputs_whose_secret_has_changed_are_named_where_nothing_else_shows_it() {
    let secret = |version: &str| {
        let waits = json!({
            "metadata": { "annotations": { "carto.run/rerun-token": "again" } },
            "spec": { "inputsFrom": [{ "name": "token", "secretKeyRef": { "name": "deploy", "key": "token" } }] },
            "status": {
                "currentRun": { "sources": { "Secret/demo/deploy/token": version } },
                "pending": {
                    "sequence": 5, "inputHash": hash(), "reason": "ApprovalRequired", "approval": approval_of("small"),
                    "since": "2026-01-01T00:00:00Z",
                },
            },
        });
        let mut hello = runnable("hello", Some("old"));
        hello["status"]["currentRun"]["inputHash"] = json!(hash());
        merge(&mut hello, &waits);
        let played = Played::serve(move |request: &Request| {
            let path = request.path.split('?').next().unwrap_or_default();
            Some(match path.rsplit('/').next().unwrap_or_default() {
                "clusterrunprofiles" => json!({
                    "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfileList", "metadata": {},
                    "items": [profile("old", 3, &json!([{}]), "small")],
                }),
                "greet" => template_that("Manual"),
                "v1" => resources(),
                "hello-a" => job(),
                "deploy" => json!({
                    "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "deploy", "namespace": "demo", "uid": "s" },
                    "data": { "token": "c2VjcmV0" },
                }),
                "hello" => hello.clone(),
                _ => return None,
            })
        });
        let shown = played.cartouche(&["approve", "hello", "--dry-run"]);
        assert_eq!(shown.code, 0, "{}", shown.err);
        shown.err
    };
    let changed = secret("before");
    let line = changed
        .lines()
        .find(|line| line.starts_with("changed since the last run: "));
    let line = line.unwrap_or_else(|| panic!("{changed}"));
    assert!(
        line.contains("which gives the input token: before became "),
        "{line}"
    );
    assert!(!changed.contains("c2VjcmV0"), "{changed}");
    let now = line.rsplit_once(' ').unwrap().1;
    assert!(!secret(now).contains("has changed"), "{}", secret(now));
}

#[test]
fn one_that_has_no_template_is_told_as_that_and_hides_no_other() {
    let played = Played::serve(|request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        Some(match path.rsplit('/').next().unwrap_or_default() {
            "clusterrunprofiles" => json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfileList", "metadata": {}, "items": two(),
            }),
            "greet" => template(),
            "v1" => resources(),
            "hello-a" => job(),
            "hello" => runnable("hello", Some("old")),
            "lost" => {
                let mut lost = runnable("lost", Some("old"));
                lost["spec"]["runTemplateRef"]["name"] = json!("not-there");
                lost
            }
            _ => return None,
        })
    });
    let which = played.cartouche(&["profile", "which", "lost"]);
    assert_eq!(which.code, 1, "{}", which.err);
    let told = "lost: no run is made: there is no ClusterRunTemplate \"not-there\"\n  to do: ";
    assert!(which.out.starts_with(told), "{}", which.out);
    let dry = played.cartouche(&["profile", "refresh", "lost", "hello", "--dry-run"]);
    assert_eq!(dry.code, 2, "{}", dry.err);
    let of_lost = "lost: there is no ClusterRunTemplate not-there\n";
    assert!(dry.err.contains(of_lost), "{}", dry.err);
    let of_hello = "hello: new@1 would be chosen instead of old@3\n";
    assert!(dry.out.contains(of_hello), "{}", dry.out);
}

#[test]
fn why_names_the_pin_and_what_keeps_a_profile_from_being_used() {
    let message = "ClusterRunProfile \"old\" does not fit: podTemplate.spec.containers[0].name: the run has no such container 'gret'; to do: name one that it has: greet";
    for reason in ["ProfileAmbiguous", "ProfileNotFound", "ProfileDoesNotFit"] {
        let condition = |name: &str| json!({ "type": name, "status": "False", "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let stuck = json!({
            "metadata": { "annotations": { "carto.run/rerun-token": "again" } },
            "status": { "conditions": [condition("RunTemplateReady"), condition("Ready")] },
        });
        let mut misfit = profile("old", 3, &json!([{}]), "small");
        misfit["spec"]["podTemplate"]["spec"] =
            json!({ "containers": [{ "name": "gret", "image": "a" }] });
        let why = made(vec![misfit], "Automatic", &stuck).cartouche(&["why", "hello"]);
        for line in [
            "  pinned to ClusterRunProfile old\n",
            "has no such container 'gret'\n  to do: name one that it has: greet\n",
            "  `cartouche profile which hello` shows which profiles match, and by which rules\n",
        ] {
            assert!(why.out.contains(line), "{reason}: {}{}", why.out, why.err);
        }
    }
    let well = made(
        vec![profile("old", 3, &json!([{}]), "small")],
        "Automatic",
        &json!({}),
    );
    let why = well.cartouche(&["why", "hello"]);
    assert!(!why.out.contains("which profiles match"), "{}", why.out);
}

#[test]
fn a_run_that_exists_is_looked_at_whatever_became_of_its_profile() {
    let mut misfit = profile("old", 3, &json!([{}]), "small");
    misfit["spec"]["podTemplate"]["spec"] =
        json!({ "containers": [{ "name": "gret", "image": "a" }] });
    let another = profile("new", 1, &json!([{}]), "small");
    for (profiles, said) in [
        (
            vec![another],
            "its profile 'old' no longer exists: it is shown without one",
        ),
        (vec![misfit], "ClusterRunProfile \"old\" does not fit"),
    ] {
        let played = made(profiles, "Automatic", &json!({}));
        let diff = played.cartouche(&["diff", "hello"]);
        assert_eq!(diff.code, 0, "{}", diff.err);
        assert!(diff.out.contains(said), "{}", diff.out);
        assert!(
            diff.out.contains("nothing to run: run 4 is the same"),
            "{}",
            diff.out
        );
        let why = played.cartouche(&["why", "hello"]).out;
        assert!(
            why.contains("run 4 matches the rendered object, and is running"),
            "{why}"
        );
    }
}
