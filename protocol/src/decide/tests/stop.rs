//! Stops of runs that have worked for longer than their timeout: their order, and their outcome.

mod queued;
mod read;

use cartouche_crds::{CurrentRun, HistoryEntry, Retry, RunResult, Stop, StopMethod, StopReason};
use cartouche_engines::kinds::StopRequest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::scene::*;
use crate::{
    category::Category,
    decide::{
        STOPS_WITHIN, Step, Waiting, decide, decide_without_rendering, earlier_that_do_not_stop,
        next_stop,
    },
    facts::{Facts, PolicyFrom, StopOutcome},
    ledger::{Asked, Change, FetchedRun, tests::sample::*},
    policy::{Asks, Policy},
};

/// Timeout of the runs here, in seconds.
const TIMEOUT: i64 = 60;

fn policy(retry: Option<Retry>) -> Policy {
    let stop = json!({ "mergePatch": { "spec": { "paused": true } } });
    let stop: StopMethod = serde_json::from_value(stop).unwrap();
    let template = Asks {
        stop: Some(stop),
        timeout: Some(format!("{TIMEOUT}s")),
        ..Asks::default()
    };
    let own = Asks {
        retry,
        ..Asks::default()
    };
    Policy::merge(&own, &template).unwrap()
}

/// Facts in which the present template gives the runs this timeout.
fn bounded(mut facts: Facts) -> Facts {
    facts.policy = policy(None);
    facts.policy_from = PolicyFrom::Read;
    facts
}

/// A run that has worked for this many seconds.
fn since(seconds: i64) -> CurrentRun {
    CurrentRun {
        started_at: time(NOW - seconds),
        ..created(2, "A")
    }
}

fn stop_at(seconds: i64, reason: StopReason) -> Stop {
    Stop {
        reason,
        at: Time(at(seconds)),
        unknown_fields: cartouche_crds::UnknownFields::default(),
    }
}

/// A run with a stop that is this many seconds old.
fn told(seconds: i64) -> CurrentRun {
    CurrentRun {
        stop: Some(stop_at(NOW - seconds, StopReason::TimedOut)),
        ..since(TIMEOUT + seconds)
    }
}

/// A run that a watch shows at work, as the status says already.
fn watched(facts: Facts) -> Facts {
    let run = running(run(2, "A"));
    let read = facts.reading_found(&name(2), run.clone());
    let mut facts = read.stored_as_reported().seeing(seen(&run));
    facts.reads.clear();
    facts
}

/// A run at work according to a watch and a read.
fn working(facts: Facts) -> Facts {
    let run = running(run(2, "A"));
    facts.seeing(seen(&run)).reading_found(&name(2), run)
}

fn stopped(step: &Step) -> Option<&str> {
    match step {
        Step::Stop(to) => Some(&to.uid),
        _ => None,
    }
}

fn sent(mut facts: Facts) -> Facts {
    facts.stops.insert(uid(2), StopOutcome::Sent);
    facts
}

#[test]
fn a_run_is_left_alone_until_its_time_is_over() {
    let early = watched(bounded(with(since(TIMEOUT - 1), "A")));
    assert_eq!(decide(&early), Step::Settled);
    assert_eq!(next_stop(&early), Some(at(NOW + 1)));
    assert_eq!(next_stop(&working(early)), Some(at(NOW + 1)), "once read");
    let mut clockless = watched(bounded(with(since(TIMEOUT), "A")));
    clockless.now = None;
    assert_eq!(decide(&clockless), Step::Settled);
    let unbounded = watched(with(since(TIMEOUT), "A"));
    assert_eq!(
        (decide(&unbounded), next_stop(&unbounded)),
        (Step::Settled, None)
    );
}

#[test]
fn it_is_read_by_the_present_template_then_written_down_and_then_told() {
    let mut facts = watched(bounded(with(since(TIMEOUT), "A")));
    facts.policy_from = PolicyFrom::Cache;
    assert_eq!(decide(&facts), Step::RenderAgain);
    facts.policy_from = PolicyFrom::Read;
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let facts = facts.reading_found(&name(2), running(run(2, "A")));
    let ledger = written(&facts, Change::Stop);
    let stop = ledger.current.clone().unwrap().stop;
    assert_eq!(stop, Some(stop_at(NOW, StopReason::TimedOut)));
    let facts = Facts { ledger, ..facts };
    let next = decide(&facts);
    let Step::Stop(to) = &next else {
        panic!("{next:?}");
    };
    assert_eq!((&to.name, &to.uid), (&run_name(&name(2)), &uid(2)));
    assert_eq!(Some(&to.request), facts.policy.stop.as_ref());
    assert_eq!(
        decide(&sent(facts)),
        Step::Settled,
        "now its engine has the word"
    );
}

#[test]
fn one_that_a_read_finds_ended_is_not_stopped() {
    let late = watched(bounded(with(since(TIMEOUT), "A")));
    let ended = late
        .clone()
        .reading_found(&name(2), succeeded(run(2, "A"), "x"));
    let current = written(&ended, Change::Record).current.unwrap();
    assert_eq!(
        (current.result, current.stop),
        (Some(RunResult::Succeeded), None)
    );
    let other = late.reading_found(&name(2), running(other(run(2, "A"))));
    assert_eq!((stopped(&decide(&other)), next_stop(&other)), (None, None));
}

/// The current run as recorded from these facts.
fn recorded(facts: &Facts) -> CurrentRun {
    written(facts, Change::Record).current.unwrap()
}

#[test]
fn what_its_engine_says_in_the_end_counts() {
    let read = |read: FetchedRun| sent(bounded(with(told(5), "A"))).reading_found(&name(2), read);
    let done = recorded(&read(succeeded(run(2, "A"), "x")));
    assert_eq!(done.result, Some(RunResult::Succeeded));
    let failed = recorded(&read(failed(run(2, "A"))));
    assert_eq!(failed.result, Some(RunResult::Failed));
    assert_eq!(failed.stop, told(5).stop, "it stays");
}

#[test]
fn a_stopped_run_that_goes_has_failed_and_is_not_made_again() {
    let facts = sent(bounded(with(told(5), "A").fresh()));
    let gone = facts
        .clone()
        .seeing(seen_to_go(&running(run(2, "A"))))
        .reading_absent(&name(2));
    assert_eq!(recorded(&gone).result, Some(RunResult::Failed));
    let mut unseen = facts.reading_absent(&name(2));
    unseen.grace_over = false;
    assert_eq!(decide(&unseen), Step::Wait(Waiting::GracePeriod));
    unseen.grace_over = true;
    assert_eq!(recorded(&unseen).result, Some(RunResult::Failed));
    // Another one that a user deletes is made again.
    let other = bounded(with(since(1), "A").fresh())
        .seeing(seen_to_go(&running(run(2, "A"))))
        .reading_absent(&name(2));
    assert_eq!(intended(&other).0, 3);
}

#[test]
fn a_cancelled_run_that_goes_has_failed_and_is_not_made_again() {
    let cancelled = FetchedRun {
        asked: Asked::ByPerson,
        ..running(run(2, "A"))
    };
    let facts = with(since(1), "A")
        .fresh()
        .seeing(seen_to_go(&cancelled))
        .reading_absent(&name(2));
    let current = recorded(&facts);
    assert_eq!(current.result, Some(RunResult::Failed));
    assert_eq!(current.stop, Some(stop_at(NOW, StopReason::Cancelled)));
}

#[test]
fn that_a_person_has_cancelled_it_is_written_with_its_failure_and_no_other_end() {
    for asked in [Asked::ByPerson, Asked::InItsWay] {
        let end = |run: FetchedRun| {
            let run = FetchedRun { asked, ..run };
            recorded(&with(since(1), "A").reading_found(&name(2), run)).stop
        };
        let cancelled = Some(stop_at(NOW, StopReason::Cancelled));
        assert_eq!(end(failed(run(2, "A"))), cancelled);
        assert_eq!(end(succeeded(run(2, "A"), "x")), None);
    }
}

#[test]
fn what_stops_a_run_because_of_its_timeout_is_no_cancel() {
    let ours = FetchedRun {
        asked: Asked::InItsWay,
        ..failed(run(2, "A"))
    };
    let mut facts = sent(bounded(with(found_again(told(5)), "A"))).reading_found(&name(2), ours);
    facts.policy = policy(Some(Retry::default()));
    let current = recorded(&facts);
    assert_eq!(current.stop, told(5).stop);
    assert!(current.retry_at.is_some(), "it is tried again");
    let by_person = FetchedRun {
        asked: Asked::ByPerson,
        ..failed(run(2, "A"))
    };
    let facts = facts.reading_found(&name(2), by_person);
    assert_eq!(recorded(&facts).retry_at, None);
}

#[test]
fn a_stopped_run_that_vanished_is_tried_again() {
    let mut facts = sent(bounded(with(found_again(told(5)), "A"))).reading_absent(&name(2));
    facts.policy = policy(Some(Retry::default()));
    let current = recorded(&facts);
    assert_eq!(current.result, Some(RunResult::Failed));
    let retry_at = current.retry_at.clone().unwrap();
    // Once it is time, that it went without a result calls nothing off.
    let mut due = Facts {
        now: Some(retry_at.0),
        ..with(current, "A").fresh()
    };
    due.policy = policy(Some(Retry::default()));
    due.policy_from = PolicyFrom::Read;
    let due = due
        .seeing(seen_to_go(&running(run(2, "A"))))
        .reading_absent(&name(2));
    assert_eq!(intended(&due).0, 3);
}

#[test]
fn it_is_told_again_when_this_process_does_not_remember_having_done_so() {
    let facts = working(bounded(with(told(5), "A")));
    assert_eq!(stopped(&decide(&facts)), Some(&*uid(2)));
    assert_eq!(decide(&sent(facts)), Step::Settled);
}

#[test]
fn a_run_that_does_not_stop_is_said_to_and_is_at_work_all_the_same() {
    let minutes = STOPS_WITHIN.as_secs();
    let soon = sent(working(bounded(with(told(minutes - 1), "A"))));
    assert_eq!(decide(&soon), Step::Settled);
    assert_eq!(next_stop(&soon), Some(at(NOW + 1)));
    let late = sent(working(bounded(with(told(minutes), "A"))));
    let error = stuck(&late, Category::StopFailed);
    assert!(error.message.contains("is still running"), "{error}");
    assert_eq!(late.ledger.current.unwrap().result, None);
}

#[test]
fn where_nobody_knows_how_it_is_stopped_that_is_said() {
    let mut facts = working(bounded(with(told(5), "A")));
    facts.policy.stop = None;
    let error = stuck(&facts, Category::StopFailed);
    assert!(error.message.contains("spec.stop"), "{error}");
}

#[test]
fn what_keeps_it_from_being_told_is_what_is_wrong() {
    let mut facts = working(bounded(with(told(5), "A")));
    let denied = problem("it may not");
    facts
        .stops
        .insert(uid(2), StopOutcome::Failed(denied.clone()));
    assert_eq!(decide(&facts), Step::Stuck(denied));
}

/// An earlier run that has worked for this many seconds.
fn earlier(seconds: i64, stop: Option<Stop>) -> HistoryEntry {
    HistoryEntry {
        started_at: time(NOW - seconds),
        stop,
        ..unfinished(1, "old")
    }
}

fn beside(entry: HistoryEntry) -> Facts {
    let mut facts = watched(bounded(facts(ledger(since(1), vec![entry]), "A")))
        .seeing(seen(&running(run(1, "old"))));
    facts.looked_for.insert(uid(1));
    facts
}

#[test]
fn earlier_runs_are_stopped_too_and_keep_the_runnable_from_nothing() {
    let late = beside(earlier(TIMEOUT, None)).reading_found(&name(1), running(run(1, "old")));
    let ledger = written(&late, Change::Stop);
    assert!(ledger.history[0].stop.is_some() && ledger.current.unwrap().stop.is_none());

    let long_ago = stop_at(NOW - 1_000, StopReason::TimedOut);
    let mut told = beside(earlier(2_000, Some(long_ago)));
    assert_eq!(stopped(&decide(&told)), Some(&*uid(1)));
    told.stops.insert(uid(1), StopOutcome::Sent);
    assert_eq!(decide(&told), Step::Settled);
    let problems = earlier_that_do_not_stop(&told);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].0, uid(1));
    assert_eq!(problems[0].1.category, Category::StopFailed);
}

#[test]
fn an_earlier_one_that_goes_has_failed() {
    let stop = Some(stop_at(NOW - 5, StopReason::TimedOut));
    let mut gone =
        watched(facts(ledger(since(1), vec![earlier(2_000, stop)]), "A")).reading_absent(&name(1));
    gone.policy = policy(None);
    let ledger = written(&gone, Change::Record);
    assert_eq!(ledger.history[0].result, Some(RunResult::Failed));
}

#[test]
fn runs_are_stopped_while_something_else_is_stuck() {
    let mut facts = working(bounded(with(since(TIMEOUT), "A")));
    facts.rendering = Err(problem("no"));
    let step = decide_without_rendering(&facts);
    assert!(matches!(step, Step::Write(_, Change::Stop)), "{step:?}");
}

#[test]
fn nothing_is_stopped_of_a_runnable_that_is_deleted_or_whose_ledger_went_back() {
    let mut deleted = working(bounded(with(since(TIMEOUT), "A")));
    deleted.runnable.deleting = true;
    assert_eq!(decide(&deleted), Step::Settled);
    let mut restored = working(bounded(with(since(TIMEOUT), "A")));
    restored.other_writer = true;
    assert_eq!(decide(&restored), Step::ReadLedgerWriter);
}

#[test]
fn what_another_release_has_written_is_left_alone() {
    let stop = stop_at(NOW - 5, StopReason::Other("Replaced".to_owned()));
    let current = CurrentRun {
        stop: Some(stop),
        ..since(TIMEOUT)
    };
    let facts = working(bounded(with(current, "A")));
    assert_eq!((decide(&facts), next_stop(&facts)), (Step::Settled, None));
}

#[test]
fn a_run_is_deleted_only_when_no_create_for_it_can_be_on_its_way_any_more() {
    let deleting = |seconds: i64| {
        let mut facts = working(bounded(with(told(seconds), "A")));
        facts.policy.stop = Some(StopRequest::Delete);
        facts
    };
    let early = deleting(59);
    assert_eq!(decide(&early), Step::Settled);
    assert_eq!(next_stop(&early), Some(at(NOW + 1)));
    assert_eq!(stopped(&decide(&deleting(60))), Some(&*uid(2)));
}

#[test]
fn while_the_template_cannot_be_read_nothing_is_told_nor_asked_again_and_again() {
    let mut facts = working(bounded(with(told(1_000), "A")));
    facts.policy = Policy::default();
    facts.policy_from = PolicyFrom::Nowhere;
    facts.rendering = Err(problem("no answer"));
    assert_eq!(decide_without_rendering(&facts), Step::Settled);
}

#[test]
fn without_a_clock_a_run_is_told_again_but_not_deleted() {
    let mut facts = working(bounded(with(told(1_000), "A")));
    facts.now = None;
    assert_eq!(stopped(&decide(&facts)), Some(&*uid(2)));
    facts.policy.stop = Some(StopRequest::Delete);
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn a_run_that_a_person_has_told_to_stop_stays_theirs_and_is_told_once_more() {
    for asked in [Asked::ByPerson, Asked::InItsWay] {
        let run = FetchedRun {
            asked,
            ..running(run(2, "A"))
        };
        let late = watched(bounded(with(since(TIMEOUT), "A"))).reading_found(&name(2), run);
        let ledger = written(&late, Change::Stop);
        let stop = ledger.current.clone().unwrap().stop;
        assert_eq!(stop, Some(stop_at(NOW, StopReason::Cancelled)));
        let told = Facts { ledger, ..late };
        assert_eq!(stopped(&decide(&told)), Some(&*uid(2)));
    }
}

#[test]
fn a_cancel_goes_with_the_failure_that_it_came_with() {
    let stop = Some(stop_at(NOW - 5, StopReason::Cancelled));
    let failed = CurrentRun {
        stop,
        ..ended(2, "A", RunResult::Failed)
    };
    let turned = with(failed, "A").reading_found(&name(2), running(run(2, "A")));
    let current = recorded(&turned);
    assert_eq!((current.result, current.stop), (None, None));
}
