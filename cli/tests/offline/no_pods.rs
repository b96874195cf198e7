//! Output of `cartouche why` and `logs` for a run that makes no pod: only its events give the reason, and the control
//! plane of the tests has them only after a while.

use crate::support::played;
use serde_json::{Value, json};

/// A cluster with a Job that makes no pod, with the message `said` and these events.
fn without_pods((reason, said): (&str, &str), events: Option<Value>) -> played::Played {
    let conditions = ["StampedObjectCondition", "Ready"].map(|name| {
        json!({
            "type": name, "status": "Unknown", "reason": reason, "message": said,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    });
    let run = json!({
        "sequence": 1, "inputHash": "v1:0", "phase": "Created", "attempted": true,
        "apiVersion": "batch/v1", "kind": "Job", "name": "hello-x", "uid": "1",
    });
    let runnable = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "namespace": "demo", "uid": "u" },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": { "currentRun": run, "conditions": conditions },
    });
    let list = |kind: &str, items: Value| json!({ "apiVersion": "v1", "kind": kind, "metadata": {}, "items": items });
    played::Played::serve(move |request| {
        let path = request.path.split('?').next().unwrap_or_default();
        match path.rsplit('/').next().unwrap_or_default() {
            "hello" => Some(runnable.clone()),
            "pods" => Some(list("PodList", json!([]))),
            "events" => {
                let wanted = "involvedObject.uid%3D1%2Ctype%3DWarning";
                let of_runnable = "involvedObject.uid%3Du%2Ctype%3DWarning";
                if request.path.contains(of_runnable) {
                    return Some(list("EventList", json!([])));
                }
                assert!(request.path.contains(wanted), "{}", request.path);
                Some(list("EventList", events.clone()?))
            }
            _ => None,
        }
    })
}

fn event(seen: &str, message: &str) -> Value {
    json!({
        "metadata": { "name": seen }, "involvedObject": { "uid": "1" }, "type": "Warning",
        "reason": "FailedCreate", "message": message, "lastTimestamp": format!("2026-01-01T00:00:{seen}Z"),
    })
}

#[test]
fn of_a_job_that_makes_no_pod_its_events_say_why() {
    let no_account = "serviceaccount \"nobody\" not found";
    let events = json!([event("02", no_account), event("01", "exceeded quota")]);
    let has_none =
        "Job hello-x has made no pod yet: `kubectl describe job hello-x -n demo` shows why";
    let played = without_pods(("NoPodYet", has_none), Some(events.clone()));
    let logs = played.cartouche(&["logs", "hello"]);
    let told = format!("error: there is no pod of Job hello-x yet: FailedCreate: {no_account} (");
    assert!(logs.err.starts_with(&told), "{}", logs.err);
    let why = played.cartouche(&["why", "hello"]).out;
    let told = format!("  its events say: FailedCreate: {no_account} (");
    assert!(why.contains(&told), "{why}");
    // The message may have the cause already.
    let caused = "Job hello-x has made no pod yet: no room";
    let played = without_pods(("NoPodYet", caused), Some(events));
    let why = played.cartouche(&["why", "hello"]).out;
    assert!(why.contains(&told), "{why}");
}

#[test]
fn what_the_namespace_allows_no_pod_of_a_job_to_be_is_told_in_its_words() {
    let has_none =
        "Job hello-x has made no pod yet: `kubectl describe job hello-x -n demo` shows why";
    for refusal in [
        "pods \"hello-x-abcde\" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0",
        "pods \"hello-x-abcde\" is forbidden: maximum cpu usage per Container is 100m, but limit is 500m",
        "pods \"hello-x-abcde\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true",
    ] {
        let events = json!([event("02", refusal)]);
        let played = without_pods(("NoPodYet", has_none), Some(events));
        let why = played.cartouche(&["why", "hello"]).out;
        let told = format!("  its events say: FailedCreate: {refusal} (");
        assert!(why.contains(&told), "{why}");
        let logs = played.cartouche(&["logs", "hello"]).err;
        assert!(
            logs.contains(&format!("FailedCreate: {refusal} (")),
            "{logs}"
        );
    }
}

#[test]
fn who_may_not_list_events_is_told_what_the_status_says() {
    let logs = without_pods(("RunInProgress", "Job suspended"), None).cartouche(&["logs", "hello"]);
    let told = "error: there is no pod of Job hello-x yet: Job suspended\n";
    assert!(logs.err.starts_with(told), "{}", logs.err);
}

#[test]
fn a_container_that_never_began_has_no_log_and_that_is_told() {
    let run = json!({
        "sequence": 1, "inputHash": "v1:0", "phase": "Created", "result": "Failed",
        "apiVersion": "batch/v1", "kind": "Job", "name": "hello-x", "uid": "1",
    });
    let runnable = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "namespace": "demo", "uid": "u" },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": { "currentRun": run, "conditions": [] },
    });
    let ended = json!({ "exitCode": 128, "reason": "StartError", "message": "exec: \"greeet\": not found" });
    let pod = json!({
        "metadata": {
            "name": "hello-x-a", "namespace": "demo", "labels": { "controller-uid": "1" },
            "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "name": "hello-x", "uid": "1", "controller": true }],
        },
        "spec": { "containers": [{ "name": "greet" }] },
        "status": { "phase": "Failed", "containerStatuses": [{
            "name": "greet", "image": "a", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "terminated": ended },
        }] },
    });
    let pods = json!({ "apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [pod] });
    let played = played::Played::serve(move |request| {
        let path = request.path.split('?').next().unwrap_or_default();
        match path.rsplit('/').next().unwrap_or_default() {
            "hello" => Some(runnable.clone()),
            "pods" => Some(pods.clone()),
            _ => None,
        }
    });
    let told =
        "container greet of pod hello-x-a never began (StartError): exec: \"greeet\": not found\n";
    for arguments in [&["logs", "hello"][..], &["logs", "hello", "--follow"]] {
        let logs = played.cartouche(arguments);
        assert_eq!(logs.err, told, "{arguments:?}");
        assert_eq!(logs.code, 1, "{arguments:?}: {}", logs.out);
    }
}
