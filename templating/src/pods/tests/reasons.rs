//! What is said of pods in one word, and of what keeps them alive.

use super::*;

fn reason_of(pod: Value) -> Option<&'static str> {
    let said = heard(&[pod]).hindrance()?;
    Some(said.reason?.as_str())
}

#[test]
fn what_keeps_a_pod_from_running_has_a_word() {
    let waiting = |reason: &str| {
        let state = json!({ "state": { "waiting": { "reason": reason } } });
        reason_of(with_container("migrate", &state))
    };
    for (word, wanted) in [
        ("ErrImagePull", Some("ImagePullBackOff")),
        ("ImagePullBackOff", Some("ImagePullBackOff")),
        (
            "CreateContainerConfigError",
            Some("CreateContainerConfigError"),
        ),
        ("ContainerCreating", Some("ContainerCreating")),
        ("Hacked", None),
        ("Cancelled", None),
    ] {
        assert_eq!(waiting(word), wanted, "{word}");
    }
    let scheduled = json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" });
    let unscheduled = pod(&json!({ "phase": "Pending", "conditions": [scheduled] }));
    assert_eq!(reason_of(unscheduled), Some("Unschedulable"));
    assert_eq!(
        reason_of(pod(&json!({ "phase": "Pending" }))),
        Some("NoScheduler")
    );
    let none = heard(&[]).hindrance_of_job(PodsTell::WhyNoneIsMade, "pay", "j");
    assert_eq!(none.unwrap().reason, Some(RunReason::NoPodYet));
}

#[test]
fn how_a_pod_failed_has_a_word_if_it_is_a_known_one() {
    let ended = |reason: &str| {
        let state = json!({ "state": { "terminated": { "exitCode": 1, "reason": reason } } });
        let said = heard(&[with_container("migrate", &state)])
            .failure()
            .unwrap();
        said.reason.map(RunReason::as_str)
    };
    assert_eq!(ended("OOMKilled"), Some("OOMKilled"));
    assert_eq!(ended("StartError"), Some("StartError"));
    assert_eq!(ended("Error"), None);
    assert_eq!(ended("TimedOut"), None);
    let evicted = pod(&json!({ "phase": "Failed", "reason": "Evicted" }));
    assert_eq!(
        heard(&[evicted]).failure().unwrap().reason,
        Some(RunReason::Evicted)
    );
    let health = pod_that_is_a_run(&json!({ "phase": "Failed", "reason": "Evicted" }));
    assert_eq!(health.pods, Some(RunReason::Evicted));
}

/// A pod whose container `main` has ended with this code, and beside which these run.
fn beside(code: u64, running: &[&str]) -> Value {
    let ended = json!({ "name": "main", "state": { "terminated": { "exitCode": code } } });
    let running = running.iter();
    let running = running.map(|name| json!({ "name": name, "state": { "running": {} } }));
    let all: Vec<Value> = [ended].into_iter().chain(running).collect();
    pod(&json!({ "phase": "Running", "containerStatuses": all }))
}

#[test]
fn a_container_that_runs_on_though_another_has_done_its_work_is_named() {
    let said = heard(&[beside(0, &["istio-proxy"])]).hindrance().unwrap();
    assert_eq!(
        said,
        "container main of pod migrate-1-x has ended with code 0, istio-proxy still runs; the run ends when all of them have"
    );
    assert_eq!(said.reason, Some(RunReason::SidecarRuns));
    assert!(remedy_at_work(&said).unwrap().contains("native sidecar"));
    // It may have work of its own.
    let said = heard(&[beside(0, &["upload"])]).hindrance().unwrap();
    assert!(
        said.contains("upload still runs") && said.reason.is_none(),
        "{said}"
    );
}

#[test]
fn a_pod_whose_containers_all_run_or_that_is_about_to_end_is_not_said_to_linger() {
    assert_eq!(heard(&[beside(0, &[])]).hindrance(), None);
    let failed = heard(&[beside(3, &["istio-proxy"])]).hindrance().unwrap();
    assert!(failed.contains("exited 3"), "{failed}");
    let mut deleted = beside(0, &["istio-proxy"]);
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(heard(&[deleted]).hindrance(), None);
}

#[test]
fn of_a_pod_that_is_a_run_only_a_known_sidecar_is_told() {
    let status = |name: &str| beside(0, &[name])["status"].clone();
    let health = pod_that_is_a_run(&status("istio-proxy"));
    assert!(
        health.message.contains("istio-proxy still runs"),
        "{}",
        health.message
    );
    assert_eq!(health.pods, Some(RunReason::SidecarRuns));
    assert_eq!(pod_that_is_a_run(&status("upload")).message, "");
}
