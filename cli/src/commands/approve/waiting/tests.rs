//! Tests of the run that waits for approval, by a status and by what is rendered.

use serde_json::{Value, json};

use super::*;

/// Returns a Runnable whose run 4 of this document waits, patched with `patch`.
fn runnable(patch: &Value) -> Runnable {
    let mut runnable = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "generation": 2, "annotations": {} },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": {
            "observedGeneration": 2,
            "pending": {
                "sequence": 4, "inputHash": "v1:a", "reason": "ApprovalRequired",
                "since": "2026-01-01T00:00:00Z", "approval": "4:v1:a", "dryRun": "accepted",
            },
            "conditions": [{
                "type": "Ready", "status": "Unknown", "reason": "ApprovalRequired", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    });
    merge(&mut runnable, patch);
    serde_json::from_value(runnable).unwrap()
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

fn found(patch: &Value, due: Due, hash: &str) -> anyhow::Result<ApprovalState> {
    of(
        patch,
        ApprovalPolicy::Manual,
        &KnownRendering::Known(due, hash),
    )
}

fn of(
    patch: &Value,
    policy: ApprovalPolicy,
    rendered: &KnownRendering<'_>,
) -> anyhow::Result<ApprovalState> {
    let place = Place::new("shop", "demo");
    of_rendered(&runnable(patch), policy, rendered, &place)
}

/// Returns the message where nothing is to be approved.
fn nothing(patch: &Value, due: Due) -> String {
    match found(patch, due, "v1:a").unwrap() {
        ApprovalState::Nothing(why) => why,
        other => panic!("{other:?}"),
    }
}

fn approval() -> Approval {
    Approval::parse("4:v1:a").unwrap()
}

#[test]
fn a_run_that_the_controller_asks_about_waits_for_a_person() {
    let waits = found(&json!({}), Due::New(4), "v1:a").unwrap();
    assert_eq!(waits, ApprovalState::ForPerson(approval()));
}

#[test]
fn what_has_its_number_or_is_tried_again_waits_as_the_controller_asks() {
    let waits = || ApprovalState::ForPerson(approval());
    assert_eq!(found(&json!({}), Due::Pending(4), "v1:a").unwrap(), waits());
    assert_eq!(found(&json!({}), Due::Nothing(3), "v1:a").unwrap(), waits());
    assert!(found(&json!({}), Due::Pending(4), "v1:b").is_err());
    assert!(found(&json!({}), Due::Nothing(3), "v1:b").is_err());
}

#[test]
fn what_was_refused_is_not_approved_whatever_is_written_beside_that() {
    let refused = |approval: &str| {
        json!({ "metadata": { "annotations": {
            "carto.run/approved": "4:v1:a",
            "carto.run/rejected": json!({ "approval": approval, "reason": "no" }).to_string(),
        } } })
    };
    let found = |approval: &str| found(&refused(approval), Due::New(4), "v1:a").unwrap();
    assert_eq!(found("4:v1:a"), ApprovalState::ForPerson(approval()));
    assert_eq!(found("3:v1:a"), ApprovalState::Approved(approval()));
}

#[test]
fn what_is_written_on_it_already_is_approved_whatever_it_waits_for_by_now() {
    let given = json!({ "metadata": { "annotations": { "carto.run/approved": "4:v1:a" } } });
    let approved = || ApprovalState::Approved(approval());
    assert_eq!(found(&given, Due::New(4), "v1:a").unwrap(), approved());
    let mut at_work = given;
    at_work["status"] = json!({ "pending": null });
    assert_eq!(found(&at_work, Due::New(4), "v1:a").unwrap(), approved());
}

#[test]
fn where_nothing_waits_for_a_person_it_says_why() {
    let none = json!({ "status": { "pending": null } });
    assert!(nothing(&none, Due::Nothing(3)).contains("run 3 of hello matches the rendered object"));
    assert!(
        nothing(&none, Due::Pending(3)).contains("run 3 of hello is already about to be created")
    );
    let suspended = nothing(&json!({ "spec": { "suspend": true } }), Due::New(4));
    assert!(
        suspended.contains("`cartouche resume hello -n shop`"),
        "{suspended}"
    );
    let gone = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    assert!(nothing(&gone, Due::New(4)).contains("is being deleted"));
    let due = KnownRendering::Known(Due::New(4), "v1:a");
    let automatic = of(&none, ApprovalPolicy::Automatic, &due);
    let ApprovalState::Nothing(automatic) = automatic.unwrap() else {
        panic!("the run waits for approval");
    };
    assert!(automatic.contains("spec.approval: Manual"), "{automatic}");
}

#[test]
fn what_is_not_what_the_controller_asks_about_is_an_error_with_what_to_do() {
    for (due, hash) in [(Due::New(4), "v1:b"), (Due::New(5), "v1:a")] {
        let error = found(&json!({}), due, hash).unwrap_err().to_string();
        assert!(
            error.contains("which is 4:v1:a: nothing is approved\nhint: "),
            "{error}"
        );
        assert!(
            error.contains("`cartouche approve hello -n shop`"),
            "{error}"
        );
    }
    let unseen = json!({ "status": { "pending": null, "observedGeneration": 1 } });
    let error = found(&unseen, Due::New(4), "v1:a").unwrap_err().to_string();
    assert!(
        error.contains("has not observed the last change"),
        "{error}"
    );
    let blocked = json!({ "status": { "pending": null } });
    let error = found(&blocked, Due::New(4), "v1:a")
        .unwrap_err()
        .to_string();
    assert!(error.contains("`cartouche why hello -n shop`"), "{error}");
}

#[test]
fn where_the_hash_is_not_known_the_status_is_believed_only_if_somebody_says_so() {
    let of = |patch: Value, rendered| of(&patch, ApprovalPolicy::Manual, &rendered);
    let unknown = of(json!({}), KnownRendering::Unknown("unread".to_owned()));
    let error = unknown.unwrap_err().to_string();
    let hint = "approve the run in the status with `cartouche approve hello --unverified -n shop`";
    assert!(error.contains(hint), "{error}");
    let waits = of(json!({}), KnownRendering::Unverified).unwrap();
    assert_eq!(waits, ApprovalState::ForPerson(approval()));
    let given = json!({ "metadata": { "annotations": { "carto.run/approved": "4:v1:a" } } });
    let approved = of(given, KnownRendering::Unverified).unwrap();
    assert_eq!(approved, ApprovalState::Approved(approval()));
    for (patch, told) in [
        (
            json!({ "status": { "pending": null } }),
            "does not wait for approval: Ready is Unknown",
        ),
        (json!({ "spec": { "suspend": true } }), "is suspended"),
    ] {
        let ApprovalState::Nothing(why) = of(patch, KnownRendering::Unverified).unwrap() else {
            panic!("the run waits for approval");
        };
        assert!(why.contains(told), "{why}");
    }
    let newer = json!({ "status": { "pending": { "approval": "v2/4/a" } } });
    let error = of(newer.clone(), KnownRendering::Unverified).unwrap_err();
    assert!(error.to_string().contains("does not know, v2/4/a"));
    let error = waits_now(&runnable(&newer)).unwrap_err().to_string();
    assert!(error.contains("hint: use a newer release"), "{error}");
    // The status may ask about an older document.
    let earlier = json!({ "status": { "observedGeneration": 1 } });
    let error = of(earlier, KnownRendering::Unverified)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("has not observed the last change"),
        "{error}"
    );
}
