use serde_json::Value;

use super::*;
use crate::{MESSAGE_BYTES, RunResult, Stop};

fn with_fields(fields: &Value) -> HistoryEntry {
    let mut entry = serde_json::json!({
        "sequence": 7, "inputHash": "h", "apiVersion": "v1", "kind": "Pod", "name": "a",
    });
    let all = fields.as_object().unwrap().clone();
    entry.as_object_mut().unwrap().extend(all);
    serde_json::from_value(entry).unwrap()
}

#[test]
fn unknown_texts_numbers_and_truth_values_of_an_entry_come_to_stand_in_its_line() {
    let mut entry = with_fields(&serde_json::json!({
        "cluster": "east 1", "ticks": 3, "teardown": true, "list": [1], "map": {}, "nothing": null, "a=b %": "=\n",
        "": "x", "long": "x".repeat(PAIRS_BYTES),
    }));
    entry.put_unknown_fields_into_line();
    assert!(entry.unknown_fields.is_empty());
    entry.result = Some(RunResult::Lost);
    let line = entry.line().unwrap();
    let pairs = r"a%3Db%20%25==%0A cluster=east%201 teardown=true ticks=3";
    assert_eq!(line, format!("7 Lost v1/Pod/a - - - h {pairs}"));
    assert_eq!(line.parse(), Ok(entry));
}

/// A line above its maximum length would not be read again, and its run would be lost.
#[test]
fn a_line_with_all_that_may_stand_in_it_is_short_enough_to_be_read() {
    let text = |bytes: usize| "\u{1}".repeat(bytes);
    let fields: serde_json::Map<_, _> = (0..64)
        .map(|number| (format!("{}{number}", text(20)), text(20).into()))
        .collect();
    let mut entry = HistoryEntry {
        result: Some(RunResult::Failed),
        api_version: "v".repeat(317),
        kind: "k".repeat(63),
        name: "n".repeat(253),
        message: "m".repeat(300),
        rerun_token: Some(text(MESSAGE_BYTES)),
        taken_by: Some("u".repeat(36)),
        stop: Stop::of_word(&format!("{}@2026-01-02T03:04:05Z", text(64))),
        ..with_fields(&fields.into())
    };
    entry.put_unknown_fields_into_line();
    assert!(entry.unknown.len() > 5, "{}", entry.unknown.len());
    let line = entry.line().unwrap();
    assert!(line.len() <= crate::MAX_LINE, "{}", line.len());
}

#[test]
fn what_a_line_has_under_unknown_keys_becomes_fields_again_unless_the_entry_has_such() {
    let line = "7 Lost v1/Pod/a - - - h cluster=east%201 ticks=3 uid=mine result=x message=y";
    let mut entry: HistoryEntry = line.parse().unwrap();
    assert_eq!(entry.unknown.len(), 5);
    entry.take_unknown_fields_from_line();
    entry.result = None;
    let written = serde_json::to_value(&entry).unwrap();
    assert_eq!(written["cluster"], "east 1");
    assert_eq!(written["ticks"], 3);
    for known in ["uid", "result", "message"] {
        assert_eq!(written.get(known), None, "{known}");
    }
}

#[test]
fn an_entry_that_ends_and_has_not_ended_after_all_has_the_fields_that_it_had() {
    let texts = [
        "3", "true", "-1.0", "\"", "\"x\"", " 3", "null", "{}", "", "-", "a b%",
    ];
    let texts = texts.map(|text| serde_json::json!(text).to_string());
    let others = ["3", "3.0", "1e3", "true", "12345678901234567890123"].map(str::to_owned);
    for value in texts.into_iter().chain(others) {
        let json = format!(
            r#"{{ "sequence": 7, "inputHash": "h", "apiVersion": "v1", "kind": "Pod", "name": "a", "ticks": {value} }}"#
        );
        let mut entry: HistoryEntry = serde_json::from_str(&json).unwrap();
        entry.put_unknown_fields_into_line();
        entry.result = Some(RunResult::Lost);
        let mut entry: HistoryEntry = entry.line().unwrap().parse().unwrap();
        entry.take_unknown_fields_from_line();
        let fields: Vec<_> = entry.unknown_fields.iter().collect();
        assert_eq!(fields, [("ticks", value.as_str())]);
    }
}

#[test]
fn fields_that_an_entry_has_are_none_that_nobody_knows() {
    let definition = serde_json::to_value(crate::runnable()).unwrap();
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/unfinishedRuns/items/properties";
    let known = definition.pointer(path).unwrap().as_object().unwrap();
    let in_line = ["result", "finishedAt"].map(str::to_owned);
    let mut known: Vec<String> = known.keys().cloned().chain(in_line).collect();
    known.sort();
    let mut fields = FIELDS.to_vec();
    fields.sort_unstable();
    assert_eq!(fields, known);
    // Each of them is read as itself in a line or an object, or is left out of both.
    let given = serde_json::json!({ "takenBy": "x", "message": "y", "cluster": "east" });
    let of_current = CurrentRunOf(&given).fields();
    let entry = ended().with_unknown_fields(of_current);
    assert_eq!(entry.unknown, ["cluster=east"]);
}

/// The fields of a current run.
struct CurrentRunOf<'a>(&'a Value);

impl CurrentRunOf<'_> {
    fn fields(&self) -> UnknownFields {
        let mut run = serde_json::json!({
            "sequence": 7, "inputHash": "h", "apiVersion": "v1", "kind": "Pod", "name": "a", "phase": "Created",
        });
        let all = self.0.as_object().unwrap().clone();
        run.as_object_mut().unwrap().extend(all);
        let run: crate::CurrentRun = serde_json::from_value(run).unwrap();
        run.unknown_fields
    }
}

fn ended() -> HistoryEntry {
    HistoryEntry {
        result: Some(RunResult::Lost),
        ..with_fields(&serde_json::json!({}))
    }
}
