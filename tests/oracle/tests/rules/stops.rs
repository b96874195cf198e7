//! S7: stopped runs.

use cartouche_crds::{RunResult, RunnableStatus, Stop};
use cartouche_oracle::{Actor, Sight};

use crate::history::{History, breaks, current, earlier, empty, holds, intent, run};

/// Returns a ledger whose run is this one, and was stopped.
fn told(uid: &str) -> RunnableStatus {
    let mut status = current(intent(1, "v1:a"), uid);
    let stop = Stop::of_word("TimedOut@2026-01-01T00:00:00Z");
    status.current_run.as_mut().unwrap().stop = stop;
    status
}

fn ended(mut status: RunnableStatus, result: RunResult) -> RunnableStatus {
    status.current_run.as_mut().unwrap().result = Some(result);
    status
}

/// Returns a history with a first run at work.
fn working() -> History {
    let intended = History::new(Sight::Whole).write(intent(1, "v1:a"));
    let made = intended.make(run(1, "v1:a", "one"));
    made.write(current(intent(1, "v1:a"), "one"))
}

#[test]
fn a_run_that_is_told_to_stop_and_fails_has_ended() {
    let history = working().write(told("one")).end("one", false);
    holds(history.write(ended(told("one"), RunResult::Failed)));
}

#[test]
fn s7_that_a_run_is_told_to_stop_is_never_taken_back() {
    let history = working().write(told("one"));
    breaks("S7", history.write(current(intent(1, "v1:a"), "one")));
}

#[test]
fn s7_a_run_that_was_told_to_stop_is_never_lost() {
    let history = working().write(told("one")).delete(Actor::Person, "one");
    breaks("S7", history.write(ended(told("one"), RunResult::Lost)));
}

#[test]
fn s7_a_run_is_not_told_to_stop_after_its_end() {
    let done = ended(current(intent(1, "v1:a"), "one"), RunResult::Failed);
    let history = working().end("one", false).write(done);
    breaks("S7", history.write(ended(told("one"), RunResult::Failed)));
}

#[test]
fn s3_a_run_that_was_told_to_stop_and_is_deleted_is_not_made_again() {
    let gone = |history: History| history.delete(Actor::Person, "one");
    let next = || earlier(intent(2, "v1:a"), 1, "v1:a", "one");
    holds(gone(working()).write(next()));
    let mut told_before = next();
    told_before.history_mut()[0].stop = Stop::of_word("TimedOut@2026-01-01T00:00:00Z");
    breaks("S3", gone(working().write(told("one"))).write(told_before));
}

#[test]
fn s7_a_run_is_asked_to_stop_only_when_its_ledger_says_so() {
    breaks("S7", working().ask_to_stop("one"));
    holds(working().write(told("one")).ask_to_stop("one"));
    // A request from before the end may arrive after it.
    let done = ended(told("one"), RunResult::Failed);
    let over = working().write(told("one")).end("one", false);
    holds(over.write(done).ask_to_stop("one"));
}

#[test]
fn a_ledger_that_said_so_may_have_been_taken_away_since() {
    holds(
        working()
            .write(told("one"))
            .edit(empty())
            .ask_to_stop("one"),
    );
    breaks("S7", working().edit(empty()).ask_to_stop("one"));
}

#[test]
fn s5_the_current_run_is_deleted_only_to_stop_it() {
    let delete = |history: History| history.later(700).delete(Actor::Controller, "one");
    holds(delete(working().write(told("one"))));
    breaks("S5", delete(working()));
    breaks("S5", delete(working().write(told("one")).end("one", true)));
}
