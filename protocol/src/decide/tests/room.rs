//! No number is given whose run might end in a status that the API server refuses.

use std::sync::Arc;

use cartouche_crds::{MAX_STATUS_BYTES, RunResult, RunnableStatus, conditions};
use cartouche_language::bounds::{MAX_FAILURE_BYTES, MAX_OUTPUTS, MAX_OUTPUTS_BYTES};
use serde_json::{Map, Value, json};

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide, decide_without_rendering},
    facts::{CreateOutcome, Facts},
    ledger::{Change, tests::sample::*},
    messages::reconcile_error::{ReconcileError, Requeue},
};

/// etcd takes no larger request, and the object is one, with its spec and metadata.
const STORE_BYTES: usize = 1024 * 1024 * 3 / 2;

/// A status with an unknown field, a list of lines and outputs of these sizes, and a pending change.
fn holding(lines: usize, line: usize, outputs: usize) -> Facts {
    let mut history: Vec<_> = (0..lines)
        .map(|_| finished(1, RunResult::Succeeded))
        .collect();
    for entry in &mut history {
        entry.unknown = vec![format!("later={}", "x".repeat(line))];
    }
    let mut facts = facts(ledger(created(201, "A"), history), "B").fresh();
    facts.ledger.outputs = Some([("a".to_owned(), json!("o".repeat(outputs)))].into());
    let stored = json!({ "observedGeneration": 1, "later": "u".repeat(60_000) });
    let stored: RunnableStatus = serde_json::from_value(stored).unwrap();
    facts.stored = Arc::new(RunnableStatus {
        unknown_fields: stored.unknown_fields,
        ..(*facts.stored).clone()
    });
    facts
}

#[test]
fn a_status_that_is_as_large_as_those_of_tests_and_tenants_takes_a_further_run() {
    let large = holding(199, 300, 256 * 1024);
    written(&large, Change::Intent);
}

#[test]
fn above_a_mebibyte_no_number_is_given_and_it_is_said_what_takes_the_room() {
    let full = holding(199, 4_000, 256 * 1024);
    let error = stuck(&full, Category::UnknownError);
    assert_eq!(error.requeue, Requeue::Backoff);
    let told = ["history ", ", outputs 257 KiB", ", later 59 KiB"];
    for part in told {
        assert!(error.message.contains(part), "{}", error.message);
    }
    // What exists is recorded all the same.
    let ended = succeeded(run(201, "A"), "x");
    let facts = holding(199, 4_000, 256 * 1024).seeing(seen(&ended));
    let facts = facts.reading_found(&name(201), ended);
    let step = decide_without_rendering(&facts);
    assert!(matches!(step, Step::Write(_, Change::Record)), "{step:?}");
}

/// A number that is given up for the next is checked too: each adds an entry.
#[test]
fn above_a_mebibyte_no_number_is_given_up_for_the_next() {
    let mut full = holding(199, 4_000, 256 * 1024);
    full.ledger.current = Some(pending(201, "B"));
    let full = full.after(CreateOutcome::AlreadyExists);
    let full = full.reading_found(&name(201), running(other(run(201, "C"))));
    assert!(
        matches!(decide(&full), Step::Stuck(_)),
        "{:?}",
        decide(&full)
    );
}

/// The largest status between the intent of a run and the record of its end.
fn most() -> RunnableStatus {
    let at = "2026-01-02T03:04:05Z";
    let name = |number: usize| format!("{}{number:03}", "n".repeat(250));
    let values = |bytes: usize| {
        let each = bytes / MAX_OUTPUTS - 2;
        let values = (0..MAX_OUTPUTS).map(|it| (name(it), Value::from("v".repeat(each))));
        Value::Object(values.collect())
    };
    let message = ReconcileError::new(Category::UnknownError, Requeue::Backoff, "<".repeat(9_999));
    let condition = |name: &str| {
        json!({
            "type": name, "status": "False", "reason": Category::FailedToListCreatedObjects.as_str(),
            "message": message.message, "lastTransitionTime": at, "observedGeneration": i64::MAX,
        })
    };
    let conditions = [
        conditions::RUN_TEMPLATE_READY,
        conditions::STAMPED_OBJECT_CONDITION,
        conditions::READY,
        conditions::STALLED,
        conditions::WATCH_UNAVAILABLE,
    ];
    let places: Map<_, _> = (0..MAX_OUTPUTS)
        .map(|it| {
            (
                name(it),
                json!({ "name": name(it), "key": name(it), "revision": "r".repeat(16) }),
            )
        })
        .collect();
    let sink =
        |it| json!({ "kind": "ConfigMap", "name": name(it), "sequence": i64::MAX, "behind": true });
    let said = "<".repeat(256);
    let most = json!({
        "conditions": conditions.map(condition), "outputs": values(MAX_OUTPUTS_BYTES), "sensitiveOutputs": places,
        "outputsFrom": { "sequence": 1, "name": name(1), "uid": name(2), "rulesHash": name(3) },
        "failure": {
            "sequence": 1, "name": name(1), "uid": name(2), "message": said, "outputs": values(MAX_FAILURE_BYTES),
        },
        "sinks": (0..16).map(sink).collect::<Vec<_>>(),
        "pending": {
            "sequence": 1, "inputHash": name(1), "reason": "A", "since": at, "approval": name(2),
            "dryRun": "<".repeat(1024),
        },
        "currentRun": {
            "sequence": 1, "inputHash": name(1), "approved": name(2), "apiVersion": name(3), "kind": name(4), "name": name(5),
            "uid": name(6), "phase": "Created", "intentAt": at, "startedAt": at, "finishedAt": at, "retryAt": at,
            "result": "Failed", "stop": { "reason": "TimedOut", "at": at },
        },
    });
    serde_json::from_value(most).unwrap()
}

/// The sources of a run are counted beside that before its number is given. The names of outputs
/// are assumed to be no longer than those of objects.
#[test]
fn the_end_of_each_run_that_was_given_a_number_has_room_in_the_store() {
    let most = most().bytes();
    let left = STORE_BYTES.checked_sub(MAX_STATUS_BYTES + most.all);
    assert!(left.is_some_and(|left| left >= 32 * 1024), "{most:?}");
}
