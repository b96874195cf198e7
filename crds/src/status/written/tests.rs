use serde_json::json;

use super::*;

fn read(status: &Value) -> RunnableStatus {
    serde_json::from_str(&status.to_string()).unwrap()
}

fn unfinished(sequence: i64) -> Value {
    json!({
        "sequence": sequence, "inputHash": "v1:00", "apiVersion": "v1", "kind": "Pod",
        "name": format!("pod-{sequence}"), "of a later version": [],
    })
}

fn line(sequence: i64) -> String {
    format!("{sequence} Succeeded v1/Pod/pod-{sequence} a-uid - - v1:00 : fine")
}

fn sequences(status: &RunnableStatus) -> Vec<i64> {
    status.history.iter().map(|entry| entry.sequence).collect()
}

#[test]
fn what_the_controller_writes_is_read_again() {
    let stored = json!({
        "observedGeneration": 3,
        "unfinishedRuns": [unfinished(2), unfinished(4)],
        "history": [line(1), line(3)],
        "breaker": "1 a-uid 1 2026-01-02T03:04:05Z 3",
    });
    let status = read(&stored);
    assert_eq!(sequences(&status), [1, 2, 3, 4]);
    let written = serde_json::to_value(&status).unwrap();
    assert_eq!(read(&written), status);
    assert_eq!(written["history"], stored["history"]);
    assert_eq!(written["breaker"], stored["breaker"]);
    assert_eq!(written["unfinishedRuns"][1]["sequence"], 4);
}

#[test]
fn a_line_that_cannot_be_read_is_kept() {
    let stored = json!({ "history": ["x", line(1), "2 Undecided v1/Pod/a - - - h"] });
    let status = read(&stored);
    assert_eq!(sequences(&status), [1]);
    let written = serde_json::to_value(&status).unwrap();
    let kept = json!(["x", "2 Undecided v1/Pod/a - - - h", line(1)]);
    assert_eq!(written["history"], kept);
    assert_eq!(read(&written), status);
}

#[test]
fn lines_that_cannot_be_read_leave_room_for_those_that_can() {
    let odd: Vec<String> = (0..150).map(|number| format!("odd {number}")).collect();
    let status = RunnableStatus {
        unreadable_history: odd.clone(),
        history: Arc::new(vec![line(1).parse().unwrap(); 200]),
        ..RunnableStatus::default()
    };
    let written = WrittenStatus::from(status);
    assert_eq!(written.history.len(), 300);
    assert_eq!(written.history[..100], odd[50..]);
}

#[test]
fn no_status_is_written_that_the_definition_or_the_store_refuses() {
    let status = RunnableStatus {
        history: Arc::new(vec![line(1).parse().unwrap(); 301]),
        ..RunnableStatus::default()
    };
    assert_eq!(WrittenStatus::from(status).history.len(), 300);
    let long = [line(1) + &"x".repeat(MAX_LINE), "x".repeat(MAX_LINE + 1)];
    let status = read(&json!({ "history": long }));
    assert!(status.history.is_empty() && status.unreadable_history.is_empty());
    assert_eq!(status.dropped_lines, 2);
}

#[test]
fn what_is_not_kept_is_counted_and_a_status_that_was_written_has_nothing_of_it() {
    let odd: Vec<String> = (0..150).map(|number| format!("odd {number}")).collect();
    let status = read(&json!({ "history": odd }));
    assert_eq!(status.unreadable_history, odd[50..]);
    assert_eq!(status.dropped_lines, 50);
    let again = read(&serde_json::to_value(&status).unwrap());
    assert_eq!(again.unreadable_history, status.unreadable_history);
    assert_eq!(again.dropped_lines, 0);
}

#[test]
fn of_lines_without_number_the_last_ones_are_read() {
    let many: Vec<String> = (1..=50_000).map(line).collect();
    let status = read(&json!({ "history": many }));
    assert_eq!(sequences(&status), (49_701..=50_000).collect::<Vec<_>>());
    assert_eq!(status.dropped_lines, 49_700);
}

#[test]
fn an_element_that_is_nested_too_deep_costs_no_other() {
    let deep = format!("{}{}", "[".repeat(140), "]".repeat(140));
    let history = format!("[{:?},{deep},{:?}]", line(1), line(2));
    let status: RunnableStatus =
        serde_json::from_str(&format!("{{\"history\":{history}}}")).unwrap();
    assert_eq!(sequences(&status), [1, 2]);
    assert_eq!(status.unreadable_history, [deep]);
}

#[test]
fn an_unfinished_run_that_cannot_be_read_counts_as_taken_away() {
    let mut odd = unfinished(2);
    odd["name"] = 5.into();
    let list = json!([
        unfinished(0),
        unfinished(1),
        odd,
        null,
        "x",
        {},
        [unfinished(4)],
        unfinished(3)
    ]);
    let status = read(&json!({ "unfinishedRuns": list, "history": [5, null, {}, line(5)] }));
    assert_eq!(sequences(&status), [1, 3, 5]);
    assert_eq!(status.unreadable_history, ["5", "null", "{}"]);
}

#[test]
fn lists_that_are_none_are_empty() {
    for odd in [json!(null), json!("x"), json!({ "0": line(1) }), json!(3)] {
        let status =
            read(&json!({ "observedGeneration": 3, "unfinishedRuns": odd, "history": odd }));
        assert_eq!(status.observed_generation, Some(3));
        assert!(status.history.is_empty());
    }
}

#[test]
fn a_breaker_that_cannot_be_read_is_none() {
    for odd in [json!("x"), json!(5), json!({ "runs": 3 })] {
        assert_eq!(read(&json!({ "breaker": odd })).breaker, None);
    }
}
