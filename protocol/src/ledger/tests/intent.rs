//! From an intent to a run that is confirmed, refused or superseded.

use std::collections::BTreeSet;

use cartouche_crds::{
    CurrentRun, RunPhase, RunResult, RunnableStatus, conditions::RUN_TEMPLATE_READY,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::sample::*;
use crate::{
    category::Category,
    ledger::{Due, Fate, Ledger, MAX_HISTORY, MAX_JUMP, RunIdentity},
    messages::diagnosis::Diagnosis,
    status::RunState,
};

fn intend(ledger: Ledger, input: &str, fate: &Fate) -> Ledger {
    ledger.intend(intent(input), name, fate, "its last words", Some(at(100)))
}

#[test]
fn the_first_run_has_the_number_one_and_its_name_before_anything_is_sent() {
    let next = intend(Ledger::default(), "A", &Fate::Known);
    let expected = CurrentRun {
        intent_at: time(100),
        rules_hash: Some(RULES.to_owned()),
        ..pending(1, "A")
    };
    assert_eq!(next.current, Some(expected));
    assert!(next.history.is_empty());
}

#[test]
fn an_intent_records_the_request_that_it_answers() {
    let mut intent = intent("A");
    intent.rerun_token = Some("again".to_owned());
    let next = Ledger::default().intend(intent, name, &Fate::Known, "", None);
    assert_eq!(next.current.unwrap().rerun_token.as_deref(), Some("again"));
}

#[test]
fn the_run_before_goes_to_the_history_with_all_that_is_known_of_it() {
    let next = intend(
        ledger(ended(3, "A", RunResult::Failed), vec![]),
        "B",
        &Fate::Known,
    );
    assert_eq!(next.current.as_ref().unwrap().sequence, 4);
    let [entry] = &next.history[..] else {
        panic!("{:?}", next.history)
    };
    assert_eq!((entry.sequence, &entry.uid), (3, &Some(uid(3))));
    assert_eq!(entry.input_hash, hash("A"));
    assert_eq!(
        (entry.result, &entry.finished_at),
        (Some(RunResult::Failed), &time(3))
    );
    assert_eq!(entry.started_at, time(3));
    assert_eq!(entry.message, "its last words");
}

#[test]
fn what_was_definitely_refused_long_ago_is_dropped_and_its_number_is_not_used_again() {
    let refused = ledger(rejected(3, "A", false), vec![]);
    let next = refused.intend(intent("B"), name, &Fate::Known, "", Some(at(1_000)));
    assert!(next.history.is_empty());
    assert_eq!(next.current.unwrap().sequence, 4);
}

#[test]
fn a_create_that_may_still_land_stays_in_the_history_and_ages_from_now() {
    // This includes a recent refusal: another controller may have sent a create for it, too.
    for current in [
        pending(3, "A"),
        rejected(3, "A", true),
        rejected(3, "A", false),
    ] {
        let next = intend(ledger(current, vec![]), "B", &Fate::Absent);
        let entry = &next.history[0];
        assert_eq!((entry.sequence, &entry.uid, entry.result), (3, &None, None));
        // Not from its intent, which may be hours ago: its last attempt was a moment ago.
        assert_eq!(entry.started_at, time(100));
    }
}

#[test]
fn a_create_that_landed_is_superseded_as_the_run_that_it_made() {
    let found = RunIdentity {
        created: Some(at(90)),
        ..run(3, "A")
    };
    let next = intend(ledger(pending(3, "A"), vec![]), "B", &Fate::Found(found));
    let entry = &next.history[0];
    assert_eq!((&entry.uid, &entry.started_at), (&Some(uid(3)), &time(90)));
    assert_eq!(entry.input_hash, hash("A"));
}

#[test]
fn the_next_number_is_above_current_history_and_the_source_of_the_outputs() {
    assert_eq!(Ledger::default().next_sequence(), 1);
    assert_eq!(ledger(created(7, "A"), vec![]).next_sequence(), 8);
    assert_eq!(
        ledger(created(2, "A"), vec![unfinished(9, "B")]).next_sequence(),
        10
    );
    let rest = Ledger {
        outputs_from: Some(outputs_from(20)),
        ..Ledger::default()
    };
    assert_eq!(rest.next_sequence(), 21);
}

#[test]
fn a_further_attempt_is_on_record_before_it_is_sent() {
    let next = ledger(rejected(1, "A", false), vec![]).attempt();
    assert_eq!(next.current, Some(rejected(1, "A", true)));
}

#[test]
fn a_refusal_forgets_the_attempt_only_if_nothing_else_was_sent() {
    for (only_attempt, attempted) in [(true, false), (false, true)] {
        let next = ledger(pending(1, "A"), vec![]).reject(only_attempt);
        assert_eq!(next.current, Some(rejected(1, "A", attempted)));
    }
}

#[test]
fn confirming_takes_sequence_and_hash_together() {
    let ledger = ledger(pending(2, "A"), vec![]);
    let confirmed = ledger.confirm(&run(2, "A")).unwrap();
    let current = confirmed.current.unwrap();
    assert_eq!(
        (current.phase, &current.uid),
        (RunPhase::Created, &Some(uid(2)))
    );
    assert_eq!(current.started_at, time(2));
    assert_eq!(ledger.confirm(&run(2, "B")), None);
    assert_eq!(ledger.confirm(&run(3, "A")), None);
    let bare = RunIdentity {
        input_hash: None,
        ..run(2, "A")
    };
    assert_eq!(ledger.confirm(&bare), None);
    assert_eq!(Ledger::default().confirm(&run(2, "A")), None);
}

/// The uid of the object that holds a name.
fn holder() -> String {
    "holder".to_owned()
}

#[test]
fn a_number_whose_name_a_stranger_holds_is_given_up() {
    let mut current = pending(2, "A");
    current.rerun_token = Some("again".to_owned());
    let before = ledger(current, vec![finished(1, RunResult::Failed)]);
    let next = before.renumber(name, holder(), 0, Some(at(50)));
    let current = next.current.unwrap();
    assert_eq!((current.sequence, &current.input_hash), (9, &hash("A")));
    assert_eq!((current.name, current.phase), (name(9), RunPhase::Pending));
    assert_eq!((current.intent_at, current.attempted), (time(50), true));
    assert_eq!(current.rerun_token.as_deref(), Some("again"));
    assert_eq!(
        Ledger::default().renumber(name, holder(), 0, None),
        Ledger::default()
    );
}

#[test]
fn a_number_that_was_given_up_is_kept_in_mind_since_a_create_for_it_may_still_land() {
    let before = ledger(pending(2, "A"), vec![finished(1, RunResult::Failed)]);
    let next = before.renumber(name, holder(), 0, Some(at(50)));
    let entry = &next.history[1];
    assert_eq!((entry.sequence, &entry.uid, entry.result), (2, &None, None));
    assert_eq!(entry.started_at, time(50));
    // The object that was met never counts as the run; ours does, and gives no outputs.
    let landed = RunIdentity {
        created: Some(at(51)),
        ..run(2, "A")
    };
    let met = RunIdentity {
        uid: holder(),
        ..landed.clone()
    };
    assert_eq!(next.clone().shown_up(&met), next);
    let known = next.shown_up(&landed);
    assert_eq!(known.history[1].uid.as_ref(), Some(&landed.uid));
    let ended = known.record(&succeeded(landed, "ours"), Some(at(60)));
    assert_eq!(ended.history[1].result, Some(RunResult::Succeeded));
    assert_eq!(ended.outputs, None);
}

#[test]
fn a_thousand_names_that_were_taken_in_advance_cost_at_most_four_numbers() {
    let given_up = |chance: u64| {
        let mut ledger = ledger(pending(8, "A"), vec![finished(7, RunResult::Failed)]);
        let mut given_up = Vec::new();
        while let Some(current) = &ledger.current
            && current.sequence <= 7 + 1_000
        {
            given_up.push(current.sequence);
            ledger = ledger.renumber(name, holder(), chance, Some(at(50)));
        }
        given_up
    };
    assert_eq!(given_up(0), [8, 15, 71, 519]);
    for chance in 1..200 {
        assert!(given_up(chance).len() <= 4, "{chance}");
    }
}

#[test]
fn where_the_next_number_lies_is_left_to_chance() {
    let after = |given_up: i64| -> BTreeSet<i64> {
        let ledger = ledger(pending(given_up, "A"), vec![finished(7, RunResult::Failed)]);
        let next = |chance| ledger.clone().renumber(name, holder(), chance, None);
        let numbers = (0..1_000).map(|chance| next(chance).current.unwrap().sequence);
        numbers.collect()
    };
    assert_eq!(after(8), (15..23).collect());
    assert_eq!(after(15), (71..135).collect());
    // The number always stays within what is believed of a run.
    let far = after(7 + MAX_JUMP / 2);
    assert!(far.iter().all(|number| (7..=7 + MAX_JUMP).contains(number)));
}

#[test]
fn linking_gives_the_current_run_the_present_hash() {
    let mut old = ledger(created(2, "A"), vec![]);
    old.current.as_mut().unwrap().input_hash = "v0:x".to_owned();
    let next = old.migrate_hash(&hash("A"));
    assert_eq!(next.current, Some(created(2, "A")));
}

#[test]
fn at_the_cap_the_oldest_finished_entry_goes_but_no_unfinished_or_output_giving_one() {
    let mut full = ledger(created(1_000, "A"), vec![unfinished(1, "A")]);
    full.history_mut()
        .extend((2..=200).map(|sequence| finished(sequence, RunResult::Succeeded)));
    full.outputs_from = Some(outputs_from(2));
    let next = intend(full, "B", &Fate::Known);
    assert_eq!(next.history.len(), MAX_HISTORY);
    let first: Vec<i64> = next
        .history
        .iter()
        .take(3)
        .map(|entry| entry.sequence)
        .collect();
    assert_eq!(first, [1, 2, 4]);
}

#[test]
fn a_history_of_unfinished_runs_grows_rather_than_forget_one() {
    let history = (1..=200)
        .map(|sequence| unfinished(sequence, "A"))
        .collect();
    let next = intend(ledger(created(201, "A"), history), "B", &Fate::Known);
    assert_eq!(next.history.len(), MAX_HISTORY + 1);
}

#[test]
fn what_is_rendered_or_a_new_request_asks_for_a_run() {
    assert_eq!(Ledger::default().due(&hash("A"), None), Due::New(1));
    let running = ledger(created(1, "A"), vec![]);
    assert_eq!(running.due(&hash("A"), None), Due::Nothing(1));
    assert_eq!(running.due(&hash("B"), None), Due::New(2));
    assert_eq!(running.due(&hash("A"), Some("again")), Due::New(2));
    let waiting = ledger(pending(1, "A"), vec![]);
    let first = waiting.due(&hash("A"), Some("again"));
    assert_eq!(first, Due::Pending(1), "first the one before");
    assert_eq!(waiting.due(&hash("B"), None), Due::New(2));
    let mut answered = running.clone();
    answered.current.as_mut().unwrap().rerun_token = Some("again".to_owned());
    assert_eq!(answered.due(&hash("A"), Some("again")), Due::Nothing(1));
    assert_eq!(
        answered.due(&hash("A"), None),
        Due::Nothing(1),
        "it stays answered"
    );
}

#[test]
fn a_hash_that_was_made_in_another_way_is_compared_with_nothing() {
    let mut old = ledger(created(1, "A"), vec![]);
    old.current.as_mut().unwrap().input_hash = "v0:1".to_owned();
    assert_eq!(old.due(&hash("A"), Some("again")), Due::OtherHash(1));
}

#[test]
fn the_number_of_the_run_that_gave_the_outputs_is_not_given_again() {
    let left = Ledger {
        outputs_from: Some(outputs_from(7)),
        ..Ledger::default()
    };
    assert_eq!(left.due(&hash("A"), None), Due::New(8));
}

#[test]
fn an_earlier_run_is_running_only_once_it_is_known_to_be_made() {
    let state = |ledger: &Ledger| RunState::from(&ledger.history[0]);
    let unseen = intend(ledger(pending(1, "A"), vec![]), "B", &Fate::Absent);
    assert_eq!(state(&unseen), RunState::Unknown);
    let refused = ledger(rejected(1, "A", true), vec![]);
    assert_eq!(
        state(&intend(refused, "B", &Fate::Unread)),
        RunState::Unknown
    );
    let given_up = ledger(pending(1, "A"), vec![]).renumber(name, holder(), 0, Some(at(50)));
    assert_eq!(state(&given_up), RunState::NameTaken);
    for (before, created) in [(unseen.clone(), 101), (given_up, 51)] {
        let landed = RunIdentity {
            created: Some(at(created)),
            ..run(1, "A")
        };
        assert_eq!(state(&before.shown_up(&landed)), RunState::Running);
    }
    let lost = RunState::Ended(RunResult::Lost);
    assert_eq!(state(&unseen.give_up(1, "", None)), lost);
}

#[test]
fn the_current_run_is_in_the_state_of_its_phase_until_it_has_a_result() {
    let ended = CurrentRun {
        result: Some(RunResult::Failed),
        ..created(1, "A")
    };
    for (run, state) in [
        (pending(1, "A"), RunState::Pending),
        (rejected(1, "A", true), RunState::Rejected),
        (created(1, "A"), RunState::Running),
        (ended, RunState::Ended(RunResult::Failed)),
    ] {
        assert_eq!(RunState::from(&run), state);
    }
}

#[test]
fn a_run_that_has_ended_is_not_said_to_run_while_its_outputs_cannot_be_read() {
    let why = Diagnosis::NoAnswer("list the pods of the run");
    let unread = Diagnosis::OutputsUnread("build-1".to_owned(), Box::new(why));
    let said = |reason: Category, message: &str| RunnableStatus {
        conditions: vec![Condition {
            type_: RUN_TEMPLATE_READY.to_owned(),
            status: "False".to_owned(),
            reason: reason.as_str().to_owned(),
            message: message.to_owned(),
            last_transition_time: Time(at(0)),
            observed_generation: None,
        }],
        ..RunnableStatus::default()
    };
    let message = unread.message(Some("unable to list its pods"));
    let status = said(Category::OutputPathNotSatisfied, &message);
    let state = |state: RunState, name| state.as_said(&status, name);
    assert_eq!(state(RunState::Running, "build-1"), RunState::OutputsUnread);
    // Another run is at work, or may be.
    assert_eq!(state(RunState::Running, "build-12"), RunState::Running);
    assert_eq!(state(RunState::Pending, "build-1"), RunState::Pending);
    let other = said(Category::UnknownError, &message);
    let state = RunState::Running.as_said(&other, "build-1");
    assert_eq!(state, RunState::Running);
}
