//! Earlier runs that had not ended when they were superseded.

use cartouche_crds::{CurrentRun, HistoryEntry, RunResult};
use cartouche_language::bounds::LIGHT;
use k8s_openapi::jiff::SignedDuration;

use super::scene::*;
use crate::{
    decide::{Step, decide},
    facts::{Facts, NameRead},
    ledger::{Change, Ledger, RunIdentity, tests::sample::*},
};

/// The current run has ended; what is left to do is in the history.
fn past(history: Vec<HistoryEntry>) -> Facts {
    facts(ledger(ended(9, "A", RunResult::Failed), history), "A")
}

fn read_of(sequence: i64) -> Step {
    Step::ReadRun(run_name(&name(sequence)))
}

/// A recent entry, too young to be looked for.
fn young(entry: HistoryEntry) -> HistoryEntry {
    HistoryEntry {
        started_at: time(NOW - 599),
        ..entry
    }
}

#[test]
fn finished_entries_ask_for_nothing() {
    let history = vec![
        finished(1, RunResult::Succeeded),
        finished(2, RunResult::Lost),
    ];
    assert_eq!(decide(&past(history)), Step::Settled);
}

#[test]
fn a_superseded_run_that_still_runs_is_left_alone() {
    let facts = past(vec![unfinished(1, "old")]).seeing(seen(&running(run(1, "old"))));
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn a_superseded_run_that_ended_is_read_and_final() {
    let done = succeeded(run(1, "old"), "x");
    let facts = past(vec![unfinished(1, "old")]).seeing(seen(&done));
    assert_eq!(decide(&facts), read_of(1));
    let next = written(&facts.reading_found(&name(1), done), Change::Record);
    assert_eq!(next.history[0].result, Some(RunResult::Succeeded));
    assert_eq!(next.outputs_from.unwrap().sequence, 1);
}

#[test]
fn of_two_that_ended_the_newer_gives_the_outputs_even_if_it_lacks_one() {
    let facts = past(vec![unfinished(1, "old"), unfinished(2, "old")])
        .reading_found(&name(1), succeeded(run(1, "old"), "one"))
        .reading_found(&name(2), lacking(run(2, "old")));
    let next = written(&facts, Change::Record);
    assert!(
        next.history
            .iter()
            .all(|entry| entry.result == Some(RunResult::Succeeded))
    );
    assert_eq!(next.outputs, None);
}

#[test]
fn a_superseded_run_seen_to_go_has_ended_once_a_read_confirms_it() {
    for (last, result) in [
        (running(run(1, "old")), RunResult::Failed),
        (succeeded(run(1, "old"), "x"), RunResult::Succeeded),
        (failed(run(1, "old")), RunResult::Failed),
    ] {
        let facts = past(vec![unfinished(1, "old")]).seeing(seen_to_go(&last));
        assert_eq!(decide(&facts), read_of(1));
        let next = written(&facts.reading_absent(&name(1)), Change::Record);
        assert_eq!(
            (next.history[0].result, &next.history[0].finished_at),
            (Some(result), &time(NOW))
        );
        assert_eq!(next.outputs, None);
    }
}

#[test]
fn a_superseded_run_whose_label_was_taken_away_has_not_ended() {
    let facts = past(vec![unfinished(1, "old")])
        .seeing(seen_to_go(&running(run(1, "old"))))
        .reading_found(&name(1), running(run(1, "old")));
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn a_result_that_was_seen_counts_even_if_the_run_is_gone_before_it_is_read() {
    let facts = past(vec![unfinished(1, "old")])
        .seeing(seen(&failed(run(1, "old"))))
        .reading_absent(&name(1));
    assert_eq!(
        written(&facts, Change::Record).history[0].result,
        Some(RunResult::Failed)
    );
}

#[test]
fn a_superseded_run_that_no_watch_shows_is_looked_for_after_a_minute() {
    let mut facts = past(vec![unfinished(1, "old")]);
    let started = facts.ledger.history[0].started_at.clone().unwrap().0;
    let after = |seconds| started.checked_add(SignedDuration::from_secs(seconds)).ok();
    facts.now = after(59);
    assert_eq!(decide(&facts), Step::Settled);
    facts.now = after(60);
    assert_eq!(decide(&facts), read_of(1));
    let mut again = facts.clone();
    again.looked_for.insert(uid(1));
    assert_eq!(decide(&again), Step::Settled, "not in every reconciliation");
    let gone = written(&facts.clone().reading_absent(&name(1)), Change::Record);
    assert_eq!(gone.history[0].result, Some(RunResult::Lost));
    assert_eq!(
        decide(&facts.reading_found(&name(1), running(run(1, "old")))),
        Step::Settled
    );
}

/// A ledger that was put back: the newer run ended long ago, and nothing about it is in memory.
#[test]
fn no_older_run_gives_outputs_before_a_newer_one_was_looked_for() {
    let done = succeeded(run(1, "old"), "older");
    let entries = vec![
        young(unfinished(1, "old")),
        young(unfinished(2, "old")),
        young(unfinished(3, "old")),
    ];
    let facts = past(entries)
        .seeing(seen(&done))
        .seeing(seen(&running(run(3, "old"))))
        .reading_found(&name(1), done);
    assert_eq!(decide(&facts), read_of(2));
    let newer = facts
        .clone()
        .reading_found(&name(2), succeeded(run(2, "old"), "newer"));
    assert_eq!(
        written(&newer, Change::Record)
            .outputs_from
            .unwrap()
            .sequence,
        2
    );
    let gone = facts.reading_absent(&name(2));
    assert_eq!(
        written(&gone, Change::Record)
            .outputs_from
            .unwrap()
            .sequence,
        1
    );
}

#[test]
fn a_superseded_run_that_may_not_be_read_for_a_while_has_not_ended() {
    let denied = |mut facts: Facts| {
        facts.reads.insert(run_name(&name(1)), NameRead::Denied);
        decide(&facts)
    };
    let facts = past(vec![unfinished(1, "old")]);
    assert_eq!(denied(facts.clone()), Step::Settled);
    let done = succeeded(run(1, "old"), "x");
    assert_eq!(denied(facts.clone().seeing(seen(&done))), Step::Settled);
    assert_eq!(denied(facts.seeing(seen_to_go(&done))), Step::Settled);
}

#[test]
fn an_entry_that_may_not_be_read_is_given_up_when_no_create_can_land_any_more() {
    let mut facts = past(vec![unseen(1, "old")]);
    facts.reads.insert(run_name(&name(1)), NameRead::Denied);
    let entry = written(&facts, Change::Record).history[0].clone();
    assert_eq!(
        (entry.uid.clone(), entry.result),
        (None, Some(RunResult::Lost))
    );
    let given_up = past(vec![entry]);
    assert_eq!(decide(&given_up), Step::Settled);
    let shown_up = written(
        &given_up.seeing(seen(&running(run(1, "old")))),
        Change::Record,
    );
    assert_eq!(*shown_up.history, [unfinished(1, "old")]);
}

#[test]
fn a_run_that_could_not_be_read_when_it_was_superseded_is_known_when_it_was_made_since_its_intent()
{
    let denied = CurrentRun {
        intent_at: time(NOW - 3_600),
        ..pending(1, "old")
    };
    let mut facts = with(denied, "A").fresh();
    facts.reads.insert(run_name(&name(1)), NameRead::Denied);
    let superseded = written(&facts, Change::Intent);
    let shown_up = |age: i64| {
        let made = RunIdentity {
            created: Some(at(NOW - age)),
            ..run(1, "old")
        };
        let mut next = with(ended(2, "A", RunResult::Failed), "A");
        next.ledger.history.clone_from(&superseded.history);
        let facts = next.stored_as_reported().seeing(seen(&running(made)));
        match decide(&facts) {
            Step::Write(next, Change::Record) => next.history[0].uid.clone(),
            _ => None,
        }
    };
    for age in [3_600, 1_800, 0] {
        assert_eq!(shown_up(age), Some(uid(1)), "{age} s before");
    }
    // An object that existed before the intent, or that came when no create was in flight any more.
    for age in [3_700, -100] {
        assert_eq!(shown_up(age), None, "{age} s before");
    }
}

#[test]
fn what_was_known_for_a_strangers_before_never_stands_for_an_earlier_entry() {
    let mut facts = past(vec![young(unseen(1, "old"))]).seeing(seen(&running(RunIdentity {
        created: Some(at(NOW - 600)),
        ..run(1, "old")
    })));
    written(&facts, Change::Record);
    facts.unknown_runs.insert(uid(1));
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn a_late_create_completes_its_entry() {
    let late = || RunIdentity {
        created: Some(at(NOW - 590)),
        ..run(1, "old")
    };
    let sighted = past(vec![young(unseen(1, "old"))]).seeing(seen(&running(late())));
    assert_eq!(
        written(&sighted, Change::Record).history[0].uid,
        Some(uid(1))
    );
    let read = past(vec![young(unseen(1, "old"))]).reading_found(&name(1), running(late()));
    assert_eq!(written(&read, Change::Record).history[0].uid, Some(uid(1)));
}

#[test]
fn what_was_made_before_or_long_after_the_last_create_completes_no_entry() {
    for created in [NOW - 599 - 31, NOW - 599 + 61] {
        let forged = RunIdentity {
            created: Some(at(created)),
            ..run(1, "old")
        };
        let facts = past(vec![young(unseen(1, "old"))]).seeing(seen(&succeeded(forged, "forged")));
        assert_eq!(decide(&facts), Step::Settled);
    }
    let born_finished = RunIdentity {
        created: Some(at(NOW - 590)),
        made_with_status: true,
        ..run(1, "old")
    };
    let facts =
        past(vec![young(unseen(1, "old"))]).seeing(seen(&succeeded(born_finished, "forged")));
    assert_eq!(decide(&facts), Step::Settled);
}

#[test]
fn a_run_made_under_other_rules_is_read_again_and_not_judged_by_those_of_today() {
    let other_rules = |rules: &str| HistoryEntry {
        rules_hash: Some(rules.to_owned()),
        ..unfinished(1, "old")
    };
    let by_today = seen(&succeeded(run(1, "old"), "x"));
    let facts = past(vec![other_rules("those of then")]).seeing(by_today.clone());
    assert_eq!(decide(&facts), read_of(1));
    // By its condition it still works, and the history says so.
    let by_kind = crate::ledger::FetchedRun {
        rules_hash: "".into(),
        ..running(run(1, "old"))
    };
    let facts = facts.reading_found(&name(1), by_kind.clone());
    let next = written(&facts, Change::Record);
    assert_eq!((next.history[0].result, next.outputs.clone()), (None, None));
    assert!(next.history[0].message.contains("rules have changed"));
    // The watch knows: it is not read again and again.
    let facts = Facts {
        ledger: next,
        ..past(vec![]).seeing(seen(&by_kind))
    };
    assert_eq!(decide(&facts), Step::Settled);
    let same_rules = past(vec![other_rules(RULES)]).seeing(seen(&running(run(1, "old"))));
    assert_eq!(decide(&same_rules), Step::Settled);
}

#[test]
fn no_other_object_completes_an_entry() {
    let renamed = RunIdentity {
        name: "forged".to_owned(),
        ..run(1, "old")
    };
    for stranger in [renamed, owned_by_another(run(1, "old")), run(2, "old")] {
        let facts =
            past(vec![young(unseen(1, "old"))]).seeing(seen(&succeeded(stranger, "forged")));
        assert_eq!(decide(&facts), Step::Settled);
    }
}

#[test]
fn an_entry_leaves_when_no_create_can_land_any_more_and_a_read_finds_nothing() {
    assert_eq!(
        decide(&past(vec![young(unseen(1, "old"))]).reading_absent(&name(1))),
        Step::Settled
    );
    let facts = past(vec![unseen(1, "old"), finished(2, RunResult::Failed)]);
    assert_eq!(decide(&facts), read_of(1));
    let next = written(&facts.reading_absent(&name(1)), Change::Record);
    assert_eq!(*next.history, [finished(2, RunResult::Failed)]);
}

#[test]
fn an_entry_stays_while_the_time_is_not_known() {
    let mut facts = past(vec![unseen(1, "old"), unfinished(2, "old")]);
    facts.now = None;
    assert_eq!(decide(&facts), Step::Settled);
}

/// A value of this weight or a little more.
fn heavy(weight: usize) -> String {
    "x".repeat(weight)
}

#[test]
fn what_was_read_is_recorded_before_more_is_read_once_it_weighs_much() {
    let ended = |sequence: i64, value: &str| succeeded(run(sequence, "old"), value);
    let history = vec![
        unfinished(1, "old"),
        unfinished(2, "old"),
        unfinished(3, "old"),
    ];
    let seen_to_end = |value: &str| {
        let all = past(history.clone());
        let all = all
            .seeing(seen(&ended(1, value)))
            .seeing(seen(&ended(2, value)));
        all.seeing(seen(&ended(3, value)))
    };
    let light = heavy(10);
    let facts = seen_to_end(&light).reading_found(&name(3), ended(3, &light));
    assert_eq!(decide(&facts), read_of(2));
    let heavy = heavy(LIGHT);
    let facts = seen_to_end(&heavy).reading_found(&name(3), ended(3, &heavy));
    let mut next = written(&facts, Change::Record);
    let result = |next: &Ledger, at: usize| next.history[at].result;
    assert_eq!(result(&next, 2), Some(RunResult::Succeeded));
    assert_eq!(result(&next, 1), None);
    // It gave the outputs, so it is kept; an older one is not.
    let mut facts = facts;
    facts.ledger = next;
    facts.release_recorded();
    assert_eq!(facts.reads.len(), 1);
    assert_eq!(decide(&facts), read_of(2));
    let mut facts = facts.reading_found(&name(2), ended(2, &heavy));
    next = written(&facts, Change::Record);
    assert_eq!(result(&next, 1), Some(RunResult::Succeeded));
    facts.ledger = next;
    facts.release_recorded();
    assert_eq!(
        facts.reads.keys().collect::<Vec<_>>(),
        [&run_name(&name(3))]
    );
}
