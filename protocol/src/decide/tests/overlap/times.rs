//! Waits that follow from a time, and times that prove nothing.

use cartouche_crds::{CurrentRun, RunResult, StopReason};
use cartouche_engines::kinds::StopRequest;

use super::{super::scene::*, latest, replace, stopped, waiting, working};
use crate::{
    decide::{Step, decide},
    facts::Facts,
    ledger::{Change, tests::sample::*},
};

const TEN_YEARS: i64 = 10 * 365 * 86_400;

#[test]
fn a_read_from_before_the_withdrawal_is_no_proof_that_nothing_comes() {
    let facts = latest(with(pending(2, "A"), "B")).reading_absent(&name(2));
    let ledger = written(&facts, Change::MakeWay);
    let mut later = Facts {
        ledger,
        now: Some(at(NOW + 60)),
        ..facts
    };
    assert_eq!(decide(&later), Step::ReadRun(run_name(&name(2))));
    later = later.reading_absent(&name(2));
    assert_eq!(intended(&later), (3, hash("B")));
}

/// A run that was withdrawn, turned up all the same, succeeded and was deleted within the minute.
fn withdrawn_and_done(wanted: &str) -> Facts {
    let mut current = stopped(pending(2, "A"), StopReason::Withdrawn, 60);
    current.intent_at = time(NOW - 70);
    let mut done = succeeded(run(2, "A"), "x");
    done.run.created = Some(at(NOW - 55));
    let facts = latest(with(current, wanted));
    facts.seeing(seen_to_go(&done)).reading_absent(&name(2))
}

#[test]
fn what_was_withdrawn_and_was_seen_to_succeed_and_go_does_not_run_again() {
    for wanted in ["A", "B"] {
        let recorded = written(&withdrawn_and_done(wanted), Change::Record);
        let current = recorded.current.unwrap();
        assert_eq!(current.result, Some(RunResult::Succeeded), "{wanted}");
    }
}

#[test]
fn nobody_waits_for_a_run_that_is_gone_because_its_time_is_ahead_or_missing() {
    for started_at in [time(NOW + TEN_YEARS), None] {
        let mut entry = unfinished(1, "old");
        entry.started_at = started_at;
        let current = ended(2, "A", RunResult::Succeeded);
        let facts = latest(facts(ledger(current, vec![entry]), "B")).reading_absent(&name(1));
        written(&facts, Change::Record);
    }
}

#[test]
fn what_was_superseded_by_a_clock_half_a_minute_ahead_is_waited_for() {
    let mut entry = unseen(1, "old");
    entry.started_at = time(NOW + 30);
    let current = ended(2, "A", RunResult::Succeeded);
    waiting(&latest(facts(ledger(current, vec![entry]), "B")));
}

#[test]
fn a_run_is_told_to_stop_though_that_was_written_by_a_fast_clock() {
    let stopping = stopped(created(2, "A"), StopReason::Replaced, -TEN_YEARS);
    let facts = working(replace(with(stopping, "B")));
    let mut facts = facts.reading_found(&name(2), running(run(2, "A")));
    facts.policy.stop = Some(StopRequest::Delete);
    let step = decide(&facts);
    assert!(matches!(step, Step::Stop(_)), "{step:?}");
}

#[test]
fn what_was_seen_to_succeed_is_not_lost_because_its_rules_are_not_known() {
    let current = CurrentRun {
        rules_hash: None,
        ..created(2, "A")
    };
    let done = succeeded(run(2, "A"), "x");
    let mut facts = latest(with(current, "B"))
        .seeing(seen_to_go(&done))
        .reading_absent(&name(2));
    facts.rendering.as_mut().unwrap().has_health_rule = true;
    let recorded = written(&facts, Change::Record).current.unwrap();
    assert_eq!(recorded.result, Some(RunResult::Succeeded));
}
