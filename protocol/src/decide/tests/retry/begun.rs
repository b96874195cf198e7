//! The beginning of a retry, what calls it off, and the messages meanwhile.

use super::*;

#[test]
fn an_attempt_begins_when_its_time_has_come_and_not_before() {
    let early = retrying(with(waiting(1, NOW + 1), "A").fresh());
    assert_eq!(decide(&early), Step::Settled);
    let mut unknown = retrying(with(waiting(1, NOW), "A").fresh());
    unknown.now = None;
    assert_eq!(decide(&unknown), Step::Settled, "without a clock");

    let due = retrying(with(waiting(1, NOW), "A"));
    assert_eq!(decide(&due), Step::RenderAgain);
    let due = due.fresh();
    assert_eq!(decide(&due), Step::ReadRun(run_name(&name(2))));
    let next = written(&looked_at(due), Change::Intent);
    let current = next.current.unwrap();
    assert_eq!((current.sequence, current.attempt), (3, 2));
    assert_eq!(current.input_hash, hash("A"));
    assert_eq!((current.result, current.retry_at), (None, None));
    assert_eq!(next.history[0].result, Some(RunResult::Failed));
}

#[test]
fn an_attempt_neither_counts_as_a_run_that_nobody_asked_for_nor_waits_for_them() {
    let mut facts = retrying(looked_at(with(waiting(1, NOW), "A").fresh()));
    facts.limits.max_runs = 0;
    let breaker = Breaker {
        generation: 1,
        template_uid: "template".to_owned(),
        template_generation: 1,
        window_start: Time(at(NOW)),
        runs: 1,
        ancestors: None,
    };
    facts.ledger.breaker = Some(breaker.clone());
    if let Some(current) = &mut facts.ledger.current {
        current.started_at = Some(Time(at(NOW)));
    }
    assert_eq!(written(&facts, Change::Intent).breaker, Some(breaker));
    stuck(&facts.asking("again"), Category::RunawayDetected);
}

#[test]
fn a_change_or_a_request_goes_first_and_is_a_first_attempt() {
    for facts in [
        with(waiting(2, NOW + 60), "B"),
        with(waiting(2, NOW + 60), "A").asking("again"),
    ] {
        let facts = retrying(facts.fresh());
        let current = written(&facts, Change::Intent).current.unwrap();
        assert_eq!((current.sequence, current.attempt), (3, 1));
    }
}

#[test]
fn who_answered_a_request_still_has_when_it_is_tried_again() {
    let asked = CurrentRun {
        rerun_token: Some("again".to_owned()),
        ..waiting(1, NOW)
    };
    let facts = retrying(looked_at(with(asked, "A").asking("again").fresh()));
    let next = written(&facts, Change::Intent);
    assert_eq!(next.answered_token.as_deref(), Some("again"));
    assert_eq!(next.current.unwrap().rerun_token, None);
}

#[test]
fn a_run_that_somebody_deletes_unfinished_is_made_again_as_the_same_attempt() {
    let facts = retrying(with(at_work(2), "A").fresh())
        .seeing(seen_to_go(&running(run(2, "A"))))
        .reading_absent(&name(2));
    let current = written(&facts, Change::Intent).current.unwrap();
    assert_eq!((current.sequence, current.attempt), (3, 2));
}

/// The current run as recorded once no retry is left, after the template was read.
fn called_off(facts: &Facts) -> CurrentRun {
    assert_eq!(decide(facts), Step::RenderAgain);
    let current = written(&facts.clone().fresh(), Change::Record).current;
    let current = current.unwrap();
    assert_eq!(current.result, Some(RunResult::Failed));
    current
}

#[test]
fn an_attempt_that_the_present_policy_does_not_allow_is_called_off_for_good() {
    for retry_at in [NOW, NOW + 60] {
        let none = with(waiting(1, retry_at), "A");
        let next = called_off(&none);
        assert_eq!(next.retry_at, None);
        // A policy that allows retries again later wakes no old failure.
        assert_eq!(decide(&retrying(with(next, "A").fresh())), Step::Settled);
        let exhausted = retrying(with(waiting(LIMIT + 1, retry_at), "A"));
        assert_eq!(called_off(&exhausted).retry_at, None);
    }
}

#[test]
fn an_attempt_at_a_run_that_somebody_cancels_after_it_failed_is_called_off() {
    let cancelled = FetchedRun {
        asked: Asked::ByPerson,
        ..failed(run(2, "A"))
    };
    let waits = retrying(with(waiting(1, NOW + 60), "A"));
    let seen = waits.clone().seeing(seen(&cancelled));
    let read = seen.reading_found(&name(2), cancelled);
    assert_eq!(called_off(&read).retry_at, None);
}

#[test]
fn an_attempt_at_a_run_that_went_after_its_result_had_turned_is_called_off() {
    for went in [succeeded(run(2, "A"), "x"), running(run(2, "A"))] {
        let facts = retrying(with(waiting(1, NOW), "A")).seeing(seen_to_go(&went));
        assert_eq!(called_off(&facts).retry_at, None);
    }
    let facts = retrying(with(waiting(1, NOW), "A").fresh())
        .seeing(seen_to_go(&failed(run(2, "A"))))
        .reading_absent(&name(2));
    assert_eq!(intended(&facts), (3, hash("A")), "it went as it was");
}

#[test]
fn an_attempt_begins_only_once_a_read_has_said_that_the_run_is_as_it_was() {
    let due = retrying(with(waiting(1, NOW), "A").fresh());
    let turned = due
        .clone()
        .reading_found(&name(2), succeeded(run(2, "A"), "x"));
    let next = written(&turned, Change::Record);
    assert_eq!(next.outputs, Some(values("x")));
    assert_eq!(next.current.unwrap().retry_at, None);
    assert_eq!(
        intended(&due.clone().reading_absent(&name(2))),
        (3, hash("A"))
    );
    let mut denied = due;
    denied.reads.insert(run_name(&name(2)), NameRead::Denied);
    assert_eq!(decide(&denied), Step::Settled);
}

#[test]
fn a_run_that_went_while_nobody_could_list_is_judged_by_its_kind_and_tried_again() {
    let by_kind = FetchedRun {
        rules_hash: "".into(),
        ..failed(run(2, "A"))
    };
    let mut facts = retrying(with(at_work(1), "A"))
        .seeing(seen_to_go(&by_kind))
        .reading_absent(&name(2));
    let recorded = |facts: &Facts| written(facts, Change::Record).current.unwrap();
    assert!(recorded(&facts).retry_at.is_some());
    facts.rendering.as_mut().unwrap().has_health_rule = true;
    assert_eq!(recorded(&facts).retry_at, None);
}

#[test]
fn a_ledger_that_was_put_back_tries_nothing_again_when_it_catches_up() {
    let mut facts = retrying(with(found_again(created(3, "A")), "A").fresh());
    facts.ledger_writer = Some(LedgerWriter::Another);
    let another = RunIdentity {
        input_hash: Some(hash("B")),
        created: Some(at(2)),
        ..other(run(3, "A"))
    };
    let facts = facts.listing(vec![failed(another), failed(run(3, "A"))], &[]);
    let current = written(&facts, Change::Rebuild).current.unwrap();
    assert_eq!(
        (current.uid, current.result),
        (Some(uid(3)), Some(RunResult::Failed))
    );
    assert_eq!(current.retry_at, None);
}

#[test]
fn a_suspended_runnable_tries_nothing_again_until_it_is_resumed() {
    for retry_at in [NOW, NOW + 60] {
        let mut facts = retrying(looked_at(with(waiting(1, retry_at), "A").fresh()));
        facts.runnable.suspended = true;
        let held = match decide(&facts) {
            Step::Stuck(error) => Some(error),
            step => {
                assert_eq!((step, retry_at), (Step::Settled, NOW + 60));
                None
            }
        };
        assert_eq!(decide_without_rendering(&facts), Step::Settled);
        let told = status::status(&facts, &facts.ledger, held.as_ref());
        let names = told.conditions.iter().map(|it| it.type_.as_str());
        assert!(names.clone().all(|it| it != STALLED && it != RECONCILING));
        facts.runnable.suspended = false;
        facts.now = Some(at(retry_at));
        assert_eq!(intended(&facts), (3, hash("A")));
    }
}

#[test]
fn an_attempt_ahead_is_told_as_work_and_the_last_failure_as_the_end() {
    let told = |facts: Facts| {
        let told = status::status(&facts, &facts.ledger, None);
        let last = told.conditions.last().unwrap().clone();
        (last.type_, last.reason, last.message)
    };
    let (name, reason, message) = told(retrying(with(waiting(1, NOW + 60), "A")));
    assert_eq!(
        (name.as_str(), reason.as_str()),
        (RECONCILING, RETRY_SCHEDULED)
    );
    let begins = at(NOW + 60);
    assert!(
        message.starts_with(&format!("attempt 2 of 4 begins at {begins}, after: ")),
        "{message}"
    );
    let last = told(retrying(with(ended(2, "A", RunResult::Failed), "A")));
    assert_eq!(last.0, STALLED);
    let forbidden = told(with(waiting(1, NOW + 60), "A"));
    assert_eq!(forbidden.0, STALLED, "nothing allows it any more");
}
