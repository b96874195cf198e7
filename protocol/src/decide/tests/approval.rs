//! Approval: no run begins without it, and nothing else waits for it.

mod made;
mod rejected;

use std::sync::Arc;

use cartouche_crds::{ApprovalPolicy, ConcurrencyPolicy, PendingRun, RunResult, RunnableStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide, decide_without_rendering, overlap},
    facts::{DryRun, Facts},
    ledger::{Change, tests::sample::*},
    messages::reconcile_error::Requeue,
    status,
};

/// A Runnable under manual approval; the server's dry run is known.
fn manual(facts: Facts) -> Facts {
    let mut facts = facts.fresh();
    facts.policy.approval = ApprovalPolicy::Manual;
    facts.dry_run = Some(DryRun::Accepted);
    facts
}

fn approving(mut facts: Facts, text: impl Into<String>) -> Facts {
    facts.runnable.approved = Some(text.into());
    facts
}

fn of(sequence: i64, input: &str) -> String {
    format!("{sequence}:{}", hash(input))
}

fn waits(facts: &Facts) -> String {
    stuck(facts, Category::ApprovalRequired).message
}

/// A run has succeeded, and something else is rendered since.
fn changed() -> Facts {
    manual(with(ended(2, "A", RunResult::Succeeded), "B"))
}

#[test]
fn a_change_waits_for_a_person_and_begins_with_exactly_that_approval() {
    let error = stuck(&changed(), Category::ApprovalRequired);
    assert!(
        error.message.contains("run 3 needs approval"),
        "{}",
        error.message
    );
    assert_eq!(error.requeue, Requeue::OnChange);
    let facts = approving(changed(), of(3, "B"));
    assert_eq!(intended(&facts), (3, hash("B")));
}

#[test]
fn what_approves_something_else_approves_nothing_and_is_told() {
    for (text, told) in [
        (of(2, "B"), "is for run 2"),
        (of(4, "B"), "is for run 4"),
        (of(3, "A"), "is for another document"),
        (of(3, "B")[..12].to_owned(), "is for another document"),
        (of(3, "B") + "\n", "approves nothing"),
        (format!(" {}", of(3, "B")), "approves nothing"),
        (hash("B"), "approves nothing"),
        ("3".to_owned(), "approves nothing"),
        ("*".to_owned(), "approves nothing"),
        (String::new(), "approves nothing"),
    ] {
        let message = waits(&approving(changed(), text.clone()));
        assert!(message.contains(told), "{text:?}: {message}");
    }
}

#[test]
fn an_approval_counts_once_even_if_its_document_comes_back() {
    let back = manual(with(ended(3, "B", RunResult::Succeeded), "A"));
    assert!(waits(&approving(back.clone(), of(2, "A"))).contains("run 2"));
    assert_eq!(intended(&approving(back, of(4, "A"))), (4, hash("A")));
}

#[test]
fn a_request_to_run_again_takes_an_approval_of_its_own() {
    let again = manual(with(ended(2, "A", RunResult::Succeeded), "A")).asking("again");
    waits(&approving(again.clone(), of(2, "A")));
    assert_eq!(intended(&approving(again, of(3, "A"))), (3, hash("A")));
}

#[test]
fn a_new_runnable_waits_before_anything_is_listed() {
    let new = manual(new_runnable("A"));
    assert!(waits(&new).contains("run 1 needs approval"));
    let approved = approving(new, of(1, "A"));
    assert!(matches!(decide(&approved), Step::ListRuns { .. }));
    assert_eq!(intended(&approved.listing(vec![], &[])), (1, hash("A")));
}

#[test]
fn a_ledger_that_was_lost_is_found_again_whoever_has_to_approve_the_next_run() {
    let mut lost = manual(new_runnable("A"));
    lost.ledger_state = LOST;
    assert!(matches!(decide(&lost), Step::ListRuns { .. }));
}

#[test]
fn what_somebody_deleted_unfinished_is_made_again_without_another_approval() {
    let gone = running(run(2, "A"));
    let deleted = |input: &str| {
        let facts = manual(with(created(2, "A"), input));
        facts.seeing(seen_to_go(&gone)).reading_absent(&name(2))
    };
    assert_eq!(intended(&deleted("A")), (3, hash("A")));
    waits(&deleted("B"));
    // It does not count as lost: if its document is wanted again, it is made again.
    assert_eq!(decide_without_rendering(&deleted("B")), Step::Settled);
    let next = approving(deleted("B"), of(3, "B"));
    let ledger = written(&next, Change::Intent);
    let entry = &ledger.history[0];
    assert_eq!(entry.result, Some(RunResult::Failed));
    assert_eq!(entry.message, "deleted before it finished");
}

#[test]
fn what_has_its_number_needs_no_other_approval() {
    assert_eq!(decide(&manual(with(pending(2, "A"), "A"))), Step::Create);
}

#[test]
fn nothing_is_asked_of_the_server_or_of_a_person_for_what_has_run() {
    let mut done = manual(with(ended(2, "A", RunResult::Succeeded), "A"));
    done.dry_run = None;
    assert_eq!(decide(&done.stored_as_reported()), Step::Settled);
}

#[test]
fn the_server_is_asked_once_whether_it_would_make_the_run() {
    let mut facts = changed();
    facts.dry_run = None;
    assert_eq!(decide(&facts), Step::DryRun(3));
    let pending = |approval: String| PendingRun {
        sequence: 3,
        input_hash: hash("B"),
        reason: Category::ApprovalRequired.as_str().to_owned(),
        since: Time(at(NOW)),
        approval: Some(approval),
        dry_run: Some(DryRun::Refused("no".to_owned()).to_string()),
        unknown_fields: cartouche_crds::UnknownFields::default(),
    };
    let told = |approval: String| {
        let stored = RunnableStatus {
            pending: Some(pending(approval)),
            ..(*facts.stored).clone()
        };
        Facts {
            stored: Arc::new(stored),
            ..facts.clone()
        }
    };
    waits(&told(of(3, "B")));
    assert_eq!(decide(&told(of(3, "A"))), Step::DryRun(3), "of another run");
    let approved = approving(facts.clone(), of(3, "B"));
    assert_eq!(intended(&approved), (3, hash("B")), "nobody needs it");
}

#[test]
fn a_suspended_runnable_asks_nobody() {
    let mut facts = changed();
    facts.runnable.suspended = true;
    facts.dry_run = None;
    stuck(&facts, Category::Suspended);
}

#[test]
fn nobody_looks_at_earlier_runs_before_a_person_has_approved_the_next() {
    let mut facts = manual(with(created(2, "A"), "B")).seeing(seen(&running(run(2, "A"))));
    facts.policy.concurrency = ConcurrencyPolicy::LatestOnly;
    waits(&facts);
    let approved = approving(facts, of(3, "B"));
    assert!(matches!(decide(&approved), Step::ReadRun(_)));
}

#[test]
fn runs_that_are_there_are_followed_while_the_next_waits() {
    let ended = succeeded(run(2, "A"), "1");
    let facts = manual(with(created(2, "A"), "B"))
        .seeing(seen(&ended))
        .reading_found(&name(2), ended);
    waits(&facts);
    let step = decide_without_rendering(&facts);
    let Step::Write(ledger, Change::Record) = step else {
        panic!("{step:?}");
    };
    assert_eq!(ledger.current.unwrap().result, Some(RunResult::Succeeded));
}

#[test]
fn what_a_person_needs_to_approve_it_stands_in_the_status_once() {
    let facts = changed();
    let error = stuck(&facts, Category::ApprovalRequired);
    let first = status::status(&facts, &facts.ledger, Some(&error));
    let pending = first.pending.clone().unwrap();
    assert_eq!(pending.approval, Some(of(3, "B")));
    assert_eq!(pending.dry_run.as_deref(), Some("accepted"));
    let mut later = facts.clone();
    later.stored = Arc::new(first.clone());
    later.dry_run = None;
    later.now = Some(at(NOW + 60));
    let error = stuck(&later, Category::ApprovalRequired);
    let again = status::status(&later, &later.ledger, Some(&error));
    assert_eq!(again, first, "nothing is written again");
}

#[test]
fn what_the_run_before_said_is_read_off_it_while_a_person_is_asked() {
    let said = |facts: Facts| {
        overlap::explain_outcome(&facts.reading_found(&name(2), failed(run(2, "A"))))
    };
    let changed = || with(ended(2, "A", RunResult::Failed), "B");
    assert!(said(manual(changed())).is_some());
    assert_eq!(said(changed()), None);
}
