//! While a Runnable is suspended no run begins, and existing runs are followed.

use cartouche_crds::{RunPhase, RunResult};

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide, decide_without_rendering},
    facts::Facts,
    ledger::{Change, tests::sample::*},
    messages::reconcile_error::Requeue,
};

fn suspended(mut facts: Facts) -> Facts {
    facts.runnable.suspended = true;
    facts
}

#[test]
fn nothing_that_would_make_a_run_makes_one_while_it_is_suspended() {
    let maybe_sent = [
        with(pending(2, "A"), "A"),
        with(rejected(2, "A", true), "A"),
    ];
    for facts in making_a_run().into_iter().chain(maybe_sent) {
        is_about_to_make_a_run(&facts);
        let told = stuck(&suspended(facts), Category::Suspended);
        assert_eq!(told.requeue, Requeue::OnChange);
    }
}

#[test]
fn a_suspended_runnable_whose_input_has_run_is_settled() {
    let facts = suspended(with(ended(1, "A", RunResult::Succeeded), "A").fresh());
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn the_run_that_is_at_work_is_followed_to_its_end() {
    for input in ["A", "B"] {
        let facts = suspended(with(created(2, "A"), input).fresh())
            .reading_found(&name(2), succeeded(run(2, "A"), "x"));
        // With another input the next run is held back first; existing runs are followed then.
        let step = match decide(&facts) {
            Step::Stuck(_) => decide_without_rendering(&facts),
            step => step,
        };
        let Step::Write(next, Change::Record) = step else {
            panic!("{step:?}");
        };
        assert_eq!(next.current.unwrap().result, Some(RunResult::Succeeded));
        assert_eq!(next.outputs, Some(values("x")));
    }
}

#[test]
fn a_run_that_landed_unseen_is_found_without_a_create() {
    for current in [pending(2, "A"), rejected(2, "A", true)] {
        let facts = suspended(with(current, "A")).seeing(seen(&running(run(2, "A"))));
        assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
        let read = facts.clone().reading_found(&name(2), running(run(2, "A")));
        let next = written(&read, Change::Confirm).current.unwrap();
        assert_eq!((next.phase, next.uid), (RunPhase::Created, Some(uid(2))));
        stuck(&facts.reading_absent(&name(2)), Category::Suspended);
    }
}

#[test]
fn a_run_that_landed_unseen_is_followed_though_its_input_has_moved_on() {
    let facts = suspended(with(pending(2, "A"), "B").fresh());
    let read = Step::ReadRun(run_name(&name(2)));
    assert_eq!(decide(&facts), read);
    let seen = facts.clone().seeing(seen(&running(run(2, "A"))));
    assert_eq!(decide_without_rendering(&seen), read);
    let landed = facts.clone().reading_found(&name(2), running(run(2, "A")));
    stuck(&landed, Category::Suspended);
    let Step::Write(next, Change::Confirm) = decide_without_rendering(&landed) else {
        panic!("{:?}", decide_without_rendering(&landed));
    };
    let current = next.current.unwrap();
    assert_eq!((current.sequence, current.uid), (2, Some(uid(2))));
    let stranger = owned_by_another(run(2, "A"));
    let taken = facts.reading_found(&name(2), running(stranger));
    assert_eq!(decide_without_rendering(&taken), Step::Settled);
}

#[test]
fn a_strangers_object_under_the_name_is_not_taken_for_the_run() {
    for stranger in [owned_by_another(run(2, "A")), run(2, "B")] {
        let facts = suspended(with(pending(2, "A"), "A"))
            .seeing(seen(&running(run(2, "A"))))
            .reading_found(&name(2), running(stranger));
        stuck(&facts, Category::Suspended);
    }
}

#[test]
fn runs_that_exist_become_the_ledger_of_a_suspended_runnable_too() {
    let mut lost = suspended(new_runnable("A").fresh());
    lost.ledger_state = LOST;
    let facts = lost.listing(vec![succeeded(run(3, "A"), "x")], &[&uid(3)]);
    let next = written(&facts, Change::Rebuild);
    assert_eq!(next.current.unwrap().sequence, 3);
}

#[test]
fn resuming_makes_the_run_that_was_held_back() {
    let facts = suspended(with(created(2, "A"), "B").fresh());
    stuck(&facts, Category::Suspended);
    let mut resumed = facts;
    resumed.runnable.suspended = false;
    assert_eq!(intended(&resumed), (3, hash("B")));
}
