//! A run that is waited for is read again, and no end is missed.

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
    // Its object is gone: it could not be found out any more.
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
    assert_eq!(
        now[1].type_,
        cartouche_crds::conditions::STAMPED_OBJECT_CONDITION
    );
    assert_eq!(now[1].status, "True");
    assert_eq!(status.pending, facts.stored.pending);
    assert!(status.pending.is_some() && status.outputs.is_some());
}

#[test]
fn the_rules_of_the_next_run_say_nothing_of_the_one_that_it_waits_for() {
    let of_current = |facts: &Facts| {
        let earlier = facts.earlier_runs().into_owned();
        let entry = earlier
            .into_iter()
            .find(|entry| entry.uid == Some(uid(2)))?;
        entry.rules_hash
    };
    let current = CurrentRun {
        rules_hash: Some("of A".to_owned()),
        ..created(2, "A")
    };
    let made_under = Some("of A".to_owned());
    assert_eq!(of_current(&latest(with(current.clone(), "B"))), made_under);
    assert_eq!(of_current(&replace(with(current.clone(), "B"))), made_under);
    // A corrected rule judges a run of the present document; beside a run that is superseded at
    // once the history does.
    assert_eq!(of_current(&latest(with(current.clone(), "A"))), None);
    let allowed = under(ConcurrencyPolicy::Allow, with(current.clone(), "B"));
    assert_eq!(of_current(&allowed), None);
    // A run that was judged by its kind stays one that was made under those rules.
    let mut by_kind = running(run(2, "A"));
    by_kind.rules_hash = "".into();
    let ledger = latest(with(current, "B")).ledger;
    let recorded = ledger.record(&by_kind, Some(at(NOW)));
    assert_eq!(recorded.current.unwrap().rules_hash, made_under);
}

#[test]
fn one_that_does_not_stop_is_read_all_the_same() {
    let stopping = stopped(created(2, "A"), StopReason::Replaced, 600);
    let mut facts = working(replace(with(stopping, "B")));
    facts.policy.stop = None;
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let at_work = facts.clone().reading_found(&name(2), running(run(2, "A")));
    stuck(&at_work, Category::StopFailed);
    let facts = facts.reading_found(&name(2), failed(run(2, "A")));
    let ledger = written(&facts, Change::Record);
    assert_eq!(intended(&Facts { ledger, ..facts }), (3, hash("B")));
}

#[test]
fn what_was_not_made_is_withdrawn_whatever_is_said_of_a_stop() {
    let other = StopReason::Other("Paused".to_owned());
    let with_uid = |current: CurrentRun| CurrentRun {
        uid: Some(uid(2)),
        ..current
    };
    let ahead = |current| stopped(current, StopReason::Withdrawn, -3_600);
    for current in [
        stopped(pending(2, "A"), other.clone(), 5),
        stopped(rejected(2, "A", true), other, 5),
        with_uid(pending(2, "A")),
        ahead(pending(2, "A")),
    ] {
        let facts = latest(with(current, "B")).reading_absent(&name(2));
        let ledger = written(&facts, Change::MakeWay);
        let stop = ledger.current.clone().unwrap().stop.unwrap();
        assert_eq!(stop.reason, StopReason::Withdrawn);
        waiting(&Facts { ledger, ..facts });
    }
}

#[test]
fn where_runs_may_overlap_again_nobody_waits_for_what_cannot_be_read() {
    let withdrawn = stopped(pending(2, "A"), StopReason::Withdrawn, 60);
    let denied = |policy| {
        let mut facts = under(policy, with(withdrawn.clone(), "B"));
        facts.reads.insert(run_name(&name(2)), NameRead::Denied);
        facts
    };
    waiting(&denied(ConcurrencyPolicy::LatestOnly));
    assert_eq!(intended(&denied(ConcurrencyPolicy::Allow)), (3, hash("B")));
}

#[test]
fn a_run_that_lacks_an_output_is_no_fault_of_the_next_one() {
    let mut facts = latest(with(created(2, "A"), "A").asking("again"));
    let held = stuck(&read(facts.clone()), Category::RunAtWork);
    facts.stored = std::sync::Arc::new(crate::status::status(&facts, &facts.ledger, Some(&held)));
    let mut lacking = succeeded(run(2, "A"), "x");
    lacking.outputs = crate::ledger::OutputsRead::Unsatisfied {
        why: "no value".to_owned(),
        faults: Vec::new(),
    };
    let facts = facts
        .seeing(seen(&lacking))
        .reading_found(&name(2), lacking);
    let ledger = written(&facts, Change::Record);
    let status = crate::status::status(&facts, &ledger, None);
    assert_eq!(status.pending, facts.stored.pending);
    let is_stalled = |it: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
        it.type_ == cartouche_crds::conditions::STALLED
    };
    assert!(!status.conditions.iter().any(is_stalled));
}

#[test]
fn an_attempt_that_waits_says_under_which_number() {
    let ledger = ledger(ended(2, "A", RunResult::Failed), vec![unfinished(1, "old")]);
    let facts = latest(facts(ledger, "A"));
    let waits = ReconcileError::new(Category::RunAtWork, Requeue::OnChange, "waits");
    let status = crate::status::status(&facts, &facts.ledger, Some(&waits));
    assert_eq!(status.pending.unwrap().sequence, 3);
}
