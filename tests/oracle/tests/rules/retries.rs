//! Permitted and forbidden retries.

use cartouche_crds::{RunResult, RunnableStatus};
use cartouche_oracle::{Actor::Person, Object, Past, Run, Sight, Verb};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use crate::history::{History, breaks, current, earlier, empty, holds, intent, run};

const RETRY_AT: i64 = 1_000;

/// Returns a ledger whose run is this attempt.
fn attempt(number: i64, attempt: i64) -> RunnableStatus {
    let mut status = intent(number, "v1:a");
    status.current_run.as_mut().unwrap().attempt = attempt;
    status
}

/// Ends the run of a ledger with this result.
fn ended(status: RunnableStatus, uid: &str, result: RunResult) -> RunnableStatus {
    let mut status = current(status, uid);
    status.current_run.as_mut().unwrap().result = Some(result);
    status
}

/// Plans a retry of a failed run.
fn waiting(status: RunnableStatus, uid: &str) -> RunnableStatus {
    let mut status = ended(status, uid, RunResult::Failed);
    let retry_at = Timestamp::from_second(RETRY_AT).ok().map(Time);
    status.current_run.as_mut().unwrap().retry_at = retry_at;
    status
}

/// Returns the next number, after a first run.
fn next(status: RunnableStatus) -> RunnableStatus {
    earlier(status, 1, "v1:a", "one")
}

/// Returns a history with a first run at work.
fn working() -> History {
    let intended = History::new(Sight::Whole).write(intent(1, "v1:a"));
    let made = intended.make(run(1, "v1:a", "one"));
    made.write(current(intent(1, "v1:a"), "one"))
}

/// Returns a history whose run failed and is retried.
fn failed() -> History {
    working()
        .end("one", false)
        .write(waiting(intent(1, "v1:a"), "one"))
}

fn due() -> History {
    failed().later(RETRY_AT.unsigned_abs())
}

fn cancelled(result: Option<bool>) -> Object {
    Object::Run(Run {
        cancelled: true,
        result,
        ..run(1, "v1:a", "one")
    })
}

#[test]
fn s3_a_retry_that_is_due_is_a_cause() {
    holds(due().write(next(attempt(2, 2))));
    // Plus or minus the clock skew.
    holds(failed().later(990).write(next(attempt(2, 2))));
    breaks("S3", failed().later(900).write(next(attempt(2, 2))));
}

#[test]
fn s3_nothing_is_tried_again_that_no_ledger_planned_or_that_has_not_failed() {
    let after = |status: RunnableStatus| working().end("one", false).write(status).later(2_000);
    let unplanned = after(ended(intent(1, "v1:a"), "one", RunResult::Failed));
    let (broken, _) = unplanned.write(next(attempt(2, 2))).found();
    assert_eq!(broken, ["S3", "S3"], "neither a cause nor the right number");
    let mut turned = waiting(intent(1, "v1:a"), "one");
    turned.current_run.as_mut().unwrap().result = Some(RunResult::Succeeded);
    breaks("S3", after(turned).write(next(attempt(2, 2))));
    let mut lost = waiting(intent(1, "v1:a"), "one");
    lost.current_run.as_mut().unwrap().result = Some(RunResult::Lost);
    holds(after(lost).write(next(attempt(2, 2))));
}

#[test]
fn s3_attempts_are_counted() {
    let (broken, _) = due().write(next(attempt(2, 1))).found();
    assert_eq!(broken, ["S3", "S3"], "neither a cause nor the right number");
    let (broken, _) = due().write(next(attempt(2, 3))).found();
    assert_eq!(broken, ["S3", "S3"]);
    // The number of the existing attempt does not change.
    breaks("S3", working().write(current(attempt(1, 2), "one")));
    breaks("S3", History::new(Sight::Whole).write(attempt(1, 2)));
}

#[test]
fn s3_another_document_or_request_is_a_first_attempt() {
    let change = |attempt: i64| {
        let mut status = next(intent(2, "v1:b"));
        status.current_run.as_mut().unwrap().attempt = attempt;
        status
    };
    holds(failed().write(change(1)));
    breaks("S3", failed().write(change(2)));
    let request = |number: i64| {
        let mut status = next(attempt(2, number));
        status.current_run.as_mut().unwrap().rerun_token = Some("again".to_owned());
        status
    };
    holds(failed().write(request(1)));
    breaks("S3", due().write(request(2)));
}

#[test]
fn s3_a_run_that_was_cut_short_is_made_again_as_the_same_attempt() {
    let deleted = |again: i64| {
        let second = due().write(next(attempt(2, 2)));
        let made = second.make(run(2, "v1:a", "two"));
        let confirmed = made.write(current(next(attempt(2, 2)), "two"));
        let third = earlier(next(attempt(3, again)), 2, "v1:a", "two");
        confirmed.delete(Person, "two").write(third)
    };
    holds(deleted(2));
    breaks("S3", deleted(1));
    breaks("S3", deleted(3));
}

#[test]
fn s3_nothing_is_tried_more_often_than_it_may_be() {
    let limited = |most: i64| {
        let past = Past::new(Sight::Whole).with_most_attempts(most);
        let history = History {
            past,
            ..History::new(Sight::Whole)
        };
        let made = history
            .write(intent(1, "v1:a"))
            .make(run(1, "v1:a", "one"))
            .end("one", false)
            .write(waiting(intent(1, "v1:a"), "one"));
        let retried = made.later(2_000).write(next(attempt(2, 2)));
        retried.make(run(2, "v1:a", "two"))
    };
    holds(limited(2));
    breaks("S3", limited(1));
}

#[test]
fn s3_a_run_that_somebody_cancelled_is_not_tried_again() {
    let told = |history: History, result| history.tell(Person, Verb::Changed, cancelled(result));
    let planned = |history: History| history.write(waiting(intent(1, "v1:a"), "one"));
    breaks("S3", planned(told(told(working(), None), Some(false))));
    breaks("S3", planned(told(working(), Some(false))));
    // It had ended by then.
    holds(planned(told(working().end("one", false), Some(false))));
    // It was planned before.
    holds(planned(told(failed(), Some(false))));
}

#[test]
fn s3_a_status_that_was_put_back_tries_again_only_what_is_the_last() {
    let put_back = |history: History| history.edit(waiting(intent(1, "v1:a"), "one")).later(2_000);
    holds(put_back(failed().edit(empty())).write(next(attempt(2, 2))));
    let second = || {
        let intended = due().write(next(attempt(2, 2)));
        let made = intended.make(run(2, "v1:a", "two"));
        made.write(current(next(attempt(2, 2)), "two")).later(600)
    };
    breaks("S3", put_back(second()).write(next(attempt(3, 2))));
}
