//! What is waited for is looked at anew, and nothing that ends is missed.

use super::*;

#[test]
fn what_is_waited_for_is_read_since_a_rule_may_have_been_mended() {
    // The watch has judged it by the former rule.
    let facts = working(latest(with(created(2, "A"), "B")));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let facts = facts.reading_found(&name(2), succeeded(run(2, "A"), "x"));
    let ledger = written(&facts, Change::Record);
    assert_eq!(intended(&Facts { ledger, ..facts }), (3, hash("B")));
}

#[test]
fn the_end_of_an_earlier_run_is_written_before_what_was_refused_is_tried_again() {
    let done = succeeded(run(1, "old"), "x");
    let ledger = ledger(rejected(2, "A", false), vec![unfinished(1, "old")]);
    let facts = latest(facts(ledger, "A"))
        .seeing(seen(&done))
        .reading_found(&name(1), done);
    let ledger = written(&facts, Change::Record);
    written(&Facts { ledger, ..facts }, Change::Attempt);
}

#[test]
fn what_was_refused_at_its_only_attempt_is_read_all_the_same() {
    // Another controller's create may have been accepted.
    let mut facts = latest(with(rejected(2, "A", false), "B"));
    facts.now = Some(at(30));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let found = facts.clone().reading_found(&name(2), running(run(2, "A")));
    assert_eq!(
        written(&found, Change::Confirm).current.unwrap().uid,
        Some(uid(2))
    );
    assert_eq!(intended(&facts.reading_absent(&name(2))), (3, hash("B")));
}

#[test]
fn that_a_run_taken_over_is_of_another_document_is_noted_while_the_next_one_waits() {
    let old = CurrentRun {
        input_hash: "v0:unknown".to_owned(),
        ..created(2, "A")
    };
    let mut facts = read(latest(with(old, "B")));
    facts.server_agrees = Some(false);
    let ledger = written(&facts, Change::MigrateHash);
    let facts = Facts { ledger, ..facts };
    waiting(&facts);
    // Its object is gone: nobody could find it out any more.
    let gone = latest(Facts {
        cached_runs: Vec::new(),
        ..facts
    });
    let facts = gone.reading_absent(&name(2));
    let ledger = written(&facts, Change::Record);
    assert_eq!(
        ledger.current.as_ref().unwrap().result,
        Some(RunResult::Lost)
    );
    assert_eq!(intended(&Facts { ledger, ..facts }), (3, hash("B")));
}

#[test]
fn what_somebody_cancels_after_it_was_to_make_way_does_not_run_again() {
    let mut cancelled = failed(run(2, "A"));
    cancelled.asked = Asked::ByPerson;
    let stopping = stopped(created(2, "A"), StopReason::Replaced, 90);
    let facts = replace(with(stopping, "A")).seeing(seen(&cancelled));
    let ledger = written(
        &facts.reading_found(&name(2), cancelled.clone()),
        Change::Record,
    );
    let current = ledger.current.clone().unwrap();
    assert_eq!(current.stop.unwrap().reason, StopReason::Cancelled);
    let facts = replace(facts_of(ledger)).reading_found(&name(2), cancelled);
    let step = decide(&facts);
    assert!(!matches!(step, Step::Write(_, Change::Intent)), "{step:?}");
}

fn facts_of(ledger: crate::ledger::Ledger) -> Facts {
    facts(ledger, "A")
}

#[test]
fn what_is_left_of_a_ledger_is_looked_for_too() {
    let ledger = crate::ledger::Ledger {
        history: vec![unfinished(1, "old")].into(),
        ..crate::ledger::Ledger::default()
    };
    let mut facts = latest(facts(ledger, "B")).listing(vec![], &[]);
    facts.listed_every_kind = true;
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(1))));
    let facts = facts.reading_absent(&name(1));
    let ledger = written(&facts, Change::Record);
    assert_eq!(intended(&Facts { ledger, ..facts }).1, hash("B"));
}

#[test]
fn a_run_that_was_deleted_while_nothing_could_be_rendered_is_made_again_as_ever() {
    let mut gone = seen_to_go(&running(run(2, "A")));
    gone.rules_hash = "".into();
    for policy in [ConcurrencyPolicy::Allow, ConcurrencyPolicy::LatestOnly] {
        let facts = under(policy, with(created(2, "A"), "A"));
        let facts = facts.seeing(gone.clone()).reading_absent(&name(2));
        assert_eq!(intended(&facts), (3, hash("A")), "{policy}");
    }
}

#[test]
fn between_the_end_of_a_run_and_the_next_the_status_says_what_it_said() {
    let done = succeeded(run(2, "A"), "x");
    let mut facts = latest(with(created(2, "A"), "A").asking("again"));
    let held = stuck(&read(facts.clone()), Category::RunAtWork);
    facts.stored = std::sync::Arc::new(crate::status::status(&facts, &facts.ledger, Some(&held)));
    let facts = facts.seeing(seen(&done)).reading_found(&name(2), done);
    let ledger = written(&facts, Change::Record);
    let status = crate::status::status(&facts, &ledger, None);
    let (now, before) = (&status.conditions, &facts.stored.conditions);
    assert_eq!((&now[0], &now[2..]), (&before[0], &before[2..]));
    assert_eq!(now[1].type_, crate::status::STAMPED_OBJECT_CONDITION);
    assert_eq!(now[1].status, "True");
    assert_eq!(status.pending, facts.stored.pending);
    assert!(status.pending.is_some() && status.outputs.is_some());
}
