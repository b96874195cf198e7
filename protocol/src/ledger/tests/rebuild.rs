//! Rebuilding the ledger from the existing runs.

use cartouche_crds::{CurrentRun, RunPhase, RunResult};
use k8s_openapi::jiff::Timestamp;

use super::sample::*;
use crate::ledger::{Ledger, ListedRun, MAX_HISTORY, RunIdentity, UNKNOWN_HASH, rebuild};

/// Rebuilds from runs, of which those whose name is given match what is rendered.
fn rebuilt(ledger: &Ledger, runs: &[RunIdentity], matching: &[&str]) -> Option<Ledger> {
    rebuilt_at(ledger, runs, matching, None, None)
}

fn rebuilt_at(
    ledger: &Ledger,
    runs: &[RunIdentity],
    matching: &[&str],
    token: Option<&str>,
    now: Option<Timestamp>,
) -> Option<Ledger> {
    let listed: Vec<ListedRun<'_>> = runs
        .iter()
        .map(|run| ListedRun {
            run,
            matches: matching.contains(&run.name.as_str()),
        })
        .collect();
    rebuild(ledger, &listed, RUNNABLE, token, now)
}

fn sequences(ledger: &Ledger) -> Vec<(i64, &str)> {
    let history = ledger
        .history
        .iter()
        .map(|run| (run.sequence, run.name.as_str()));
    history
        .chain(
            ledger
                .current
                .iter()
                .map(|run| (run.sequence, run.name.as_str())),
        )
        .collect()
}

#[test]
fn where_no_run_of_ours_exists_there_is_nothing_to_rebuild() {
    let stranger = RunIdentity {
        owner_uid: Some("other".to_owned()),
        ..run(5, "A")
    };
    assert_eq!(rebuilt(&Ledger::default(), &[], &[]), None);
    assert_eq!(rebuilt(&Ledger::default(), &[stranger], &[]), None);
}

/// A run of that number may have existed and gone, and no number is given twice.
#[test]
fn a_ledger_that_is_ahead_of_all_runs_is_believed() {
    let raised = CurrentRun {
        sequence: 99,
        ..created(1, "A")
    };
    let raised = ledger(raised, vec![]);
    assert_eq!(rebuilt(&raised, &[run(1, "A")], &["A"]), None);
    assert_eq!(raised.next_sequence(), 100);
}

#[test]
fn the_highest_number_is_current_and_the_others_are_history() {
    let next = rebuilt(
        &Ledger::default(),
        &[run(2, "B"), run(5, "C"), run(1, "A")],
        &[],
    )
    .unwrap();
    assert_eq!(
        sequences(&next),
        [(1, &*name(1)), (2, &*name(2)), (5, &*name(5))]
    );
    assert_eq!(next.current, Some(created(5, "C")));
    assert_eq!(next.history[1], unfinished(2, "B"));
}

#[test]
fn runs_of_cartographer_are_numbered_in_order_of_creation() {
    let runs = [
        unlabelled("b", 20),
        unlabelled("c", 30),
        unlabelled("a", 10),
    ];
    let next = rebuilt(&Ledger::default(), &runs, &[]).unwrap();
    assert_eq!(sequences(&next), [(1, "a"), (2, "b"), (3, "c")]);
    let current = next.current.unwrap();
    assert_eq!(
        (current.input_hash.as_str(), current.phase),
        (UNKNOWN_HASH, RunPhase::Created)
    );
}

#[test]
fn of_the_runs_of_the_newest_second_the_one_that_matches_is_current() {
    let runs = [
        unlabelled("b", 20),
        unlabelled("c", 20),
        unlabelled("d", 20),
    ];
    let next = rebuilt(&Ledger::default(), &runs, &["c"]).unwrap();
    assert_eq!(next.current.unwrap().name, "c");
    let runs = [unlabelled("b", 20), unlabelled("c", 19)];
    let next = rebuilt(&Ledger::default(), &runs, &["c"]).unwrap();
    assert_eq!(
        next.current.unwrap().name,
        "b",
        "an older one that matches is not the newest"
    );
}

#[test]
fn at_most_a_hundred_runs_of_cartographer_are_taken_over_the_newest_ones() {
    let runs: Vec<RunIdentity> = (0..150)
        .map(|n| unlabelled(&format!("r{n:03}"), n))
        .collect();
    let next = rebuilt(&Ledger::default(), &runs, &[]).unwrap();
    assert_eq!(next.history.len(), 99);
    assert_eq!(next.history[0].name, "r050");
    assert_eq!(next.current.unwrap().name, "r149");
}

#[test]
fn of_very_many_numbered_runs_no_more_are_taken_than_a_history_holds() {
    let runs: Vec<RunIdentity> = (1..=20_000).map(|sequence| run(sequence, "A")).collect();
    let next = rebuilt(&Ledger::default(), &runs, &[]).unwrap();
    assert_eq!(next.current.unwrap().sequence, 20_000);
    // With all unfinished runs the status would be refused.
    assert_eq!(next.history.len(), MAX_HISTORY - 1);
}

#[test]
fn a_run_that_is_listed_in_two_versions_of_its_kind_is_one_run() {
    let newer_version = |run: RunIdentity| RunIdentity {
        api_version: "example.dev/v2".to_owned(),
        ..run
    };
    let numbered = [run(1, "A"), newer_version(run(1, "A"))];
    assert_eq!(
        sequences(&rebuilt(&Ledger::default(), &numbered, &[]).unwrap()),
        [(1, &*name(1))]
    );
    let unnumbered = [unlabelled("x", 5), newer_version(unlabelled("x", 5))];
    assert_eq!(
        sequences(&rebuilt(&Ledger::default(), &unnumbered, &[]).unwrap()),
        [(1, "x")]
    );
}

#[test]
fn runs_of_cartographer_newer_than_the_highest_number_follow_it() {
    let runs = [run(4, "A"), unlabelled("x", 10), unlabelled("y", 20)];
    let next = rebuilt(&Ledger::default(), &runs, &[]).unwrap();
    assert_eq!(sequences(&next), [(4, &*name(4)), (5, "x"), (6, "y")]);
}

#[test]
fn runs_of_cartographer_older_than_the_highest_number_take_free_numbers_below() {
    let mut newest = run(5, "A");
    newest.created = Some(at(1_000));
    let runs = [
        newest,
        run(3, "B"),
        unlabelled("x", 10),
        unlabelled("y", 20),
    ];
    let next = rebuilt(&Ledger::default(), &runs, &[]).unwrap();
    assert_eq!(
        sequences(&next),
        [(2, "x"), (3, &*name(3)), (4, "y"), (5, &*name(5))]
    );
}

#[test]
fn old_runs_without_a_free_number_are_left_alone() {
    let mut newest = run(1, "A");
    newest.created = Some(at(1_000));
    let next = rebuilt(&Ledger::default(), &[newest, unlabelled("x", 10)], &[]).unwrap();
    assert_eq!(sequences(&next), [(1, &*name(1))]);
}

#[test]
fn within_one_second_a_run_of_cartographer_is_newer_only_if_it_alone_matches() {
    let runs = [run(4, "A"), unlabelled("x", 4)];
    let ours = name(4);
    for (matching, current) in [
        (vec![], &*ours),
        (vec![&*ours], &*ours),
        (vec![&*ours, "x"], &*ours),
        (vec!["x"], "x"),
    ] {
        let next = rebuilt(&Ledger::default(), &runs, &matching).unwrap();
        assert_eq!(next.current.unwrap().name, current, "{matching:?}");
    }
}

#[test]
fn a_number_whose_name_does_not_bear_it_out_is_no_number() {
    let forged = RunIdentity {
        name: "forged".to_owned(),
        ..run(900, "A")
    };
    let next = rebuilt(&Ledger::default(), &[forged, unlabelled("x", 2_000)], &[]).unwrap();
    assert_eq!(sequences(&next), [(1, "forged"), (2, "x")]);
}

#[test]
fn a_ledger_that_is_not_behind_is_left_alone() {
    let ledger = ledger(created(5, "A"), vec![]);
    assert_eq!(
        rebuilt(
            &ledger,
            &[run(5, "A"), run(4, "B"), unlabelled("x", 99)],
            &[]
        ),
        None
    );
}

#[test]
fn a_restored_ledger_goes_on_above_the_highest_run() {
    let mut restored = ledger(
        ended(2, "A", RunResult::Succeeded),
        vec![finished(1, RunResult::Failed)],
    );
    (restored.outputs, restored.outputs_from) = (Some(values("a")), Some(outputs_from(2)));
    let next = rebuilt(&restored, &[run(2, "A"), run(3, "B"), run(4, "C")], &[]).unwrap();
    assert_eq!(next.current, Some(created(4, "C")));
    let results: Vec<_> = next
        .history
        .iter()
        .map(|entry| (entry.sequence, entry.result))
        .collect();
    assert_eq!(
        results,
        [
            (1, Some(RunResult::Failed)),
            (2, Some(RunResult::Succeeded)),
            (3, None)
        ]
    );
    assert_eq!(
        (next.outputs, next.outputs_from),
        (restored.outputs, restored.outputs_from)
    );
}

#[test]
fn a_restored_entry_whose_create_may_still_land_stays_and_ages_from_now() {
    let restored = ledger(pending(2, "A"), vec![]);
    let next = rebuilt_at(&restored, &[run(4, "C")], &[], None, Some(at(500))).unwrap();
    let entry = &next.history[0];
    assert_eq!(
        (entry.sequence, &entry.uid, &entry.started_at),
        (2, &None, &time(500))
    );
    // What was definitely refused long ago is dropped.
    let refused = ledger(rejected(2, "A", false), vec![]);
    let next = rebuilt_at(&refused, &[run(4, "C")], &[], None, Some(at(1_000))).unwrap();
    assert!(next.history.is_empty());
}

#[test]
fn an_entry_that_never_showed_up_gives_way_to_the_run_that_has_its_number() {
    let restored = ledger(pending(3, "A"), vec![unseen(2, "old")]);
    let next = rebuilt(&restored, &[run(2, "B"), run(3, "C")], &[]).unwrap();
    assert_eq!(*next.history, [unfinished(2, "B")]);
    assert_eq!(next.current, Some(created(3, "C")));
}

#[test]
fn two_runs_with_one_number_are_both_known_so_that_nothing_is_rebuilt_again() {
    let second = RunIdentity {
        uid: "second".to_owned(),
        created: Some(at(90)),
        ..run(3, "B")
    };
    let third = RunIdentity {
        uid: "third".to_owned(),
        created: Some(at(95)),
        ..run(3, "C")
    };
    let runs = [run(3, "A"), second, third];
    let next = rebuilt(&ledger(created(3, "A"), vec![]), &runs, &[]).unwrap();
    assert_eq!(next.current.as_ref().unwrap().uid.as_deref(), Some("third"));
    assert_eq!(next.history.len(), 2);
    assert_eq!(rebuilt(&next, &runs, &[]), None);
}

#[test]
fn what_is_known_of_the_newest_run_survives_an_older_one_with_its_number() {
    let known = ended(3, "A", RunResult::Succeeded);
    let older = RunIdentity {
        uid: "older".to_owned(),
        created: Some(at(1)),
        ..run(3, "B")
    };
    let next = rebuilt(&ledger(known.clone(), vec![]), &[run(3, "A"), older], &[]).unwrap();
    assert_eq!(next.current, Some(known));
    assert!(next.knows("older"));
}

#[test]
fn a_request_present_while_there_is_no_ledger_counts_as_answered() {
    let next = rebuilt_at(&Ledger::default(), &[run(2, "A")], &[], Some("again"), None).unwrap();
    assert_eq!(next.last_answered(), Some("again"));
    assert_eq!(next.current.unwrap().rerun_token, None);
    let older = RunIdentity {
        rerun_token: Some("before".to_owned()),
        ..run(2, "A")
    };
    let next = rebuilt_at(&Ledger::default(), &[older], &[], Some("again"), None).unwrap();
    assert_eq!(next.last_answered(), Some("again"));
}

#[test]
fn in_a_restored_ledger_the_answered_request_is_that_of_the_newest_run() {
    let token = |run: RunIdentity, token: &str| RunIdentity {
        rerun_token: Some(token.to_owned()),
        ..run
    };
    let restored = ledger(
        CurrentRun {
            rerun_token: Some("first".to_owned()),
            ..created(1, "A")
        },
        vec![],
    );
    let answered = |runs: &[RunIdentity]| {
        let next = rebuilt_at(&restored, runs, &[], Some("third"), None).unwrap();
        next.last_answered().map(str::to_owned)
    };
    assert_eq!(
        answered(&[token(run(2, "B"), "second")]).as_deref(),
        Some("second")
    );
    assert_eq!(answered(&[run(2, "B")]).as_deref(), Some("first"));
    let with_old = [token(run(2, "B"), "second"), unlabelled("x", 90)];
    assert_eq!(
        answered(&with_old).as_deref(),
        Some("second"),
        "Cartographer's runs carry none"
    );
    let never_made = ledger(
        CurrentRun {
            rerun_token: Some("first".to_owned()),
            ..pending(1, "A")
        },
        vec![],
    );
    let next = rebuilt_at(&never_made, &[run(2, "B")], &[], Some("first"), None).unwrap();
    assert_eq!(next.last_answered(), None, "no run was seen to answer it");
    let changed_since = [token(run(2, "B"), "second"), run(3, "C")];
    assert_eq!(answered(&changed_since).as_deref(), Some("second"));
}

#[test]
fn what_is_left_of_a_ledger_without_a_current_run_is_kept() {
    let rest = Ledger {
        history: vec![finished(9, RunResult::Failed)].into(),
        ..Ledger::default()
    };
    let next = rebuilt(&rest, &[unlabelled("x", 90)], &[]).unwrap();
    assert_eq!(sequences(&next), [(9, &*name(9)), (10, "x")]);
}
