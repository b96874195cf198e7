//! Outcomes of runs: results, outputs, runs that show up late or go away.

use cartouche_crds::{RunPhase, RunResult, StopReason};
use cartouche_engines::Verdict;
use serde_json::json;

use super::sample::*;
use crate::ledger::{
    Asked, FetchedRun, Ledger, OutputsRead, RunIdentity, counts_as_failed, result_of,
};

fn outputs(ledger: &Ledger) -> (Option<String>, Option<i64>) {
    let value = ledger
        .outputs
        .as_ref()
        .map(|outputs| outputs["out"].as_str().unwrap().to_owned());
    (
        value,
        ledger.outputs_from.as_ref().map(|from| from.sequence),
    )
}

#[test]
fn a_success_is_recorded_with_its_time_and_outputs() {
    let next = ledger(created(2, "A"), vec![]).record(&succeeded(run(2, "A"), "x"), Some(at(60)));
    let current = next.current.as_ref().unwrap();
    assert_eq!(
        (current.result, &current.finished_at),
        (Some(RunResult::Succeeded), &time(60))
    );
    assert_eq!(next.outputs, Some(values("x")));
    assert_eq!(next.outputs_from, Some(outputs_from(2)));
}

#[test]
fn the_end_of_the_current_run_keeps_the_time_of_its_first_sight() {
    let once = ledger(created(2, "A"), vec![]).record(&failed(run(2, "A")), Some(at(60)));
    let twice = once.clone().record(&failed(run(2, "A")), Some(at(70)));
    assert_eq!(once, twice);
}

#[test]
fn the_current_run_is_followed_when_its_result_flips() {
    let ledger = ledger(created(2, "A"), vec![]);
    let good = ledger.record(&succeeded(run(2, "A"), "x"), Some(at(60)));
    let bad = good.record(&failed(run(2, "A")), Some(at(70)));
    assert_eq!(
        bad.current.as_ref().unwrap().result,
        Some(RunResult::Failed)
    );
    assert_eq!(outputs(&bad), (Some("x".to_owned()), Some(2)));
    let undecided = bad.record(&running(run(2, "A")), Some(at(80)));
    let current = undecided.current.as_ref().unwrap();
    assert_eq!((current.result, &current.finished_at), (None, &None));
    let good = undecided.record(&succeeded(run(2, "A"), "y"), Some(at(90)));
    assert_eq!(outputs(&good), (Some("y".to_owned()), Some(2)));
}

#[test]
fn a_superseded_run_is_final_at_its_first_result() {
    let ledger = ledger(created(2, "B"), vec![unfinished(1, "A")]);
    let ended = ledger.record(&failed(run(1, "A")), Some(at(60)));
    let entry = &ended.history[0];
    assert_eq!(
        (entry.result, &entry.finished_at),
        (Some(RunResult::Failed), &time(60))
    );
    assert_eq!(entry.message, "Failed");
    assert_eq!(
        ended
            .clone()
            .record(&succeeded(run(1, "A"), "late"), Some(at(70))),
        ended
    );
}

#[test]
fn a_superseded_run_gives_outputs_until_a_newer_one_does() {
    let ledger = ledger(
        created(3, "C"),
        vec![unfinished(1, "A"), unfinished(2, "B")],
    );
    let second = ledger.record(&succeeded(run(2, "B"), "b"), None);
    assert_eq!(outputs(&second), (Some("b".to_owned()), Some(2)));
    let first = second.record(&succeeded(run(1, "A"), "a"), None);
    assert_eq!(outputs(&first), (Some("b".to_owned()), Some(2)));
    assert_eq!(first.history[0].result, Some(RunResult::Succeeded));
}

#[test]
fn no_older_run_stands_in_for_a_newer_success_that_lacks_an_output() {
    let mut ledger = ledger(created(3, "C"), vec![unfinished(2, "B")]);
    (ledger.outputs, ledger.outputs_from) = (Some(values("old")), Some(outputs_from(1)));
    let ledger = ledger.record(&lacking(run(3, "C")), None);
    let ledger = ledger.record(&succeeded(run(2, "B"), "b"), None);
    assert_eq!(outputs(&ledger), (Some("old".to_owned()), Some(1)));
}

#[test]
fn outputs_stay_when_a_run_fails_or_declares_none() {
    let mut old = ledger(created(2, "A"), vec![]);
    (old.outputs, old.outputs_from) = (Some(values("old")), Some(outputs_from(1)));
    let none = fetched(run(2, "A"), Verdict::Succeeded, OutputsRead::None);
    let odd = fetched(
        run(2, "A"),
        Verdict::Failed,
        OutputsRead::Values(values("of a failure")),
    );
    for fetched in [failed(run(2, "A")), lacking(run(2, "A")), none, odd] {
        let next = old.clone().record(&fetched, None);
        assert_eq!(outputs(&next), (Some("old".to_owned()), Some(1)));
    }
}

#[test]
fn an_object_that_the_ledger_does_not_know_by_uid_says_nothing() {
    let ledger = ledger(created(2, "A"), vec![unfinished(1, "old")]);
    let forged = RunIdentity {
        uid: "forged".to_owned(),
        ..run(2, "A")
    };
    assert_eq!(
        ledger.clone().record(&succeeded(forged, "forged"), None),
        ledger
    );
}

#[test]
fn a_run_seen_before_it_went_gives_uid_and_result_to_its_pending_entry() {
    let next = ledger(pending(2, "A"), vec![]).record_sighting(
        &run(2, "A"),
        Some(RunResult::Succeeded),
        Asked::No,
        Some(at(9)),
    );
    let current = next.current.unwrap();
    assert_eq!(
        (current.phase, current.uid),
        (RunPhase::Created, Some(uid(2)))
    );
    assert_eq!(
        (current.result, current.finished_at),
        (Some(RunResult::Succeeded), time(9))
    );
    let other = ledger(pending(2, "A"), vec![]);
    assert_eq!(
        other
            .clone()
            .record_sighting(&run(2, "B"), None, Asked::No, None),
        other
    );
}

#[test]
fn a_run_of_cartographer_that_was_seen_to_end_is_known_by_its_uid() {
    let mut adopted = created(1, "A");
    adopted.uid = Some("uid-old".to_owned());
    let next = ledger(adopted, vec![]).record_sighting(
        &unlabelled("old", 1),
        Some(RunResult::Failed),
        Asked::No,
        Some(at(9)),
    );
    assert_eq!(next.current.unwrap().result, Some(RunResult::Failed));
}

#[test]
fn a_late_object_was_not_told_to_stop_when_the_one_before_it_was() {
    let told = ledger(created(2, "A"), vec![]).stop(&uid(2), StopReason::TimedOut, at(5));
    let stop = |ledger: Ledger| ledger.current.unwrap().stop;
    let same = told
        .clone()
        .record_sighting(&run(2, "A"), None, Asked::No, None);
    assert_eq!(stop(same), stop(told.clone()));
    let mut late = run(2, "A");
    late.uid = "uid-late".to_owned();
    assert_eq!(
        stop(told.record_sighting(&late, None, Asked::No, None)),
        None
    );
}

#[test]
fn a_run_that_vanished_unseen_is_lost_and_its_outputs_are_not() {
    let mut before = ledger(created(2, "A"), vec![]);
    (before.outputs, before.outputs_from) = (Some(values("old")), Some(outputs_from(1)));
    let next = before.record_loss(Some(at(60)));
    let current = next.current.as_ref().unwrap();
    assert_eq!(
        (current.result, &current.finished_at),
        (Some(RunResult::Lost), &time(60))
    );
    assert_eq!(outputs(&next), (Some("old".to_owned()), Some(1)));
}

#[test]
fn an_earlier_run_that_ended_with_its_deletion_is_finished_once() {
    let before = ledger(created(2, "B"), vec![unfinished(1, "A")]);
    let once = before.record_end(
        &uid(1),
        RunResult::Failed,
        Asked::No,
        "deleted",
        Some(at(60)),
    );
    assert_eq!(once.history[0].result, Some(RunResult::Failed));
    assert_eq!(once.history[0].message, "deleted");
    assert_eq!(
        once.clone()
            .record_end(&uid(1), RunResult::Lost, Asked::No, "again", None),
        once
    );
}

#[test]
fn a_late_create_completes_its_entry_only_under_the_name_of_the_entry() {
    let before = ledger(created(3, "B"), vec![unseen(2, "A")]);
    let next = before.clone().shown_up(&run(2, "A"));
    assert_eq!(
        (&next.history[0].uid, &next.history[0].started_at),
        (&Some(uid(2)), &time(2))
    );
    let renamed = RunIdentity {
        name: "forged".to_owned(),
        ..run(2, "A")
    };
    let other_kind = RunIdentity {
        kind: "Secret".to_owned(),
        ..run(2, "A")
    };
    for stranger in [renamed, other_kind, run(1, "A")] {
        assert_eq!(before.clone().shown_up(&stranger), before);
    }
    assert_eq!(
        next.clone().shown_up(&RunIdentity {
            uid: "second".to_owned(),
            ..run(2, "A")
        }),
        next
    );
}

#[test]
fn only_the_entries_that_are_gone_are_forgotten() {
    let before = ledger(
        created(3, "B"),
        vec![unseen(1, "A"), unfinished(1, "A"), unfinished(2, "A")],
    );
    let next = before.forget(|entry| entry.sequence == 1 && entry.uid.is_none());
    assert_eq!(*next.history, [unfinished(1, "A"), unfinished(2, "A")]);
}

#[test]
fn reality_is_ahead_with_a_higher_number_or_other_content_of_the_same() {
    let ledger = ledger(created(2, "A"), vec![unfinished(1, "old")]);
    let other = |sequence: i64, input: &str| RunIdentity {
        uid: "other".to_owned(),
        ..run(sequence, input)
    };
    assert!(ledger.is_behind(&run(3, "A"), RUNNABLE));
    assert!(ledger.is_behind(&other(2, "B"), RUNNABLE));
    assert!(
        !ledger.is_behind(&other(2, "A"), RUNNABLE),
        "a late create of our own"
    );
    assert!(
        !ledger.is_behind(&run(2, "mutated"), RUNNABLE),
        "the confirmed run itself"
    );
    assert!(!ledger.is_behind(&other(1, "B"), RUNNABLE), "an older one");
    assert!(
        !Ledger::default().is_behind(&run(3, "A"), RUNNABLE),
        "no ledger"
    );
}

#[test]
fn a_forged_run_is_not_ahead() {
    let ledger = ledger(created(2, "A"), vec![]);
    let wrong_suffix = RunIdentity {
        name: name(8),
        ..run(9, "A")
    };
    let wrong_owner = RunIdentity {
        owner_uid: Some("other".to_owned()),
        ..run(9, "A")
    };
    let without_number = RunIdentity {
        sequence: None,
        ..run(9, "A")
    };
    for forged in [wrong_suffix, wrong_owner, without_number] {
        assert!(!ledger.is_behind(&forged, RUNNABLE), "{forged:?}");
    }
}

#[test]
fn an_identity_is_read_from_an_object_and_from_no_more_than_it_says() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:05Z",
            "labels": { "carto.run/runnable-name": "r", "carto.run/run-sequence": "7" },
            "annotations": { "carto.run/input-hash": "v1:x", "carto.run/rerun-token": "t" },
            "ownerReferences": [
                { "controller": false, "kind": "Runnable", "apiVersion": "carto.run/v1alpha1", "uid": "not-this" },
                { "controller": true, "kind": "Runnable", "apiVersion": "carto.run/v1alpha1", "uid": "owner" },
            ],
        },
    });
    let run = RunIdentity::from_object(&object).unwrap();
    assert_eq!((run.sequence, run.created), (Some(7), Some(at(5))));
    assert_eq!(run.owner_uid.as_deref(), Some("owner"));
    assert_eq!(run.input_hash.as_deref(), Some("v1:x"));
    assert_eq!(run.rerun_token.as_deref(), Some("t"));
    let bare =
        RunIdentity::from_object(&json!({ "metadata": { "name": "n", "uid": "u" } })).unwrap();
    assert_eq!(
        (bare.sequence, bare.owner_uid, bare.created),
        (None, None, None)
    );
    for object in [
        json!({}),
        json!({ "metadata": { "name": "n" } }),
        json!({ "metadata": { "uid": "u" } }),
        json!(3),
    ] {
        assert_eq!(RunIdentity::from_object(&object), None);
    }
}

#[test]
fn a_number_that_is_nobodys_honest_count_is_none() {
    for label in [
        "0",
        "-1",
        "x",
        "",
        "9007199254740993",
        "99999999999999999999",
    ] {
        let object = json!({ "metadata": { "name": "n", "uid": "u", "labels": { "carto.run/runnable-name": "r", "carto.run/run-sequence": label } } });
        assert_eq!(
            RunIdentity::from_object(&object).unwrap().sequence,
            None,
            "{label}"
        );
    }
}

#[test]
fn an_owner_of_another_group_or_kind_is_no_owner() {
    for (kind, api_version) in [
        ("Runnable", "example.dev/v1"),
        ("Job", "carto.run/v1alpha1"),
    ] {
        let object = json!({ "metadata": { "name": "n", "uid": "u", "ownerReferences": [
            { "controller": true, "kind": kind, "apiVersion": api_version, "uid": RUNNABLE },
        ] } });
        assert!(
            !RunIdentity::from_object(&object)
                .unwrap()
                .is_owned_by(RUNNABLE)
        );
    }
}

#[test]
fn everything_that_is_no_success_counts_as_failed() {
    assert!(!counts_as_failed(RunResult::Succeeded));
    assert!(counts_as_failed(RunResult::Failed) && counts_as_failed(RunResult::Lost));
    assert_eq!(result_of(Verdict::Unknown), None);
}

fn failing(sequence: i64, code: i64) -> FetchedRun {
    let outputs = [("code".to_owned(), serde_json::json!(code))];
    FetchedRun {
        failure: Some(outputs.into()),
        ..failed(run(sequence, "A"))
    }
}

#[test]
fn what_a_run_that_failed_gave_stays_until_a_later_one_succeeds() {
    let number = |ledger: &Ledger| ledger.failure.as_ref().map(|failure| failure.sequence);
    let first = ledger(created(1, "A"), vec![]).record(&failing(1, 3), None);
    let failure = first.failure.clone().unwrap();
    assert_eq!((failure.sequence, failure.uid), (1, uid(1)));
    assert_eq!(failure.outputs["code"], 3);
    // The next one is at work.
    let mut second = Ledger {
        failure: first.failure.clone(),
        ..ledger(created(2, "A"), vec![unfinished(1, "A")])
    };
    second = second.record(&running(run(2, "A")), None);
    assert_eq!(number(&second), Some(1));
    // A later failure takes its place; that of an earlier run which comes late does not.
    let failed_again = second.clone().record(&failing(2, 4), None);
    assert_eq!(number(&failed_again), Some(2));
    let late = failed_again.record(&failing(1, 3), None);
    assert_eq!(number(&late), Some(2));
    let well = second.record(&succeeded(run(2, "A"), "x"), None);
    assert_eq!(number(&well), None);
    // A run that has not failed after all removes it.
    assert_eq!(number(&first.record(&running(run(1, "A")), None)), None);
}

#[test]
fn a_failure_of_a_template_that_asks_nothing_of_it_leaves_nothing() {
    let ledger = ledger(created(1, "A"), vec![]).record(&failed(run(1, "A")), None);
    assert_eq!(ledger.failure, None);
}
