//! Tests of what a process remembers, and for how long.

use std::{sync::Arc, time::Duration};

use cartouche_crds::{FIELD_MANAGER, RunnableStatus};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time},
    jiff::SignedDuration,
};

use super::{
    GRACE_PERIOD, MAX_UNKNOWN_RUNS, ProcessState, StoredStatus, UNOBSERVED_FOR, YOUNG_FOR,
};
use crate::{
    decide::tests::scene::LOST,
    facts::{CreateOutcome, LedgerState, Remembered},
    ledger::{CREATES_SETTLE_IN, CachedRun, Change, Ledger, RunIdentity, tests::sample::*},
};

const NOW: Duration = Duration::from_secs(1_000);

fn status(ledger: &Ledger) -> RunnableStatus {
    RunnableStatus {
        observed_generation: Some(1),
        current_run: ledger.current.clone(),
        history: ledger.history.clone(),
        ..RunnableStatus::default()
    }
}

fn begin(
    state: &mut ProcessState,
    status: &RunnableStatus,
    version: &str,
    now: Duration,
) -> Remembered {
    let stored = StoredStatus {
        status,
        resource_version: version,
        managed_fields: &[],
    };
    state.begin(stored, now)
}

fn ledger_state(
    state: &mut ProcessState,
    status: &RunnableStatus,
    version: &str,
    now: Duration,
) -> LedgerState {
    begin(state, status, version, now).ledger_state
}

fn lost(ours: bool, settled: bool) -> LedgerState {
    LedgerState::Lost { ours, settled }
}

/// A process that wrote this ledger as version 7.
fn writer_of(ledger: &Ledger) -> ProcessState {
    let mut state = ProcessState::default();
    state.wrote_status(&Arc::new(status(ledger)), "7");
    state.wrote_ledger(ledger, Change::Intent, NOW);
    state
}

fn written_by(manager: &str, at_second: i64) -> ManagedFieldsEntry {
    ManagedFieldsEntry {
        manager: Some(manager.to_owned()),
        subresource: Some("status".to_owned()),
        time: Some(Time(at(at_second))),
        ..ManagedFieldsEntry::default()
    }
}

#[test]
fn a_runnable_that_nobody_has_served_has_nothing_on_its_way() {
    let mut state = ProcessState::default();
    let empty = RunnableStatus::default();
    assert_eq!(
        ledger_state(&mut state, &empty, "1", NOW),
        LedgerState::NeverServed
    );
    let reported = Arc::new(status(&Ledger::default()));
    state.wrote_status(&reported, "2");
    let own = ledger_state(&mut state, &reported, "2", NOW);
    assert_eq!(
        own,
        LedgerState::NeverServed,
        "our own report is no service"
    );
}

#[test]
fn a_status_of_somebody_else_is_waited_out_even_when_it_is_emptied_again() {
    let mut state = ProcessState::default();
    let served = status(&Ledger::default());
    assert_eq!(
        ledger_state(&mut state, &served, "1", NOW),
        lost(false, false)
    );
    let empty = RunnableStatus::default();
    assert_eq!(
        ledger_state(&mut state, &empty, "2", NOW),
        lost(false, false)
    );
    let later = NOW + CREATES_SETTLE_IN;
    assert_eq!(ledger_state(&mut state, &empty, "3", later), LOST);
}

#[test]
fn whoever_is_noted_as_a_writer_has_served_it() {
    let mut state = ProcessState::default();
    let stored = StoredStatus {
        status: &RunnableStatus::default(),
        resource_version: "1",
        managed_fields: &[written_by("another", 1)],
    };
    assert_eq!(state.begin(stored, NOW).ledger_state, lost(false, false));
}

#[test]
fn a_ledger_of_ours_that_is_gone_is_waited_for_anew_each_time_somebody_writes() {
    let mut state = writer_of(&ledger(pending(1, "A"), vec![]));
    let empty = RunnableStatus::default();
    let almost = NOW + CREATES_SETTLE_IN.mul_f64(0.9);
    let later = almost + CREATES_SETTLE_IN;
    assert_eq!(
        ledger_state(&mut state, &empty, "8", NOW),
        lost(true, false)
    );
    assert_eq!(
        ledger_state(&mut state, &empty, "9", almost),
        lost(true, false)
    );
    let once_more = NOW + CREATES_SETTLE_IN;
    assert_eq!(
        ledger_state(&mut state, &empty, "9", once_more),
        lost(true, false)
    );
    assert_eq!(
        ledger_state(&mut state, &empty, "9", later),
        lost(true, true)
    );
    state.wrote_status(&Arc::new(empty.clone()), "10");
    let own = ledger_state(&mut state, &empty, "10", later);
    assert_eq!(own, lost(true, true), "what we write ourselves is no news");
}

#[test]
fn a_ledger_that_is_there_ends_every_wait() {
    let mut state = ProcessState::default();
    let served = status(&Ledger::default());
    ledger_state(&mut state, &served, "1", NOW);
    let present = status(&ledger(created(1, "A"), vec![]));
    assert_eq!(
        ledger_state(&mut state, &present, "2", NOW),
        LedgerState::Present
    );
    let later = NOW + CREATES_SETTLE_IN;
    let gone = RunnableStatus::default();
    assert_eq!(
        ledger_state(&mut state, &gone, "3", later),
        lost(false, false)
    );
}

#[test]
fn the_cache_is_behind_until_it_shows_our_latest_write() {
    let mut state = ProcessState::default();
    assert!(!state.detect_stale_cache(Some("1")));
    state.wrote_status(&Arc::default(), "7");
    assert!(
        state.detect_stale_cache(Some("6"))
            && !state.detect_stale_cache(Some("7"))
            && !state.detect_stale_cache(Some("8"))
    );
    assert!(
        !state.detect_stale_cache(None),
        "what has no version is older than nothing"
    );
}

#[test]
fn our_own_write_is_no_news_unless_somebody_waits_for_it() {
    let mut state = ProcessState::default();
    assert!(!state.consume_echo("7"));
    state.wrote_status(&Arc::default(), "7");
    assert!(state.consume_echo("7") && !state.consume_echo("8"));
    assert!(state.detect_stale_cache(Some("6")));
    assert!(!state.consume_echo("7"), "this one was waited for");
    assert!(state.consume_echo("7"), "and only once");
}

#[test]
fn a_run_that_was_made_is_confirmed_later_if_its_entry_still_waits_for_it() {
    let pending = ledger(pending(1, "A"), vec![]);
    let mut state = writer_of(&pending);
    let made = running(run(1, "A"));
    state.unconfirmed = Some(Box::new(made.clone()));
    let waiting = begin(&mut state, &status(&pending), "7", NOW);
    assert_eq!(
        waiting.created,
        Some(CreateOutcome::MadeBefore(Box::new(made)))
    );
    let another = ledger(created(2, "B"), vec![unseen(1, "A")]);
    assert_eq!(begin(&mut state, &status(&another), "8", NOW).created, None);
    assert_eq!(
        begin(&mut state, &status(&pending), "9", NOW).created,
        None,
        "it is forgotten"
    );
}

#[test]
fn a_confirmation_leaves_a_run_that_a_watch_has_to_show() {
    let mut state = ProcessState {
        unconfirmed: Some(Box::new(running(run(1, "A")))),
        ..ProcessState::default()
    };
    let confirmed = ledger(created(1, "A"), vec![]);
    state.wrote_ledger(&confirmed, Change::Confirm, NOW);
    assert!(state.unconfirmed.is_none());
    assert_eq!(
        state.find_unobserved(NOW),
        Some((uid(1).as_str(), UNOBSERVED_FOR))
    );
    assert_eq!(
        state.find_unobserved(NOW + UNOBSERVED_FOR),
        None,
        "by then it is looked for"
    );
    state.prune(&confirmed, |_| false, NOW);
    assert!(state.unobserved_run.is_some());
    let mut seen = state.clone();
    seen.prune(&confirmed, |it| it == uid(1), NOW);
    assert!(seen.unobserved_run.is_none());
    state.prune(&ledger(created(2, "A"), vec![]), |_| false, NOW);
    assert!(state.unobserved_run.is_none(), "it is not current any more");
}

#[test]
fn the_number_that_was_written_is_kept_until_all_runs_were_compared() {
    let mut state = writer_of(&ledger(pending(4, "A"), vec![]));
    assert_eq!(
        begin(&mut state, &RunnableStatus::default(), "8", NOW).reached_sequence,
        4
    );
    state.record_comparison(&ledger(created(2, "A"), vec![]));
    assert_eq!(state.reached_sequence, 2);
    state.record_comparison(&Ledger::default());
    assert_eq!(state.reached_sequence, 0);
}

/// A write whose answer was lost is read before its run is made.
#[test]
fn a_number_that_was_read_counts_as_one_that_was_written() {
    let mut state = ProcessState::default();
    let at = |number| RunnableStatus {
        current_run: Some(pending(number, "A")),
        ..RunnableStatus::default()
    };
    assert_eq!(begin(&mut state, &at(2), "8", NOW).reached_sequence, 2);
    assert_eq!(begin(&mut state, &at(1), "9", NOW).reached_sequence, 2);
}

#[test]
fn other_writers_are_looked_up_until_the_same_note_can_be_of_no_other_write() {
    let begin = |state: &mut ProcessState, entries: &[ManagedFieldsEntry]| {
        let stored = StoredStatus {
            status: &status(&ledger(created(1, "A"), vec![])),
            resource_version: "1",
            managed_fields: entries,
        };
        state.begin(stored, NOW).other_writer
    };
    let (ours, theirs) = (written_by(FIELD_MANAGER, 5), written_by("restore", 5));
    let mut state = ProcessState::default();
    assert!(!begin(&mut state, &[]) && !begin(&mut state, &[ours]));
    assert!(begin(&mut state, std::slice::from_ref(&theirs)));
    state.looked_up(std::slice::from_ref(&theirs), Some(at(7)));
    assert!(
        begin(&mut state, std::slice::from_ref(&theirs)),
        "another write may have come within that second"
    );
    state.looked_up(std::slice::from_ref(&theirs), Some(at(8)));
    assert!(!begin(&mut state, &[theirs]));
    assert!(begin(&mut state, &[written_by("restore", 9)]));
}

#[test]
fn a_run_that_is_missing_is_waited_for_from_the_first_time_on() {
    let mut state = ProcessState::default();
    let current = ledger(created(1, "A"), vec![]);
    assert_eq!(state.grace_left(&current, NOW), None);
    let list = Duration::from_secs(3);
    state.note_missing(&current, list, NOW);
    assert_eq!(state.grace_left(&current, NOW), Some(GRACE_PERIOD + list));
    state.note_missing(&current, list, NOW + list);
    assert_eq!(state.grace_left(&current, NOW + list), Some(GRACE_PERIOD));
    assert_eq!(
        state.grace_left(&current, NOW + GRACE_PERIOD * 2),
        Some(Duration::ZERO)
    );
    let next = ledger(created(2, "A"), vec![]);
    assert_eq!(state.grace_left(&next, NOW), None);
    state.prune(&current, |_| false, NOW);
    assert!(state.missing.is_some());
    state.prune(&next, |_| false, NOW);
    assert!(state.missing.is_none());
}

#[test]
fn a_cached_run_that_shows_no_more_than_the_answer_to_the_create_is_no_news_once() {
    let made = CachedRun::from_fetched(&running(run(1, "A")));
    let mut state = ProcessState {
        made: Some(made.clone()),
        ..ProcessState::default()
    };
    assert!(!state.consume_create_echo(&CachedRun::from_fetched(&running(run(2, "A")))));
    let ended = CachedRun::from_fetched(&succeeded(run(1, "A"), "1"));
    assert!(
        !state.clone().consume_create_echo(&ended),
        "it has ended since"
    );
    assert!(state.consume_create_echo(&made) && !state.consume_create_echo(&made));
}

#[test]
fn strangers_are_known_while_their_age_does_not_tell_and_never_more_than_fit() {
    let stranger = |number: i64| RunIdentity {
        uid: format!("stranger-{number}"),
        sequence: Some(number),
        created: Some(at(0)),
        ..RunIdentity::default()
    };
    let most = i64::try_from(MAX_UNKNOWN_RUNS).unwrap();
    let mut state = ProcessState::default();
    state.note_unknown_runs((0..=most).map(stranger).collect(), Some(at(1)));
    assert_eq!(state.unknown_runs.len(), MAX_UNKNOWN_RUNS);
    assert!(state.unknown_runs.contains_key("stranger-0"));
    assert!(!state.unknown_runs.contains_key(&format!("stranger-{most}")));
    let begun = begin(&mut state, &RunnableStatus::default(), "1", NOW);
    assert!(
        begun.unknown_runs.iter().eq(state.unknown_runs.keys()),
        "each reconciliation is told of them"
    );
    let later = at(0) + YOUNG_FOR + SignedDuration::from_secs(1);
    state.note_unknown_runs(vec![stranger(1)], Some(later));
    assert!(state.unknown_runs.is_empty());
}

#[test]
fn a_run_that_retention_has_deleted_is_remembered_while_the_history_knows_it() {
    let past = finished(1, cartouche_crds::RunResult::Succeeded);
    let known = past.uid.clone().unwrap();
    let mut state = ProcessState::default();
    state.retired.extend([known.clone(), "another".to_owned()]);
    state.prune_retired(&ledger(created(2, "A"), vec![past]));
    assert_eq!(state.retired.into_iter().collect::<Vec<_>>(), [known]);
}
