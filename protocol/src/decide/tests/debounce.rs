//! What is rendered has to stay the same for a while before it runs.

use std::time::Duration;

use cartouche_crds::{ApprovalPolicy, RunResult};
use k8s_openapi::jiff::SignedDuration;

use super::scene::*;
use crate::{
    decide::{Step, decide},
    facts::{Facts, Settling},
    ledger::tests::sample::*,
    reconcile_error::{Category, Requeue},
};

/// Ten seconds, of which so many are over; and for so long changes were held back.
fn paused(facts: Facts, same_for: u64, held_for: u64) -> Facts {
    let mut facts = facts.fresh();
    facts.policy.debounce = Some(SignedDuration::from_secs(10));
    facts.settling = Settling {
        same_for: Duration::from_secs(same_for),
        held_for: Duration::from_secs(held_for),
    };
    facts
}

fn changed() -> Facts {
    with(ended(2, "A", RunResult::Succeeded), "B")
}

#[test]
fn a_change_runs_once_it_has_stayed_the_same_for_a_while() {
    let error = stuck(&paused(changed(), 4, 4), Category::Settling);
    assert_eq!(error.requeue, Requeue::After(Duration::from_secs(6)));
    assert_eq!(intended(&paused(changed(), 10, 10)), (3, hash("B")));
}

#[test]
fn what_changes_again_and_again_runs_after_ten_times_as_long() {
    let error = stuck(&paused(changed(), 1, 97), Category::Settling);
    assert_eq!(error.requeue, Requeue::After(Duration::from_secs(3)));
    assert_eq!(intended(&paused(changed(), 0, 100)), (3, hash("B")));
}

#[test]
fn a_new_runnable_waits_before_anything_is_listed() {
    stuck(&paused(new_runnable("A"), 0, 0), Category::Settling);
    let step = decide(&paused(new_runnable("A"), 10, 10));
    assert!(matches!(step, Step::ListRuns { .. }), "{step:?}");
}

#[test]
fn what_somebody_deleted_unfinished_is_made_again_at_once() {
    let gone = running(run(2, "A"));
    let facts = paused(with(created(2, "A"), "A"), 0, 0);
    let facts = facts.seeing(seen_to_go(&gone)).reading_absent(&name(2));
    assert_eq!(intended(&facts), (3, hash("A")));
}

#[test]
fn nobody_is_asked_to_approve_what_changes_still() {
    let mut facts = paused(changed(), 4, 4);
    facts.policy.approval = ApprovalPolicy::Manual;
    stuck(&facts, Category::Settling);
    assert_eq!(
        decide(&Facts {
            settling: paused(changed(), 10, 10).settling,
            ..facts
        }),
        Step::DryRun(3)
    );
}
