//! Causes of stopped containers.

use super::*;

/// Returns a pod whose deletion was requested at that second, with half a minute of grace.
fn being_deleted(mut pod: Value, asked: u32) -> Value {
    pod["metadata"]["deletionTimestamp"] = format!("2026-01-01T00:00:{}Z", asked + 30).into();
    pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    pod
}

#[test]
fn a_container_that_is_started_again_and_stopped_with_its_pod_says_why_it_had_failed_before() {
    let stopped = |at: &str| {
        let states = json!({
            "state": { "terminated": ended(143, at, "") },
            "lastState": { "terminated": ended(3, "2026-01-01T00:00:16Z", "no such table") },
        });
        being_deleted(with_container("migrate", &states), 18)
    };
    for at in ["2026-01-01T00:00:18Z", "2026-01-01T00:00:20Z"] {
        let words = failure(&[stopped(at)]);
        let wanted = "container migrate of pod migrate-1-x exited 3: no such table";
        assert_eq!(words.as_deref(), Some(wanted));
    }
    // It failed by itself once more before its pod was deleted.
    let words = failure(&[stopped("2026-01-01T00:00:17Z")]).unwrap();
    assert!(
        words.ends_with("exited 143 (mostly stopped by SIGTERM)"),
        "{words}"
    );
}

#[test]
fn a_container_that_was_only_stopped_is_not_said_to_have_failed() {
    let state = json!({ "state": { "terminated": ended(2, "2026-01-01T00:00:20Z", "") } });
    let words = failure(&[being_deleted(with_container("migrate", &state), 18)]);
    let wanted = "container migrate of pod migrate-1-x was stopped (exit code 2)";
    assert_eq!(words.as_deref(), Some(wanted));
}

#[test]
fn a_sidecar_that_ends_in_the_same_second_is_not_the_reason() {
    let status = |name: &str, code: i64| json!({ "name": name, "state": { "terminated": ended(code, "2026-01-01T00:00:01Z", "") } });
    let both = pod(&json!({
        "phase": "Failed",
        "initContainerStatuses": [status("agent", 2)],
        "containerStatuses": [status("migrate", 3)],
    }));
    let words = failure(&[both]).unwrap();
    assert_eq!(words, "container migrate of pod migrate-1-x exited 3");
}

/// The statuses are those that a kubelet of 1.36 reported.
#[test]
fn a_sidecar_that_failed_before_the_run_did_is_not_the_reason() {
    let migrate = json!({ "name": "migrate", "state": { "terminated": ended(3, "2026-11-24T00:27:00Z", "no such table") } });
    let lost = json!({
        "exitCode": 137, "finishedAt": null, "startedAt": null, "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
    });
    let crashed = json!({
        "name": "agent", "restartCount": 1, "state": { "terminated": lost },
        "lastState": { "terminated": ended(1, "2026-11-24T00:26:57Z", "agent lost its lease") },
    });
    let restarted = json!({
        "name": "agent", "restartCount": 1, "state": { "running": {} },
        "lastState": { "terminated": ended(7, "2026-11-24T00:26:23Z", "the lock is held") },
    });
    for agent in [crashed, restarted] {
        let both = pod(&json!({
            "phase": "Failed", "initContainerStatuses": [agent], "containerStatuses": [migrate],
        }));
        let wanted = "container migrate of pod migrate-1-x exited 3: no such table";
        assert_eq!(failure(&[both]).as_deref(), Some(wanted));
    }
}

#[test]
fn a_sidecar_that_is_started_again_is_no_hindrance_once_the_others_run() {
    let agent = |state: Value| json!({ "name": "agent", "restartCount": 1, "state": state, "lastState": { "terminated": ended(1, "2026-11-24T00:26:57Z", "") } });
    let running = json!({ "name": "migrate", "state": { "running": {} } });
    let waiting =
        json!({ "name": "migrate", "state": { "waiting": { "reason": "PodInitializing" } } });
    let hindrance = |agent: &Value, migrate: &Value, spec: &Value| {
        let status = json!({ "phase": "Running", "initContainerStatuses": [agent], "containerStatuses": [migrate] });
        let mut it = pod(&status);
        it["spec"] = json!({ "nodeName": "n", "initContainers": [spec] });
        heard(&[it]).hindrance()
    };
    let sidecar = json!({ "name": "agent", "restartPolicy": "Always" });
    let backoff = agent(json!({ "waiting": { "reason": "CrashLoopBackOff" } }));
    for agent in [agent(json!({ "running": {} })), backoff] {
        assert_eq!(hindrance(&agent, &running, &sidecar), None);
        assert!(hindrance(&agent, &waiting, &sidecar).is_some());
        assert!(hindrance(&agent, &running, &json!({ "name": "agent" })).is_some());
    }
}

#[test]
fn a_container_that_the_kubelet_never_found_says_nothing() {
    let lost = json!({ "name": "migrate", "state": { "terminated": { "exitCode": 137, "reason": "ContainerStatusUnknown" } } });
    let never_began = pod(&json!({ "phase": "Failed", "containerStatuses": [lost] }));
    assert_eq!(failure(std::slice::from_ref(&never_began)), None);
    assert!(!heard(&[never_began]).is_of_none() && heard(&[]).is_of_none());
}

#[test]
fn what_the_cluster_did_to_a_pod_goes_before_how_its_containers_took_it() {
    let killed = json!([{ "name": "migrate", "state": { "terminated": ended(137, "2026-01-01T00:00:01Z", "") } }]);
    let evicted = pod(&json!({
        "phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory.",
        "containerStatuses": killed,
    }));
    let wanted = "pod migrate-1-x failed (Evicted): The node was low on resource: memory.";
    assert_eq!(failure(&[evicted]).as_deref(), Some(wanted));
    let drained = pod(&json!({
        "phase": "Failed", "containerStatuses": killed,
        "conditions": [{
            "type": "DisruptionTarget", "status": "True",
            "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
        }],
    }));
    let wanted = "pod migrate-1-x failed (EvictionByEvictionAPI): Eviction API: evicting";
    assert_eq!(failure(&[drained]).as_deref(), Some(wanted));
}
