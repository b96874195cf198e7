//! Reasons of pods in one word, and causes that keep them alive.

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

/// Returns a pod whose container `main` has ended with this code, while these others run.
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
fn what_another_container_does_after_the_first_one_is_not_judged() {
    let mut it = beside(0, &["worker"]);
    it["spec"] = json!({ "containers": [{ "name": "main" }, { "name": "worker" }] });
    assert_eq!(reason_of(it), None);
}

#[test]
fn a_memory_limit_in_thousandths_of_bytes_is_the_first_cause() {
    let creating = json!({ "state": { "waiting": { "reason": "ContainerCreating" } } });
    let mut it = with_container("main", &creating);
    it["spec"] = json!({ "nodeName": "n", "containers": [
        { "name": "main", "resources": { "limits": { "memory": "512m" } } },
    ] });
    let said = heard(&[it.clone()]).hindrance().unwrap();
    assert_eq!(
        said,
        "container main of pod migrate-1-x cannot begin with a memory limit of 512m: m is a thousandth of a byte"
    );
    assert!(remedy_at_work(&said).unwrap().contains("512Mi"));
    assert!(is_of_memory_limit(&said));
    assert!(!is_of_memory_limit(
        "container a of pod b exited 1: x cannot begin with a memory limit of 1m"
    ));
    // A definite reason goes first, and an init container that has ended changes nothing.
    let mut pulled = it.clone();
    pulled["status"]["containerStatuses"][0]["state"] =
        json!({ "waiting": { "reason": "ErrImagePull" } });
    let said = heard(&[pulled]).hindrance().unwrap();
    assert_eq!(said.reason, Some(RunReason::ImagePullBackOff), "{said}");
    let mut prepared = it.clone();
    prepared["status"]["initContainerStatuses"] =
        json!([{ "name": "init", "state": { "terminated": { "exitCode": 0 } } }]);
    assert!(is_of_memory_limit(&heard(&[prepared]).hindrance().unwrap()));
    // What began with it has another cause.
    it["status"]["containerStatuses"][0]["state"] = json!({ "running": {} });
    assert_eq!(heard(&[it]).hindrance(), None);
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

#[test]
fn pods_that_have_failed_are_counted_and_the_last_is_quoted() {
    let failed = |at: &str, message: &str| {
        let ended = json!({ "name": "main", "state": { "terminated": ended(42, at, message) } });
        pod(&json!({ "phase": "Failed", "containerStatuses": [ended] }))
    };
    let pods = [
        failed("2026-01-01T00:00:02Z", "second"),
        failed("2026-01-01T00:00:01Z", "first"),
    ];
    let tell = PodsTell::WhyPodsFail { limit: Some(6) };
    let said = heard(&pods).hindrance_of_job(tell, "pay", "j").unwrap();
    assert_eq!(
        said.words,
        "2 pods have failed, and the run continues until more than 6 have; the last: container main of pod migrate-1-x exited 42: second"
    );
    assert_eq!(said.reason, Some(RunReason::PodFailed));
    assert!(remedy_at_work(&said).is_some());
    assert_eq!(
        said.of_last(),
        "container main of pod migrate-1-x exited 42: second"
    );
    let other = Said::from("container a of pod b exited 1: 2; the last: x");
    assert_eq!(other.clone().of_last(), other);
}

#[test]
fn a_job_of_which_pods_have_failed_says_why_unless_it_fails() {
    let job = |status: Value| json!({ "apiVersion": "batch/v1", "kind": "Job", "spec": { "backoffLimit": 6 }, "status": status });
    let tell = |status| {
        let job = job(status);
        PodsTell::choose(&job, &crate::built_in_health(&job))
    };
    assert_eq!(
        tell(json!({ "failed": 1, "active": 1, "ready": 1 })),
        PodsTell::WhyPodsFail { limit: Some(6) }
    );
    assert_eq!(tell(json!({ "active": 1, "ready": 1 })), PodsTell::Nothing);
    let ends = json!([{ "type": "FailureTarget", "status": "True" }]);
    assert_eq!(
        tell(json!({ "failed": 7, "conditions": ends })),
        PodsTell::WhyItFailed
    );
}

#[test]
fn a_container_that_is_started_again_and_again_has_a_word_while_the_run_goes_on() {
    let crashed = json!({
        "restartCount": 2, "state": { "waiting": { "reason": "CrashLoopBackOff" } },
        "lastState": { "terminated": ended(3, "2026-01-01T00:00:00Z", "no") },
    });
    let mut crashing = with_container("main", &crashed);
    assert_eq!(reason_of(crashing.clone()), Some("CrashLoopBackOff"));
    assert_eq!(failure(&[crashing.clone()]).unwrap().reason, None);
    crashing["spec"] = json!({ "restartPolicy": "Always" });
    let said = of_pod(&crashing, Verdict::Unknown, PodsWords::default()).unwrap();
    assert!(
        said.ends_with("exited 3: no; restartPolicy: Always starts it again without end"),
        "{said}"
    );
}

#[test]
fn a_container_that_has_done_its_work_and_is_started_again_never_ends() {
    let done = json!({ "restartCount": 0, "state": { "terminated": ended(0, "2026-01-01T00:00:00Z", "") } });
    let mut done = with_container("main", &done);
    done["status"]["phase"] = "Running".into();
    assert_eq!(reason_of(done.clone()), None);
    done["spec"] = json!({ "restartPolicy": "Always" });
    let said = heard(&[done]).hindrance().unwrap();
    assert_eq!(said.reason, Some(RunReason::RestartPolicyAlways));
    let cure = remedy_at_work(&said).unwrap();
    assert!(cure.starts_with("set restartPolicy: Never"), "{cure}");
}

#[test]
fn an_init_container_that_runs_on_is_named_unless_others_run_beside_it() {
    let running = json!({ "name": "wait", "state": { "running": {} } });
    let mut it = pod(&json!({ "phase": "Pending", "initContainerStatuses": [running] }));
    it["spec"] = json!({ "nodeName": "n", "initContainers": [{ "name": "wait" }] });
    let said = heard(&[it.clone()]).hindrance().unwrap();
    assert_eq!(said.reason, Some(RunReason::InitContainerRuns));
    assert!(remedy_at_work(&said).is_some());
    it["spec"]["initContainers"][0]["restartPolicy"] = "Always".into();
    assert_eq!(heard(&[it]).hindrance(), None);
}

#[test]
fn what_the_volumes_of_a_pod_without_containers_are_of_is_named() {
    let state = json!({ "state": { "waiting": { "reason": "ContainerCreating" } } });
    let mut it = with_container("main", &state);
    it["spec"] = json!({ "volumes": [
        { "name": "a", "secret": { "secretName": "tls", "items": [{ "key": "a" }, { "key": "b" }, { "key": "c" }, { "key": "d" }, { "key": "e" }] } },
        { "name": "b", "configMap": { "name": "maybe", "optional": true } },
        { "name": "c", "hostPath": { "path": "/nope" } },
        { "name": "d", "projected": { "sources": [{ "configMap": { "name": "kube-root-ca.crt" } }] } },
        { "name": "e", "emptyDir": {} },
    ] });
    let said = heard(&[it.clone()]).hindrance().unwrap();
    assert!(
        said.contains(
            "(ContainerCreating); its volumes are of Secret tls with a and b and c and d and more, hostPath /nope: `"
        ),
        "{said}"
    );
    assert!(remedy_at_work(&said).unwrap().contains("hostPath"));
    let mut discreet = PodsWords::without_messages();
    discreet.hear(&it);
    assert!(!discreet.hindrance().unwrap().contains("tls"));
}

#[test]
fn a_container_that_was_killed_may_have_failed_its_probe() {
    let killed = |code: i64| {
        let state = json!({ "state": { "terminated": ended(code, "2026-01-01T00:00:00Z", "") } });
        let mut it = with_container("main", &state);
        it["spec"] = json!({ "containers": [{ "name": "main", "livenessProbe": {} }] });
        failure(&[it]).unwrap()
    };
    let said = killed(137);
    assert!(
        said.ends_with("exited 137 (killed, maybe by its livenessProbe)"),
        "{said}"
    );
    assert!(remedy(&said).unwrap().contains("probe"));
    assert!(killed(1).ends_with("exited 1"));
}
