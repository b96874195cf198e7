//! Retries: their record, their beginning, and the checks before it.

mod begun;

use cartouche_crds::{
    Breaker, CurrentRun, Retry, RetryOn, RunResult,
    conditions::{RECONCILING, RETRY_SCHEDULED, STALLED},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide, decide_without_rendering},
    facts::{Facts, LedgerWriter, NameRead},
    ledger::{Asked, Change, FetchedRun, RunIdentity, tests::sample::*},
    policy::{Asks, Policy},
    status,
};

const LIMIT: i64 = 3;

fn policy(retry: Retry) -> Policy {
    let asks = Asks {
        retry: Some(retry),
        ..Asks::default()
    };
    Policy::merge(&asks, &Asks::default()).unwrap()
}

pub(super) fn retrying(mut facts: Facts) -> Facts {
    let retry = Retry {
        limit: Some(LIMIT),
        retry_on: Some(vec![RetryOn::Failed]),
        ..Retry::default()
    };
    facts.policy = policy(retry);
    facts
}

/// A run at work whose rules are known.
fn at_work(attempt: i64) -> CurrentRun {
    CurrentRun {
        attempt,
        ..found_again(created(2, "A"))
    }
}

/// A failed run with a retry at this time.
pub(super) fn waiting(attempt: i64, retry_at: i64) -> CurrentRun {
    CurrentRun {
        attempt,
        retry_at: Some(Time(at(retry_at))),
        ..ended(2, "A", RunResult::Failed)
    }
}

/// Facts after a read that finds the run as the ledger has it.
pub(super) fn looked_at(facts: Facts) -> Facts {
    facts.reading_found(&name(2), failed(run(2, "A")))
}

/// The current run as recorded after a read that finds it like this.
fn recorded(current: CurrentRun, read: FetchedRun) -> CurrentRun {
    let facts = retrying(with(current, "A")).reading_found(&name(2), read);
    written(&facts, Change::Record).current.unwrap()
}

#[test]
fn the_write_that_says_that_a_run_failed_says_when_it_is_tried_again() {
    let next = recorded(at_work(1), failed(run(2, "A")));
    assert_eq!(next.result, Some(RunResult::Failed));
    let pause = next.retry_at.unwrap().0.duration_since(at(NOW)).as_secs();
    assert!((8..=12).contains(&pause), "{pause}");
    let next = recorded(at_work(LIMIT), failed(run(2, "A")));
    let pause = next.retry_at.unwrap().0.duration_since(at(NOW)).as_secs();
    assert!((32..=48).contains(&pause), "{pause}");
}

/// The current run as recorded after it was seen deleted once it had failed.
fn recorded_of_one_that_went(current: CurrentRun) -> CurrentRun {
    let facts = retrying(with(current, "A"))
        .seeing(seen_to_go(&failed(run(2, "A"))))
        .reading_absent(&name(2));
    written(&facts, Change::Record).current.unwrap()
}

#[test]
fn a_run_that_ended_before_it_was_confirmed_is_tried_again_too() {
    let next = recorded_of_one_that_went(found_again(pending(2, "A")));
    assert_eq!(next.result, Some(RunResult::Failed));
    assert!(next.retry_at.is_some());
}

#[test]
fn a_failed_run_that_a_ttl_took_before_it_was_read_is_tried_again() {
    let next = recorded_of_one_that_went(at_work(1));
    assert_eq!(next.result, Some(RunResult::Failed));
    assert!(next.retry_at.is_some());
}

#[test]
fn nothing_is_tried_again_that_nobody_asked_to() {
    let facts = with(at_work(1), "A").reading_found(&name(2), failed(run(2, "A")));
    assert_eq!(
        written(&facts, Change::Record).current.unwrap().retry_at,
        None
    );
    let succeeded = recorded(at_work(1), succeeded(run(2, "A"), "x"));
    assert_eq!(succeeded.retry_at, None);
}

#[test]
fn after_the_last_attempt_it_stays_failed() {
    let next = recorded(at_work(LIMIT + 1), failed(run(2, "A")));
    assert_eq!(
        (next.result, next.retry_at),
        (Some(RunResult::Failed), None)
    );
}

#[test]
fn a_run_that_somebody_cancelled_is_not_tried_again() {
    let cancelled = FetchedRun {
        asked: Asked::ByPerson,
        ..failed(run(2, "A"))
    };
    assert_eq!(recorded(at_work(1), cancelled.clone()).retry_at, None);
    let facts = retrying(with(at_work(1), "A"))
        .seeing(seen_to_go(&cancelled))
        .reading_absent(&name(2));
    assert_eq!(
        written(&facts, Change::Record).current.unwrap().retry_at,
        None
    );
}

#[test]
fn a_run_that_is_lost_is_tried_again_only_where_that_is_named() {
    let lost = with(at_work(1), "A").reading_absent(&name(2));
    let next = written(&retrying(lost.clone()), Change::Record);
    let next = next.current.unwrap();
    assert_eq!((next.result, next.retry_at), (Some(RunResult::Lost), None));

    let retry = Retry {
        retry_on: Some(vec![RetryOn::Lost]),
        ..Retry::default()
    };
    let policy = policy(retry);
    let facts = Facts { policy, ..lost };
    let next = written(&facts, Change::Record).current.unwrap();
    assert!(next.retry_at.is_some());
    let scheduled = facts.stored_with(next);
    let condition = scheduled.stored.conditions.last().unwrap();
    assert_eq!(condition.reason, RETRY_SCHEDULED);
    let message = &condition.message;
    assert!(
        message.ends_with("disappeared before the controller saw its end"),
        "{message}"
    );
}

#[test]
fn a_run_that_fails_by_other_rules_than_its_own_is_not_tried_again() {
    let by_newer_rules = FetchedRun {
        rules_hash: "newer".into(),
        ..failed(run(2, "A"))
    };
    let mut facts = retrying(with(at_work(1), "A")).reading_found(&name(2), by_newer_rules);
    facts.rendering.as_mut().unwrap().rules_hash = "newer".into();
    assert_eq!(
        written(&facts, Change::Record).current.unwrap().retry_at,
        None
    );
    // Nor a run whose rules are unknown.
    assert_eq!(
        recorded(created(2, "A"), failed(run(2, "A"))).retry_at,
        None
    );
}

#[test]
fn a_run_at_work_is_followed_by_new_rules_as_soon_as_there_are_any() {
    let by_newer_rules = FetchedRun {
        rules_hash: "newer".into(),
        ..running(run(2, "A"))
    };
    let mut facts = retrying(with(at_work(1), "A")).seeing(seen(&by_newer_rules));
    facts.rendering.as_mut().unwrap().rules_hash = "newer".into();
    // A cached template may be an earlier one: two controllers would overwrite each other.
    assert_eq!(decide(&facts), Step::RenderAgain);
    let facts = facts.fresh();
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let read = facts.reading_found(&name(2), by_newer_rules);
    let next = written(&read, Change::Record).current.unwrap();
    assert_eq!(next.rules_hash.as_deref(), Some("newer"));
}

#[test]
fn who_asks_for_retries_later_wakes_no_old_failure() {
    let facts = retrying(with(ended(2, "A", RunResult::Failed), "A").fresh());
    assert_eq!(decide(&facts), Step::Settled);
    let read = facts.reading_found(&name(2), failed(run(2, "A")));
    assert_eq!(decide(&read), Step::Settled);
}

#[test]
fn runs_that_are_found_again_are_not_tried_again() {
    let mut lost = retrying(new_runnable("A").fresh());
    lost.ledger_state = LOST;
    let facts = lost.listing(vec![failed(run(3, "A"))], &[&uid(3)]);
    let next = written(&facts, Change::Rebuild).current.unwrap();
    assert_eq!(
        (next.result, next.retry_at),
        (Some(RunResult::Failed), None)
    );
    assert_eq!(next.attempt, 1);
}

#[test]
fn a_result_that_turns_takes_the_next_attempt_away() {
    for read in [succeeded(run(2, "A"), "x"), running(run(2, "A"))] {
        let next = recorded_turn(read);
        assert_eq!(next.retry_at, None);
    }
}

fn recorded_turn(read: FetchedRun) -> CurrentRun {
    let facts = retrying(with(waiting(1, NOW + 60), "A")).reading_found(&name(2), read);
    written(&facts, Change::Record).current.unwrap()
}

impl Facts {
    /// The status as it is after this entry was written.
    fn stored_with(mut self, current: CurrentRun) -> Self {
        self.reads.clear();
        self.ledger.current = Some(current);
        self.stored_as_reported()
    }
}
