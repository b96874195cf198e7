//! A run that an earlier reconciliation made and left unconfirmed.

use std::sync::Arc;

use cartouche_crds::RunResult;

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide, decide_without_rendering},
    facts::{CreateOutcome, Facts, NameRead},
    ledger::{Change, tests::sample::*},
    status,
};

/// The second run was made by an earlier reconciliation.
fn made_before(input: &str) -> Facts {
    let made = CreateOutcome::MadeBefore(Box::new(running(run(2, "A"))));
    with(pending(2, "A"), input).after(made)
}

#[test]
fn a_run_of_which_nothing_new_was_seen_is_confirmed_without_a_read() {
    let unseen = made_before("A");
    let as_made = made_before("A").seeing(seen(&running(run(2, "A"))));
    for facts in [unseen, as_made] {
        let next = written(&facts, Change::Confirm);
        assert_eq!(next.current, Some(created(2, "A")));
    }
}

/// Otherwise it would be read only to be reported, and the status written once more.
#[test]
fn what_the_create_showed_of_a_run_is_told_when_it_is_confirmed() {
    let mut facts = made_before("A").seeing(seen(&running(run(2, "A"))));
    facts.ledger = written(&facts, Change::Confirm);
    facts.stored = Arc::new(status::status(&facts, &facts.ledger, None));
    assert!(status::reports(&facts.stored, &running(run(2, "A")).health));
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn a_run_that_has_ended_since_is_read_and_then_confirmed_with_its_result_and_outputs() {
    let succeeded = succeeded(run(2, "A"), "x");
    let facts = made_before("A").seeing(seen(&succeeded));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let next = written(&facts.reading_found(&name(2), succeeded), Change::Confirm);
    assert_eq!(next.current.unwrap().result, Some(RunResult::Succeeded));
    assert_eq!(next.outputs, Some(values("x")));
}

#[test]
fn a_run_that_cannot_be_read_or_is_gone_is_confirmed_all_the_same() {
    let ended = made_before("A").seeing(seen(&failed(run(2, "A"))));
    let gone = ended.clone().reading_absent(&name(2));
    let another = ended
        .clone()
        .reading_found(&name(2), running(other(run(2, "A"))));
    let mut denied = ended;
    denied.reads.insert(run_name(&name(2)), NameRead::Denied);
    for facts in [gone, another, denied] {
        let next = written(&facts, Change::Confirm).current.unwrap();
        assert_eq!((next.uid, next.result), (Some(uid(2)), None));
    }
}

#[test]
fn a_run_that_was_seen_to_go_meanwhile_is_recorded_and_not_made_again() {
    let facts = made_before("A").seeing(seen_to_go(&succeeded(run(2, "A"), "x")));
    let facts = facts.reading_absent(&name(2));
    let next = written(&facts, Change::Record).current.unwrap();
    assert_eq!(next.result, Some(RunResult::Succeeded));
}

/// A create of ours without an answer had made another run before, which ended and was deleted.
#[test]
fn a_run_that_this_process_has_made_is_no_strangers_because_another_one_went() {
    let before = crate::ledger::RunIdentity {
        uid: "before".to_owned(),
        ..run(2, "A")
    };
    let facts = made_before("A").seeing(seen_to_go(&succeeded(before, "x")));
    let facts = facts.reading_found(&name(2), running(run(2, "A")));
    let next = written(&facts, Change::Confirm).current.unwrap();
    assert_eq!(next.uid, Some(uid(2)));
}

#[test]
fn it_is_confirmed_while_something_else_is_stuck() {
    let mut facts = made_before("A");
    facts.rendering = Err(problem("no such template"));
    stuck(&facts, Category::StampedObjectRejectedByAPIServer);
    match decide_without_rendering(&facts) {
        Step::Write(next, Change::Confirm) => assert_eq!(next.current, Some(created(2, "A"))),
        step => panic!("decided {step:?}"),
    }
}

#[test]
fn an_input_that_has_changed_meanwhile_supersedes_it_with_what_a_read_finds() {
    let facts = made_before("B").fresh();
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let facts = facts.reading_found(&name(2), running(run(2, "A")));
    let next = written(&facts, Change::Intent);
    let superseded = next.history.last().unwrap();
    assert_eq!(superseded.uid, Some(uid(2)));
    assert_eq!(
        next.current,
        Some(cartouche_crds::CurrentRun {
            intent_at: time(NOW),
            rules_hash: Some(RULES.to_owned()),
            ..pending(3, "B")
        })
    );
}
