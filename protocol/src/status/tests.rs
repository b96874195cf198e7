//! Tests of the status in every state, and of what it keeps.

#![allow(
    clippy::wildcard_imports,
    reason = "the scene has the words that these tests are written in"
)]

mod awaited;
mod follows;
mod gone;
mod outputs;
mod pending;
mod said;

use cartouche_crds::RunResult;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::*;
use crate::{
    decide::tests::scene::*,
    facts::{CreateOutcome, Facts},
    ledger::{FetchedRun, tests::sample::*},
};

/// The conditions in order, as `Type=Status/Reason`.
fn told(status: &RunnableStatus) -> Vec<String> {
    let text = |condition: &Condition| {
        format!(
            "{}={}/{}",
            condition.type_, condition.status, condition.reason
        )
    };
    status.conditions.iter().map(text).collect()
}

fn report(facts: &Facts, error: Option<&ReconcileError>) -> RunnableStatus {
    status(facts, &facts.ledger, error)
}

fn message<'a>(status: &'a RunnableStatus, name: &str) -> &'a str {
    &find(status, name).unwrap().message
}

/// Facts after the current run was read and recorded.
fn read(fetched: &FetchedRun) -> Facts {
    let mut facts = with(created(2, "A"), "A").reading_found(&name(2), fetched.clone());
    facts.ledger = facts.ledger.record(fetched, facts.now);
    facts
}

fn of(category: Category, requeue: Requeue) -> ReconcileError {
    ReconcileError::new(category, requeue, "what is wrong")
}

#[test]
fn an_intent_is_under_way_and_nothing_is_known_of_its_run() {
    let status = report(&with(pending(1, "A"), "A"), None);
    let expected = [
        "RunTemplateReady=True/Ready",
        "StampedObjectCondition=Unknown/Unknown",
        "Ready=Unknown/RunInProgress",
        "Reconciling=True/RunInProgress",
    ];
    assert_eq!(told(&status), expected);
    assert_eq!(status.observed_generation, Some(4));
    assert!(
        status
            .conditions
            .iter()
            .all(|condition| condition.observed_generation == Some(4))
    );
}

#[test]
fn a_running_run_is_told_in_the_words_of_its_engine() {
    let status = report(&read(&running(run(2, "A"))), None);
    let expected = [
        "RunTemplateReady=True/Ready",
        "StampedObjectCondition=Unknown/SucceededCondition",
        "Ready=Unknown/RunInProgress",
        "Reconciling=True/RunInProgress",
    ];
    assert_eq!(told(&status), expected);
    assert_eq!(message(&status, READY), "Unknown");
}

#[test]
fn a_success_is_ready_without_a_message_and_nothing_else_is_said() {
    let status = report(&read(&succeeded(run(2, "A"), "x")), None);
    let expected = [
        "RunTemplateReady=True/Ready",
        "StampedObjectCondition=True/SucceededCondition",
        "Ready=True/Ready",
    ];
    assert_eq!(told(&status), expected);
    assert_eq!(
        (
            message(&status, READY),
            message(&status, RUN_TEMPLATE_READY)
        ),
        ("", "")
    );
    assert_eq!(status.outputs, Some(values("x")));
}

#[test]
fn a_failure_is_not_ready_and_stalled_with_the_message_of_the_run() {
    let status = report(&read(&failed(run(2, "A"))), None);
    let expected = [
        "RunTemplateReady=True/Ready",
        "StampedObjectCondition=False/SucceededCondition",
        "Ready=False/SucceededCondition",
        "Stalled=True/SucceededCondition",
    ];
    assert_eq!(told(&status), expected);
    assert_eq!(
        (message(&status, READY), message(&status, STALLED)),
        ("Failed", "Failed")
    );
}

#[test]
fn a_run_that_succeeds_at_once_is_told_with_its_confirmation() {
    let fetched = succeeded(run(2, "A"), "x");
    let facts = with(created(2, "A"), "A").after(CreateOutcome::Created(Box::new(fetched.clone())));
    let ledger = facts.ledger.clone().record(&fetched, facts.now);
    assert_eq!(told(&status(&facts, &ledger, None))[2], "Ready=True/Ready");
}

#[test]
fn what_comes_before_stamping_says_nothing_of_a_run() {
    for category in [
        Category::ServiceAccountError,
        Category::ServiceAccountTokenError,
        Category::ClientBuilderError,
    ] {
        let status = report(
            &read(&succeeded(run(2, "A"), "x")),
            Some(&of(category, Requeue::OnChange)),
        );
        let expected = ["RunTemplateReady", "Ready"].map(|name| format!("{name}=False/{category}"));
        assert_eq!(told(&status)[..2], expected);
        assert_eq!(told(&status)[2], format!("Stalled=True/{category}"));
        assert_eq!(
            status.outputs,
            Some(values("x")),
            "an error is never a loss"
        );
    }
}

#[test]
fn every_other_problem_is_the_reason_of_run_template_ready_and_of_ready() {
    for category in Category::ALL
        .into_iter()
        .filter(|it| !it.precedes_stamping() && !it.is_hold() && !it.is_remark())
    {
        let mut facts = with(pending(2, "A"), "A");
        facts.stored = Arc::default();
        let status = report(&facts, Some(&of(category, Requeue::Backoff)));
        assert_eq!(
            told(&status)[0],
            format!("RunTemplateReady=False/{category}")
        );
        assert_eq!(told(&status)[1], "StampedObjectCondition=Unknown/Unknown");
        assert_eq!(told(&status)[2], format!("Ready=False/{category}"));
        assert_eq!(message(&status, READY), "what is wrong");
    }
}

#[test]
fn a_request_that_cannot_be_followed_is_told_beside_whatever_the_run_says() {
    let unmet = of(Category::ProfileNotRefreshed, Requeue::OnChange);
    for facts in [
        read(&succeeded(run(2, "A"), "x")),
        read(&failed(run(2, "A"))),
        read(&running(run(2, "A"))),
    ] {
        let (said, without) = (report(&facts, Some(&unmet)), report(&facts, None));
        assert_eq!(told(&said)[0], "RunTemplateReady=True/ProfileNotRefreshed");
        assert_eq!(message(&said, RUN_TEMPLATE_READY), "what is wrong");
        assert_eq!(told(&said)[1..], told(&without)[1..]);
        assert_eq!(blocking(&said), blocking(&without));
    }
}

#[test]
fn what_only_a_change_can_cure_is_stalled_and_all_else_reconciling() {
    let facts = with(pending(2, "A"), "A");
    let last = |category, requeue| {
        told(&report(&facts, Some(&of(category, requeue))))
            .pop()
            .unwrap()
    };
    assert_eq!(
        last(Category::TemplateStampFailure, Requeue::OnChange),
        "Stalled=True/TemplateStampFailure"
    );
    let wait = Requeue::After(std::time::Duration::from_secs(9));
    for requeue in [Requeue::Backoff, Requeue::OnRbac, Requeue::OnKind, wait] {
        assert_eq!(
            last(Category::UnknownError, requeue),
            "Reconciling=True/UnknownError"
        );
    }
    assert_eq!(
        last(Category::OtherController, Requeue::OnChange),
        "Reconciling=True/OtherController"
    );
}

#[test]
fn the_last_false_is_the_reason_of_ready() {
    let status = report(
        &read(&failed(run(2, "A"))),
        Some(&of(Category::FailedToListCreatedObjects, Requeue::Backoff)),
    );
    assert_eq!(
        told(&status)[..3],
        [
            "RunTemplateReady=False/FailedToListCreatedObjects",
            "StampedObjectCondition=False/SucceededCondition",
            "Ready=False/SucceededCondition",
        ]
    );
}

#[test]
fn false_beats_unknown_beats_true() {
    let word = |status| ConditionValue {
        status,
        reason: format!("of{status}"),
        message: status.to_owned(),
    };
    for (template, stamped, ready, reason) in [
        (TRUE, Some(TRUE), TRUE, "Ready"),
        (TRUE, Some(UNKNOWN), UNKNOWN, "RunInProgress"),
        (TRUE, Some(FALSE), FALSE, "ofFalse"),
        (FALSE, Some(TRUE), FALSE, "ofFalse"),
        (FALSE, Some(UNKNOWN), FALSE, "ofFalse"),
        (FALSE, None, FALSE, "ofFalse"),
        (TRUE, None, TRUE, "Ready"),
    ] {
        let sum = aggregate(&word(template), stamped.map(word).as_ref());
        assert_eq!(
            (sum.status, sum.reason.as_str()),
            (ready, reason),
            "{template} {stamped:?}"
        );
    }
}

#[test]
fn a_run_for_another_rendering_is_not_spoken_of() {
    let facts = read(&succeeded(run(2, "A"), "x")).rendered_as(document("B"));
    assert_eq!(
        told(&report(&facts, None))[1..3],
        [
            "StampedObjectCondition=Unknown/Unknown",
            "Ready=Unknown/RunInProgress"
        ]
    );
    let mut unrendered = read(&succeeded(run(2, "A"), "x"));
    unrendered.rendering = Err(of(Category::TemplateStampFailure, Requeue::OnChange));
    let status = report(
        &unrendered,
        Some(&of(Category::TemplateStampFailure, Requeue::OnChange)),
    );
    assert_eq!(told(&status)[1], "StampedObjectCondition=Unknown/Unknown");
}

#[test]
fn a_refused_or_pending_run_is_unknown_beside_its_problem() {
    for current in [pending(2, "A"), rejected(2, "A", true)] {
        for category in [
            Category::StampedObjectRejectedByAPIServer,
            Category::NameConflict,
        ] {
            let status = report(
                &with(current.clone(), "A"),
                Some(&of(category, Requeue::Backoff)),
            );
            assert_eq!(told(&status)[1], "StampedObjectCondition=Unknown/Unknown");
            assert_eq!(told(&status)[3], format!("Reconciling=True/{category}"));
        }
    }
}

#[test]
fn a_slowed_loop_still_tells_of_the_current_run() {
    let facts = read(&failed(run(2, "A"))).rendered_as(document("B"));
    let slowed = of(
        Category::RunawayDetected,
        Requeue::After(std::time::Duration::from_mins(5)),
    );
    let status = report(&facts, Some(&slowed));
    assert_eq!(
        told(&status)[..2],
        [
            "RunTemplateReady=False/RunawayDetected",
            "StampedObjectCondition=False/SucceededCondition",
        ]
    );
}

#[test]
fn a_run_that_is_held_back_is_neither_a_failure_nor_under_way() {
    let held = of(Category::Suspended, Requeue::OnChange);
    let after =
        |fetched: &FetchedRun| report(&read(fetched).rendered_as(document("B")), Some(&held));
    assert_eq!(
        told(&after(&succeeded(run(2, "A"), "x"))),
        [
            "RunTemplateReady=Unknown/Suspended",
            "StampedObjectCondition=True/SucceededCondition",
            "Ready=Unknown/Suspended",
        ]
    );
    // A failure of the run before it stays visible.
    assert_eq!(
        told(&after(&failed(run(2, "A"))))[2..],
        [
            "Ready=False/SucceededCondition",
            "Stalled=True/SucceededCondition",
        ]
    );
}

#[test]
fn beside_another_controller_the_word_on_the_run_stays_as_stored() {
    let mut facts = read(&succeeded(run(2, "A"), "x")).stored_as_reported();
    facts.ledger = Ledger::default();
    facts.reads.clear();
    let status = report(
        &facts,
        Some(&of(Category::OtherController, Requeue::OnChange)),
    );
    assert_eq!(
        told(&status)[1],
        "StampedObjectCondition=True/SucceededCondition"
    );
    assert_eq!(told(&status)[2], "Ready=False/OtherController");
}

#[test]
fn the_time_of_a_condition_changes_only_with_its_status() {
    let mut facts = read(&running(run(2, "A"))).stored_as_reported();
    facts.now = Some(at(NOW + 60));
    let times = |facts: &Facts| -> Vec<(String, i64)> {
        let status = report(facts, None);
        let time = |condition: &Condition| {
            condition.last_transition_time.0.as_second() - at(0).as_second()
        };
        status
            .conditions
            .iter()
            .map(|condition| (condition.type_.clone(), time(condition)))
            .collect()
    };
    let mut other_words = running(run(2, "A"));
    other_words.health.message = "step 2 of 3".to_owned();
    let facts = facts.reading_found(&name(2), other_words);
    assert!(
        times(&facts).iter().all(|(_, time)| *time == NOW),
        "{:?}",
        times(&facts)
    );
    let mut done = read(&failed(run(2, "A")));
    (done.stored, done.now) = (facts.stored.clone(), facts.now);
    let expected = [
        (RUN_TEMPLATE_READY, NOW),
        (STAMPED_OBJECT_CONDITION, NOW + 60),
        (READY, NOW + 60),
        (STALLED, NOW + 60),
    ];
    assert_eq!(
        times(&done),
        expected.map(|(name, time)| (name.to_owned(), time))
    );
}

#[test]
fn nothing_is_said_at_a_time_before_the_runnable_was_and_no_age_goes_by_that() {
    let mut facts = with(pending(1, "A"), "A");
    facts.stored = Arc::default();
    facts.runnable.created = Some(at(NOW + 3_600));
    let said = report(&facts, None).conditions[0].last_transition_time.0;
    assert_eq!(said, at(NOW + 3_600));
    assert_eq!(facts.now, Some(at(NOW)));
    facts.now = None;
    assert_eq!(statement_time(facts.now, facts.runnable.created), None);
}

#[test]
fn the_whole_ledger_is_in_the_status_and_comes_back_from_it() {
    let mut facts = read(&succeeded(run(2, "A"), "x"));
    facts.ledger.history = Arc::new(vec![finished(1, RunResult::Failed)]);
    facts.ledger.breaker = Some(cartouche_crds::Breaker {
        generation: 1,
        template_uid: "t".to_owned(),
        template_generation: 1,
        window_start: Time(at(0)),
        runs: 3,
        ancestors: None,
    });
    let status = report(&facts, None);
    assert_eq!(Ledger::from_status(&status), facts.ledger);
    let stored = Arc::new(status.clone());
    assert!(!differs(&stored, &status));
    assert!(differs(&stored, &RunnableStatus::default()));
}

#[test]
fn a_long_word_of_an_engine_is_cut() {
    let mut fetched = running(run(2, "A"));
    fetched.health.message = "é".repeat(2_000);
    let status = report(&read(&fetched), None);
    assert!(message(&status, READY).len() <= 1_000);
    let facts = read(&fetched).stored_as_reported();
    assert!(
        reports(&facts.stored, &fetched.health),
        "a cut message is no news"
    );
}
