//! Ways in which two runs were at work at once, and waits that had no use.

use cartouche_crds::{ConcurrencyPolicy, CurrentRun, RunResult, StopReason};

use super::{super::scene::*, latest, replace, stopped, under, waiting};
use crate::{
    decide::{Step, Waiting, decide},
    facts::{Facts, LedgerWriter, NameRead},
    ledger::{Change, tests::sample::*},
};

/// Another run is intended beside one at work, under a policy that allows it; then the policy
/// changes.
fn intended_beside(policy: fn(Facts) -> Facts) -> Facts {
    let ledger = ledger(pending(3, "B"), vec![unfinished(2, "A")]);
    let facts = policy(facts(ledger, "B")).seeing(seen(&running(run(2, "A"))));
    facts.reading_found(&name(2), running(run(2, "A")))
}

#[test]
fn a_create_that_was_put_off_asks_anew_whether_it_may_be_sent() {
    let facts = intended_beside(latest);
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(3))));
    let absent = facts.clone().reading_absent(&name(3));
    assert!(waiting(&absent).contains("is still running"));
    let mut own = facts.clone();
    own.only_attempt = true;
    assert_eq!(decide(&own), Step::Create, "its intent has asked");
    let made = facts.reading_found(&name(3), running(run(3, "B")));
    written(&made, Change::Confirm);
}

#[test]
fn what_is_at_work_makes_way_for_a_create_that_was_put_off() {
    let ledger = written(&intended_beside(replace), Change::MakeWay);
    let stop = ledger.history[0].stop.as_ref().unwrap();
    assert_eq!(stop.reason, StopReason::Replaced);
}

#[test]
fn how_a_run_ended_that_the_next_waits_for_is_never_judged_anew() {
    let mut facts = latest(with(ended(2, "A", RunResult::Succeeded), "B"));
    facts.other_writer = true;
    facts.ledger_writer = Some(LedgerWriter::Another);
    for mut by_the_next in [running(run(2, "A")), succeeded(run(2, "A"), "by B")] {
        by_the_next.rules_hash = "rules of B".into();
        let facts = facts.clone().listing(vec![by_the_next], &[]);
        let facts = Facts {
            listed_every_kind: true,
            ..facts
        };
        let ledger = written(&facts, Change::Intent);
        assert_eq!(ledger.history[0].result, Some(RunResult::Succeeded));
        assert_eq!(ledger.outputs_from, facts.ledger.outputs_from);
    }
}

#[test]
fn what_was_withdrawn_and_could_not_be_read_is_waited_for_when_the_policy_is_back() {
    let withdrawn = stopped(pending(2, "A"), StopReason::Withdrawn, 60);
    let mut facts = under(ConcurrencyPolicy::Allow, with(withdrawn, "B"));
    facts.reads.insert(run_name(&name(2)), NameRead::Denied);
    let mut ledger = written(&facts, Change::Intent);
    ledger.current = Some(ended(3, "B", RunResult::Succeeded));
    let mut facts = latest(super::super::scene::facts(ledger, "C"));
    facts.reads.insert(run_name(&name(2)), NameRead::Denied);
    facts.now = Some(at(NOW + 120));
    assert!(
        waiting(&facts).contains("may not read"),
        "{}",
        waiting(&facts)
    );
}

#[test]
fn a_run_deleted_at_work_did_not_succeed_by_the_rules_of_the_next() {
    let current = CurrentRun {
        rules_hash: Some("of A".to_owned()),
        ..created(2, "A")
    };
    let mut by_the_next = succeeded(run(2, "A"), "x");
    by_the_next.rules_hash = RULES.into();
    let facts = latest(with(current, "B")).seeing(seen(&by_the_next));
    let mut facts = facts.reading_absent(&name(2));
    facts.rendering.as_mut().unwrap().has_health_rule = true;
    assert_eq!(decide(&facts), Step::Wait(Waiting::Watch));
    facts.cached_runs[0].deleted = true;
    assert_eq!(
        written(&facts, Change::Record).current.unwrap().result,
        Some(RunResult::Lost)
    );
}

#[test]
fn nobody_waits_for_a_time_that_is_years_ahead() {
    let mut entry = unseen(1, "old");
    entry.started_at = time(NOW + 10 * 365 * 86_400);
    let current = ended(2, "A", RunResult::Succeeded);
    let facts = latest(facts(ledger(current, vec![entry]), "B"));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(1))));
    assert_eq!(intended(&facts.reading_absent(&name(1))), (3, hash("B")));
}

#[test]
fn a_read_that_finds_nothing_is_heard_though_the_run_was_looked_for_before() {
    let ledger = ledger(
        ended(2, "A", RunResult::Succeeded),
        vec![unfinished(1, "old")],
    );
    let mut facts = latest(facts(ledger, "B"));
    facts.looked_for.insert(uid(1));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(1))));
    let ledger = written(&facts.reading_absent(&name(1)), Change::Record);
    assert_eq!(ledger.history[0].result, Some(RunResult::Lost));
}
