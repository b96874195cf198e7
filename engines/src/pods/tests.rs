mod reasons;
mod stopped;

use serde_json::{Value, json};

use super::*;

fn pod(status: &Value) -> Value {
    json!({ "metadata": { "name": "migrate-1-x", "namespace": "pay" }, "status": status })
}

fn ended(code: i64, at: &str, message: &str) -> Value {
    json!({ "exitCode": code, "reason": "Error", "finishedAt": at, "message": message })
}

fn with_container(name: &str, container: &Value) -> Value {
    let mut container = container.clone();
    container["name"] = name.into();
    container["image"] = "registry/app:1".into();
    pod(&json!({ "phase": "Pending", "containerStatuses": [container] }))
}

fn failure(pods: &[Value]) -> Option<Said> {
    heard(pods).failure()
}

fn heard(pods: &[Value]) -> PodsWords {
    let mut words = PodsWords::default();
    for pod in pods {
        words.hear(pod);
    }
    words
}

#[test]
fn a_failed_container_is_named_with_its_exit_code_and_its_last_words() {
    let state = json!({ "state": { "terminated": ended(3, "2026-01-01T00:00:00Z", "relation \"orders\" already exists\n") } });
    let words = failure(&[with_container("migrate", &state)]);
    let wanted =
        "container migrate of pod migrate-1-x exited 3: relation \"orders\" already exists";
    assert_eq!(words.as_deref(), Some(wanted));
}

#[test]
fn the_container_that_failed_last_is_named() {
    let at = |name: &str, place: &str, at: &str| {
        with_container(
            name,
            &json!({ place: { "terminated": ended(1, at, name) } }),
        )
    };
    let pods = [
        at("first", "state", "2026-01-01T00:00:01Z"),
        at("last", "lastState", "2026-01-01T00:00:03Z"),
        at("second", "state", "2026-01-01T00:00:02Z"),
    ];
    assert!(failure(&pods).unwrap().starts_with("container last of"));
}

#[test]
fn of_one_pod_the_container_is_named_that_failed_before_the_others_were_stopped() {
    let status = |name: &str, code: i64, at: &str| json!({ "name": name, "state": { "terminated": ended(code, at, "") } });
    let both = pod(&json!({ "phase": "Failed", "containerStatuses": [
        status("proxy", 143, "2026-01-01T00:00:02Z"), status("main", 1, "2026-01-01T00:00:01Z"),
    ] }));
    assert_eq!(
        failure(&[both]).as_deref(),
        Some("container main of pod migrate-1-x exited 1")
    );
}

#[test]
fn a_container_that_failed_before_it_ended_well_is_no_reason() {
    let states = json!({
        "state": { "terminated": ended(0, "2026-01-01T00:00:02Z", "") },
        "lastState": { "terminated": ended(1, "2026-01-01T00:00:01Z", "") },
    });
    assert_eq!(failure(&[with_container("setup", &states)]), None);
}

#[test]
fn a_container_that_succeeded_is_no_reason() {
    let state = json!({ "state": { "terminated": ended(0, "2026-01-01T00:00:00Z", "done") } });
    assert_eq!(failure(&[with_container("migrate", &state)]), None);
}

#[test]
fn a_reason_of_its_own_is_told_beside_the_exit_code() {
    let state = json!({ "state": { "terminated": { "exitCode": 137, "reason": "OOMKilled" } } });
    let words = failure(&[with_container("migrate", &state)]);
    assert_eq!(
        words.as_deref(),
        Some("container migrate of pod migrate-1-x exited 137 (OOMKilled)")
    );
}

#[test]
fn a_pod_that_was_evicted_is_told_without_a_container() {
    let evicted = pod(
        &json!({ "phase": "Failed", "reason": "Evicted", "message": "the node was low on memory" }),
    );
    assert_eq!(
        failure(&[evicted]).as_deref(),
        Some("pod migrate-1-x failed (Evicted): the node was low on memory")
    );
}

#[test]
fn what_keeps_a_pod_from_its_start_is_told_and_what_passes_by_itself_is_not() {
    let waiting = |reason: &str| {
        with_container(
            "migrate",
            &json!({ "state": { "waiting": { "reason": reason, "message": "in detail" } } }),
        )
    };
    let cases = [
        (
            "ErrImagePull",
            Some(
                "container migrate of pod migrate-1-x cannot be started: image \"registry/app:1\" cannot be pulled",
            ),
        ),
        (
            "ImagePullBackOff",
            Some(
                "container migrate of pod migrate-1-x cannot be started: image \"registry/app:1\" cannot be pulled",
            ),
        ),
        (
            "CreateContainerConfigError",
            Some(
                "container migrate of pod migrate-1-x cannot be started (CreateContainerConfigError): in detail",
            ),
        ),
        ("PodInitializing", None),
    ];
    for (reason, wanted) in cases {
        assert_eq!(
            heard(&[waiting(reason)]).hindrance().as_deref(),
            wanted,
            "{reason}"
        );
    }
    let unscheduled = pod(&json!({ "phase": "Pending", "conditions": [
        { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available" },
    ] }));
    let wanted = "pod migrate-1-x cannot be scheduled: 0/3 nodes are available";
    assert_eq!(heard(&[unscheduled]).hindrance().as_deref(), Some(wanted));
}

#[test]
fn a_container_that_crashes_again_and_again_is_told_by_how_it_ended() {
    let crashes = json!({
        "state": { "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 5m0s" } },
        "lastState": { "terminated": ended(3, "2026-01-01T00:00:00Z", "no") },
    });
    let words = heard(&[with_container("migrate", &crashes)]).hindrance();
    assert_eq!(
        words.as_deref(),
        Some("container migrate of pod migrate-1-x exited 3: no")
    );
}

#[test]
fn a_sidecar_that_was_stopped_with_a_pod_that_succeeded_is_no_cause() {
    let crashed = json!({ "state": { "terminated": ended(3, "2026-01-01T00:00:00Z", "no") } });
    let bad = with_container("migrate", &crashed);
    let stopped = json!({ "state": { "terminated": ended(143, "2026-01-01T00:00:05Z", "") } });
    let mut good = with_container("agent", &stopped);
    good["status"]["phase"] = "Succeeded".into();
    for pods in [[bad.clone(), good.clone()], [good, bad]] {
        let said = failure(&pods).unwrap();
        assert_eq!(said, "container migrate of pod migrate-1-x exited 3: no");
    }
}

#[test]
fn of_a_container_that_the_kubelet_lost_twice_nothing_is_told() {
    let lost =
        json!({ "exitCode": 137, "reason": "ContainerStatusUnknown", "message": "not located" });
    let both = json!({ "name": "helper", "state": { "terminated": lost }, "lastState": { "terminated": lost } });
    let crashed = json!({
        "name": "main", "state": { "terminated": ended(3, "2026-01-01T00:00:00Z", "no such table") },
    });
    let pod = pod(&json!({ "phase": "Failed", "containerStatuses": [both, crashed] }));
    let said = failure(&[pod]).unwrap();
    assert_eq!(
        said,
        "container main of pod migrate-1-x exited 3: no such table"
    );
}

#[test]
fn whatever_a_stranger_puts_into_a_pod_stays_short_and_on_one_line() {
    let long = "é\n\u{1b}[31m".repeat(100_000);
    let state = json!({ "state": { "terminated": { "exitCode": 3, "reason": long, "message": long, "finishedAt": long } } });
    let mut hostile = with_container(&long, &state);
    hostile["metadata"]["name"] = long.as_str().into();
    hostile["spec"] =
        json!({ "containers": [{ "env": [{ "name": "A", "value": "in the spec" }] }] });
    let words = failure(&[hostile]).unwrap();
    assert!(words.len() < 1_200, "{}", words.len());
    assert!(!words.contains(char::is_control), "{words:?}");
    for odd in [
        json!(null),
        json!([]),
        json!({ "status": [] }),
        json!({ "status": { "containerStatuses": [1, null] } }),
    ] {
        assert_eq!(failure(&[odd]), None);
    }
}

#[test]
fn the_end_of_what_a_container_said_is_told_without_what_looks_like_a_password() {
    let said = format!("password={} {}", "x".repeat(600), "the reason");
    let state = json!({ "state": { "terminated": ended(3, "", &said) } });
    let words = failure(&[with_container("migrate", &state)]).unwrap();
    assert!(words.ends_with("password=*** the reason"), "{words}");
}

#[test]
fn of_pods_that_may_know_a_secret_no_message_is_told() {
    let state = json!({ "state": { "terminated": ended(3, "", "s3cret") } });
    let mut words = PodsWords::without_messages();
    words.hear(&with_container("migrate", &state));
    let told = words.failure();
    assert_eq!(
        told.as_deref(),
        Some("container migrate of pod migrate-1-x exited 3")
    );
}

#[test]
fn of_pods_that_may_know_a_secret_no_image_is_told() {
    let state = json!({ "state": { "waiting": { "reason": "ErrImagePull" } } });
    let mut words = PodsWords::without_messages();
    words.hear(&with_container("migrate", &state));
    let told = words.hindrance();
    assert_eq!(
        told.as_deref(),
        Some("container migrate of pod migrate-1-x cannot be started: its image cannot be pulled")
    );
}

#[test]
fn only_a_job_has_pods_that_are_asked() {
    let job = |api_version: &str, kind: &str, status: Value| {
        let run = json!({ "apiVersion": api_version, "kind": kind, "status": status });
        PodsTell::choose(&run, &crate::built_in_health(&run))
    };
    let failed = json!({ "conditions": [{ "type": "Failed", "status": "True" }] });
    let failing =
        json!({ "active": 1, "conditions": [{ "type": "FailureTarget", "status": "True" }] });
    assert_eq!(job("batch/v1", "Job", failed), PodsTell::WhyItFailed);
    assert_eq!(job("batch/v1", "Job", failing), PodsTell::WhyItFailed);
    assert_eq!(
        job("batch/v1", "Job", json!({ "active": 1, "ready": 0 })),
        PodsTell::WhyItWaits
    );
    assert_eq!(
        job("batch/v1", "Job", json!({ "active": 1, "ready": 1 })),
        PodsTell::Nothing
    );
    assert_eq!(
        job("batch.example.com/v1", "Job", json!({})),
        PodsTell::Nothing
    );
    let complete = json!({ "active": 1, "conditions": [{ "type": "Complete", "status": "True" }] });
    assert_eq!(job("batch/v1", "Job", complete), PodsTell::Nothing);
    assert_eq!(
        job("batch.example.com/v1", "Job", json!({ "active": 1 })),
        PodsTell::Nothing
    );
}

fn pod_that_is_a_run(status: &Value) -> crate::Health {
    let mut run = pod(status);
    (run["apiVersion"], run["kind"]) = ("v1".into(), "Pod".into());
    crate::built_in_health(&run)
}

#[test]
fn a_pod_says_the_same_of_itself_without_the_words_of_its_containers() {
    let state = json!({ "terminated": ended(3, "", "boom") });
    let status =
        json!({ "phase": "Failed", "containerStatuses": [{ "name": "c", "state": state }] });
    let health = pod_that_is_a_run(&status);
    let discreet = "container c of pod migrate-1-x exited 3";
    assert_eq!(health.message, format!("{discreet}: boom"));
    let silenced = health.silence();
    assert_eq!(silenced.message, discreet);
    assert_eq!(silenced.clone().silence(), silenced);
}

#[test]
fn what_the_cluster_says_of_a_pod_is_nothing_that_a_container_said() {
    let condition = json!({ "type": "Succeeded", "status": "False", "message": "m" });
    for status in [
        json!({ "conditions": [condition] }),
        json!({ "phase": "Failed", "message": "m" }),
    ] {
        let health = pod_that_is_a_run(&status);
        assert_eq!(health.message, "m");
        assert_eq!(health.clone().silence(), health);
    }
}

#[test]
fn a_pod_that_has_no_containers_yet_says_where_the_reason_stands_unless_another_says_more() {
    let creating = json!({ "state": { "waiting": { "reason": "ContainerCreating" } } });
    let creating = with_container("migrate", &creating);
    let said = heard(std::slice::from_ref(&creating)).hindrance().unwrap();
    assert!(
        said.contains("`kubectl describe pod migrate-1-x -n pay` shows"),
        "{said}"
    );
    assert_eq!(failure(std::slice::from_ref(&creating)), None);
    let invalid = json!({ "state": { "waiting": { "reason": "InvalidImageName" } } });
    let said = heard(&[creating, with_container("other", &invalid)]).hindrance();
    assert!(said.unwrap().contains("(InvalidImageName)"));
}

#[test]
fn a_pod_that_no_scheduler_looks_at_is_told_and_one_that_has_a_node_is_not() {
    let mut waits = pod(&json!({ "phase": "Pending" }));
    let said = heard(std::slice::from_ref(&waits)).hindrance().unwrap();
    assert!(
        said.contains("no scheduler has handled pod migrate-1-x"),
        "{said}"
    );
    waits["spec"] = json!({ "nodeName": "a" });
    assert_eq!(heard(&[waits]).hindrance(), None);
    let seen =
        json!({ "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "True" }] });
    assert_eq!(heard(&[pod(&seen)]).hindrance(), None);
}

fn tell(spec: &Value, status: &Value) -> PodsTell {
    let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "spec": spec, "status": status });
    PodsTell::choose(&job, &crate::built_in_health(&job))
}

#[test]
fn of_pods_that_need_not_have_the_label_it_is_not_said_that_they_are_gone() {
    let failed = |spec: Value| had_failed_pods(&json!({ "spec": spec, "status": { "failed": 1 } }));
    assert!(failed(json!({})) && failed(json!({ "manualSelector": false })));
    assert!(!failed(json!({ "manualSelector": true })));
}

#[test]
fn a_job_that_has_made_no_pod_is_told_apart_from_one_whose_pods_are_gone() {
    let made_none = [
        json!({}),
        json!({ "ready": 0, "terminating": 0, "uncountedTerminatedPods": {} }),
    ];
    for status in made_none {
        assert_eq!(
            tell(&json!({}), &status),
            PodsTell::WhyNoneIsMade,
            "{status}"
        );
    }
    let made_some = [
        json!({ "succeeded": 2 }),
        json!({ "terminating": 1 }),
        json!({ "uncountedTerminatedPods": { "failed": ["u"] } }),
    ];
    for status in made_some {
        assert_eq!(tell(&json!({}), &status), PodsTell::Nothing, "{status}");
    }
}

#[test]
fn of_a_job_that_is_to_make_no_pod_here_nothing_is_missed() {
    for spec in [
        json!({ "suspend": true }),
        json!({ "parallelism": 0 }),
        json!({ "managedBy": "example.dev/other" }),
    ] {
        assert_eq!(tell(&spec, &json!({})), PodsTell::Nothing, "{spec}");
    }
    let own = json!({ "managedBy": "kubernetes.io/job-controller", "suspend": false });
    assert_eq!(tell(&own, &json!({})), PodsTell::WhyNoneIsMade);
}

#[test]
fn of_a_job_without_pods_it_is_said_what_shows_why() {
    let told = |pods: &[Value], tell| heard(pods).hindrance_of_job(tell, "pay", "migrate-1");
    assert_eq!(
        told(&[], PodsTell::WhyNoneIsMade).as_deref(),
        Some(
            "Job migrate-1 has made no pod yet: `kubectl describe job migrate-1 -n pay` shows why"
        )
    );
    assert_eq!(told(&[], PodsTell::WhyItWaits), None);
    let silent = pod(&json!({ "phase": "Running" }));
    assert_eq!(told(&[silent], PodsTell::WhyNoneIsMade), None);
}
