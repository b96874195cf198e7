//! Laws that hold for every decision, whatever the facts.

use cartouche_crds::{CurrentRun, HistoryEntry, RunPhase, RunResult};
use proptest::prelude::*;

use super::scene::*;
use crate::{
    decide::{Step, Waiting, decide, decide_without_rendering},
    facts::{CreateOutcome, Facts, LedgerState, WatchState},
    ledger::{Change, FetchedRun, Ledger, RunIdentity, tests::sample::*},
};

fn input() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("A"), Just("B")]
}

fn result() -> impl Strategy<Value = Option<RunResult>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(RunResult::Succeeded)),
        1 => Just(Some(RunResult::Failed)),
        1 => Just(Some(RunResult::Lost)),
    ]
}

fn current() -> impl Strategy<Value = CurrentRun> {
    (
        4..7i64,
        input(),
        result(),
        0..5u8,
        prop::option::of(Just("t".to_owned())),
    )
        .prop_map(|(sequence, input, result, phase, rerun_token)| {
            let current = match phase {
                0 => pending(sequence, input),
                1 => rejected(sequence, input, false),
                2 => rejected(sequence, input, true),
                3 => CurrentRun {
                    input_hash: "v0:unknown".to_owned(),
                    result,
                    ..created(sequence, input)
                },
                _ => CurrentRun {
                    result,
                    ..created(sequence, input)
                },
            };
            CurrentRun {
                rerun_token,
                ..current
            }
        })
}

fn some_fetched() -> impl Strategy<Value = FetchedRun> {
    (1..9i64, input(), 0..4u8, 0..3u8).prop_map(|(sequence, input, state, whose)| {
        let run = match whose {
            0 => run(sequence, input),
            1 => RunIdentity {
                uid: format!("other-{sequence}-{input}"),
                ..run(sequence, input)
            },
            _ => owned_by_another(run(sequence, input)),
        };
        match state {
            0 => running(run),
            1 => failed(run),
            2 => lacking(run),
            _ => succeeded(run, "x"),
        }
    })
}

fn outcome() -> impl Strategy<Value = Option<CreateOutcome>> {
    prop_oneof![
        4 => Just(None),
        1 => some_fetched().prop_map(|fetched| Some(CreateOutcome::Created(Box::new(fetched)))),
        1 => Just(Some(CreateOutcome::AlreadyExists)),
        1 => Just(Some(CreateOutcome::Refused(problem("no")))),
        1 => Just(Some(CreateOutcome::Unknown(problem("what")))),
    ]
}

fn history() -> impl Strategy<Value = Vec<HistoryEntry>> {
    prop::collection::vec((result(), any::<bool>()), 0..3).prop_map(|entries| {
        let numbered = (1i64..).zip(entries);
        let entry = |(sequence, (result, seen))| match (result, seen) {
            (Some(result), _) => finished(sequence, result),
            (None, true) => unfinished(sequence, "old"),
            (None, false) => unseen(sequence, "old"),
        };
        numbered.map(entry).collect()
    })
}

prop_compose! {
    fn any_facts()(
        current in prop::option::of(current()),
        history in history(),
        input in input(),
        (fresh, quiet, taken, asked, only_attempt) in any::<(bool, bool, bool, bool, bool)>(),
        cached_runs in prop::collection::vec((some_fetched(), any::<bool>()), 0..3),
        reads in prop::collection::vec((some_fetched(), any::<bool>()), 0..3),
        listed in prop::option::of(prop::collection::vec((some_fetched(), any::<bool>()), 0..3)),
        created in outcome(),
        watch in prop_oneof![1 => Just(WatchState::Starting), 3 => Just(WatchState::Synced), 1 => Just(WatchState::Polled)],
        server_agrees in any::<Option<bool>>(),
    ) -> Facts {
        let mut facts = facts(Ledger { current, history: history.into(), ..Ledger::default() }, input);
        facts.only_attempt = only_attempt;
        if taken {
            facts.ledger_state = LedgerState::Lost { ours: true, settled: quiet };
        }
        (facts.watch, facts.created, facts.server_agrees) = (watch, created, server_agrees);
        facts.runnable.rerun_token = asked.then(|| "t".to_owned());
        for (fetched, deleted) in cached_runs {
            facts.cached_runs.push(if deleted { seen_to_go(&fetched) } else { seen(&fetched) });
        }
        for (fetched, absent) in reads {
            let name = fetched.run.name.clone();
            facts = if absent { facts.reading_absent(&name) } else { facts.reading_found(&name, fetched) };
        }
        if let Some(listed) = listed {
            let matching: Vec<String> = listed.iter().filter(|one| one.1).map(|one| one.0.run.uid.clone()).collect();
            let matching: Vec<&str> = matching.iter().map(String::as_str).collect();
            facts = facts.listing(listed.into_iter().map(|one| one.0).collect(), &matching);
        }
        if fresh { facts.fresh() } else { facts }
    }
}

fn phase(facts: &Facts) -> Option<RunPhase> {
    facts.ledger.current.as_ref().map(|current| current.phase)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn only_a_pending_run_or_a_refused_one_whose_attempt_is_on_record_is_created(facts in any_facts()) {
        if decide(&facts) == Step::Create {
            let current = facts.ledger.current.as_ref().unwrap();
            prop_assert!(current.phase != RunPhase::Created && current.attempted);
            prop_assert_eq!(current.input_hash.as_str(), facts.rendering.as_ref().unwrap().document.input_hash());
            prop_assert!(facts.created.is_none());
            prop_assert!(facts.watch != WatchState::Starting);
        }
    }

    #[test]
    fn every_intent_was_rendered_afresh_unless_a_forgotten_run_has_the_number(facts in any_facts()) {
        if let Step::Write(next, Change::Intent) = decide(&facts) {
            let consistent = facts.rendering.as_ref().unwrap().consistent;
            let gives_way = facts.created == Some(CreateOutcome::AlreadyExists);
            prop_assert!(consistent || gives_way);
            let current = next.current.unwrap();
            prop_assert_eq!((current.phase, current.uid), (RunPhase::Pending, None));
            prop_assert_eq!(current.sequence, facts.ledger.next_sequence());
        }
    }

    #[test]
    fn a_new_number_has_a_cause(facts in any_facts()) {
        let Step::Write(_, Change::Intent) = decide(&facts) else { return Ok(()) };
        let Some(current) = facts.ledger.current.clone() else { return Ok(()) };
        let hash = facts.rendering.as_ref().unwrap().document.input_hash().to_owned();
        let changed = current.input_hash != hash;
        let asked = facts.runnable.rerun_token.is_some() && facts.runnable.rerun_token != current.rerun_token;
        let seen_to_go = current.result.is_none()
            && current.uid.as_deref().and_then(|uid| facts.cached_run(uid)).is_some_and(|cached_run| cached_run.deleted && !cached_run.is_finished());
        let gives_way = facts.created == Some(CreateOutcome::AlreadyExists);
        prop_assert!(changed || asked || seen_to_go || gives_way);
    }

    #[test]
    fn no_write_takes_a_number_back_or_forgets_an_unfinished_run(facts in any_facts()) {
        let Step::Write(next, change) = decide(&facts) else { return Ok(()) };
        let sequence = |ledger: &Ledger| ledger.current.as_ref().map_or(0, |run| run.sequence);
        prop_assert!(sequence(&next) >= sequence(&facts.ledger), "{change:?}");
        for entry in facts.ledger.history.iter().filter(|entry| entry.result.is_none() && entry.uid.is_some()) {
            prop_assert!(next.history.iter().any(|kept| kept.uid == entry.uid), "{change:?}");
        }
    }

    #[test]
    fn what_is_written_is_never_what_was_there(facts in any_facts()) {
        for step in [decide(&facts), decide_without_rendering(&facts)] {
            if let Step::Write(next, change) = step {
                prop_assert!(*next != facts.ledger, "{change:?} would be written for ever");
            }
        }
    }

    #[test]
    fn while_something_is_stuck_nothing_is_intended_created_or_asked(facts in any_facts()) {
        let step = decide_without_rendering(&facts);
        let harmless = matches!(
            step,
            Step::Settled
                | Step::Wait(Waiting::Watch)
                | Step::ReadRun(_)
                | Step::ReadLedgerWriter
                | Step::Write(_, Change::Record | Change::Confirm)
        );
        prop_assert!(harmless, "{step:?}");
        prop_assert!(phase(&facts).is_some() || step == Step::Settled);
    }

    #[test]
    fn nothing_is_read_twice(facts in any_facts()) {
        for step in [decide(&facts), decide_without_rendering(&facts)] {
            match step {
                Step::ReadRun(name) => prop_assert!(!facts.reads.contains_key(&name)),
                Step::ListRuns { every_kind } => prop_assert!(
                    facts.listed.is_none() || every_kind && !facts.listed_every_kind
                ),
                Step::AskServer(_) => prop_assert!(facts.server_agrees.is_none()),
                Step::RenderAgain => prop_assert!(!facts.rendering.as_ref().unwrap().consistent),
                _ => {}
            }
        }
    }
}
