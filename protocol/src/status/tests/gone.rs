//! The object of the current run is not there any more.

use super::*;
use crate::ledger::CachedRun;

#[test]
fn a_lost_run_says_how_to_run_again() {
    let status = report(&with(ended(2, "A", RunResult::Lost), "A"), None);
    let expected = [
        "RunTemplateReady=True/Ready",
        "StampedObjectCondition=Unknown/RunLost",
        "Ready=Unknown/RunLost",
        "Stalled=True/RunLost",
    ];
    assert_eq!(told(&status), expected);
    let words = message(&status, STAMPED_OBJECT_CONDITION);
    assert!(
        words.contains(&name(2)) && words.contains("carto.run/rerun-token"),
        "{words}"
    );
}

#[test]
fn a_finished_run_that_is_gone_is_told_as_stored() {
    for fetched in [succeeded(run(2, "A"), "x"), failed(run(2, "A"))] {
        let mut facts = read(&fetched).stored_as_reported();
        facts.reads.clear();
        assert_eq!(report(&facts, None).conditions, facts.stored.conditions);
    }
}

#[test]
fn of_a_run_that_ended_and_went_at_once_the_ledger_tells() {
    let words = |result| {
        let mut facts = with(ended(2, "A", result), "A");
        facts.stored = Arc::new(report(&with(created(2, "A"), "A"), None));
        let status = report(&facts, None);
        (
            told(&status)[1].clone(),
            message(&status, STAMPED_OBJECT_CONDITION).to_owned(),
        )
    };
    let (word, why) = words(RunResult::Succeeded);
    assert_eq!(word, "StampedObjectCondition=True/SucceededCondition");
    assert!(why.contains("succeeded; its object is gone"), "{why}");
    let (word, why) = words(RunResult::Failed);
    assert_eq!(word, "StampedObjectCondition=False/SucceededCondition");
    assert!(why.contains("failed; its object is gone"), "{why}");
}

#[test]
fn a_run_that_is_still_there_is_not_called_gone() {
    let mut facts = with(ended(2, "A", RunResult::Succeeded), "A");
    facts.stored = Arc::new(report(&with(created(2, "A"), "A"), None));
    facts.cached_runs = vec![CachedRun::from_fetched(&succeeded(run(2, "A"), "x"))];
    let status = report(&facts, None);
    let words = message(&status, STAMPED_OBJECT_CONDITION);
    assert!(words.ends_with("succeeded"), "{words}");
}

#[test]
fn the_stored_word_of_an_earlier_run_is_not_that_of_the_next() {
    let mut facts = read(&succeeded(run(2, "A"), "x")).stored_as_reported();
    facts.reads.clear();
    facts.ledger.current = Some(created(3, "A"));
    assert_eq!(
        told(&report(&facts, None))[1],
        "StampedObjectCondition=Unknown/Unknown"
    );
}
