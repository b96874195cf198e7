use serde_json::{Value, json};

use super::*;
use crate::{ClusterRunProfileStatus, ClusterRunTemplateStatus, RunnableStatus};

const AT: &str = "2026-01-02T03:04:05Z";

fn read(status: &Value) -> RunnableStatus {
    serde_json::from_str(&status.to_string()).unwrap()
}

fn written(status: &RunnableStatus) -> Value {
    serde_json::to_value(status).unwrap()
}

/// Adds fields that no release has, before and after the known ones.
fn with_more(mut object: Value) -> Value {
    object["aLater"] = json!({ "one": [1, "<two>", null, { "three\u{0}": 1e300 }] });
    object["zLater"] = json!("text");
    object
}

/// Returns a status with unknown fields in each object that may have them.
fn status() -> Value {
    let run = |number: i64, more: Value| {
        let mut run = json!({
            "sequence": number, "inputHash": "v1:1", "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u",
            "stop": with_more(json!({ "reason": "TakenBack", "at": AT })),
        });
        run.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        with_more(run)
    };
    with_more(json!({
        "observedGeneration": 3,
        "outputs": { "a": 1 },
        "outputsFrom": with_more(json!({ "sequence": 1, "name": "n", "uid": "u", "rulesHash": "r" })),
        "sensitiveOutputs": { "s": with_more(json!({ "name": "n", "key": "k", "revision": "r" })) },
        "sinks": [with_more(json!({ "kind": "Secret", "name": "n", "sequence": 1 }))],
        "failure": with_more(json!({ "sequence": 1, "name": "n", "uid": "u" })),
        "profile": with_more(json!({ "name": "p" })),
        "currentRun": run(9, json!({ "phase": "Created" })),
        "pending": with_more(json!({ "sequence": 2, "inputHash": "h", "reason": "A", "since": AT })),
        "unfinishedRuns": [run(2, json!({})), run(3, json!({}))],
        "teardown": { "since": AT }, "ticks": [1, 2],
    }))
}

#[test]
fn unknown_fields_of_every_object_are_written_back() {
    let stored = status();
    assert_eq!(written(&read(&stored)), stored);
    let small = with_more(json!({ "observedGeneration": 3 }));
    let template: ClusterRunTemplateStatus = serde_json::from_value(small.clone()).unwrap();
    assert_eq!(serde_json::to_value(&template).unwrap(), small);
    let profile: ClusterRunProfileStatus = serde_json::from_value(small.clone()).unwrap();
    assert_eq!(serde_json::to_value(&profile).unwrap(), small);
}

#[test]
fn unknown_fields_are_no_difference() {
    let mut other = status();
    other["teardown"] = json!(5);
    other["currentRun"]["zLater"] = json!("other");
    other["sinks"][0].as_object_mut().unwrap().remove("aLater");
    assert_eq!(read(&other), read(&status()));
}

#[test]
fn each_object_that_says_the_same_takes_over_the_unknown_fields_of_the_stored_one() {
    let stored = read(&status());
    let bare: RunnableStatus = {
        let mut bare = status();
        strip(&mut bare);
        read(&bare)
    };
    let mut next = bare.clone().with_unknown_fields_of(&stored);
    // The runs bring their own unknown fields.
    next.current_run.clone_from(&stored.current_run);
    next.history = stored.history.clone();
    assert_eq!(written(&next), status());
    let mut changed = bare;
    changed.outputs_from.as_mut().unwrap().sequence = 2;
    changed.profile = None;
    let written = written(&changed.with_unknown_fields_of(&stored));
    assert_eq!(
        written["outputsFrom"].get("zLater"),
        None,
        "of other outputs"
    );
    assert_eq!(written.get("profile"), None);
    assert_eq!(written["sinks"], status()["sinks"]);
}

/// Removes all unknown fields.
fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !["aLater", "zLater", "teardown", "ticks"].contains(&name.as_str())
            });
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[test]
fn a_status_keeps_64_kibibytes_of_unknown_fields_in_all_the_first_ones() {
    let half = "x".repeat(MAX_UNKNOWN_BYTES / 2);
    let stored = json!({
        "first": half, "huge": "x".repeat(MAX_UNKNOWN_BYTES),
        "currentRun": {
            "sequence": 1, "inputHash": "h", "phase": "Created", "apiVersion": "v1", "kind": "Pod", "name": "p",
            "second": half, "short": 1,
        },
    });
    let next = written(&read(&stored));
    assert_eq!(next["first"], half.as_str());
    assert_eq!(next.get("huge"), None);
    assert_eq!(next["currentRun"].get("second"), None);
    assert_eq!(next["currentRun"]["short"], 1);
    assert_eq!(written(&read(&next)), next);
}

/// Otherwise an account that may write a status could make its ledger unreadable.
#[test]
fn a_field_that_is_nested_too_deep_costs_no_other() {
    for levels in [MAX_UNKNOWN_DEPTH, MAX_UNKNOWN_DEPTH + 1, 20_000] {
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let text = format!("{{\"deep\":{deep},\"observedGeneration\":3,\"flat\":\"[[\\\"{{\"}}");
        let status: RunnableStatus = serde_json::from_str(&text).unwrap();
        assert_eq!(status.observed_generation, Some(3));
        let written = written(&status);
        assert_eq!(written.get("deep").is_some(), levels == MAX_UNKNOWN_DEPTH);
        assert_eq!(written["flat"], "[[\"{");
    }
}

#[test]
fn a_value_of_another_type_is_as_wrong_as_it_was() {
    for text in [
        r#"{"currentRun":{"sequence":"x"}}"#,
        r#"{"currentRun":5}"#,
        r#"{"currentRun":{}}"#,
        r#"{"observedGeneration":"x"}"#,
        "5",
    ] {
        let error = serde_json::from_str::<RunnableStatus>(text).unwrap_err();
        assert!(error.is_data(), "{text}: {error}");
    }
    let null: Option<RunnableStatus> = serde_json::from_str("null").unwrap();
    assert_eq!(null, None);
}
