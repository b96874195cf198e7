#![allow(
    clippy::wildcard_imports,
    reason = "the samples are the words that these tests are written in"
)]

use std::sync::Arc;

use cartouche_crds::RunResult;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;

use super::*;
use crate::ledger::tests::sample::*;

const POLICY: RetentionPolicy = RetentionPolicy {
    max_failed_runs: 1,
    max_successful_runs: 2,
};
/// A time long after all runs of these tests.
const LATER: i64 = 100_000;

fn succeeded(sequence: i64) -> HistoryEntry {
    finished(sequence, RunResult::Succeeded)
}

fn plan_at(ledger: &Ledger, now: i64) -> Retention {
    retention(ledger, POLICY, Some(at(now)), |_, _| true)
}

fn deleted(ledger: &Ledger) -> Vec<i64> {
    plan_at(ledger, LATER)
        .delete
        .iter()
        .map(|entry| entry.sequence)
        .collect()
}

fn with(history: Vec<HistoryEntry>) -> Ledger {
    ledger(created(100, "A"), history)
}

#[test]
fn the_newest_runs_of_each_result_are_kept_and_the_oldest_go_first() {
    let lost = finished(4, RunResult::Lost);
    let failed = |sequence| finished(sequence, RunResult::Failed);
    let history = vec![
        succeeded(1),
        failed(2),
        succeeded(3),
        lost,
        succeeded(5),
        failed(6),
        succeeded(7),
    ];
    assert_eq!(deleted(&with(history)), [1, 2, 3, 4]);
}

#[test]
fn the_current_run_takes_a_place_once_it_has_ended() {
    let history = vec![succeeded(1), succeeded(2), succeeded(3)];
    assert_eq!(deleted(&with(history.clone())), [1]);
    assert_eq!(
        deleted(&ledger(
            ended(9, "A", RunResult::Succeeded),
            history.clone()
        )),
        [1, 2]
    );
    assert_eq!(
        deleted(&ledger(ended(9, "A", RunResult::Lost), history)),
        [1]
    );
}

#[test]
fn the_run_that_gave_the_outputs_stays() {
    let mut ledger = with(vec![succeeded(1), succeeded(2), succeeded(3), succeeded(4)]);
    ledger.outputs_from = Some(outputs_from(1));
    assert_eq!(deleted(&ledger), [2]);
}

#[test]
fn unfinished_runs_stay_and_take_no_place() {
    let history = vec![
        unfinished(1, "A"),
        succeeded(2),
        unfinished(3, "A"),
        succeeded(4),
        unseen(5, "A"),
    ];
    assert_eq!(deleted(&with(history)), Vec::<i64>::new());
}

#[test]
fn a_run_with_the_number_of_the_current_one_stays() {
    let history = (1..=5).map(succeeded).collect();
    assert_eq!(
        deleted(&ledger(created(3, "A"), history)),
        Vec::<i64>::new()
    );
    let without_current = Ledger {
        history: Arc::new((1..=5).map(succeeded).collect()),
        ..Ledger::default()
    };
    assert_eq!(deleted(&without_current), Vec::<i64>::new());
}

#[test]
fn ten_minutes_must_have_passed_since_its_creation_and_since_its_end() {
    let times = |started: Option<Time>, finished: Option<Time>| {
        let old = HistoryEntry {
            started_at: started,
            finished_at: finished,
            ..succeeded(1)
        };
        plan_at(&with(vec![old, succeeded(2), succeeded(3)]), 700)
    };
    assert_eq!(times(time(100), time(100)).delete.len(), 1);
    let waiting = |seconds| Retention {
        delete: vec![],
        again: Some(Duration::from_secs(seconds)),
    };
    assert_eq!(times(time(100), time(101)), waiting(1));
    assert_eq!(times(time(130), time(100)), waiting(30));
    assert_eq!(times(time(100), None), Retention::default());
    assert_eq!(times(None, time(100)), Retention::default());
}

#[test]
fn nothing_is_old_enough_while_the_time_is_not_known() {
    let ledger = with((1..=9).map(succeeded).collect());
    assert_eq!(
        retention(&ledger, POLICY, None, |_, _| true),
        Retention::default()
    );
    assert!(!old_enough(time(0).as_ref(), None));
    assert!(!old_enough(None, Some(at(LATER))));
    assert!(!old_enough(time(100).as_ref(), Some(at(699))));
    assert!(old_enough(time(100).as_ref(), Some(at(700))));
}

#[test]
fn ten_are_deleted_in_one_pass_and_the_rest_a_second_later() {
    let plan = plan_at(&with((1..=30).map(succeeded).collect()), LATER);
    let oldest: Vec<i64> = plan.delete.iter().map(|entry| entry.sequence).collect();
    assert_eq!(oldest, (1..=10).collect::<Vec<_>>());
    assert_eq!(plan.again, Some(Duration::from_secs(1)));
}

#[test]
fn what_is_not_known_to_exist_is_not_deleted() {
    let ledger = with(vec![succeeded(1), succeeded(2), succeeded(3), succeeded(4)]);
    let plan = retention(&ledger, POLICY, Some(at(LATER)), |entry, uid| {
        assert_eq!(entry.uid.as_deref(), Some(uid));
        entry.sequence != 1
    });
    assert_eq!(
        plan.delete
            .iter()
            .map(|entry| entry.sequence)
            .collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn an_entry_without_an_end_is_looked_at_when_it_is_ten_minutes_old() {
    let young = HistoryEntry {
        started_at: time(500),
        ..unseen(2, "A")
    };
    let plan = plan_at(&with(vec![young, unfinished(1, "A")]), 700);
    assert_eq!(plan.again, Some(Duration::from_secs(400)));
    assert_eq!(plan_at(&with(vec![unfinished(1, "A")]), LATER).again, None);
}

#[test]
fn surplus_entries_leave_the_history_once_their_runs_are_known_to_be_gone() {
    let before = with(vec![
        succeeded(1),
        unfinished(1, "A"),
        succeeded(2),
        succeeded(3),
        succeeded(4),
    ]);
    let mut before = before;
    before.history_mut()[1].uid = Some("twin".to_owned());
    let gone = |entry: &HistoryEntry, _: &str| entry.sequence != 2;
    let trim = |now| trim_history(before.clone(), POLICY, Some(at(now)), gone);
    assert_eq!(trim(500), before, "they may be on their way to the watch");
    let next = trim(LATER);
    let left: Vec<_> = next
        .history
        .iter()
        .filter_map(|entry| entry.uid.as_deref())
        .collect();
    assert_eq!(left, ["twin", "uid-2", "uid-3", "uid-4"]);
    let kept = trim_history(before.clone(), POLICY, Some(at(LATER)), |_, _| false);
    assert_eq!(kept, before);
}

proptest! {
    #[test]
    fn nothing_unfinished_current_output_giving_or_young_is_ever_deleted(
        entries in prop::collection::vec((1..40i64, 0..4u8, prop::option::of(0..1_000i64), prop::option::of(0..1_000i64)), 0..40),
        current in 1..40i64,
        source in prop::option::of(1..40i64),
        now in prop::option::of(0..2_000i64),
    ) {
        let mut ledger = ledger(created(current, "A"), vec![]);
        ledger.outputs_from = source.map(outputs_from);
        for (sequence, result, started, ended) in entries {
            let result = [None, Some(RunResult::Succeeded), Some(RunResult::Failed), Some(RunResult::Lost)][usize::from(result)];
            let (started_at, finished_at) = (started.and_then(time), ended.and_then(time));
            ledger.history_mut().push(HistoryEntry { result, started_at, finished_at, ..unfinished(sequence, "A") });
        }
        let plan = retention(&ledger, POLICY, now.map(at), |_, _| true);
        prop_assert!(plan.delete.len() <= 10);
        for entry in plan.delete {
            prop_assert!(entry.result.is_some() && entry.sequence < current && Some(entry.sequence) != source);
            let old = |since: Option<Time>| now.is_some_and(|now| since.is_some_and(|since| at(now - 600) >= since.0));
            prop_assert!(old(entry.started_at) && old(entry.finished_at));
        }
    }
}
