use serde_json::json;

use super::*;

fn read(status: &Value) -> RunnableStatus {
    serde_json::from_str(&status.to_string()).unwrap()
}

/// Returns a status with this text repeated wherever text of any length is possible.
fn full(text: &str) -> RunnableStatus {
    let at = "2026-01-02T03:04:05Z";
    let long = text.repeat(200);
    let sources: serde_json::Map<_, _> = (0..64)
        .map(|number| (format!("{long}{number}"), json!(long)))
        .collect();
    let run = |number: usize| {
        json!({
            "sequence": number, "inputHash": long, "apiVersion": "batch/v1", "kind": "Job", "name": long, "uid": long,
            "rerunToken": long, "message": text.repeat(20), "sources": sources, "later": long, "phase": "Created",
            "approved": long, "stop": { "reason": "TimedOut", "at": at, "later": long },
        })
    };
    let line = |number: usize| {
        format!(
            "{number} Failed v1/Pod/{} - - - h a={}",
            "p".repeat(50),
            "x".repeat(99)
        )
    };
    let condition = |name: &str| json!({ "type": name, "status": "True", "reason": "A", "message": long, "lastTransitionTime": at });
    let values = json!({ "a": long, "b": [{ "c": long, "d": [1.5, null, true, {}, []] }] });
    read(&json!({
        "observedGeneration": 3, "conditions": [condition("Ready"), condition("Reconciling")], "outputs": values,
        "outputsFrom": { "sequence": 1, "name": long, "uid": "u", "rulesHash": "r", "sources": sources, "later": long },
        "sensitiveOutputs": { "s": { "name": "n", "key": "k", "revision": "r", "later": long } },
        "sinks": [{ "kind": "Secret", "name": "n", "sequence": 1, "later": long }],
        "failure": { "sequence": 1, "name": "n", "uid": "u", "message": long, "outputs": values, "later": long },
        "profile": { "name": "p", "refreshToken": long, "later": long }, "currentRun": run(900),
        "pending": { "sequence": 2, "inputHash": "h", "reason": "A", "since": at, "approval": long, "dryRun": long, "later": long },
        "answeredToken": long, "unfinishedRuns": [run(1), run(2)], "history": (3..203).map(line).collect::<Vec<_>>(),
        "later": long,
    }))
}

/// The quick estimate is never below the true size.
#[test]
fn the_loose_bytes_are_never_fewer_than_those_in_the_store() {
    for text in ["a", "<", "\u{1}", "\"", "é", "\u{2028}"] {
        let status = full(text);
        let (loose, bytes) = (status.loose_bytes(), status.bytes().all);
        assert!(loose >= bytes, "{text:?}: {loose} and {bytes}");
        assert_eq!(status.bytes_above(bytes), None);
        let above = status.bytes_above(bytes - 1).unwrap();
        assert_eq!(above.all, bytes);
    }
    let empty = RunnableStatus::default();
    assert_eq!(empty.bytes().all, "{}".len());
}

#[test]
fn the_largest_field_is_named_first_be_it_one_that_nobody_knows() {
    let large = "x".repeat(9_000);
    let status = read(&json!({ "later \"one\"": large, "outputs": { "a": "b" } }));
    let bytes = status.bytes();
    assert_eq!(bytes.fields[0], ("later \"one\"".to_owned(), 9_002));
    assert_eq!(bytes.fields.len(), 2);
}

/// Go escapes these in JSON, as the API server stores it.
#[test]
fn what_the_store_escapes_counts_as_it_stands_there() {
    assert_eq!(stored_bytes(b"a<b>&"), 2 + 3 * 6);
    assert_eq!(stored_bytes("\u{2028}\u{2029}é".as_bytes()), 2 * 6 + 2);
}
