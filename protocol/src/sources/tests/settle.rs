use std::hash::{DefaultHasher, Hash, Hasher};

use cartouche_crds::{
    CurrentRun, PendingRun, RunResult,
    conditions::{RECONCILING, STALLED},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::sample::*;
use crate::{
    ledger::tests::sample::{at, created, ended, pending, rejected, time, unfinished, unseen},
    messages::diagnosis::{Busy, NotReady, why_not_ready},
    sources::{
        Coherence, Seen, WaitFor,
        settle::{busy, chain, unsettled},
    },
    trace::Sources,
};

fn at_rest() -> Seen {
    gave("1", &Sources::default())
}

fn waiting(seen: Seen, reason: &str) -> Seen {
    with_status(seen, |status| {
        status.pending = Some(PendingRun {
            sequence: 3,
            input_hash: String::new(),
            reason: reason.to_owned(),
            since: Time(at(1)),
            approval: None,
            dry_run: None,
            unknown_fields: cartouche_crds::UnknownFields::default(),
        });
    })
}

fn edited(seen: Seen) -> Seen {
    Seen {
        generation: 2,
        ..seen
    }
}

#[test]
fn a_runnable_that_has_run_for_its_spec_is_settled() {
    assert_eq!(busy(&at_rest()), None);
}

#[test]
fn one_whose_run_failed_is_settled() {
    let seen = failed("1", &Sources::default(), &Sources::default());
    assert_eq!(busy(&seen), None);
    let lost = with_current(at_rest(), ended(3, "B", RunResult::Lost));
    assert_eq!(busy(&lost), None);
}

#[test]
fn a_change_that_its_status_does_not_speak_of_yet_unsettles_it() {
    assert_eq!(busy(&edited(at_rest())), Some(Busy::Changed));
    let never_served = with_status(at_rest(), |status| status.observed_generation = None);
    assert_eq!(busy(&never_served), Some(Busy::Changed));
}

#[test]
fn one_that_a_person_has_refused_stands_at_what_it_has() {
    let refused = |seen: Seen| waiting(seen, "Rejected");
    assert_eq!(busy(&refused(at_rest())), None);
    for given in [pending(3, "B"), rejected(3, "B", true)] {
        let seen = with_current(at_rest(), given);
        assert_eq!(busy(&seen), Some(Busy::AtWork));
        assert_eq!(busy(&refused(seen)), None);
    }
    let mut tried_again = ended(3, "B", RunResult::Failed);
    tried_again.retry_at = Some(Time(at(9)));
    let seen = with_current(at_rest(), tried_again);
    assert_eq!(busy(&seen), Some(Busy::TriedAgain));
    assert_eq!(busy(&refused(seen)), None);
    let at_work = with_current(at_rest(), created(3, "B"));
    assert_eq!(busy(&refused(at_work)), Some(Busy::AtWork));
}

#[test]
fn a_request_for_another_run_unsettles_it_until_a_run_answers_it() {
    let asked = Seen {
        rerun_token: Some("again".to_owned()),
        ..at_rest()
    };
    assert_eq!(busy(&asked), Some(Busy::Changed));
    let answered = with_status(asked, |status| {
        status.answered_token = Some("again".to_owned());
    });
    assert_eq!(busy(&answered), None);
    let once_more = Seen {
        rerun_token: Some("once more".to_owned()),
        ..answered
    };
    assert_eq!(busy(&once_more), Some(Busy::Changed));
}

#[test]
fn a_run_that_has_not_ended_unsettles_it_however_far_it_has_come() {
    for current in [
        created(3, "B"),
        pending(3, "B"),
        rejected(3, "B", true),
        rejected(3, "B", false),
    ] {
        assert_eq!(busy(&with_current(at_rest(), current)), Some(Busy::AtWork));
    }
}

#[test]
fn an_earlier_run_that_has_not_ended_unsettles_it() {
    for entry in [unfinished(1, "old"), unseen(1, "old")] {
        assert_eq!(busy(&with_history(at_rest(), entry)), Some(Busy::AtWork));
    }
}

#[test]
fn a_run_that_waits_for_something_unsettles_it() {
    let seen = waiting(at_rest(), "ApprovalRequired");
    assert_eq!(
        busy(&seen),
        Some(Busy::Waits("ApprovalRequired".to_owned()))
    );
}

#[test]
fn one_that_waits_in_vain_is_not_on_its_way() {
    let stalled = |reason| {
        let seen = waiting(at_rest(), "DependencyNotReady");
        busy(&with_condition(seen, STALLED, reason))
    };
    let in_vain = Busy::Hindered("DependencyNotReady".to_owned());
    assert_eq!(stalled("DependencyNotReady"), Some(in_vain));
    // An earlier run failed.
    let waits = Busy::Waits("DependencyNotReady".to_owned());
    assert_eq!(stalled("SucceededCondition"), Some(waits));
}

#[test]
fn whatever_is_wrong_and_may_end_by_itself_unsettles_it_and_what_only_a_change_ends_does_not() {
    let with = |kind, reason| with_condition(at_rest(), kind, reason);
    let hindered = with(RECONCILING, "SourceError");
    let expected = Busy::Hindered("SourceError".to_owned());
    assert_eq!(busy(&hindered), Some(expected.clone()));
    // It is not known if a run is pending.
    let said = why_not_ready(&key("a"), &NotReady::Busy(expected));
    assert_eq!(said, "Runnable space/a is blocked (SourceError)");
    assert_eq!(busy(&suspended(hindered)), None);
    assert_eq!(busy(&with(STALLED, "SourceError")), None);
    assert_eq!(busy(&with(RECONCILING, "OutputSinkFailed")), None);
}

#[test]
fn a_run_that_is_going_to_be_tried_again_unsettles_it() {
    let current = CurrentRun {
        retry_at: time(60),
        ..ended(3, "B", RunResult::Failed)
    };
    assert_eq!(
        busy(&with_current(at_rest(), current)),
        Some(Busy::TriedAgain)
    );
}

#[test]
fn whoever_is_suspended_is_settled() {
    let seen = waiting(
        edited(with_current(at_rest(), created(3, "B"))),
        "RunAtWork",
    );
    assert_eq!(busy(&suspended(seen)), None);
}

#[test]
fn the_nearest_that_is_at_work_unsettles_all_that_wait_for_it() {
    let all = known([
        ("c", reading(at_rest(), ["b"])),
        ("b", reading(at_rest(), ["a"])),
        ("a", edited(at_rest())),
    ]);
    assert_eq!(unsettled(&key("c"), &all), Some((key("a"), Busy::Changed)));
    let all = known([
        ("c", reading(at_rest(), ["b"])),
        ("b", reading(waiting(at_rest(), "RunAtWork"), ["a"])),
        ("a", edited(at_rest())),
    ]);
    let (who, _) = unsettled(&key("c"), &all).unwrap();
    assert_eq!(who, key("b"));
}

#[test]
fn nobody_waits_for_what_a_suspended_one_waits_for() {
    let all = known([
        ("b", reading(suspended(at_rest()), ["a"])),
        ("a", edited(at_rest())),
    ]);
    assert_eq!(unsettled(&key("b"), &all), None);
}

#[test]
fn nobody_waits_for_one_that_is_being_deleted_nor_for_what_that_one_waits_for() {
    let all = known([
        ("c", reading(at_rest(), ["b"])),
        ("b", reading(deleting(edited(at_rest())), ["a"])),
        ("a", edited(at_rest())),
    ]);
    assert_eq!(unsettled(&key("c"), &all), None);
}

#[test]
fn what_a_status_says_of_it_is_known() {
    let object = serde_json::json!({
        "metadata": {
            "name": "a", "namespace": "space", "generation": 1, "deletionTimestamp": "2020-01-01T00:00:00Z",
        },
        "spec": { "runTemplateRef": { "name": "t" }, "coherence": "Ignored" },
        "status": *with_condition(at_rest(), RECONCILING, "SourceError").status,
    });
    let seen = Seen::from_runnable(&serde_json::from_value(object).unwrap());
    assert!(seen.deleting && seen.coherence == Coherence::Ignored);
    let alive = Seen {
        deleting: false,
        ..seen
    };
    assert_eq!(busy(&alive), Some(Busy::Hindered("SourceError".to_owned())));
}

#[test]
fn nobody_waits_for_what_another_takes_as_it_is() {
    let taken = Seen {
        reads: [(key("a"), WaitFor::Nothing)].into(),
        ..at_rest()
    };
    let all = known([("b", taken), ("a", edited(at_rest()))]);
    assert_eq!(unsettled(&key("b"), &all), None);
}

#[test]
fn who_is_not_known_is_not_waited_for_and_a_cycle_is_gone_round_once() {
    let all = known([
        ("c", reading(at_rest(), ["b", "elsewhere"])),
        ("b", reading(at_rest(), ["c"])),
    ]);
    assert_eq!(unsettled(&key("c"), &all), None);
}

#[test]
fn who_waits_in_turn_is_followed_until_somebody_is_at_work() {
    let waits = |seen| waiting(seen, "DependencyNotReady");
    let all = known([
        ("d", waits(reading(at_rest(), ["c"]))),
        ("c", waits(reading(at_rest(), ["b"]))),
        ("b", waiting(reading(at_rest(), ["a"]), "ApprovalRequired")),
        ("a", edited(at_rest())),
    ]);
    let whom: Vec<_> = chain(&key("d"), &all).into_iter().map(|it| it.0).collect();
    assert_eq!(whom, [key("c"), key("b")]);
    // No Runnable is at work, and b has not looked at the present outputs of a.
    let looked = |text: &str| sources([(key("a"), text)]);
    let all = known([
        ("c", waits(reading(gave("c", &looked("1")), ["b"]))),
        ("b", reading(gave("b", &looked("1")), ["a"])),
        ("a", gave("2", &Sources::NOTHING)),
    ]);
    assert_eq!(chain(&key("c"), &all), [(key("b"), NotReady::Behind)]);
    // A cycle of waiting Runnables is followed once.
    let all = known([
        ("b", waits(reading(at_rest(), ["a"]))),
        ("a", waits(reading(at_rest(), ["b"]))),
    ]);
    let whom: Vec<_> = chain(&key("b"), &all).into_iter().map(|it| it.0).collect();
    assert_eq!(whom, [key("a")]);
}

#[test]
fn one_that_follows_a_change_upstream_is_not_busy_itself_and_its_readers_look() {
    let follows = with_condition(at_rest(), RECONCILING, "SourceChanging");
    assert_eq!(busy(&follows), None);
    let digest = |seen: &Seen| {
        let mut hasher = DefaultHasher::new();
        seen.bearing().hash(&mut hasher);
        hasher.finish()
    };
    assert_ne!(digest(&follows), digest(&at_rest()));
}
