//! If no two runs may be at work at once, a change waits for the end of the run before.

mod beside;
mod times;
mod waited_for;

use std::time::Duration;

use cartouche_crds::{ConcurrencyPolicy, CurrentRun, RunPhase, RunResult, Stop, StopReason};
use cartouche_engines::kinds::StopRequest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide},
    facts::{CreateOutcome, Facts, NameRead, PolicyFrom},
    ledger::{Asked, Change, tests::sample::*},
    messages::reconcile_error::{ReconcileError, Requeue},
};

fn under(policy: ConcurrencyPolicy, facts: Facts) -> Facts {
    let mut facts = facts.fresh();
    facts.policy.concurrency = policy;
    facts.policy.stop = Some(StopRequest::Patch(serde_json::Map::new()));
    facts.policy_from = PolicyFrom::Read;
    facts
}

fn latest(facts: Facts) -> Facts {
    under(ConcurrencyPolicy::LatestOnly, facts)
}

fn replace(facts: Facts) -> Facts {
    under(ConcurrencyPolicy::Replace, facts)
}

/// The current run, as the watch shows it.
fn working(facts: Facts) -> Facts {
    facts.seeing(seen(&running(run(2, "A"))))
}

/// The same, and a read finds it at work.
fn read(facts: Facts) -> Facts {
    working(facts).reading_found(&name(2), running(run(2, "A")))
}

fn stopped(current: CurrentRun, reason: StopReason, seconds_ago: i64) -> CurrentRun {
    let stop = Stop {
        reason,
        at: Time(at(NOW - seconds_ago)),
        unknown_fields: cartouche_crds::UnknownFields::default(),
    };
    CurrentRun {
        stop: Some(stop),
        ..current
    }
}

fn waiting(facts: &Facts) -> String {
    stuck(facts, Category::RunAtWork).message
}

#[test]
fn by_default_a_change_waits_for_nothing() {
    let facts = working(with(created(2, "A"), "B").fresh());
    assert_eq!(intended(&facts), (3, hash("B")));
}

#[test]
fn a_change_waits_while_a_run_is_at_work_and_runs_when_it_has_ended() {
    let facts = read(latest(with(created(2, "A"), "B")));
    let error = stuck(&facts, Category::RunAtWork);
    assert!(
        error.message.contains("Build default/build-"),
        "{}",
        error.message
    );
    assert!(
        error.message.contains("is still running"),
        "{}",
        error.message
    );
    assert_eq!(error.requeue, Requeue::After(Duration::from_mins(5)));
    for result in [RunResult::Succeeded, RunResult::Failed, RunResult::Lost] {
        let facts = latest(with(ended(2, "A", result), "B"));
        assert_eq!(intended(&facts), (3, hash("B")), "{result:?}");
    }
}

#[test]
fn an_end_that_is_seen_is_written_down_before_the_change_runs_in_the_same_pass() {
    let done = succeeded(run(2, "A"), "x");
    let facts = latest(with(created(2, "A"), "B")).seeing(seen(&done));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let facts = facts.reading_found(&name(2), done);
    let ledger = written(&facts, Change::Record);
    assert_eq!(intended(&Facts { ledger, ..facts }), (3, hash("B")));
}

#[test]
fn what_is_rendered_again_while_its_run_works_is_no_run() {
    let read = latest(with(created(2, "A"), "A")).reading_found(&name(2), running(run(2, "A")));
    let mut facts = working(read.stored_as_reported());
    facts.reads.clear();
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn a_request_to_run_again_waits_as_well() {
    let facts = latest(with(created(2, "A"), "A").asking("again"));
    waiting(&read(facts));
}

#[test]
fn an_earlier_run_is_waited_for_too() {
    let earlier = vec![unfinished(1, "old")];
    let facts = latest(facts(
        ledger(ended(2, "A", RunResult::Succeeded), earlier),
        "B",
    ));
    let facts = facts.seeing(seen(&running(run(1, "old"))));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(1))));
    waiting(&facts.reading_found(&name(1), running(run(1, "old"))));
}

#[test]
fn nobody_waits_for_what_somebody_has_deleted() {
    let gone = running(run(2, "A"));
    for policy in [ConcurrencyPolicy::LatestOnly, ConcurrencyPolicy::Replace] {
        let facts = under(policy, with(created(2, "A"), "B")).seeing(seen_to_go(&gone));
        assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
        let next = written(&facts.reading_absent(&name(2)), Change::Intent);
        assert_eq!(next.current.unwrap().sequence, 3);
        let before = &next.history[0];
        assert_eq!(before.result, Some(RunResult::Failed));
        assert_eq!(before.message, "deleted before it finished");
    }
}

#[test]
fn a_run_whose_end_may_not_be_read_is_named_with_what_to_do() {
    let ledger = ledger(
        ended(2, "A", RunResult::Succeeded),
        vec![unfinished(1, "old")],
    );
    let mut facts = replace(facts(ledger, "B"));
    facts.reads.insert(run_name(&name(1)), NameRead::Denied);
    let message = waiting(&facts);
    assert!(message.contains("may not read it"), "{message}");
    assert!(
        message.contains("let the ServiceAccount get it"),
        "{message}"
    );
}

#[test]
fn what_nobody_has_seen_is_read_then_withdrawn_and_read_again_a_minute_later() {
    let facts = latest(with(pending(2, "A"), "B"));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let ledger = written(&facts.clone().reading_absent(&name(2)), Change::MakeWay);
    let withdrawn = ledger.current.clone().unwrap();
    assert_eq!(withdrawn.stop.unwrap().reason, StopReason::Withdrawn);
    assert_eq!(withdrawn.phase, RunPhase::Pending);
    let facts = Facts { ledger, ..facts };
    let error = stuck(&facts, Category::RunAtWork);
    assert_eq!(error.requeue, Requeue::After(Duration::from_mins(1)));
    let later = Facts {
        now: Some(at(NOW + 60)),
        ..facts
    };
    assert_eq!(decide(&later), Step::ReadRun(run_name(&name(2))));
    let next = written(&later.reading_absent(&name(2)), Change::Intent);
    assert_eq!(
        next.history[0].stop.as_ref().unwrap().reason,
        StopReason::Withdrawn
    );
    assert_eq!(next.history[0].uid, None);
}

#[test]
fn one_that_turns_up_meanwhile_is_a_run_like_any_other() {
    let withdrawn = stopped(pending(2, "A"), StopReason::Withdrawn, 5);
    for input in ["A", "B"] {
        let facts = working(latest(with(withdrawn.clone(), input)));
        assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
        let facts = facts.reading_found(&name(2), running(run(2, "A")));
        let confirmed = written(&facts, Change::Confirm).current.unwrap();
        assert_eq!((confirmed.uid, confirmed.stop), (Some(uid(2)), None));
    }
}

#[test]
fn no_create_is_sent_for_what_was_withdrawn_even_if_it_is_wanted_again() {
    for policy in [ConcurrencyPolicy::Allow, ConcurrencyPolicy::LatestOnly] {
        let early = stopped(pending(2, "A"), StopReason::Withdrawn, 59);
        waiting(&under(policy, with(early, "A")));
        let late = stopped(pending(2, "A"), StopReason::Withdrawn, 60);
        let facts = under(policy, with(late, "A"));
        assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
        assert_eq!(intended(&facts.reading_absent(&name(2))), (3, hash("A")));
    }
}

#[test]
fn an_answer_that_is_at_hand_comes_before_a_withdrawal() {
    let made = CreateOutcome::MadeBefore(Box::new(running(run(2, "A"))));
    let facts = latest(with(pending(2, "A"), "B")).after(made);
    assert_eq!(
        written(&facts, Change::Confirm).current.unwrap().sequence,
        2
    );
}

#[test]
fn what_was_refused_at_its_only_attempt_keeps_nobody_waiting() {
    let facts = latest(with(rejected(2, "A", false), "B"));
    assert_eq!(intended(&facts), (3, hash("B")));
    let facts = latest(with(rejected(2, "A", true), "B")).reading_absent(&name(2));
    written(&facts, Change::MakeWay);
}

#[test]
fn an_entry_that_was_superseded_unseen_is_read_once_no_create_can_land() {
    let earlier = |seconds_ago| {
        let mut entry = unseen(1, "old");
        entry.started_at = time(NOW - seconds_ago);
        let current = ended(2, "A", RunResult::Succeeded);
        latest(facts(ledger(current, vec![entry]), "B"))
    };
    waiting(&earlier(59));
    let late = earlier(60);
    assert_eq!(decide(&late), Step::ReadRun(run_name(&name(1))));
    assert_eq!(intended(&late.reading_absent(&name(1))), (3, hash("B")));
}

#[test]
fn replace_reads_what_is_at_work_writes_that_it_is_to_stop_and_then_tells_it() {
    let facts = working(replace(with(created(2, "A"), "B")));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let facts = facts.reading_found(&name(2), running(run(2, "A")));
    let ledger = written(&facts, Change::MakeWay);
    let stop = ledger.current.clone().unwrap().stop.unwrap();
    assert_eq!(
        (stop.reason, stop.at),
        (StopReason::Replaced, Time(at(NOW)))
    );
    let facts = Facts { ledger, ..facts };
    assert!(matches!(decide(&facts), Step::Stop(to) if to.uid == uid(2)));
}

#[test]
fn a_persons_cancel_stays_theirs() {
    let mut cancelled = running(run(2, "A"));
    cancelled.asked = Asked::ByPerson;
    let facts = working(replace(with(created(2, "A"), "B"))).reading_found(&name(2), cancelled);
    let stop = written(&facts, Change::MakeWay).current.unwrap().stop;
    assert_eq!(stop.unwrap().reason, StopReason::Cancelled);
}

#[test]
fn nothing_is_stopped_for_a_change_that_may_not_begin() {
    let mut facts = working(replace(with(created(2, "A"), "B")));
    facts.runnable.suspended = true;
    stuck(&facts, Category::Suspended);
}

#[test]
fn what_made_way_and_is_wanted_again_runs_again_unless_it_succeeded() {
    let made_way = |result| stopped(ended(2, "A", result), StopReason::Replaced, 90);
    let failed = replace(with(made_way(RunResult::Failed), "A"));
    assert_eq!(intended(&failed), (3, hash("A")));
    let mut succeeded = replace(with(made_way(RunResult::Succeeded), "A"));
    succeeded.cached_runs.clear();
    assert_eq!(decide(&succeeded.stored_as_reported()), Step::Settled);
    // One that has not ended yet is waited for, under any policy.
    for policy in [ConcurrencyPolicy::Allow, ConcurrencyPolicy::Replace] {
        let stopping = stopped(created(2, "A"), StopReason::Replaced, 90);
        let facts = working(under(policy, with(stopping, "A")));
        let step = decide(&facts);
        assert!(!matches!(step, Step::Write(_, Change::Intent)), "{step:?}");
    }
}

#[test]
fn what_was_refused_is_tried_again_only_when_earlier_runs_have_ended() {
    let at_work = |policy| {
        let ledger = ledger(rejected(2, "A", false), vec![unfinished(1, "old")]);
        let facts = under(policy, facts(ledger, "A")).seeing(seen(&running(run(1, "old"))));
        facts.reading_found(&name(1), running(run(1, "old")))
    };
    waiting(&at_work(ConcurrencyPolicy::LatestOnly));
    written(&at_work(ConcurrencyPolicy::Allow), Change::Attempt);
}

#[test]
fn without_a_clock_nothing_is_withdrawn_and_nothing_begins() {
    let mut facts = latest(with(pending(2, "A"), "B")).reading_absent(&name(2));
    facts.now = None;
    waiting(&facts);
}
