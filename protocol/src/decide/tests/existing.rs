//! The current run exists.

use std::sync::Arc;

use cartouche_crds::RunResult;
use cartouche_engines::Verdict;

use super::scene::*;
use crate::{
    decide::{Step, decide, decide_without_rendering},
    facts::{Facts, LedgerState},
    ledger::{CachedRun, Change, FetchedRun, Ledger, OutputsRead, RunIdentity, tests::sample::*},
};

/// Facts after a reconciliation that has read the run and reported all of it.
pub(super) fn settled(fetched: &FetchedRun) -> Facts {
    let before = with(created(2, "A"), "A").reading_found(&name(2), fetched.clone());
    let recorded = match decide(&before) {
        Step::Write(ledger, Change::Record) => *ledger,
        _ => before.ledger.clone(),
    };
    let mut after = Facts {
        ledger: recorded,
        ..before
    }
    .stored_as_reported();
    after.reads.clear();
    after
}

pub(super) fn read_of_two() -> Step {
    Step::ReadRun(run_name(&name(2)))
}

#[test]
fn an_existing_run_is_never_created_again() {
    for current in [
        created(2, "A"),
        ended(2, "A", RunResult::Failed),
        ended(2, "A", RunResult::Lost),
    ] {
        for facts in [
            with(current.clone(), "A"),
            with(current.clone(), "A").fresh().reading_absent(&name(2)),
            with(current.clone(), "A").seeing(seen_to_go(&failed(run(2, "A")))),
        ] {
            assert_ne!(decide(&facts), Step::Create);
        }
    }
}

#[test]
fn an_unfinished_run_that_no_watch_shows_is_read() {
    assert_eq!(decide(&with(created(2, "A"), "A")), read_of_two());
}

#[test]
fn a_run_that_was_just_made_is_left_to_the_watch() {
    let mut facts = with(created(2, "A"), "A");
    facts.unobserved_run = Some(uid(2));
    assert_eq!(decide(&facts), Step::Settled);
    facts.unobserved_run = Some(uid(1));
    assert_eq!(decide(&facts), read_of_two());
}

#[test]
fn a_run_that_says_nothing_new_is_not_read() {
    for fetched in [
        running(run(2, "A")),
        failed(run(2, "A")),
        succeeded(run(2, "A"), "x"),
    ] {
        let facts = settled(&fetched);
        assert_eq!(
            decide(&facts.seeing(seen(&fetched))),
            Step::Settled,
            "{fetched:?}"
        );
    }
}

#[test]
fn whatever_a_run_says_anew_is_read_before_it_is_believed() {
    let other_words = |mut fetched: FetchedRun| {
        fetched.health.message = "step 2 of 3".to_owned();
        fetched
    };
    for (before, after) in [
        (running(run(2, "A")), failed(run(2, "A"))),
        (running(run(2, "A")), other_words(running(run(2, "A")))),
        (failed(run(2, "A")), succeeded(run(2, "A"), "x")),
        (succeeded(run(2, "A"), "x"), running(run(2, "A"))),
        (succeeded(run(2, "A"), "x"), succeeded(run(2, "A"), "y")),
        (succeeded(run(2, "A"), "x"), lacking(run(2, "A"))),
    ] {
        assert_eq!(
            decide(&settled(&before).seeing(seen(&after))),
            read_of_two(),
            "{after:?}"
        );
    }
}

#[test]
fn other_rules_read_the_current_run_again_and_make_no_run() {
    let fetched = succeeded(run(2, "A"), "x");
    let mut facts = settled(&fetched).seeing(seen(&fetched));
    if let Ok(rendering) = &mut facts.rendering {
        rendering.rules_hash = Arc::from("other rules");
    }
    assert_eq!(decide(&facts), read_of_two());
    facts.cached_runs[0].rules_hash = Arc::from("other rules");
    assert_eq!(
        decide(&facts),
        read_of_two(),
        "its outputs were read by the former ones"
    );
}

#[test]
fn outputs_that_are_in_its_pods_are_read_once() {
    let fetched = fetched(run(2, "A"), Verdict::Succeeded, OutputsRead::Elsewhere);
    let unread =
        with(ended(2, "A", RunResult::Succeeded), "A").reading_found(&name(2), fetched.clone());
    let mut unread = unread.stored_as_reported();
    unread.reads.clear();
    assert_eq!(decide(&unread.seeing(seen(&fetched))), read_of_two());
    assert_eq!(
        decide(&settled(&succeeded(run(2, "A"), "x")).seeing(seen(&fetched))),
        Step::Settled
    );
}

#[test]
fn what_was_read_is_recorded_if_it_is_news() {
    let next = written(
        &with(created(2, "A"), "A").reading_found(&name(2), succeeded(run(2, "A"), "x")),
        Change::Record,
    );
    assert_eq!(next.current.unwrap().result, Some(RunResult::Succeeded));
    assert_eq!(next.outputs, Some(values("x")));
    let nothing_new = with(created(2, "A"), "A").reading_found(&name(2), running(run(2, "A")));
    assert_eq!(decide(&nothing_new), Step::Settled);
}

#[test]
fn a_run_that_was_stripped_of_its_owner_is_still_the_one_that_the_ledger_knows() {
    let bare = || RunIdentity {
        owner_uid: None,
        ..run(2, "A")
    };
    let facts = with(created(2, "A"), "A").fresh();
    let running = facts
        .clone()
        .reading_found(&name(2), running(bare()))
        .stored_as_reported();
    assert_eq!(decide(&running), Step::Settled);
    let ended = facts
        .clone()
        .reading_found(&name(2), succeeded(bare(), "x"));
    let next = written(&ended, Change::Record);
    assert_eq!(next.current.unwrap().result, Some(RunResult::Succeeded));
    assert_eq!(next.outputs, Some(values("x")));
    let gone = written(&facts.reading_absent(&name(2)), Change::Record);
    assert_eq!(gone.current.unwrap().result, Some(RunResult::Lost));
}

#[test]
fn a_listed_run_need_not_be_read_again() {
    let facts = with(created(2, "A"), "A").listing(vec![failed(run(2, "A"))], &[]);
    assert_eq!(
        written(&facts, Change::Record).current.unwrap().result,
        Some(RunResult::Failed)
    );
}

#[test]
fn while_something_is_stuck_results_are_recorded_but_nothing_is_intended() {
    let facts = with(created(2, "A"), "B").fresh();
    assert_eq!(decide_without_rendering(&facts), read_of_two());
    let ended = facts.clone().reading_found(&name(2), failed(run(2, "A")));
    assert!(matches!(
        decide_without_rendering(&ended),
        Step::Write(_, Change::Record)
    ));
    let gone = facts
        .clone()
        .seeing(seen_to_go(&running(run(2, "A"))))
        .reading_absent(&name(2));
    assert_eq!(decide_without_rendering(&gone), Step::Settled);
    let pending = Facts {
        ledger: ledger(pending(2, "A"), vec![unseen(1, "old")]),
        ..facts.clone()
    };
    assert_eq!(
        decide_without_rendering(&pending),
        Step::ReadRun(run_name(&name(1)))
    );
    let nothing = Facts {
        ledger: Ledger::default(),
        ..facts.clone()
    };
    assert_eq!(decide_without_rendering(&nothing), Step::Settled);
    for stop in [
        |facts: &mut Facts| facts.runnable.deleting = true,
        |facts: &mut Facts| {
            facts.ledger_state = LedgerState::Lost {
                ours: true,
                settled: true,
            };
        },
        |facts: &mut Facts| facts.watch = crate::facts::WatchState::Starting,
    ] {
        let mut facts = facts.clone();
        stop(&mut facts);
        assert_eq!(decide_without_rendering(&facts), Step::Settled);
    }
}

#[test]
fn while_something_is_stuck_a_finished_run_is_not_read_by_newer_rules() {
    let fetched = succeeded(run(2, "A"), "x");
    let by_newer_rules = CachedRun {
        rules_hash: Arc::from("other rules"),
        ..seen(&succeeded(run(2, "A"), "y"))
    };
    let facts = settled(&fetched).seeing(by_newer_rules);
    assert_eq!(decide_without_rendering(&facts), Step::Settled);
    let unfinished = settled(&running(run(2, "A"))).seeing(seen(&fetched));
    assert_eq!(decide_without_rendering(&unfinished), read_of_two());
    let no_news = settled(&running(run(2, "A"))).seeing(seen(&running(run(2, "A"))));
    assert_eq!(decide_without_rendering(&no_news), Step::Settled);
}
