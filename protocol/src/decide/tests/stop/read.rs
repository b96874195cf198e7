//! The read of a run before it is stopped, and stops while no template can be read.

use super::*;
use crate::ledger::RunIdentity;

#[test]
fn nothing_is_deleted_that_a_read_does_not_find_at_work() {
    let mut unread = watched(bounded(with(told(100), "A")));
    unread.policy.stop = Some(StopRequest::Delete);
    assert_eq!(decide(&unread), Step::ReadRun(run_name(&name(2))));
    let done = unread
        .clone()
        .reading_found(&name(2), succeeded(run(2, "A"), "x"));
    assert_eq!(recorded(&done).result, Some(RunResult::Succeeded));
    let at_work = unread.reading_found(&name(2), running(run(2, "A")));
    assert_eq!(stopped(&decide(&at_work)), Some(&*uid(2)));
}

#[test]
fn one_that_a_read_finds_replaced_is_not_told() {
    let facts = bounded(facts(
        ledger(
            since(1),
            vec![earlier(2_000, Some(stop_at(5, StopReason::TimedOut)))],
        ),
        "A",
    ));
    let at_work = facts
        .clone()
        .reading_found(&name(1), running(run(1, "old")));
    assert_eq!(told_uid(&at_work), Some(uid(1)));
    let another = FetchedRun {
        run: RunIdentity {
            uid: "another".to_owned(),
            ..run(1, "old")
        },
        ..running(run(1, "old"))
    };
    let replaced = facts.reading_found(&name(1), another);
    assert_eq!(told_uid(&replaced), None);
}

/// The uid of the run that this alone stops.
fn told_uid(facts: &Facts) -> Option<String> {
    let step = crate::decide::stop::next_step(facts);
    stopped(&step).map(ToOwned::to_owned)
}

#[test]
fn while_no_template_can_be_read_no_time_is_waited_for() {
    let mut facts = watched(bounded(with(since(TIMEOUT), "A")));
    assert!(next_stop(&facts).is_some());
    facts.policy_from = PolicyFrom::Nowhere;
    assert_eq!(next_stop(&facts), None);
}

#[test]
fn a_stop_that_changes_nothing_in_a_ledger_edited_by_hand_is_not_written() {
    let has_ended = ended(2, "A", RunResult::Succeeded);
    let twin = HistoryEntry {
        uid: Some(uid(2)),
        ..earlier(TIMEOUT, None)
    };
    let run = FetchedRun {
        run: RunIdentity {
            uid: uid(2),
            ..run(1, "old")
        },
        ..running(run(1, "old"))
    };
    let facts = bounded(facts(ledger(has_ended, vec![twin]), "A")).reading_found(&name(1), run);
    assert_eq!(crate::decide::stop::next_step(&facts), Step::Settled);
}
