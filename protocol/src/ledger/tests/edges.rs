//! Edge cases of the ledger: what it waits for, what it gives up, and whose outputs it takes, each beside its
//! nearest neighbour.

use cartouche_crds::{HistoryEntry, RunResult};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::sample::*;
use crate::ledger::{Ledger, ListedRun, RunIdentity, rebuild};

#[test]
fn only_the_run_that_a_pending_entry_intends_is_awaited() {
    let awaits = |ledger: &Ledger, other: &RunIdentity| ledger.awaits(other);
    let pending = ledger(pending(2, "A"), vec![]);
    assert!(awaits(&pending, &run(2, "A")));
    assert!(!awaits(&pending, &run(2, "B")), "another hash");
    assert!(!awaits(&pending, &run(1, "A")), "another number");
    assert!(!awaits(&Ledger::default(), &run(2, "A")), "no entry");
    for current in [
        created(2, "A"),
        ended(2, "A", RunResult::Succeeded),
        rejected(2, "A", true),
    ] {
        let settled = ledger(current, vec![]);
        assert!(!awaits(&settled, &run(2, "A")), "{settled:?}");
    }
}

#[test]
fn a_time_at_the_end_of_all_times_in_an_edited_entry_is_one_like_any_other() {
    let edited = |times: [&str; 2]| {
        let [started, intended] = times.map(|time| Some(Time(time.parse().unwrap())));
        HistoryEntry {
            uid: None,
            started_at: started,
            intent_at: intended,
            ..unfinished(2, "B")
        }
    };
    let last = "9999-12-30T22:00:00Z";
    let first = "-009999-01-02T01:59:59Z";
    let made = run(2, "B");
    assert!(made.is_of(&edited([last, first])));
    assert!(!made.is_of(&edited([first, last])));
}

#[test]
fn outputs_of_a_run_that_has_left_the_history_do_not_give_way_to_an_older_one() {
    for newer in [3, 4] {
        let mut before = ledger(created(5, "C"), vec![unfinished(2, "B")]);
        (before.outputs, before.outputs_from) = (Some(values("newer")), Some(outputs_from(newer)));
        let next = before.record(&succeeded(run(2, "B"), "older"), Some(at(60)));
        assert_eq!(next.history[0].result, Some(RunResult::Succeeded));
        assert_eq!(next.outputs, Some(values("newer")));
        assert_eq!(next.outputs_from, Some(outputs_from(newer)));
    }
}

#[test]
fn outputs_of_a_run_that_failed_later_do_not_give_way_to_an_older_one() {
    let gave = ledger(created(3, "C"), vec![unfinished(2, "B")])
        .record(&succeeded(run(3, "C"), "newer"), Some(at(60)))
        .record(&failed(run(3, "C")), Some(at(70)));
    let next = gave.record(&succeeded(run(2, "B"), "older"), Some(at(80)));
    assert_eq!(next.outputs, Some(values("newer")));
}

#[test]
fn a_newer_run_takes_the_place_of_older_outputs() {
    let mut before = ledger(created(4, "C"), vec![unfinished(3, "B")]);
    (before.outputs, before.outputs_from) = (Some(values("older")), Some(outputs_from(2)));
    let next = before.record(&succeeded(run(3, "B"), "newer"), Some(at(60)));
    assert_eq!(next.outputs, Some(values("newer")));
    assert_eq!(next.outputs_from.map(|from| from.sequence), Some(3));
}

#[test]
fn of_all_earlier_entries_one_is_given_up_that_has_no_run_and_no_end() {
    let lost = HistoryEntry {
        result: Some(RunResult::Lost),
        finished_at: time(60),
        message: "nobody may look".to_owned(),
        ..unseen(3, "B")
    };
    let ended_unseen = HistoryEntry {
        uid: None,
        ..finished(4, RunResult::Failed)
    };
    let before = vec![
        unseen(1, "A"),
        unfinished(2, "A"),
        unseen(3, "B"),
        ended_unseen.clone(),
    ];
    let ledger = ledger(created(5, "C"), before);
    let give_up = |sequence| {
        ledger
            .clone()
            .give_up(sequence, "nobody may look", Some(at(60)))
    };
    assert_eq!(
        *give_up(3).history,
        [unseen(1, "A"), unfinished(2, "A"), lost, ended_unseen]
    );
    for (sequence, why) in [(2, "its run is known"), (4, "it has ended"), (9, "none")] {
        assert_eq!(give_up(sequence), ledger, "{why}");
    }
}

#[test]
fn exactly_as_many_runs_of_cartographer_as_may_be_are_all_taken_over() {
    for (count, kept) in [(99, 99), (100, 100), (101, 100)] {
        let runs: Vec<_> = (0..count)
            .map(|n| unlabelled(&format!("r{n:03}"), n))
            .collect();
        let listed: Vec<_> = runs
            .iter()
            .map(|run| ListedRun {
                run,
                matches: false,
            })
            .collect();
        let next = rebuild(&Ledger::default(), &listed, RUNNABLE, None, None).unwrap();
        assert_eq!(next.history.len() + 1, kept);
        assert_eq!(next.current.unwrap().name, format!("r{:03}", count - 1));
    }
}
