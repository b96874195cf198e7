//! Waits for what another delivery may bring.

use super::*;
use crate::{ledger::tests::sample::at, messages::diagnosis::Diagnosis};

fn missing(diagnosis: Diagnosis, requeue: Requeue) -> ReconcileError {
    ReconcileError::from_diagnosis(
        Category::RunTemplateNotFound,
        requeue,
        diagnosis,
        Some("not found".to_owned()),
    )
}

fn all_that_may_come() -> [ReconcileError; 7] {
    let text = || "x".to_owned();
    [
        missing(Diagnosis::TemplateMissing(text()), Requeue::OnChange),
        missing(Diagnosis::AccountMissing(text(), text()), Requeue::OnChange),
        missing(
            Diagnosis::KindMissing(text(), text(), None),
            Requeue::OnKind,
        ),
        missing(
            Diagnosis::NothingSelected(text(), text()),
            Requeue::OnChange,
        ),
        missing(
            Diagnosis::SourcesMissing(Vec::new()),
            Requeue::After(std::time::Duration::from_mins(5)),
        ),
        missing(
            Diagnosis::Invalid {
                kind: text(),
                why: text(),
                namespace: text(),
                runnable: text(),
            },
            Requeue::Backoff,
        ),
        missing(Diagnosis::NotAdmitted(text()), Requeue::OnRbac),
    ]
}

/// The condition that tools read, `Stalled` or `Reconciling`, so many seconds after the first report.
fn told_after(seconds: i64, error: &ReconcileError) -> Vec<String> {
    let mut facts = with(created(2, "A"), "A");
    facts.now = Some(at(1_000));
    let first = report(&facts, Some(error));
    facts.stored = Arc::new(first);
    facts.now = Some(at(1_000 + seconds));
    let status = report(&facts, Some(error));
    let abnormal = status
        .conditions
        .iter()
        .map(|condition| condition.type_.clone());
    abnormal
        .filter(|name| name == STALLED || name == RECONCILING)
        .collect()
}

#[test]
fn what_may_come_in_a_moment_is_waited_for_a_minute() {
    for error in all_that_may_come() {
        assert_eq!(told_after(0, &error), [RECONCILING], "{error}");
        assert_eq!(told_after(59, &error), [RECONCILING], "{error}");
        assert_eq!(told_after(61, &error), [STALLED], "{error}");
    }
}

#[test]
fn what_was_wrong_before_takes_nothing_from_the_minute() {
    let [error, ..] = all_that_may_come();
    let other = of(Category::StampedObjectRejectedByAPIServer, Requeue::Backoff);
    let mut facts = with(created(2, "A"), "A");
    facts.now = Some(at(1_000));
    facts.stored = Arc::new(report(&facts, Some(&other)));
    facts.now = Some(at(9_000));
    facts.stored = Arc::new(report(&facts, Some(&error)));
    facts.now = Some(at(9_059));
    assert!(awaited_for(&facts, &error).is_some());
    facts.now = Some(at(9_061));
    facts.stored = Arc::new(report(&facts, Some(&error)));
    assert!(find(&facts.stored, STALLED).is_some());
    // The user has corrected the name.
    facts.runnable.generation += 1;
    assert!(awaited_for(&facts, &error).is_some());
}

/// Both are of one category.
#[test]
fn a_wait_for_a_source_at_work_takes_nothing_from_the_minute_of_what_is_missing() {
    let missing_input = missing(Diagnosis::SourcesMissing(Vec::new()), Requeue::OnChange);
    let at_work = missing(Diagnosis::Sources(Vec::new()), Requeue::Backoff);
    let mut facts = with(created(2, "A"), "A");
    facts.now = Some(at(1_000));
    facts.stored = Arc::new(report(&facts, Some(&at_work)));
    for (now, name) in [(9_000, RECONCILING), (9_059, RECONCILING), (9_061, STALLED)] {
        facts.now = Some(at(now));
        facts.stored = Arc::new(report(&facts, Some(&missing_input)));
        assert!(find(&facts.stored, name).is_some(), "{now}");
    }
    // Another input is missing: the minute does not start again.
    facts.now = Some(at(9_100));
    let other = Diagnosis::SourcesMissing(vec![crate::messages::diagnosis::Fault::default()]);
    assert!(awaited_for(&facts, &missing(other, Requeue::OnChange)).is_none());
}

#[test]
fn what_only_a_change_cures_is_stalled_at_once() {
    let error = missing(Diagnosis::AccountName("?".to_owned()), Requeue::OnChange);
    assert_eq!(told_after(0, &error), [STALLED]);
}

#[test]
fn room_in_a_quota_is_waited_for_without_an_end() {
    let full = Diagnosis::NotAdmitted("exceeded quota: jobs".to_owned());
    let error = missing(full, Requeue::OnRbac);
    assert_eq!(told_after(3_600, &error), [RECONCILING]);
}

#[test]
fn it_is_looked_again_when_the_minute_is_over() {
    let mut facts = with(created(2, "A"), "A");
    facts.now = Some(at(1_000));
    let [error, ..] = all_that_may_come();
    facts.stored = Arc::new(report(&facts, Some(&error)));
    facts.now = Some(at(1_020));
    let left = awaited_for(&facts, &error);
    assert_eq!(left, Some(std::time::Duration::from_secs(40)));
}

#[test]
fn the_conditions_that_cartographer_did_not_have_leave_out_its_words() {
    let [error, ..] = all_that_may_come();
    let status = report(&with(created(2, "A"), "A"), Some(&error));
    assert!(message(&status, READY).ends_with("; in full: not found"));
    assert_eq!(
        message(&status, RECONCILING),
        MessageParts::own(message(&status, READY))
    );
}
