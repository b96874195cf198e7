use serde_json::json;

use super::*;

fn runnable(observed: i64, conditions: &serde_json::Value, more: &serde_json::Value) -> Runnable {
    let mut status = json!({ "observedGeneration": observed, "conditions": conditions });
    for (key, value) in more.as_object().unwrap() {
        status[key] = value.clone();
    }
    serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "generation": 2 },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": status,
    }))
    .unwrap()
}

fn condition(name: &str, status: &str, reason: &str) -> serde_json::Value {
    json!({ "type": name, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" })
}

#[test]
fn a_status_of_an_older_generation_says_nothing() {
    let runnable = runnable(1, &json!([condition("Ready", "True", "Ready")]), &json!({}));
    assert!(matches!(
        standing(&runnable, &WaitCondition::Ready),
        WaitState::Waiting(_)
    ));
}

#[test]
fn a_run_that_waits_is_waited_for_unless_only_a_change_can_help() {
    let pending = json!({ "pending": {
        "sequence": 3, "inputHash": "v1:b", "reason": "RunAtWork", "since": "2026-01-01T00:00:00Z",
    } });
    let ready = condition("Ready", "Unknown", "StopFailed");
    let waits = runnable(2, &json!([ready]), &pending);
    assert_eq!(
        standing(&waits, &WaitCondition::Ready),
        WaitState::Waiting("run 3 is pending (StopFailed)".to_owned())
    );
    let mut person = pending.clone();
    person["pending"]["reason"] = json!("ApprovalRequired");
    let ready_then = condition("Ready", "Unknown", "ApprovalRequired");
    let person = runnable(2, &json!([ready_then]), &person);
    let why = "run 3 needs approval (`cartouche approve`)";
    assert_eq!(
        standing(&person, &WaitCondition::Finished),
        WaitState::Waiting(why.to_owned())
    );
    // A run held back by a failed source has not finished, even if others ran before.
    let mut failed = pending.clone();
    failed["pending"]["reason"] = json!("DependencyFailed");
    failed["currentRun"] = json!({
        "sequence": 2, "inputHash": "v1:a", "phase": "Created", "result": "Succeeded", "apiVersion": "v1",
        "kind": "Pod", "name": "hello-2",
    });
    let of_source = ["Ready", "Stalled"].map(|name| {
        let status = if name == "Ready" { "False" } else { "True" };
        condition(name, status, "DependencyFailed")
    });
    let failed = runnable(2, &json!(of_source), &failed);
    for wanted in [WaitCondition::Finished, WaitCondition::Ready] {
        assert_eq!(
            standing(&failed, &wanted),
            WaitState::InVain("DependencyFailed: ".to_owned())
        );
    }
    let stalled = condition("Stalled", "True", "InvalidRunnable");
    let stalled = runnable(2, &json!([ready, stalled]), &pending);
    let standing = standing(&stalled, &WaitCondition::Ready);
    assert!(matches!(standing, WaitState::InVain(_)), "{standing:?}");
}

#[test]
fn an_input_that_is_not_there_yet_is_waited_for_whatever_has_run_before() {
    let before = json!({
        "currentRun": {
            "sequence": 1, "inputHash": "v1:a", "phase": "Created", "result": "Succeeded",
            "apiVersion": "v1", "kind": "ConfigMap", "name": "hello-a",
        },
        "outputs": { "a": 1 },
    });
    let mut missing = condition("Ready", "Unknown", "DependencyNotReady");
    missing["message"] = json!("input size comes from ConfigMap sizes, which is not there");
    let waits = runnable(2, &json!([missing]), &before);
    for wanted in [
        WaitCondition::Ready,
        WaitCondition::Finished,
        WaitCondition::Output("a".into()),
    ] {
        let WaitState::Waiting(why) = standing(&waits, &wanted) else {
            panic!("{wanted:?} has ended");
        };
        assert!(why.starts_with("DependencyNotReady: input size"), "{why}");
    }
}

#[test]
fn a_source_that_only_a_change_can_mend_is_waited_for_in_vain() {
    let conditions = json!([
        condition("Ready", "False", "SourceError"),
        condition("Stalled", "True", "SourceError")
    ]);
    let wrong = runnable(2, &conditions, &json!({}));
    let standing = standing(&wrong, &WaitCondition::Ready);
    assert!(matches!(standing, WaitState::InVain(_)), "{standing:?}");
}

#[test]
fn what_a_run_waits_for_is_told_when_the_time_is_over() {
    let mut ready = condition("Ready", "Unknown", "RunInProgress");
    ready["message"] = json!("pod x cannot\nbe scheduled; in full: y");
    let waits = runnable(2, &json!([ready]), &json!({}));
    let told = "pod x cannot be scheduled";
    for (wanted, what) in [
        (WaitCondition::Ready, "Ready is Unknown (RunInProgress)"),
        (WaitCondition::Finished, "RunInProgress"),
        (
            WaitCondition::Output("a".into()),
            "no output a yet (RunInProgress)",
        ),
    ] {
        let waiting = WaitState::Waiting(format!("{what}: {told}"));
        assert_eq!(standing(&waits, &wanted), waiting);
    }
}

#[test]
fn ready_ends_the_wait() {
    let runnable = runnable(2, &json!([condition("Ready", "True", "Ready")]), &json!({}));
    assert_eq!(
        standing(&runnable, &WaitCondition::Ready),
        WaitState::Done("ready\n".to_owned())
    );
}

#[test]
fn what_only_a_change_can_help_is_not_waited_for() {
    let conditions = json!([
        condition("Ready", "False", "JobCondition"),
        condition("Stalled", "True", "JobCondition")
    ]);
    let runnable = runnable(2, &conditions, &json!({}));
    assert!(matches!(
        standing(&runnable, &WaitCondition::Ready),
        WaitState::InVain(_)
    ));
    assert!(matches!(
        standing(&runnable, &WaitCondition::Output("x".into())),
        WaitState::InVain(_)
    ));
}

#[test]
fn a_run_that_is_held_back_is_not_waited_for() {
    let runnable = runnable(
        2,
        &json!([condition("Ready", "Unknown", "Suspended")]),
        &json!({}),
    );
    assert!(matches!(
        standing(&runnable, &WaitCondition::Ready),
        WaitState::InVain(_)
    ));
}

#[test]
fn a_failure_with_an_attempt_ahead_is_no_end() {
    let conditions = json!([
        condition("Ready", "False", "JobCondition"),
        condition("StampedObjectCondition", "False", "JobCondition"),
        condition("Reconciling", "True", "RetryScheduled"),
    ]);
    let mut runnable = runnable(
        2,
        &conditions,
        &json!({ "currentRun": {
            "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
            "phase": "Created", "result": "Failed", "retryAt": "2026-01-01T00:00:10Z",
        } }),
    );
    let ends = || {
        [
            WaitCondition::Ready,
            WaitCondition::Finished,
            WaitCondition::Output("x".into()),
        ]
    };
    for wanted in ends() {
        let standing = standing(&runnable, &wanted);
        assert!(
            matches!(standing, WaitState::Waiting(_)),
            "{wanted:?} {standing:?}"
        );
    }
    runnable.spec.suspend = Some(true);
    for wanted in ends() {
        let standing = standing(&runnable, &wanted);
        assert!(
            !matches!(standing, WaitState::Waiting(_)),
            "{wanted:?} {standing:?}"
        );
    }
    // Once its time has come, neither Reconciling nor Stalled is there.
    let scheduled = runnable.status.as_mut().unwrap().conditions.pop().unwrap();
    let held = standing(&runnable, &WaitCondition::Ready);
    assert!(matches!(held, WaitState::InVain(_)), "{held:?}");
    runnable.status.as_mut().unwrap().conditions.push(scheduled);
    runnable.spec.suspend = None;
    let status = runnable.status.as_mut().unwrap();
    status.conditions[2].type_ = "Stalled".to_owned();
    assert_eq!(
        standing(&runnable, &WaitCondition::Finished),
        WaitState::Done("Failed\n".to_owned())
    );
}

#[test]
fn an_output_is_printed_as_it_is() {
    let runnable = runnable(
        2,
        &json!([]),
        &json!({ "outputs": { "digest": "sha256:1" } }),
    );
    let wanted = WaitCondition::Output("digest".into());
    assert_eq!(
        standing(&runnable, &wanted),
        WaitState::Done("sha256:1\n".to_owned())
    );
}

#[test]
fn a_sensitive_output_is_there_once_the_status_has_its_place() {
    let place = json!({ "name": "user", "key": "PASSWORD", "revision": "3f" });
    let status = json!({ "sensitiveOutputs": { "password": place } });
    let has = runnable(2, &json!([condition("Ready", "True", "Ready")]), &status);
    let wanted = WaitCondition::Output("password".to_owned());
    let told = "the output password is sensitive: it is in the key PASSWORD of Secret user";
    assert_eq!(
        standing(&has, &wanted),
        WaitState::Elsewhere(told.to_owned())
    );
}

#[test]
fn durations_have_a_unit() {
    assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
    assert_eq!(duration("10m"), Ok(Duration::from_mins(10)));
    assert!(duration("soon").is_err());
    assert!(duration("99999999999999999999h").is_err());
}

#[test]
fn what_a_run_that_is_due_waits_for_is_told_with_its_reason() {
    let pending = json!({ "pending": {
        "sequence": 1, "inputHash": "", "reason": "DependencyNotReady", "since": "2026-01-01T00:00:00Z",
    } });
    let mut ready = condition("Ready", "Unknown", "DependencyNotReady");
    ready["message"] = json!("input a comes from key smal of ConfigMap sizes");
    let waits = runnable(2, &json!([ready.clone()]), &pending);
    let told =
        "run 1 is pending (DependencyNotReady): input a comes from key smal of ConfigMap sizes";
    let waiting = WaitState::Waiting(told.to_owned());
    assert_eq!(standing(&waits, &WaitCondition::Ready), waiting);
    let mut stalled = ready.clone();
    (stalled["type"], stalled["status"]) = (json!("Stalled"), json!("True"));
    let in_vain = runnable(2, &json!([ready, stalled]), &pending);
    let standing = standing(&in_vain, &WaitCondition::Ready);
    assert!(
        matches!(&standing, WaitState::InVain(why) if why.contains("key smal")),
        "{standing:?}"
    );
}
