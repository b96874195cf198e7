//! Commands on many Runnables, against a server that plays an API server whose objects change meanwhile.

use crate::support::{
    cartouche,
    played::{Played, Request},
};
use serde_json::{Value, json};

fn runnable(name: &str, uid: &str, ready: &str) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": name, "namespace": "demo", "uid": uid },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": { "conditions": [{
            "type": "Ready", "status": ready, "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }] },
    })
}

fn list(items: &[Value]) -> Value {
    json!({ "apiVersion": "carto.run/v1alpha1", "kind": "RunnableList", "metadata": {}, "items": items })
}

#[test]
fn an_empty_word_does_not_choose_the_whole_namespace() {
    for command in ["rerun", "suspend", "resume", "cancel", "get"] {
        for choice in [["-l", ""], ["-l", " "], ["--template", ""]] {
            let refused = cartouche(&[command, choice[0], choice[1]]);
            assert_eq!(refused.code, 2, "{command} {choice:?}");
            assert!(refused.err.contains("it is empty"), "{}", refused.err);
        }
    }
}

#[test]
fn what_has_changed_since_it_was_chosen_is_left_alone() {
    let played = Played::serve(|request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        Some(match (request.method.as_str(), name) {
            ("GET", "runnables") => list(&[
                runnable("same", "1", "False"),
                runnable("mended", "2", "False"),
                runnable("another", "3", "False"),
            ]),
            (_, "same") => runnable("same", "1", "False"),
            (_, "mended") => runnable("mended", "2", "True"),
            (_, "another") => runnable("another", "4", "False"),
            _ => return None,
        })
    });
    let done = played.cartouche(&["rerun", "--failed", "--token", "t", "--yes"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let left_alone = "is skipped: it was replaced, or is no longer selected";
    let said = format!("same will run again: t\nmended {left_alone}\nanother {left_alone}\n");
    assert_eq!(done.out, said);
    assert_eq!(done.err, "1 of 3 done\n");
    let patches = played.asked("PATCH");
    assert_eq!(patches.len(), 1, "{patches:?}");
    // Nor is it done to one that takes the name at the last moment.
    let patch: Value = serde_json::from_str(&patches[0].body).unwrap();
    assert_eq!(patch["metadata"]["uid"], "1", "{patch}");
}

#[test]
fn a_run_that_was_refused_is_tried_again_and_no_further_one_is_asked_for() {
    let mut refused = runnable("hello", "1", "False");
    refused["metadata"]["generation"] = json!(1);
    refused["status"]["observedGeneration"] = json!(1);
    refused["status"]["conditions"][0]["type"] = json!("RunTemplateReady");
    refused["status"]["conditions"][0]["reason"] = json!("StampedObjectRejectedByAPIServer");
    refused["status"]["currentRun"] = json!({
        "sequence": 3, "inputHash": "v1:0", "phase": "Rejected", "attempted": true,
        "apiVersion": "batch/v1", "kind": "Job", "name": "hello-x",
    });
    let asked = |arguments: &[&str]| {
        let refused = refused.clone();
        let played = Played::serve(move |request: &Request| {
            request
                .path
                .contains("/runnables/hello")
                .then(|| refused.clone())
        });
        let done = played.cartouche(arguments);
        assert_eq!(done.code, 0, "{}{}", done.out, done.err);
        let patches = played.asked("PATCH");
        assert_eq!(patches.len(), 1, "{patches:?}");
        let patch: Value = serde_json::from_str(&patches[0].body).unwrap();
        let annotations = patch["metadata"]["annotations"].as_object().unwrap();
        (annotations.keys().cloned().collect::<Vec<_>>(), done.out)
    };
    let (annotations, said) = asked(&["rerun", "hello"]);
    assert_eq!(annotations, ["carto.run/retry-now"]);
    assert_eq!(
        said,
        "hello: run 3 was refused; the controller retries it within a minute, and no further run is requested\n"
    );
    let (annotations, said) = asked(&["rerun", "hello", "--token", "t"]);
    assert_eq!(
        annotations,
        ["carto.run/rerun-request", "carto.run/rerun-token"]
    );
    assert_eq!(said, "hello will run again: t\n");
}

#[test]
fn whether_labels_still_match_is_asked_of_the_server() {
    let played = Played::serve(|request: &Request| {
        let is_again = request.path.contains("fieldSelector=metadata.name");
        let path = request.path.split('?').next().unwrap_or_default();
        let all = [runnable("a", "1", "True"), runnable("b", "2", "True")];
        (path.ends_with("/runnables") && request.path.contains("labelSelector=team"))
            .then(|| list(if is_again { &[] } else { &all }))
    });
    let done = played.cartouche(&["suspend", "-l", "team=shop", "--yes"]);
    assert!(
        done.out.contains("a is skipped"),
        "{}{}",
        done.out,
        done.err
    );
    assert!(played.asked("PATCH").is_empty());
}

/// A Runnable with a running run of a kind that cannot be stopped, and one with a Job.
fn at_work() -> Played {
    let with_run = |name: &str, api_version: &str, kind: &str| {
        let mut runnable = runnable(name, name, "Unknown");
        runnable["status"]["currentRun"] = json!({
            "sequence": 1, "inputHash": "v1:0", "phase": "Created", "attempted": true,
            "apiVersion": api_version, "kind": kind, "name": format!("{name}-x"), "uid": "1",
        });
        runnable
    };
    let job = with_run("job", "batch/v1", "Job");
    let backup = with_run("backup", "example.com/v1", "Backup");
    Played::serve(move |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        match path.rsplit('/').next().unwrap_or_default() {
            "runnables" => Some(list(&[job.clone(), backup.clone()])),
            "clusterruntemplates" => Some(list(&[])),
            "job" => Some(job.clone()),
            "backup" => Some(backup.clone()),
            _ => None,
        }
    })
}

#[test]
fn a_dry_run_does_not_promise_to_stop_what_cannot_be_stopped() {
    let played = at_work();
    let not_known = "Cartouche does not know how to stop a Backup of example.com/v1";
    let alone = played.cartouche(&["cancel", "backup", "--dry-run"]);
    assert_eq!((alone.code, alone.out.as_str()), (2, ""));
    assert!(alone.err.contains(not_known), "{}", alone.err);
    let all = played.cartouche(&["cancel", "--all", "--dry-run"]);
    assert_eq!(all.code, 2);
    assert_eq!(
        all.out,
        "job would have its run stopped (dry run: nothing was changed)\n"
    );
    assert!(all.err.contains(not_known), "{}", all.err);
}

#[test]
fn what_is_not_there_is_told_before_and_is_not_in_the_question() {
    let played = at_work();
    // Only one is left: there is no question, which a test could not answer.
    let one = played.cartouche(&["rerun", "job", "lost", "--token", "t"]);
    assert_eq!(one.code, 2, "{}", one.err);
    assert!(one.out.contains("job will run again"), "{}", one.out);
    assert!(one.err.contains("there is no Runnable lost"), "{}", one.err);
    let three = played.cartouche(&["rerun", "job", "backup", "lost"]);
    assert_eq!(three.code, 2);
    let (before, question) = three.err.split_once("2 Runnables are selected").unwrap();
    assert!(
        before.contains("lost") && !question.contains("lost"),
        "{}",
        three.err
    );
}

#[test]
fn the_command_has_failed_if_none_could_be_read() {
    let none = at_work().cartouche(&["suspend", "nobody", "nothing", "--yes"]);
    assert_eq!((none.code, none.out.as_str()), (2, ""));
    assert!(none.err.ends_with("2 of 2 failed\n"), "{}", none.err);
}
