//! The cluster is ahead of the ledger: a restored backup, or another controller.

use cartouche_crds::RunResult;

use super::scene::*;
use crate::{
    decide::{Step, decide, decide_without_rendering},
    facts::{CreateOutcome, Facts, LedgerWriter},
    ledger::{Change, RunIdentity, tests::sample::*},
    process_state::is_needed,
};

/// Facts in which another client with the right to write statuses wrote the ledger last.
fn put_back(facts: Facts) -> Facts {
    Facts {
        ledger_writer: Some(LedgerWriter::Another),
        ..facts
    }
}

#[test]
fn who_wrote_the_ledger_last_is_read_before_a_run_above_it_is_believed() {
    for current in [created(2, "A"), pending(2, "A"), rejected(2, "A", true)] {
        let facts = with(current, "A");
        for ahead in [
            seen(&running(run(4, "C"))),
            seen_to_go(&running(run(4, "C"))),
        ] {
            let facts = facts.clone().seeing(ahead);
            assert_eq!(decide(&facts), Step::ReadLedgerWriter);
            assert_eq!(decide(&put_back(facts)), Step::RenderAgain);
        }
    }
}

#[test]
fn a_run_above_a_ledger_of_ours_is_a_strangers_and_changes_nothing() {
    let forged = succeeded(run(4, "C"), "forged");
    let mut facts = with(created(2, "A"), "A").fresh().seeing(seen(&forged));
    facts.unobserved_run = Some(uid(2));
    facts.ledger_writer = Some(LedgerWriter::Ours);
    assert_eq!(decide(&facts), Step::Settled);
    facts.ledger = ledger(created(2, "B"), vec![]);
    assert_eq!(intended(&facts), (3, hash("A")));
}

#[test]
fn a_number_that_nobody_can_have_counted_up_to_is_not_believed() {
    let far = i64::from(i32::MAX);
    let forged = running(run(far, "C"));
    let facts = put_back(with(created(2, "A"), "A").fresh().seeing(seen(&forged)));
    let facts = facts.listing(vec![forged, running(run(2, "A"))], &[]);
    assert_eq!(decide(&facts), Step::Settled);
    let mut lost = new_runnable("A").fresh();
    lost.ledger_state = LOST;
    let lost = lost.listing(vec![running(run(far, "C")), running(run(7, "A"))], &[]);
    assert_eq!(written(&lost, Change::Rebuild).current.unwrap().sequence, 7);
}

#[test]
fn runs_that_are_found_again_count_as_made_under_the_rules_of_that_time() {
    let mut lost = new_runnable("A").fresh();
    lost.ledger_state = LOST;
    let found = vec![
        succeeded(run(1, "A"), "x"),
        running(run(2, "B")),
        running(run(3, "A")),
    ];
    let ledger = written(&lost.listing(found, &[]), Change::Rebuild);
    let rules = Some(RULES.to_owned());
    assert_eq!(ledger.current.as_ref().unwrap().rules_hash, rules);
    let history = ledger.history.iter();
    let known: Vec<_> = history.map(|entry| entry.rules_hash.clone()).collect();
    assert_eq!(
        known,
        [None, rules],
        "of one that has ended nothing is kept"
    );
}

#[test]
fn a_run_with_a_number_tells_of_a_status_that_was_emptied_and_of_runs_of_other_kinds() {
    let facts = new_runnable("A").fresh();
    assert_eq!(decide(&facts), Step::ListRuns { every_kind: false });
    let mut facts = facts.listing(vec![succeeded(run(1, "A"), "x")], &[]);
    assert_eq!(decide(&facts), Step::ListRuns { every_kind: true });
    facts.listed_every_kind = true;
    assert_eq!(
        written(&facts, Change::Rebuild).current.unwrap().sequence,
        1
    );
    let nothing = new_runnable("A").fresh().listing(vec![], &[]);
    assert_eq!(intended(&nothing), (1, hash("A")));
}

#[test]
fn a_run_above_the_ledger_has_everything_listed_after_a_fresh_rendering() {
    for current in [created(2, "A"), pending(2, "A"), rejected(2, "A", true)] {
        let facts = put_back(with(current, "A").seeing(seen(&running(run(4, "C")))));
        assert_eq!(decide(&facts), Step::RenderAgain);
        assert_eq!(decide(&facts.fresh()), Step::ListRuns { every_kind: true });
    }
}

#[test]
fn the_ledger_goes_on_above_what_exists() {
    let facts = put_back(with(ended(2, "A", RunResult::Succeeded), "A"))
        .fresh()
        .seeing(seen(&running(run(4, "C"))))
        .listing(vec![running(run(4, "C")), succeeded(run(3, "B"), "b")], &[]);
    let rebuilt = written(&facts, Change::Rebuild);
    assert_eq!(rebuilt.current, Some(found_again(created(4, "C"))));
    let results: Vec<_> = rebuilt
        .history
        .iter()
        .map(|run| (run.sequence, run.result))
        .collect();
    assert_eq!(
        results,
        [
            (2, Some(RunResult::Succeeded)),
            (3, Some(RunResult::Succeeded))
        ]
    );
    assert_eq!(rebuilt.outputs, Some(values("b")));
    let mut facts = facts;
    facts.ledger = rebuilt;
    assert_eq!(intended(&facts), (5, hash("A")));
}

#[test]
fn an_unchanged_input_makes_no_run_after_a_restore() {
    let facts = put_back(with(created(2, "A"), "C"))
        .fresh()
        .seeing(seen(&running(run(4, "C"))))
        .listing(vec![running(run(4, "C"))], &[]);
    let mut facts = facts.clone();
    facts.ledger = written(&facts, Change::Rebuild);
    assert_eq!(facts.ledger.current.as_ref().unwrap().sequence, 4);
    assert_ne!(decide(&facts), Step::RenderAgain);
    assert!(!matches!(decide(&facts), Step::Write(_, Change::Intent)));
}

#[test]
fn other_content_under_the_present_number_is_ahead_too() {
    let facts = put_back(with(pending(2, "A"), "A"))
        .fresh()
        .seeing(seen(&running(run(2, "B"))));
    assert_eq!(decide(&facts), Step::ListRuns { every_kind: true });
    let rebuilt = written(
        &facts.listing(vec![running(run(2, "B"))], &[]),
        Change::Rebuild,
    );
    assert_eq!(rebuilt.current, Some(found_again(created(2, "B"))));
}

#[test]
fn the_number_of_a_run_that_was_seen_to_go_is_not_used_again() {
    let facts = put_back(with(created(2, "A"), "A"))
        .fresh()
        .seeing(seen_to_go(&running(run(5, "C"))));
    assert_eq!(decide(&facts), Step::ListRuns { every_kind: true });
    let mut facts = facts.listing(vec![running(run(2, "A"))], &[]);
    facts.ledger = written(&facts, Change::Rebuild);
    assert_eq!(intended(&facts), (6, hash("A")));
}

#[test]
fn a_list_that_shows_nothing_ahead_changes_nothing() {
    let facts = put_back(with(created(2, "A"), "A"))
        .fresh()
        .seeing(seen(&running(run(4, "C"))))
        .listing(vec![running(run(2, "A"))], &[]);
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn forged_runs_are_not_ahead() {
    let misnamed = RunIdentity {
        name: "forged".to_owned(),
        ..run(900, "C")
    };
    for forged in [misnamed, owned_by_another(run(900, "C"))] {
        let mut facts = with(created(2, "A"), "A").seeing(seen(&running(forged)));
        facts.unobserved_run = Some(uid(2));
        assert_eq!(decide(&facts), Step::Settled);
    }
}

#[test]
fn two_runs_with_one_number_are_dealt_with_once() {
    let second = RunIdentity {
        created: Some(at(50)),
        ..other(run(2, "B"))
    };
    let mut facts = put_back(with(created(2, "A"), "B"))
        .fresh()
        .seeing(seen(&running(second.clone())))
        .listing(vec![running(run(2, "A")), running(second)], &[]);
    facts.ledger = written(&facts, Change::Rebuild);
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn more_runs_than_a_status_holds_are_cut_to_the_newest() {
    let runs = (3..=300)
        .map(|sequence| failed(run(sequence, "old")))
        .collect();
    let facts = put_back(with(created(2, "A"), "A").fresh())
        .seeing(seen(&failed(run(300, "old"))))
        .listing(runs, &[]);
    let rebuilt = written(&facts, Change::Rebuild);
    assert_eq!(rebuilt.current.unwrap().sequence, 300);
    assert_eq!(rebuilt.history.len(), 200);
    assert_eq!(rebuilt.history[0].sequence, 2, "the only unfinished one");
    assert_eq!(rebuilt.history[1].sequence, 101);
}

#[test]
fn a_number_that_this_process_wrote_tells_of_runs_that_it_has_no_sight_of_any_more() {
    let mut facts = with(ended(2, "A", RunResult::Succeeded), "A").fresh();
    facts.reached_sequence = 2;
    assert_eq!(decide(&facts), Step::Settled);
    facts.reached_sequence = 4;
    assert_eq!(decide(&facts), Step::ListRuns { every_kind: true });
    let newer = facts
        .clone()
        .listing(vec![succeeded(run(4, "C"), "c")], &[]);
    let rebuilt = written(&newer, Change::Rebuild);
    assert_eq!(rebuilt.current.unwrap().sequence, 4);
    // They may have been deleted since.
    assert_eq!(decide(&facts.listing(vec![], &[])), Step::Settled);
}

#[test]
fn a_status_that_was_emptied_whole_is_one_that_was_served() {
    let mut facts = new_runnable("A");
    facts.ledger_state = LOST_JUST_NOW;
    assert!(matches!(decide(&facts), Step::Wait(_)));
    facts.ledger_state = LOST;
    assert_eq!(decide(&facts.fresh()), Step::ListRuns { every_kind: true });
}

#[test]
fn what_once_claimed_to_be_ahead_is_never_taken_for_the_run_whose_name_it_holds() {
    // Younger than the intent, to the clocks' half minute.
    let forged = succeeded(run(3, "A"), "forged");
    let mut facts = with(pending(3, "A"), "A")
        .after(CreateOutcome::AlreadyExists)
        .reading_found(&name(3), forged.clone());
    written(&facts, Change::Confirm);
    facts.unknown_runs.insert(forged.run.uid.clone());
    let next = written(&facts, Change::Renumber);
    assert_eq!((next.current.unwrap().uid, next.outputs), (None, None));
    let gone = Facts {
        created: None,
        ..facts
    };
    assert_eq!(decide(&gone.seeing(seen_to_go(&forged))), Step::Create);
}

/// No run can be decided upon, and a run that has ended would be recorded.
fn stuck_with_a_run_ahead() -> Facts {
    let facts = with(created(2, "A"), "A").seeing(seen(&succeeded(run(2, "A"), "a")));
    facts.seeing(seen(&running(run(4, "C"))))
}

#[test]
fn while_something_is_stuck_a_ledger_that_was_put_back_is_left_as_it_is() {
    let facts = stuck_with_a_run_ahead();
    assert_eq!(decide_without_rendering(&facts), Step::ReadLedgerWriter);
    let restored = put_back(facts.clone());
    assert_eq!(decide_without_rendering(&restored), Step::Settled);
    let listed = Facts {
        listed_every_kind: true,
        ..restored
    };
    let read = Step::ReadRun(run_name(&name(2)));
    assert_eq!(decide_without_rendering(&listed), read);
    let mut by_number = with(created(2, "A"), "A").seeing(seen(&succeeded(run(2, "A"), "a")));
    assert_eq!(decide_without_rendering(&by_number), read);
    by_number.reached_sequence = 4;
    assert_eq!(decide_without_rendering(&by_number), Step::Settled);
}

#[test]
fn while_something_is_stuck_a_stranger_ahead_keeps_no_run_from_being_followed() {
    let mut facts = stuck_with_a_run_ahead();
    facts.ledger_writer = Some(LedgerWriter::Ours);
    assert_eq!(
        decide_without_rendering(&facts),
        Step::ReadRun(run_name(&name(2)))
    );
}

#[test]
fn what_claims_to_be_ahead_is_kept_in_mind_until_it_is_known_who_wrote_the_ledger() {
    let ledger = with(ended(2, "A", RunResult::Succeeded), "A").ledger;
    let needed = |sequence, is_latest, deleted| {
        let run = running(run(sequence, "C")).run;
        is_needed(&ledger, is_latest, RUNNABLE, &run, deleted)
    };
    for deleted in [false, true] {
        assert!(needed(4, false, deleted));
        assert!(!needed(4, true, deleted));
        assert!(!needed(1, false, deleted), "an old one claims nothing");
    }
    let mut facts = with(created(2, "A"), "A");
    assert!(!facts.is_latest());
    facts.ledger_writer = Some(LedgerWriter::Another);
    assert!(!facts.is_latest());
    facts.listed_every_kind = true;
    assert!(facts.is_latest());
}

/// No watch shows runs of a kind that the ledger does not name, until its first list has come.
#[test]
fn where_somebody_else_has_written_the_status_it_is_found_out_before_a_run_is_made() {
    for current in [created(2, "B"), pending(2, "A"), rejected(2, "A", true)] {
        let marked = Facts {
            other_writer: true,
            ..with(current.clone(), "A").fresh()
        };
        assert_eq!(decide(&marked), Step::ReadLedgerWriter);
        let ours = Facts {
            ledger_writer: Some(LedgerWriter::Ours),
            ..marked.clone()
        };
        let unmarked = with(current, "A").fresh();
        assert_eq!(decide(&ours), decide(&unmarked));
        let restored = put_back(marked);
        assert_eq!(decide(&restored), Step::ListRuns { every_kind: true });
        let newer = vec![succeeded(run(3, "C"), "c"), succeeded(run(4, "A"), "a")];
        let rebuilt = written(&restored.listing(newer, &[]), Change::Rebuild);
        assert_eq!(rebuilt.current.unwrap().sequence, 4);
    }
    let mut settled = with(ended(2, "A", RunResult::Succeeded), "A").fresh();
    settled.other_writer = true;
    assert_eq!(decide(&settled), Step::ReadLedgerWriter);
    settled.runnable.deleting = true;
    assert_eq!(decide(&settled), Step::Settled, "nothing is written");
    settled.runnable.is_kept_by_us = true;
    assert_eq!(decide(&settled), Step::ReadLedgerWriter);
}

/// Our own write would erase the record of the former writer.
#[test]
fn where_somebody_else_has_written_the_status_nothing_is_recorded_before_it_is_found_out() {
    let ended = with(created(2, "A"), "A").reading_found(&name(2), succeeded(run(2, "A"), "a"));
    for step in [decide, decide_without_rendering] {
        assert!(matches!(step(&ended), Step::Write(_, Change::Record)));
        let marked = Facts {
            other_writer: true,
            ..ended.clone()
        };
        assert_eq!(step(&marked), Step::ReadLedgerWriter);
    }
    let restored = put_back(ended);
    assert_eq!(decide_without_rendering(&restored), Step::Settled);
    assert_eq!(
        decide(&restored.fresh()),
        Step::ListRuns { every_kind: true }
    );
}

#[test]
fn who_held_the_name_of_a_number_that_was_given_up_is_no_run_when_the_ledger_is_rebuilt() {
    let mut given_up = finished(3, RunResult::Failed);
    (given_up.uid, given_up.result) = (None, None);
    given_up.taken_by = Some(uid(3));
    let facts = put_back(facts(ledger(created(2, "A"), vec![given_up]), "A").fresh());
    let forged = succeeded(run(3, "A"), "forged");
    let facts = facts.listing(vec![forged, running(run(4, "A"))], &[]);
    let rebuilt = written(&facts, Change::Rebuild);
    assert_eq!(rebuilt.current.unwrap().sequence, 4);
    assert!(
        rebuilt
            .history
            .iter()
            .all(|entry| entry.uid != Some(uid(3)))
    );
}

/// Otherwise the runs that exist would not be listed, and so nothing recorded, for as long as that
/// lasts.
#[test]
fn what_keeps_a_run_from_being_made_keeps_nobody_from_finding_out_who_wrote_the_ledger() {
    for current in [created(2, "B"), pending(2, "A"), rejected(2, "A", true)] {
        let mut facts = with(current, "A").fresh();
        facts.runnable.suspended = true;
        facts.other_writer = true;
        assert_eq!(decide(&facts), Step::ReadLedgerWriter);
        let restored = put_back(facts);
        assert_eq!(decide(&restored), Step::ListRuns { every_kind: true });
        let mut listed = restored.listing(vec![running(run(1, "A"))], &[]);
        listed.listed_every_kind = true;
        assert!(matches!(decide(&listed), Step::Stuck(_)));
        let ended = listed.seeing(seen(&succeeded(run(2, "B"), "b")));
        assert_ne!(decide_without_rendering(&ended), Step::ReadLedgerWriter);
    }
}
