//! The pending entry: created, refused, unknown, or taken.

use cartouche_crds::{CurrentRun, RunPhase, RunResult};

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide},
    facts::{CreateOutcome, Facts, LedgerWriter, Probe},
    ledger::{Change, RunIdentity, tests::sample::*},
    messages::reconcile_error::Requeue,
};

fn made(fetched: crate::ledger::FetchedRun) -> CreateOutcome {
    CreateOutcome::Created(Box::new(fetched))
}

fn already_exists(current: CurrentRun) -> Facts {
    with(current, "A").after(CreateOutcome::AlreadyExists)
}

#[test]
fn a_pending_run_is_created() {
    assert_eq!(decide(&with(pending(2, "A"), "A")), Step::Create);
}

#[test]
fn a_refused_run_is_tried_again_under_its_number_once_the_attempt_is_on_record() {
    let next = written(&with(rejected(2, "A", false), "A"), Change::Attempt);
    assert_eq!(next.current, Some(rejected(2, "A", true)));
    assert_eq!(decide(&with(rejected(2, "A", true), "A")), Step::Create);
}

#[test]
fn what_was_created_is_confirmed_with_its_uid() {
    let next = written(
        &with(pending(2, "A"), "A").after(made(running(run(2, "A")))),
        Change::Confirm,
    );
    assert_eq!(next.current, Some(created(2, "A")));
}

#[test]
fn a_run_that_succeeds_at_once_gives_its_outputs_with_its_confirmation() {
    let created = made(succeeded(run(2, "A"), "x"));
    let next = written(&with(pending(2, "A"), "A").after(created), Change::Confirm);
    assert_eq!(next.current.unwrap().result, Some(RunResult::Succeeded));
    assert_eq!(next.outputs, Some(values("x")));
}

#[test]
fn an_object_that_came_back_without_its_marks_is_not_confirmed() {
    let bare = RunIdentity {
        input_hash: None,
        ..run(2, "A")
    };
    let error = stuck(
        &with(pending(2, "A"), "A").after(made(running(bare))),
        Category::StampedObjectRejectedByAPIServer,
    );
    assert!(
        error.message.contains("admission webhook"),
        "{}",
        error.message
    );
}

#[test]
fn a_definite_refusal_is_recorded_and_then_reported() {
    let refused = |current| with(current, "A").after(CreateOutcome::Refused(problem("no")));
    let mut first = refused(pending(2, "A"));
    assert_eq!(
        written(&first, Change::Reject).current,
        Some(rejected(2, "A", true))
    );
    first.only_attempt = true;
    assert_eq!(
        written(&first, Change::Reject).current,
        Some(rejected(2, "A", false))
    );
    assert_eq!(
        decide(&refused(rejected(2, "A", false))),
        Step::Stuck(problem("no"))
    );
}

#[test]
fn an_unknown_outcome_leaves_the_run_pending_under_the_same_name() {
    for current in [pending(2, "A"), rejected(2, "A", true)] {
        let unknown = with(current, "A").after(CreateOutcome::Unknown(problem("no answer")));
        assert_eq!(decide(&unknown), Step::Stuck(problem("no answer")));
    }
}

#[test]
fn a_name_that_is_taken_is_read() {
    assert_eq!(
        decide(&already_exists(pending(2, "A"))),
        Step::ReadRun(run_name(&name(2)))
    );
}

#[test]
fn our_own_earlier_create_is_confirmed() {
    let facts =
        already_exists(pending(2, "A")).reading_found(&name(2), succeeded(run(2, "A"), "x"));
    let next = written(&facts, Change::Confirm);
    assert_eq!(next.current.unwrap().uid, Some(uid(2)));
    assert_eq!(next.outputs, Some(values("x")));
}

fn probe(marked: bool, with_status: bool) -> Probe {
    Probe {
        marked,
        with_status,
    }
}

/// An entry that was intended long after the run that holds its name was made.
fn intended_later() -> CurrentRun {
    CurrentRun {
        intent_at: time(1_000),
        ..pending(2, "A")
    }
}

#[test]
fn what_was_there_before_the_intent_costs_a_number_and_gives_nothing() {
    // Owner, number, hash and name are right: all of it is public.
    let forged = succeeded(run(2, "A"), "forged");
    let facts = already_exists(intended_later()).reading_found(&name(2), forged);
    let next = written(&facts, Change::Renumber);
    let current = next.current.unwrap();
    assert_eq!((current.sequence, current.input_hash), (16, hash("A")));
    assert_eq!((current.name, current.uid), (name(16), None));
    assert_eq!(next.outputs, None);
    // What was sent before is unknown here: a create for the old number may still land. The foreign
    // object is known to be no run of it.
    assert_eq!(next.history.len(), 1);
    assert_eq!((next.history[0].sequence, &next.history[0].uid), (2, &None));
    assert_eq!(next.history[0].taken_by, Some(uid(2)));
}

#[test]
fn a_stranger_that_the_first_create_meets_has_its_number_given_up() {
    let bare = RunIdentity {
        owner_uid: None,
        ..run(2, "A")
    };
    let born_finished = RunIdentity {
        made_with_status: true,
        ..run(2, "A")
    };
    for stranger in [bare, born_finished, run(2, "B")] {
        let mut facts =
            already_exists(pending(2, "A")).reading_found(&name(2), succeeded(stranger, "forged"));
        facts.only_attempt = true;
        facts.probe = Some(probe(true, false));
        let next = written(&facts, Change::Renumber);
        assert_eq!(next.current.unwrap().sequence, 16);
    }
}

#[test]
fn a_run_that_was_made_with_a_status_is_never_taken_for_ours() {
    let born_finished = RunIdentity {
        made_with_status: true,
        ..run(2, "A")
    };
    let mut facts = already_exists(rejected(2, "A", true))
        .reading_found(&name(2), succeeded(born_finished.clone(), "forged"));
    assert_eq!(decide(&facts), Step::Probe);
    facts.probe = Some(probe(true, false));
    let next = written(&facts, Change::Renumber);
    assert_eq!((next.current.unwrap().sequence, next.outputs), (16, None));
    // Unless all runs of this kind have one from the beginning.
    facts.probe = Some(probe(true, true));
    assert_eq!(
        written(&facts, Change::Confirm).current.unwrap().uid,
        Some(uid(2))
    );
    let gone = with(pending(2, "A"), "A").seeing(seen_to_go(&succeeded(born_finished, "forged")));
    assert_eq!(decide(&gone), Step::Create);
}

#[test]
fn after_a_few_numbers_whose_names_are_taken_the_rest_waits() {
    let forged = running(run(2, "A"));
    let mut facts = already_exists(intended_later()).reading_found(&name(2), forged);
    facts.renumbered = 2;
    written(&facts, Change::Renumber);
    facts.renumbered = 3;
    let waiting = stuck(&facts, Category::NameConflict);
    assert_eq!(waiting.requeue, Requeue::Backoff);
}

#[test]
fn an_old_object_under_a_fixed_name_stays_a_conflict() {
    let mut current = intended_later();
    current.name = "only".to_owned();
    current.input_hash = document_with_fixed_name("A").input_hash().to_owned();
    let facts = with(current, "A")
        .rendered_as(document_with_fixed_name("A"))
        .after(CreateOutcome::AlreadyExists)
        .reading_found("only", running(owned_by_another(run(1, "old"))));
    written(&facts, Change::Reject);
}

#[test]
fn a_run_of_ours_without_a_hash_makes_no_further_run() {
    let bare = RunIdentity {
        input_hash: None,
        ..run(2, "A")
    };
    let mut facts = already_exists(pending(2, "A")).reading_found(&name(2), running(bare));
    assert_eq!(decide(&facts), Step::Probe);
    facts.probe = Some(probe(false, false));
    stuck(&facts, Category::StampedObjectRejectedByAPIServer);
}

#[test]
fn what_may_be_ours_without_its_marks_is_a_conflict_and_never_a_second_name() {
    let mut facts = already_exists(pending(2, "A"))
        .reading_found(&name(2), running(owned_by_another(run(2, "A"))));
    assert_eq!(decide(&facts), Step::Probe);
    facts.probe = Some(probe(false, false));
    let next = written(&facts, Change::Reject).current.unwrap();
    assert_eq!((next.phase, next.name), (RunPhase::Rejected, name(2)));
    facts.ledger.current = Some(rejected(2, "A", true));
    let told = stuck(&facts, Category::NameConflict);
    assert!(
        told.message.contains(&format!("default/{}", name(2))),
        "{}",
        told.message
    );
    assert_eq!(told.requeue, Requeue::Backoff);
}

#[test]
fn a_forged_owner_without_the_number_is_a_stranger() {
    let forged = RunIdentity {
        sequence: None,
        ..run(2, "A")
    };
    let mut facts = already_exists(rejected(2, "A", true)).reading_found(&name(2), running(forged));
    facts.probe = Some(probe(true, false));
    assert_eq!(written(&facts, Change::Renumber).current.unwrap().uid, None);
}

#[test]
fn a_fixed_name_taken_by_an_older_run_says_how_to_name_runs() {
    let fixed = |sequence: i64| CurrentRun {
        name: "only".to_owned(),
        ..rejected(sequence, "A", true)
    };
    let older = RunIdentity {
        name: "only".to_owned(),
        ..run(1, "old")
    };
    let mut current = fixed(2);
    current.input_hash = document_with_fixed_name("A").input_hash().to_owned();
    let facts = with(current, "A")
        .rendered_as(document_with_fixed_name("A"))
        .after(CreateOutcome::AlreadyExists)
        .reading_found("only", running(older));
    let told = stuck(&facts, Category::NameConflict);
    assert!(
        told.message.contains("an earlier run") && told.message.contains("generateName"),
        "{}",
        told.message
    );
}

#[test]
fn a_name_that_was_taken_and_is_free_again_is_tried_again() {
    let facts = already_exists(pending(2, "A")).reading_absent(&name(2));
    stuck(&facts, Category::StampedObjectRejectedByAPIServer);
}

#[test]
fn a_pending_run_that_was_seen_to_go_is_not_made_again_under_its_number() {
    for current in [
        pending(2, "A"),
        rejected(2, "A", true),
        rejected(2, "A", false),
    ] {
        let ended = succeeded(run(2, "A"), "x");
        let done = with(current.clone(), "A").seeing(seen_to_go(&ended));
        assert_eq!(decide(&done), Step::ReadRun(run_name(&name(2))));
        let there = done.clone().reading_found(&name(2), ended);
        assert!(written(&there, Change::Confirm).outputs.is_some());
        let another = RunIdentity {
            uid: "another".to_owned(),
            ..run(2, "A")
        };
        let taken = succeeded(another, "not of the run");
        for gone in [
            done.clone().reading_absent(&name(2)),
            done.reading_found(&name(2), taken),
        ] {
            let next = written(&gone, Change::Record);
            assert_eq!(next.outputs, None);
            let next = next.current.unwrap();
            assert_eq!(
                (next.phase, next.uid, next.result),
                (RunPhase::Created, Some(uid(2)), Some(RunResult::Succeeded))
            );
        }
        let unfinished = with(current, "A").seeing(seen_to_go(&running(run(2, "A"))));
        assert_eq!(
            written(&unfinished, Change::Record).current,
            Some(created(2, "A"))
        );
    }
}

#[test]
fn the_deletion_of_anything_else_does_not_stand_for_the_pending_run() {
    let renamed = RunIdentity {
        name: "forged".to_owned(),
        ..run(2, "A")
    };
    for stranger in [renamed, owned_by_another(run(2, "A")), run(1, "A")] {
        let facts = with(pending(2, "A"), "A").seeing(seen_to_go(&running(stranger)));
        assert_eq!(decide(&facts), Step::Create);
    }
    let alive = with(pending(2, "A"), "A").seeing(seen(&running(run(2, "A"))));
    assert_eq!(decide(&alive), Step::Create);
}

/// If its create were sent again without an answer, an earlier run that has ended would give its
/// outputs first.
#[test]
fn the_pending_run_of_a_ledger_that_was_put_back_is_read_if_it_was_listed() {
    let made = succeeded(run(2, "A"), "newest");
    let mut facts = with(pending(2, "A"), "A").fresh();
    facts.ledger_writer = Some(LedgerWriter::Another);
    assert_eq!(decide(&facts.clone().listing(vec![], &[])), Step::Create);
    let facts = facts.listing(vec![made], &[]);
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
}
