//! The current run succeeded, but its outputs are not those in the status.

use super::*;

/// The current run succeeded and lacks an output; older outputs are in the status.
fn lacking_one() -> Facts {
    let mut facts = read(&lacking(run(2, "A")));
    (facts.ledger.outputs, facts.ledger.outputs_from) =
        (Some(values("old")), Some(outputs_from(1)));
    facts
}

fn reason(facts: &Facts) -> String {
    find(&report(facts, None), RUN_TEMPLATE_READY)
        .unwrap()
        .reason
        .clone()
}

#[test]
fn a_missing_output_is_told_in_full_and_the_old_outputs_stay() {
    let status = report(&lacking_one(), None);
    let expected = [
        "RunTemplateReady=False/OutputPathNotSatisfied",
        "StampedObjectCondition=True/SucceededCondition",
        "Ready=False/OutputPathNotSatisfied",
        "Stalled=True/OutputPathNotSatisfied",
    ];
    assert_eq!(told(&status), expected);
    assert_eq!(status.outputs, Some(values("old")));
    let name = name(2);
    assert_eq!(
        message(&status, RUN_TEMPLATE_READY),
        format!(
            "run {name} succeeded, but gives no outputs: no path; to do: correct it; in full: \
             waiting to read value from resource [builds.example.dev/{name}] in namespace [default]: unable to retrieve outputs from stamped \
             object [default/{name}] of type [builds.example.dev] for run template [t]: no such path"
        )
    );
}

#[test]
fn a_missing_output_of_a_run_that_was_just_made_is_told_too() {
    let fetched = lacking(run(2, "A"));
    let mut facts =
        with(created(2, "A"), "A").after(CreateOutcome::Created(Box::new(fetched.clone())));
    facts.ledger = facts.ledger.record(&fetched, facts.now);
    assert_eq!(reason(&facts), "OutputPathNotSatisfied");
}

#[test]
fn a_missing_output_is_still_told_when_the_run_is_not_read_again() {
    let mut facts = lacking_one().stored_as_reported();
    facts.reads.clear();
    assert_eq!(report(&facts, None).conditions, facts.stored.conditions);
}

#[test]
fn a_missing_output_is_forgotten_once_it_is_there_or_another_run_is_current() {
    let before = lacking_one().stored_as_reported();
    let found = before
        .clone()
        .reading_found(&name(2), succeeded(run(2, "A"), "x"));
    assert_eq!(reason(&found), "Ready");
    let mut next = before;
    next.reads.clear();
    next.ledger.current = Some(ended(3, "A", RunResult::Succeeded));
    assert_eq!(reason(&next), "Ready");
}

#[test]
fn a_template_without_outputs_misses_none() {
    let mut facts = lacking_one();
    if let Ok(rendering) = &mut facts.rendering {
        rendering.has_outputs = false;
    }
    assert_eq!(reason(&facts), "Ready");
}

#[test]
fn outputs_of_a_run_that_went_before_they_were_read_are_missed() {
    let gone = succeeded(run(2, "A"), "x");
    let facts = with(ended(2, "A", RunResult::Succeeded), "A").seeing(seen_to_go(&gone));
    assert_eq!(reason(&facts), "OutputPathNotSatisfied");
    let words = report(&facts, None);
    assert!(
        message(&words, RUN_TEMPLATE_READY)
            .ends_with("the run was deleted before its outputs could be read")
    );
    let mut read_before = facts.clone();
    read_before.ledger.outputs_from = Some(outputs_from(2));
    assert_eq!(reason(&read_before), "Ready");
    let alive = with(ended(2, "A", RunResult::Succeeded), "A").seeing(seen(&gone));
    assert_eq!(reason(&alive), "Ready");
    assert_eq!(
        reason(&alive.reading_absent(&name(2))),
        "OutputPathNotSatisfied",
        "the watch is late"
    );
    let failed =
        with(ended(2, "A", RunResult::Failed), "A").seeing(seen_to_go(&failed(run(2, "A"))));
    assert_eq!(reason(&failed), "Ready");
}

#[test]
fn of_a_run_that_ended_and_went_before_it_was_confirmed_more_is_known_than_its_create_showed() {
    let as_made = CreateOutcome::MadeBefore(Box::new(running(run(2, "A"))));
    for (gone, result, reason) in [
        (
            succeeded(run(2, "A"), "x"),
            RunResult::Succeeded,
            "OutputPathNotSatisfied",
        ),
        (failed(run(2, "A")), RunResult::Failed, "Ready"),
    ] {
        let facts = with(ended(2, "A", result), "A").seeing(seen_to_go(&gone));
        let facts = facts.after(as_made.clone()).reading_absent(&name(2));
        let status = report(&facts, None);
        let condition = |name| find(&status, name).unwrap();
        assert_eq!(condition(RUN_TEMPLATE_READY).reason, reason);
        assert_ne!(condition(STAMPED_OBJECT_CONDITION).status, "Unknown");
        assert_ne!(condition("Ready").status, "Unknown");
    }
}

#[test]
fn another_problem_comes_before_missing_outputs() {
    let status = report(
        &lacking_one(),
        Some(&of(Category::UnknownError, Requeue::Backoff)),
    );
    assert_eq!(told(&status)[0], "RunTemplateReady=False/UnknownError");
}

#[test]
fn a_kind_without_a_known_resource_is_told_as_cartographer_did() {
    let mut facts = lacking_one();
    facts.resource = None;
    let status = report(&facts, None);
    assert!(message(&status, RUN_TEMPLATE_READY).contains("could not fetch - see logs for"));
}
