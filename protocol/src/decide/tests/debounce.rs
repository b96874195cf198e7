//! Debounce: what is rendered has to stay the same for a while before it runs.

use std::{sync::Arc, time::Duration};

use cartouche_crds::{ApprovalPolicy, ConcurrencyPolicy, CurrentRun, RunResult, Stop, StopReason};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::SignedDuration};

use super::{retry, scene::*, wanting};
use crate::{
    category::Category,
    decide::{Step, decide, overlap},
    facts::{DryRun, Facts, Settling},
    ledger::tests::sample::*,
    messages::reconcile_error::Requeue,
    status,
};

/// A debounce of ten seconds; the change has stayed the same, and was held back, for these seconds.
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
    let error = stuck(&paused(changed(), 4, 4), Category::Debouncing);
    assert_eq!(error.requeue, Requeue::After(Duration::from_secs(6)));
    assert_eq!(intended(&paused(changed(), 10, 10)), (3, hash("B")));
}

#[test]
fn what_changes_again_and_again_runs_after_ten_times_as_long() {
    let error = stuck(&paused(changed(), 1, 97), Category::Debouncing);
    assert_eq!(error.requeue, Requeue::After(Duration::from_secs(3)));
    assert_eq!(intended(&paused(changed(), 0, 100)), (3, hash("B")));
}

#[test]
fn a_new_runnable_waits_before_anything_is_listed() {
    stuck(&paused(new_runnable("A"), 0, 0), Category::Debouncing);
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
    stuck(&facts, Category::Debouncing);
    assert_eq!(
        decide(&Facts {
            settling: paused(changed(), 10, 10).settling,
            ..facts
        }),
        Step::DryRun(3)
    );
}

#[test]
fn whoever_suspends_it_is_named_first_and_a_loop_too() {
    let mut facts = paused(changed(), 0, 0);
    facts.runnable.suspended = true;
    stuck(&facts, Category::Suspended);
    let slowed = wanting::looping(30, NOW - 1);
    stuck(&paused(slowed, 0, 0), Category::RunawayDetected);
}

#[test]
fn a_further_attempt_waits_for_nothing_to_settle() {
    let due = retry::looked_at(retry::retrying(with(retry::waiting(1, NOW - 1), "A")));
    let facts = paused(due, 0, 0);
    assert_eq!(intended(&facts).0, 3);
}

#[test]
fn what_the_run_before_said_is_kept_while_a_change_settles() {
    let facts = changed().reading_found(&name(2), failed(run(2, "A")));
    let mut facts = paused(facts, 0, 0);
    facts.ledger.current = Some(ended(2, "A", RunResult::Failed));
    assert!(overlap::explain_outcome(&facts).is_some());
}

#[test]
fn a_run_under_a_hash_of_another_release_is_not_held_for_ever() {
    for phase in [pending(2, "A"), rejected(2, "A", false)] {
        let current = CurrentRun {
            input_hash: "v0:abc".to_owned(),
            ..phase
        };
        let facts = paused(with(current, "B"), 0, 0).reading_absent(&name(2));
        stuck(&facts, Category::Debouncing);
        assert!(facts.may_intend());
    }
    let same = paused(with(created(2, "A"), "A"), 0, 0);
    assert!(!same.may_intend());
}

#[test]
fn one_that_has_not_settled_here_leaves_what_another_controller_says_it_waits_for() {
    let mut known = paused(changed(), 100, 100);
    known.policy.approval = ApprovalPolicy::Manual;
    known.dry_run = Some(DryRun::Accepted);
    let waits = stuck(&known, Category::ApprovalRequired);
    let status = status::status(&known, &known.ledger, Some(&waits));
    let approval = status.pending.as_ref().and_then(|it| it.approval.clone());
    let mut anew = paused(changed(), 1, 1);
    anew.policy.approval = ApprovalPolicy::Manual;
    stuck(&anew, Category::Debouncing);
    assert!(!status::waits_for_more(&anew));
    anew.stored = Arc::new(status);
    assert!(status::waits_for_more(&anew));
    anew.runnable.approved = approval;
    assert!(!status::waits_for_more(&anew));
    let mut later = Facts {
        rendering: with(ended(2, "A", RunResult::Succeeded), "C").rendering,
        ..anew
    };
    later.runnable.approved = None;
    assert!(!status::waits_for_more(&later));
}

#[test]
fn each_further_change_that_settles_leaves_the_status_as_it_is() {
    let said = |facts: Facts| {
        let error = stuck(&facts, Category::Debouncing);
        status::status(&facts, &facts.ledger, Some(&error))
    };
    let first = Arc::new(said(paused(changed(), 1, 1)));
    // The release before has to find a hash.
    let pending = first.pending.as_ref().unwrap();
    assert_eq!((pending.sequence, pending.input_hash.as_str()), (3, ""));
    let mut next = paused(with(ended(2, "A", RunResult::Succeeded), "C"), 1, 5);
    next.stored = first.clone();
    next.now = Some(at(NOW + 5));
    assert!(!status::differs(&first, &said(next)));
}

#[test]
fn a_run_that_may_still_come_is_left_said_to_be_waited_for_too() {
    let withdrawn = CurrentRun {
        stop: Some(Stop {
            reason: StopReason::Withdrawn,
            at: Time(at(NOW)),
            unknown_fields: cartouche_crds::UnknownFields::default(),
        }),
        ..pending(2, "A")
    };
    let mut known = paused(with(withdrawn, "B"), 100, 100).reading_absent(&name(2));
    known.policy.concurrency = ConcurrencyPolicy::LatestOnly;
    let waits = stuck(&known, Category::RunAtWork);
    let mut anew = known.clone();
    anew.settling = Settling::default();
    anew.stored = Arc::new(status::status(&known, &known.ledger, Some(&waits)));
    stuck(&anew, Category::Debouncing);
    assert!(status::waits_for_more(&anew));
    // Under Allow, too, that entry is waited for.
    known.policy.concurrency = ConcurrencyPolicy::Allow;
    stuck(&known, Category::RunAtWork);
    anew.policy.concurrency = ConcurrencyPolicy::Allow;
    assert!(status::waits_for_more(&anew));
    anew.ledger.current = Some(ended(2, "A", RunResult::Succeeded));
    assert!(!status::waits_for_more(&anew));
}
