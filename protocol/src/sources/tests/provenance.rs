use cartouche_crds::RunResult;

use super::sample::*;
use crate::{
    ledger::{
        Change, Fate, Ledger,
        tests::sample::{
            at, created, ended, failed, intent, ledger, name, outputs_from, run, succeeded,
        },
    },
    sources::Provenance,
    trace::{Sources, Trace},
};

fn from(text: &str) -> Sources {
    sources([(key("a"), text)])
}

/// A ledger whose first run is at work, made from `1`.
fn at_work() -> (Ledger, Provenance) {
    let before = Ledger::default();
    let after = ledger(created(1, "A"), Vec::new());
    let provenance =
        Provenance::default().after(&before, (&after, Change::Intent), Some(&from("1")));
    (after, provenance)
}

fn intend(ledger: &Ledger, input: &str) -> Ledger {
    let next = ledger
        .clone()
        .intend(intent(input), name, &Fate::Known, "", Some(at(9)));
    let sequence = next.current.as_ref().unwrap().sequence;
    next.confirm(&run(sequence, input)).unwrap()
}

#[test]
fn outputs_are_made_from_what_their_run_was_made_from() {
    let (before, provenance) = at_work();
    let after = before.clone().record(&succeeded(run(1, "A"), "x"), None);
    let provenance = provenance.after(&before, (&after, Change::Record), None);
    assert_eq!(provenance.of_outputs(), Some(&from("1")));
    assert_eq!(provenance.of_current(&after), Some(&from("1")));
}

#[test]
fn a_superseded_run_that_ends_late_brings_what_it_was_made_from() {
    let (first, provenance) = at_work();
    let second = intend(&first, "B");
    let provenance = provenance.after(&first, (&second, Change::Intent), Some(&from("2")));
    let late = second.clone().record(&succeeded(run(1, "A"), "x"), None);
    let provenance = provenance.after(&second, (&late, Change::Record), None);
    assert_eq!(provenance.of_outputs(), Some(&from("1")));
    assert_eq!(provenance.of_current(&late), Some(&from("2")));
    let both = late.clone().record(&succeeded(run(2, "B"), "y"), None);
    let provenance = provenance.after(&late, (&both, Change::Record), None);
    assert_eq!(provenance.of_outputs(), Some(&from("2")));
}

#[test]
fn outputs_stay_made_from_the_same_while_later_runs_fail() {
    let (first, provenance) = at_work();
    let gave = first.clone().record(&succeeded(run(1, "A"), "x"), None);
    let provenance = provenance.after(&first, (&gave, Change::Record), None);
    let second = intend(&gave, "B");
    let provenance = provenance.after(&gave, (&second, Change::Intent), Some(&from("2")));
    let after = second.clone().record(&failed(run(2, "B")), None);
    let provenance = provenance.after(&second, (&after, Change::Record), None);
    assert_eq!(provenance.of_outputs(), Some(&from("1")));
    assert_eq!(provenance.of_current(&after), Some(&from("2")));
}

#[test]
fn a_ledger_moves_on_with_its_outputs_if_they_are_of_the_current_run() {
    let (first, provenance) = at_work();
    let gave = first.clone().record(&succeeded(run(1, "A"), "x"), None);
    let provenance = provenance.after(&first, (&gave, Change::Record), None);
    let hash = &gave.current.as_ref().unwrap().input_hash;
    assert!(provenance.moves_on(&gave, hash, &from("2")));
    let moved = provenance.after(&gave, (&gave, Change::MoveOn), Some(&from("2")));
    assert_eq!(moved.of_current(&gave), Some(&from("2")));
    assert_eq!(moved.of_outputs(), Some(&from("2")));
    assert!(!moved.moves_on(&gave, hash, &from("2")));
}

#[test]
fn outputs_of_an_earlier_run_do_not_move_on() {
    let (first, provenance) = at_work();
    let gave = first.clone().record(&succeeded(run(1, "A"), "x"), None);
    let provenance = provenance.after(&first, (&gave, Change::Record), None);
    let second = intend(&gave, "B");
    let provenance = provenance.after(&gave, (&second, Change::Intent), Some(&from("2")));
    let moved = provenance.after(&second, (&second, Change::MoveOn), Some(&from("3")));
    assert_eq!(moved.of_current(&second), Some(&from("3")));
    assert_eq!(moved.of_outputs(), Some(&from("1")));
}

#[test]
fn nothing_moves_on_for_another_document_or_without_sources() {
    let (first, provenance) = at_work();
    assert!(!provenance.moves_on(&first, "v1:another", &from("2")));
    let unknown = Provenance::default();
    let hash = &first.current.as_ref().unwrap().input_hash;
    assert!(!unknown.moves_on(&first, hash, &Sources::default()));
    assert!(unknown.moves_on(&first, hash, &from("1")));
    assert!(provenance.moves_on(&first, hash, &Sources::default()));
}

/// A run of the root with the same outputs as the one before.
#[test]
fn a_run_that_gives_the_same_again_moves_nothing() {
    let given = |run: &str| Trace::new(&key("a"), Some(&revision_of(run)), None).sources();
    let (first, provenance) = at_work();
    let provenance = provenance.after(&first, (&first, Change::MoveOn), given("x").ok().as_ref());
    let hash = &first.current.as_ref().unwrap().input_hash;
    assert!(!provenance.moves_on(&first, hash, &given("x").unwrap()));
    assert!(provenance.moves_on(&first, hash, &given("y").unwrap()));
}

fn revision_of(value: &str) -> crate::trace::Revision {
    crate::trace::Revision::of_outputs(&plain(&value.into()), &std::collections::BTreeMap::new())
}

#[test]
fn of_a_ledger_that_is_made_anew_nothing_is_known_but_what_the_next_look_says_of_the_current_run() {
    let lost = Ledger::default();
    let found = Ledger {
        outputs_from: Some(outputs_of(1, "uid-1")),
        ..ledger(
            created(2, "B"),
            vec![crate::ledger::tests::sample::finished(
                1,
                RunResult::Succeeded,
            )],
        )
    };
    let provenance = Provenance::default().after(&lost, (&found, Change::Rebuild), None);
    assert_eq!(provenance, Provenance::default());
    let looked = provenance.after(&found, (&found, Change::MoveOn), Some(&from("2")));
    assert_eq!(looked.of_current(&found), Some(&from("2")));
    assert_eq!(looked.of_outputs(), None);
}

#[test]
fn what_was_rebuilt_and_gave_the_outputs_itself_is_known_with_them_at_the_next_look() {
    let found = Ledger {
        outputs_from: Some(outputs_from(2)),
        ..ledger(ended(2, "B", RunResult::Succeeded), Vec::new())
    };
    let looked = Provenance::default().after(&found, (&found, Change::MoveOn), Some(&from("2")));
    assert_eq!(looked.of_outputs(), Some(&from("2")));
}

#[test]
fn a_number_that_is_given_up_leaves_the_next_what_it_was_to_be_made_from() {
    let pending = ledger(crate::ledger::tests::sample::pending(1, "A"), Vec::new());
    let provenance = Provenance::default().after(
        &Ledger::default(),
        (&pending, Change::Intent),
        Some(&from("1")),
    );
    let renumbered = pending
        .clone()
        .renumber(name, "holder".to_owned(), 0, Some(at(2)));
    let provenance = provenance.after(&pending, (&renumbered, Change::Renumber), None);
    assert_eq!(provenance.of_current(&renumbered), Some(&from("1")));
}

#[test]
fn of_two_runs_of_one_number_each_keeps_its_own() {
    let (first, provenance) = at_work();
    // A status from a backup, whose number another run has had since.
    let other = ledger(created(1, "B"), Vec::new());
    let provenance = provenance.after(&first, (&other, Change::Rebuild), None);
    assert_eq!(provenance.of_current(&other), None);
}

#[test]
fn what_has_ended_and_gave_nothing_that_counts_is_forgotten() {
    let (first, provenance) = at_work();
    let second = intend(&first, "B");
    let provenance = provenance.after(&first, (&second, Change::Intent), Some(&from("2")));
    let ended = second.clone().record(&failed(run(1, "A")), None);
    let provenance = provenance.after(&second, (&ended, Change::Record), None);
    let hash = &first.current.as_ref().unwrap().input_hash;
    assert_eq!(provenance.of_run(1, hash), None);
}

#[test]
fn of_a_run_that_is_intended_for_the_same_document_nobody_knows_what_it_is_made_from_unless_it_is_read()
 {
    let (first, provenance) = at_work();
    let again = intend(&first, "A");
    let unread = provenance.after(&first, (&again, Change::Intent), None);
    assert_eq!(unread.of_current(&again), None);
    let read = provenance.after(&first, (&again, Change::Intent), Some(&from("2")));
    assert_eq!(read.of_current(&again), Some(&from("2")));
}

#[test]
fn a_run_that_is_found_for_the_same_document_inherits_nothing() {
    let (first, provenance) = at_work();
    let found = ledger(created(2, "A"), Vec::new());
    let rebuilt = provenance.after(&first, (&found, Change::Rebuild), None);
    assert_eq!(rebuilt.of_current(&found), None);
}

#[test]
fn a_run_whose_hash_is_made_anew_stays_made_from_the_same_and_so_do_its_outputs() {
    let (first, provenance) = at_work();
    let gave = first.clone().record(&succeeded(run(1, "A"), "x"), None);
    let provenance = provenance.after(&first, (&gave, Change::Record), None);
    let migrated = gave.clone().migrate_hash("v2:another");
    let provenance = provenance.after(&gave, (&migrated, Change::MigrateHash), None);
    assert_eq!(provenance.of_current(&migrated), Some(&from("1")));
    assert_eq!(provenance.of_outputs(), Some(&from("1")));
}
