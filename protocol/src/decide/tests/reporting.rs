//! Checks if a status may be written that leaves the ledger as it is, and which reads need not be
//! consistent.

use cartouche_crds::RunResult;

use super::scene::*;
use crate::{
    decide::may_report,
    facts::{CreateOutcome, Facts, LedgerWriter},
    ledger::{CachedRun, FetchedRun, tests::sample::*},
};

#[test]
fn conditions_wait_until_it_is_known_who_wrote_the_ledger_and_the_runs_were_compared() {
    let mut facts = with(ended(2, "A", RunResult::Succeeded), "A");
    assert!(may_report(&facts));
    facts.other_writer = true;
    assert!(!may_report(&facts));
    facts.ledger_writer = Some(LedgerWriter::Ours);
    assert!(may_report(&facts));
    facts.ledger_writer = Some(LedgerWriter::Another);
    assert!(!may_report(&facts));
    facts.listed = Some(Vec::new());
    assert!(!may_report(&facts), "there may be runs of other kinds");
    facts.listed_every_kind = true;
    assert!(may_report(&facts));
}

#[test]
fn without_a_ledger_there_is_none_that_was_put_back() {
    let mut facts = new_runnable("A");
    facts.other_writer = true;
    assert!(may_report(&facts));
}

fn in_version(version: u64, reading: &FetchedRun) -> CachedRun {
    CachedRun {
        version: Some(version),
        ..seen(reading)
    }
}

fn version_for(facts: &Facts, sequence: i64) -> Option<u64> {
    facts.seen_version(&run_name(&name(sequence)))
}

#[test]
fn the_end_of_a_run_that_the_ledger_knows_is_read_as_new_as_it_was_seen() {
    let succeeded = succeeded(run(2, "A"), "x");
    let facts = with(created(2, "A"), "A").seeing(in_version(7, &succeeded));
    assert_eq!(version_for(&facts, 2), Some(7));
    assert_eq!(version_for(&facts, 1), None, "another name");
    let made = CreateOutcome::MadeBefore(Box::new(running(run(2, "A"))));
    let unconfirmed = with(pending(2, "A"), "A").seeing(in_version(7, &succeeded));
    assert_eq!(version_for(&unconfirmed, 2), None, "it may be a stranger's");
    assert_eq!(version_for(&unconfirmed.after(made), 2), Some(7));
}

#[test]
fn what_only_a_consistent_read_tells_is_read_consistently() {
    let (ended, at_work) = (succeeded(run(2, "A"), "x"), running(run(2, "A")));
    let known = || with(created(2, "A"), "A");
    let gone = CachedRun {
        deleted: true,
        ..in_version(7, &ended)
    };
    let exists = known().seeing(in_version(7, &ended));
    for facts in [
        known().seeing(in_version(7, &at_work)),
        known().seeing(gone),
        known().seeing(seen(&ended)),
        exists.after(CreateOutcome::AlreadyExists),
    ] {
        assert_eq!(version_for(&facts, 2), None);
    }
}

#[test]
fn a_cached_run_in_a_later_version_is_no_news() {
    let ended = succeeded(run(2, "A"), "x");
    assert_eq!(in_version(7, &ended), in_version(8, &ended));
    assert_ne!(in_version(7, &ended), in_version(7, &running(run(2, "A"))));
}
