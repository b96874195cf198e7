//! Laws that hold after any sequence of transitions.

use std::collections::BTreeSet;

use cartouche_crds::RunResult;
use cartouche_engines::Verdict;
use proptest::prelude::*;

use super::sample::*;
use crate::ledger::{
    Asked, Fate, FetchedRun, Ledger, ListedRun, OutputsRead, RunIdentity, rebuild,
};

const INPUTS: [&str; 3] = ["A", "B", "C"];

#[derive(Clone, Debug)]
enum Event {
    Intend(usize, bool),
    Attempt,
    Reject(bool),
    Confirm,
    Late(i64),
    Read(i64, Verdict, bool),
    Lose,
    Sighted(Option<RunResult>),
    Ended(i64),
    Renumber(u64),
    Relist(Vec<(i64, usize)>),
}

fn event() -> impl Strategy<Value = Event> {
    let verdict = prop_oneof![
        Just(Verdict::Succeeded),
        Just(Verdict::Failed),
        Just(Verdict::Unknown)
    ];
    prop_oneof![
        4 => (0..3usize, any::<bool>()).prop_map(|(input, found)| Event::Intend(input, found)),
        1 => Just(Event::Attempt),
        1 => any::<bool>().prop_map(Event::Reject),
        4 => Just(Event::Confirm),
        2 => (1..9i64).prop_map(Event::Late),
        6 => (1..9i64, verdict, any::<bool>()).prop_map(|(n, verdict, has)| Event::Read(n, verdict, has)),
        1 => Just(Event::Lose),
        1 => prop_oneof![Just(None), Just(Some(RunResult::Failed))].prop_map(Event::Sighted),
        1 => (1..9i64).prop_map(Event::Ended),
        1 => any::<u64>().prop_map(Event::Renumber),
        1 => prop::collection::vec((1..12i64, 0..3usize), 0..5).prop_map(Event::Relist),
    ]
}

/// The object that a create for the current entry would make.
fn made(ledger: &Ledger) -> Option<RunIdentity> {
    let current = ledger.current.as_ref()?;
    Some(RunIdentity {
        input_hash: Some(current.input_hash.clone()),
        ..run(current.sequence, "A")
    })
}

fn read(sequence: i64, verdict: Verdict, has: bool) -> FetchedRun {
    let outputs = match (verdict, has) {
        (Verdict::Succeeded, true) => OutputsRead::Values(values(&sequence.to_string())),
        (Verdict::Succeeded, false) => OutputsRead::Unsatisfied {
            why: "no path".to_owned(),
            faults: Vec::new(),
        },
        _ => OutputsRead::None,
    };
    fetched(run(sequence, "A"), verdict, outputs)
}

fn step(ledger: Ledger, event: &Event) -> Ledger {
    let now = Some(at(1_000));
    match event {
        Event::Intend(input, found) => {
            let pending = ledger.current.as_ref().is_some_and(|run| run.uid.is_none());
            let fate = match made(&ledger).filter(|_| *found && pending) {
                Some(run) => Fate::Found(run),
                None if pending => Fate::Absent,
                None => Fate::Known,
            };
            ledger.intend(intent(INPUTS[*input]), name, &fate, "", now)
        }
        Event::Attempt => ledger.attempt(),
        Event::Reject(only) if ledger.current.as_ref().is_some_and(|run| run.uid.is_none()) => {
            ledger.reject(*only)
        }
        Event::Confirm => made(&ledger)
            .and_then(|run| ledger.confirm(&run))
            .unwrap_or(ledger),
        Event::Late(sequence) => ledger.shown_up(&run(*sequence, "A")),
        Event::Read(sequence, verdict, has) => ledger.record(&read(*sequence, *verdict, *has), now),
        Event::Lose => ledger.record_loss(now),
        Event::Sighted(result) => match made(&ledger) {
            Some(run) => ledger.record_sighting(&run, *result, Asked::No, now),
            None => ledger,
        },
        Event::Ended(sequence) => {
            ledger.record_end(&uid(*sequence), RunResult::Failed, Asked::No, "", now)
        }
        Event::Renumber(chance) if ledger.current.as_ref().is_some_and(|run| run.uid.is_none()) => {
            ledger.renumber(name, "holder".to_owned(), *chance, now)
        }
        Event::Relist(runs) => relisted(&ledger, runs).unwrap_or(ledger),
        Event::Reject(_) | Event::Renumber(_) => ledger,
    }
}

fn relisted(ledger: &Ledger, runs: &[(i64, usize)]) -> Option<Ledger> {
    let runs: Vec<RunIdentity> = runs
        .iter()
        .map(|(n, input)| run(*n, INPUTS[*input]))
        .collect();
    let listed: Vec<ListedRun<'_>> = runs
        .iter()
        .map(|run| ListedRun {
            run,
            matches: false,
        })
        .collect();
    rebuild(ledger, &listed, RUNNABLE, None, Some(at(1_000)))
}

fn source(ledger: &Ledger) -> i64 {
    ledger.outputs_from.as_ref().map_or(0, |from| from.sequence)
}

fn current(ledger: &Ledger) -> i64 {
    ledger.current.as_ref().map_or(0, |run| run.sequence)
}

fn unended(ledger: &Ledger) -> BTreeSet<(i64, Option<String>)> {
    let open = ledger.history.iter().filter(|entry| entry.result.is_none());
    open.map(|entry| (entry.sequence, entry.uid.clone()))
        .collect()
}

proptest! {
    #[test]
    fn numbers_and_the_source_of_the_outputs_never_go_back(events in prop::collection::vec(event(), 0..40)) {
        let mut ledger = Ledger::default();
        for event in events {
            let next = step(ledger.clone(), &event);
            prop_assert!(source(&next) >= source(&ledger), "{event:?}: {ledger:?} -> {next:?}");
            prop_assert!(current(&next) >= current(&ledger), "{event:?}: {ledger:?} -> {next:?}");
            ledger = next;
        }
    }

    #[test]
    fn outputs_come_only_from_a_run_that_the_ledger_knew(events in prop::collection::vec(event(), 0..40)) {
        let mut ledger = Ledger::default();
        for event in events {
            let next = step(ledger.clone(), &event);
            if next.outputs != ledger.outputs {
                let from = next.outputs_from.clone().unwrap();
                prop_assert_eq!(next.sequence_of(&from.uid), Some(from.sequence));
                prop_assert_eq!(next.outputs.clone(), Some(values(&from.sequence.to_string())));
            }
            ledger = next;
        }
    }

    #[test]
    fn no_unfinished_run_leaves_the_history_before_it_has_ended(events in prop::collection::vec(event(), 0..40)) {
        let mut ledger = Ledger::default();
        for event in events {
            let next = step(ledger.clone(), &event);
            for (sequence, uid) in unended(&ledger) {
                let kept = next.history.iter().any(|entry| {
                    entry.sequence == sequence && (entry.uid == uid || uid.is_none())
                });
                // A rebuild may find that the run which had not shown up is the newest of all.
                let is_current = next.current.as_ref().is_some_and(|run| {
                    run.sequence == sequence || uid.is_some() && run.uid == uid
                });
                prop_assert!(kept || is_current, "{event:?} lost {sequence}: {ledger:?} -> {next:?}");
            }
            ledger = next;
        }
    }

    #[test]
    fn history_is_in_order_below_the_current_number_and_has_each_run_once(events in prop::collection::vec(event(), 0..40)) {
        let mut ledger = Ledger::default();
        for event in events {
            ledger = step(ledger, &event);
            let numbers: Vec<i64> = ledger.history.iter().map(|entry| entry.sequence).collect();
            prop_assert!(numbers.is_sorted(), "{numbers:?}");
            prop_assert!(numbers.last().copied().unwrap_or(0) <= current(&ledger));
            let uids: Vec<&String> = ledger.history.iter().filter_map(|entry| entry.uid.as_ref()).collect();
            prop_assert_eq!(uids.iter().collect::<BTreeSet<_>>().len(), uids.len());
        }
    }

    #[test]
    fn what_is_rebuilt_is_not_behind_what_it_was_rebuilt_from(
        events in prop::collection::vec(event(), 0..10),
        runs in prop::collection::vec((1..12i64, 0..3usize, 0..3usize), 0..12),
    ) {
        let ledger = events.iter().fold(Ledger::default(), step);
        let runs: Vec<RunIdentity> = runs
            .into_iter()
            .map(|(n, input, copy)| RunIdentity { uid: format!("{n}/{input}/{copy}"), ..run(n, INPUTS[input]) })
            .collect();
        let listed: Vec<ListedRun<'_>> = runs.iter().map(|run| ListedRun { run, matches: false }).collect();
        if let Some(next) = rebuild(&ledger, &listed, RUNNABLE, None, None) {
            prop_assert!(runs.iter().all(|run| !next.is_behind(run, RUNNABLE)));
            prop_assert_eq!(rebuild(&next, &listed, RUNNABLE, None, None), None);
        }
    }
}
