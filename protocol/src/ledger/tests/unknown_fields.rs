//! Fields that another release has written stay with the run that they belong to.

use std::borrow::Borrow;

use cartouche_crds::{CurrentRun, HistoryEntry, RunResult, UnknownFields};
use serde_json::{Value, json};

use super::sample::*;
use crate::ledger::{Asked, Fate, Ledger, ListedRun, RunIdentity, rebuild};

fn later() -> Value {
    json!({ "cluster": "east 1", "ticks": 3, "list": [1], "takenBy": "none of ours" })
}

fn with_later(run: impl Borrow<CurrentRun>) -> CurrentRun {
    let mut object = json!(run.borrow());
    let fields = object.as_object_mut().unwrap();
    fields.extend(later().as_object().unwrap().clone());
    serde_json::from_value(object).unwrap()
}

fn names(fields: &UnknownFields) -> Vec<&str> {
    fields.iter().map(|(name, _)| name).collect()
}

const ALL: [&str; 4] = ["cluster", "list", "takenBy", "ticks"];
/// Fields that have no field of their own in an earlier run.
const OF_EARLIER: [&str; 3] = ["cluster", "list", "ticks"];
const IN_LINE: [&str; 2] = ["cluster=east%201", "ticks=3"];

fn current(ledger: &Ledger) -> &CurrentRun {
    ledger.current.as_ref().unwrap()
}

fn entry(ledger: &Ledger, sequence: i64) -> &HistoryEntry {
    let mut history = ledger.history.iter();
    history.find(|it| it.sequence == sequence).unwrap()
}

fn superseded(current: CurrentRun) -> Ledger {
    let before = ledger(current, vec![]);
    before.intend(intent("B"), name, &Fate::Known, "said", Some(at(50)))
}

#[test]
fn a_new_number_takes_none_over_and_the_run_before_it_keeps_its_own() {
    let next = superseded(with_later(created(3, "A")));
    assert!(current(&next).unknown_fields.is_empty());
    let earlier = entry(&next, 3);
    assert_eq!(names(&earlier.unknown_fields), OF_EARLIER);
    assert_eq!(
        (earlier.taken_by.as_ref(), earlier.unknown.len()),
        (None, 0)
    );
}

#[test]
fn once_a_run_has_ended_what_fits_into_a_line_stands_there() {
    let ended_before = superseded(with_later(ended(3, "A", RunResult::Failed)));
    let ended_after = superseded(with_later(created(3, "A"))).record_end(
        &uid(3),
        RunResult::Lost,
        Asked::No,
        "gone",
        Some(at(60)),
    );
    for ledger in [ended_before, ended_after] {
        let earlier = entry(&ledger, 3);
        assert!(earlier.unknown_fields.is_empty());
        assert_eq!(earlier.unknown, IN_LINE);
        let line = earlier.line().unwrap();
        assert!(line.contains(" cluster=east%201 ticks=3"), "{line}");
    }
}

#[test]
fn a_run_that_turns_up_after_it_was_given_up_has_them_again() {
    let before = superseded(with_later(pending(3, "A")));
    let given_up = before.give_up(3, "not found", Some(at(60)));
    assert_eq!(entry(&given_up, 3).unknown, IN_LINE);
    let landed = RunIdentity {
        created: Some(at(50)),
        ..run(3, "A")
    };
    let there = given_up.shown_up(&landed);
    assert_eq!(
        names(&entry(&there, 3).unknown_fields),
        ["cluster", "ticks"]
    );
    let over = there.record_end(&uid(3), RunResult::Lost, Asked::No, "", Some(at(70)));
    assert_eq!(entry(&over, 3).unknown, IN_LINE);
}

#[test]
fn a_number_that_is_given_up_for_the_next_hands_them_on() {
    let before = ledger(with_later(pending(3, "A")), vec![]);
    let next = before.renumber(name, "holder".to_owned(), 0, Some(at(50)));
    assert!(current(&next).sequence > 3);
    assert_eq!(names(&current(&next).unknown_fields), ALL);
    let given_up = entry(&next, 3);
    assert_eq!(given_up.taken_by.as_deref(), Some("holder"));
    assert_eq!(names(&given_up.unknown_fields), OF_EARLIER);
}

#[test]
fn each_step_of_a_run_and_a_rebuild_leave_them_with_it() {
    let before = ledger(with_later(pending(3, "A")), vec![]);
    let confirmed = before.confirm(&run(3, "A")).unwrap();
    assert_eq!(names(&current(&confirmed).unknown_fields), ALL);
    let recorded = confirmed.record(&succeeded(run(3, "A"), "x"), Some(at(60)));
    assert_eq!(names(&current(&recorded).unknown_fields), ALL);
    let (third, fifth) = (run(3, "A"), run(5, "A"));
    let listed = [&third, &fifth].map(|run| ListedRun { run, matches: true });
    let rebuilt = rebuild(&recorded, &listed, RUNNABLE, None, Some(at(70))).unwrap();
    assert_eq!(current(&rebuilt).sequence, 5);
    assert!(current(&rebuilt).unknown_fields.is_empty());
    assert_eq!(entry(&rebuilt, 3).unknown, IN_LINE);
}

#[test]
fn outputs_and_a_failure_keep_them_while_they_are_of_the_same_run() {
    let mut before = ledger(created(3, "A"), vec![]);
    before.outputs_from = serde_json::from_value(json!({
        "sequence": 3, "name": name(3), "uid": uid(3), "rulesHash": "r", "cluster": "east",
    }))
    .unwrap();
    before.failure = serde_json::from_value(json!({
        "sequence": 3, "name": name(3), "uid": uid(3), "cluster": "east",
    }))
    .unwrap();
    let mut read = failed(run(3, "A"));
    read.failure = Some(values("x"));
    let failed = before.clone().record(&read, Some(at(60)));
    assert_eq!(names(&failed.failure.unwrap().unknown_fields), ["cluster"]);
    let again = before.record(&succeeded(run(3, "A"), "y"), Some(at(60)));
    let from = again.outputs_from.clone().unwrap();
    assert_eq!(names(&from.unknown_fields), ["cluster"]);
    let next = again.intend(intent("B"), name, &Fate::Known, "", Some(at(70)));
    let next = next.confirm(&run(4, "B")).unwrap();
    let next = next.record(&succeeded(run(4, "B"), "z"), Some(at(80)));
    assert!(next.outputs_from.unwrap().unknown_fields.is_empty());
}
