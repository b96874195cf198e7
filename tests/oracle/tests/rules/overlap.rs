//! S6: no two runs of a Runnable at work at once, and replaced runs.

use cartouche_crds::{RunResult, RunnableStatus, Stop};
use cartouche_oracle::{Actor, Excuse, Object, Past, Run, Sight, Verb};

use crate::history::{History, breaks, current, earlier, empty, holds, intent, is_excused, run};

/// Returns a history with a first run at work, and no other permitted beside it.
fn working() -> History {
    let history = History {
        past: Past::new(Sight::Whole).without_overlap(),
        ..History::new(Sight::Whole)
    };
    let made = history.write(intent(1, "v1:a")).make(run(1, "v1:a", "one"));
    made.write(current(intent(1, "v1:a"), "one"))
}

fn stopped(mut status: RunnableStatus, reason: &str) -> RunnableStatus {
    let stop = Stop::of_word(&format!("{reason}@2026-01-01T00:00:00Z"));
    status.current_run.as_mut().unwrap().stop = stop;
    status
}

fn failed(mut status: RunnableStatus) -> RunnableStatus {
    status.current_run.as_mut().unwrap().result = Some(RunResult::Failed);
    status
}

fn next(hash: &str) -> RunnableStatus {
    earlier(intent(2, hash), 1, "v1:a", "one")
}

#[test]
fn s6_no_run_is_intended_while_another_is_at_work() {
    breaks("S6", working().write(next("v1:b")));
    holds(working().end("one", true).write(next("v1:b")));
    holds(working().delete(Actor::Person, "one").write(next("v1:b")));
}

#[test]
fn i3_what_was_lost_with_its_kind_is_not_waited_for() {
    let next = |kind: &str, lost: bool| {
        let mut next = intent(1, "v1:b");
        next.current_run.as_mut().unwrap().kind = kind.to_owned();
        let history = if lost {
            working().edit(empty())
        } else {
            working()
        };
        history.write(next)
    };
    is_excused(next("Build", true), Excuse::LostWithItsKind);
    let (broken, _) = next("Task", true).found();
    assert!(broken.contains(&"S6"), "{broken:?}");
}

#[test]
fn nobody_waits_for_what_the_original_makes_after_its_runnable_was_taken_over() {
    let of_original = || Run {
        number: None,
        name: "run-x".to_owned(),
        ..run(0, "v1:x", "late")
    };
    let arrives = |history: History| {
        history
            .later(1)
            .tell(Actor::Original, Verb::Created, Object::Run(of_original()))
    };
    let ended = || working().end("one", true);
    is_excused(arrives(ended()).write(next("v1:b")), Excuse::OriginalWentOn);
    // The controller waits for a run that existed before, and for one beside which a ledger was rebuilt.
    let first = arrives(History {
        past: Past::new(Sight::Whole).without_overlap(),
        ..History::new(Sight::Whole)
    });
    let (broken, _) = first.later(1).write(intent(1, "v1:a")).found();
    assert!(broken.contains(&"S6"), "{broken:?}");
    let lost = arrives(ended()).later(1).edit(empty());
    let (broken, _) = lost.write(intent(1, "v1:b")).found();
    assert!(broken.contains(&"S6"), "{broken:?}");
    // A run of a controller of ours is never exempt either.
    let ours = ended().later(1).make(of_original());
    let (broken, _) = ours.write(next("v1:b")).found();
    assert!(broken.contains(&"S6"), "{broken:?}");
}

#[test]
fn what_made_way_and_failed_is_a_cause_to_run_it_again() {
    let told = |reason: &str| {
        let told = working().write(stopped(current(intent(1, "v1:a"), "one"), reason));
        let ended = told.end("one", false);
        ended.write(failed(stopped(current(intent(1, "v1:a"), "one"), reason)))
    };
    let again = |reason: &str| {
        let mut next = next("v1:a");
        next.history_mut()[0].stop = Stop::of_word(&format!("{reason}@2026-01-01T00:00:00Z"));
        told(reason).write(next)
    };
    holds(again("Replaced"));
    breaks("S3", again("TimedOut"));
}

#[test]
fn what_was_withdrawn_is_a_cause_to_run_it_under_the_next_number() {
    let begun = || History::new(Sight::Whole).write(intent(1, "v1:a"));
    holds(
        begun()
            .write(stopped(intent(1, "v1:a"), "Withdrawn"))
            .write(intent(2, "v1:a")),
    );
    breaks("S3", begun().write(intent(2, "v1:a")));
}
