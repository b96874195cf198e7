//! The current run is gone, or seems to be.

use std::sync::Arc;

use cartouche_crds::{ApprovalPolicy, CurrentRun, RunResult};

use super::{
    existing::{read_of_two, settled},
    scene::*,
};
use crate::{
    category::Category,
    decide::{Step, Waiting, decide},
    facts::{CreateOutcome, DryRun, Facts},
    ledger::{CachedRun, Change, FetchedRun, RunIdentity, tests::sample::*},
    messages::diagnosis::{Failed, NotReady},
    sources::Readiness,
    trace::SourceKey,
};

#[test]
fn a_finished_run_that_goes_makes_no_run_and_is_not_even_read() {
    for result in [RunResult::Succeeded, RunResult::Failed, RunResult::Lost] {
        let facts = with(ended(2, "A", result), "A").fresh();
        assert_eq!(decide(&facts), Step::Settled);
        assert_eq!(
            decide(&facts.clone().reading_absent(&name(2))),
            Step::Settled
        );
        assert_eq!(
            decide(&facts.seeing(seen_to_go(&failed(run(2, "A"))))),
            Step::Settled
        );
    }
}

#[test]
fn an_unfinished_run_that_is_gone_unseen_is_lost() {
    let next = written(
        &with(created(2, "A"), "A").reading_absent(&name(2)),
        Change::Record,
    );
    assert_eq!(
        next.current,
        Some(CurrentRun {
            finished_at: time(NOW),
            ..ended(2, "A", RunResult::Lost)
        })
    );
    let stranger = with(created(2, "A"), "A")
        .reading_found(&name(2), running(owned_by_another(other(run(2, "A")))));
    assert_eq!(
        written(&stranger, Change::Record).current.unwrap().result,
        Some(RunResult::Lost)
    );
}

#[test]
fn a_run_just_found_missing_may_have_been_seen_to_go_by_another_controller() {
    let facts = Facts {
        grace_over: false,
        ..with(created(2, "A"), "A").reading_absent(&name(2))
    };
    assert_eq!(decide(&facts), Step::Wait(Waiting::GracePeriod));
}

#[test]
fn a_read_that_is_ahead_of_the_watch_makes_no_run_lost() {
    let gone = |fetched: &FetchedRun| {
        with(created(2, "A"), "A")
            .fresh()
            .seeing(seen(fetched))
            .reading_absent(&name(2))
    };
    assert_eq!(
        decide(&gone(&running(run(2, "A")))),
        Step::Wait(Waiting::Watch)
    );
    let Step::Write(ledger, Change::Record) = decide(&gone(&failed(run(2, "A")))) else {
        panic!("a result that was seen is recorded");
    };
    let current = ledger.current.unwrap();
    assert_eq!(current.result, Some(RunResult::Failed));
}

#[test]
fn an_unfinished_run_seen_to_go_is_confirmed_gone_and_made_again_as_the_next() {
    let facts = with(created(2, "A"), "A").seeing(seen_to_go(&running(run(2, "A"))));
    assert_eq!(decide(&facts), read_of_two());
    let facts = facts.reading_absent(&name(2));
    assert_eq!(decide(&facts), Step::RenderAgain);
    let next = written(&facts.fresh(), Change::Intent);
    let current = next.current.unwrap();
    assert_eq!((current.sequence, current.input_hash), (3, hash("A")));
    assert_eq!(next.history[0].result, Some(RunResult::Failed));
    assert_eq!(next.history[0].message, "deleted before it finished");
    assert_eq!(next.history[0].finished_at, time(NOW));
}

#[test]
fn a_run_whose_label_was_taken_away_is_not_gone() {
    let facts = with(created(2, "A"), "A")
        .seeing(seen_to_go(&running(run(2, "A"))))
        .reading_found(&name(2), running(run(2, "A")));
    assert_eq!(decide(&facts.fresh()), Step::Settled);
}

#[test]
fn a_run_that_was_seen_to_end_before_it_went_keeps_its_result() {
    let facts = with(created(2, "A"), "A").seeing(seen_to_go(&succeeded(run(2, "A"), "x")));
    assert_eq!(decide(&facts), read_of_two());
    let next = written(&facts.fresh().reading_absent(&name(2)), Change::Record);
    assert_eq!(next.current.unwrap().result, Some(RunResult::Succeeded));
    assert_eq!(
        next.outputs, None,
        "what the controller saw with its own rights goes nowhere"
    );
}

#[test]
fn a_run_that_went_while_its_template_was_not_there_is_judged_by_no_rule_but_its_own() {
    let unjudged = |fetched: &FetchedRun| CachedRun {
        rules_hash: Arc::from(""),
        ..seen_to_go(fetched)
    };
    let ended = with(created(2, "A"), "A")
        .fresh()
        .seeing(unjudged(&succeeded(run(2, "A"), "x")))
        .reading_absent(&name(2));
    let next = written(&ended, Change::Record).current.unwrap();
    assert_eq!(next.result, Some(RunResult::Succeeded));
    // By the template's own rule it may have been something else.
    for fetched in [succeeded(run(2, "A"), "x"), running(run(2, "A"))] {
        let mut facts = with(created(2, "A"), "A")
            .fresh()
            .seeing(unjudged(&fetched))
            .reading_absent(&name(2));
        if let Ok(rendering) = &mut facts.rendering {
            rendering.has_health_rule = true;
        }
        let next = written(&facts, Change::Record).current.unwrap();
        assert_eq!(next.result, Some(RunResult::Lost));
        facts.grace_over = false;
        assert_eq!(decide(&facts), Step::Wait(Waiting::GracePeriod));
    }
}

#[test]
fn an_end_that_came_while_the_template_was_not_there_is_read_when_it_is_back() {
    let seen_meanwhile = CachedRun {
        rules_hash: Arc::from(""),
        ..seen(&running(run(2, "A")))
    };
    let facts = settled(&running(run(2, "A"))).seeing(seen_meanwhile);
    assert_eq!(decide(&facts), read_of_two());
}

#[test]
fn what_is_made_under_the_name_of_a_run_that_has_gone_is_no_late_create_of_ours() {
    let late = RunIdentity {
        created: Some(at(2 + 61)),
        ..other(run(2, "A"))
    };
    let gone = with(ended(2, "A", RunResult::Failed), "A").seeing(seen(&running(late.clone())));
    assert_eq!(decide(&gone), Step::Settled);
    let facts = with(created(2, "A"), "A")
        .seeing(seen_to_go(&running(run(2, "A"))))
        .reading_found(&name(2), succeeded(late, "forged"));
    let next = written(&facts.fresh(), Change::Intent);
    assert_eq!((next.current.unwrap().sequence, next.outputs), (3, None));
}

#[test]
fn a_run_of_cartographer_that_was_seen_to_end_and_go_keeps_its_result_too() {
    let old = unlabelled("old", 5);
    let adopted = CurrentRun {
        name: "old".to_owned(),
        uid: Some(old.uid.clone()),
        ..created(1, "A")
    };
    let facts = with(adopted, "A")
        .seeing(seen_to_go(&failed(old)))
        .reading_absent("old");
    assert_eq!(
        written(&facts, Change::Record).current.unwrap().result,
        Some(RunResult::Failed)
    );
}

#[test]
fn a_late_create_of_our_own_is_recorded_and_makes_no_run() {
    let late = other(run(2, "A"));
    for facts in [
        with(created(2, "A"), "A").reading_found(&name(2), running(late.clone())),
        with(created(2, "A"), "A")
            .seeing(seen_to_go(&running(run(2, "A"))))
            .reading_found(&name(2), running(late.clone())),
    ] {
        let next = written(&facts.fresh(), Change::Record).current.unwrap();
        assert_eq!(
            (next.sequence, next.uid.as_deref(), next.result),
            (2, Some("other"), None)
        );
    }
    // Its name is free then, and any client may take it.
    let after_the_end = with(ended(2, "A", RunResult::Failed), "A").seeing(seen(&running(late)));
    assert_eq!(decide(&after_the_end), Step::Settled);
}

#[test]
fn a_late_create_that_has_ended_gives_its_outputs_at_once() {
    let late = succeeded(other(run(2, "A")), "late");
    let next = written(
        &with(created(2, "A"), "A").reading_found(&name(2), late),
        Change::Record,
    );
    assert_eq!(
        (next.outputs, next.outputs_from.unwrap().uid),
        (Some(values("late")), "other".to_owned())
    );
}

#[test]
fn a_run_with_a_fixed_name_is_not_lost_because_the_name_was_free_before() {
    let fetched = running(run(2, "A"));
    let facts = with(created(2, "A"), "A")
        .reading_absent(&name(2))
        .after(CreateOutcome::Created(Box::new(fetched)));
    assert_eq!(decide(&facts), Step::Settled);
}

/// A hold on the next run, and the facts that cause it.
type Hold = (Category, fn(&mut Facts));

fn source() -> SourceKey {
    SourceKey::runnable("space", "b")
}

const HOLDS: [Hold; 5] = [
    (Category::Suspended, |facts| facts.runnable.suspended = true),
    (Category::DependencyNotReady, |facts| {
        facts.dependencies.readiness = Readiness::NotReady(source(), NotReady::Behind);
    }),
    (Category::DependencyFailed, |facts| {
        facts.dependencies.readiness = Readiness::Failed(Failed::Source(source()));
    }),
    (Category::DependencyCycle, |facts| {
        facts.dependencies.readiness = Readiness::Cycle(vec![source()]);
    }),
    (Category::ApprovalRequired, |facts| {
        facts.policy.approval = ApprovalPolicy::Manual;
        facts.dry_run = Some(DryRun::Accepted);
    }),
];

/// An earlier release made the hash, and the object that shows the run's document is deleted while
/// the next run waits.
#[test]
fn a_run_that_is_due_is_not_forgotten_because_the_one_before_goes_while_something_holds_it() {
    let old = CurrentRun {
        input_hash: "v0:earlier".to_owned(),
        ..ended(2, "A", RunResult::Succeeded)
    };
    for (hold, set) in HOLDS {
        let mut held = with(old.clone(), "B").fresh();
        set(&mut held);
        held.server_agrees = Some(false);
        let there = held
            .clone()
            .reading_found(&name(2), succeeded(run(2, "A"), "x"));
        let noted = written(&there, Change::MigrateHash);
        stuck(
            &Facts {
                ledger: noted.clone(),
                ..there
            },
            hold,
        );
        let free = with(old.clone(), "B").fresh().reading_absent(&name(2));
        assert_eq!(
            intended(&Facts {
                ledger: noted,
                ..free
            }),
            (3, hash("B")),
            "{hold}"
        );
    }
}
