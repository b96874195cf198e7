//! The conditions for a new run, and what keeps it from being intended.

use cartouche_crds::{CurrentRun, RunPhase, RunResult};

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, Waiting, decide},
    facts::{Facts, LedgerState, WatchState},
    ledger::{Change, Ledger, MAX_HISTORY, RunIdentity, tests::sample::*},
    messages::reconcile_error::{ReconcileError, Requeue},
};

#[test]
fn the_first_run_is_intended_after_a_fresh_rendering_and_a_list_of_its_kind() {
    let facts = new_runnable("A");
    assert_eq!(decide(&facts), Step::RenderAgain);
    let facts = facts.fresh();
    assert_eq!(decide(&facts), Step::ListRuns { every_kind: false });
    let ledger = written(&facts.listing(vec![], &[]), Change::Intent);
    let current = ledger.current.unwrap();
    assert_eq!(
        (current.sequence, &current.name, current.phase),
        (1, &name(1), RunPhase::Pending)
    );
    assert_eq!(
        (current.input_hash, current.intent_at),
        (hash("A"), time(NOW))
    );
    assert_eq!(ledger.breaker.unwrap().runs, 1);
}

#[test]
fn a_runnable_that_is_being_deleted_intends_nothing() {
    for mut facts in [
        new_runnable("A").fresh().listing(vec![], &[]),
        with(created(1, "A"), "B").fresh(),
    ] {
        facts.runnable.deleting = true;
        assert_eq!(decide(&facts), Step::Settled);
    }
}

#[test]
fn what_cannot_be_rendered_is_a_problem_and_never_a_write() {
    let mut facts = with(created(1, "A"), "B").fresh();
    let error = ReconcileError::new(
        Category::TemplateStampFailure,
        Requeue::OnChange,
        "no such field",
    );
    facts.rendering = Err(error.clone());
    assert_eq!(decide(&facts), Step::Stuck(error));
}

#[test]
fn nothing_is_done_before_the_first_list_of_the_watch() {
    for current in [created(1, "A"), pending(1, "A"), rejected(1, "A", true)] {
        let mut facts = with(current, "B").fresh();
        facts.watch = WatchState::Starting;
        assert_eq!(decide(&facts), Step::Wait(Waiting::FirstList));
        facts.watch = WatchState::Polled;
        assert_ne!(decide(&facts), Step::Wait(Waiting::FirstList));
    }
}

#[test]
fn a_change_is_believed_only_after_a_fresh_rendering() {
    for current in [created(1, "A"), pending(1, "A"), rejected(1, "A", false)] {
        assert_eq!(decide(&with(current, "B")), Step::RenderAgain);
    }
}

#[test]
fn a_fresh_rendering_that_shows_no_change_makes_no_run() {
    let ended = ended(1, "A", RunResult::Succeeded);
    assert_eq!(decide(&with(ended, "A").fresh()), Step::Settled);
}

#[test]
fn a_change_makes_the_next_run_whatever_became_of_the_one_before() {
    let results = [RunResult::Succeeded, RunResult::Failed, RunResult::Lost]
        .map(|result| ended(3, "A", result));
    for current in results.into_iter().chain([created(3, "A")]) {
        let ledger = written(&with(current.clone(), "B").fresh(), Change::Intent);
        assert_eq!(ledger.current.unwrap().sequence, 4);
        assert_eq!(
            (ledger.history[0].sequence, ledger.history[0].result),
            (3, current.result)
        );
    }
}

#[test]
fn the_superseded_run_keeps_the_last_words_of_its_engine() {
    let mut facts = with(created(1, "A"), "A").reading_found(&name(1), failed(run(1, "A")));
    facts.ledger.current = Some(ended(1, "A", RunResult::Failed));
    let facts = facts
        .stored_as_reported()
        .rendered_as(document("B"))
        .fresh();
    assert_eq!(written(&facts, Change::Intent).history[0].message, "Failed");
}

#[test]
fn going_back_to_an_earlier_input_is_a_third_run() {
    let facts = facts(
        ledger(created(2, "B"), vec![finished(1, RunResult::Succeeded)]),
        "A",
    )
    .fresh();
    assert_eq!(intended(&facts), (3, hash("A")));
}

#[test]
fn a_refused_run_is_dropped_without_a_read_and_its_number_is_not_used_again() {
    let ledger = written(&with(rejected(2, "A", false), "B").fresh(), Change::Intent);
    assert!(ledger.history.is_empty());
    assert_eq!(ledger.current.unwrap().sequence, 3);
}

#[test]
fn a_run_whose_create_may_have_landed_is_looked_for_before_it_is_superseded() {
    for current in [pending(2, "A"), rejected(2, "A", true)] {
        let facts = with(current, "B").fresh();
        assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
        let absent = written(&facts.clone().reading_absent(&name(2)), Change::Intent);
        assert_eq!(
            (&absent.history[0].uid, &absent.history[0].started_at),
            (&None, &time(NOW))
        );
        let found = written(
            &facts.reading_found(&name(2), running(run(2, "A"))),
            Change::Intent,
        );
        assert_eq!(found.history[0].uid, Some(uid(2)));
    }
}

#[test]
fn a_stranger_under_the_name_is_not_the_superseded_run() {
    let forged = [
        owned_by_another(run(2, "A")),
        crate::ledger::RunIdentity {
            sequence: Some(1),
            ..run(2, "A")
        },
    ];
    for stranger in forged {
        let facts = with(pending(2, "A"), "B")
            .fresh()
            .reading_found(&name(2), running(stranger));
        assert_eq!(written(&facts, Change::Intent).history[0].uid, None);
    }
}

#[test]
fn a_request_to_run_again_makes_one_run_and_only_one() {
    let done = ended(1, "A", RunResult::Succeeded);
    let facts = with(done.clone(), "A").asking("now");
    assert_eq!(decide(&facts), Step::RenderAgain);
    let next = written(&facts.fresh(), Change::Intent).current.unwrap();
    assert_eq!(
        (next.sequence, next.rerun_token.as_deref()),
        (2, Some("now"))
    );
    let answered = CurrentRun {
        rerun_token: Some("now".to_owned()),
        ..done
    };
    assert_eq!(
        decide(&with(answered.clone(), "A").fresh().asking("now")),
        Step::Settled
    );
    assert_eq!(
        decide(&with(answered.clone(), "A").fresh()),
        Step::Settled,
        "taken away"
    );
    assert_eq!(intended(&with(answered, "A").fresh().asking("then")).0, 2);
}

#[test]
fn a_request_is_remembered_when_it_is_taken_away_during_a_change() {
    let answered = CurrentRun {
        rerun_token: Some("now".to_owned()),
        ..created(1, "A")
    };
    let next = written(&with(answered, "B").fresh(), Change::Intent);
    assert_eq!(next.last_answered(), Some("now"));
}

#[test]
fn a_request_belongs_to_the_run_that_answers_it_and_to_none_after_it() {
    let answered = CurrentRun {
        rerun_token: Some("now".to_owned()),
        ..created(1, "A")
    };
    for asked in [None, Some("now"), Some("then")] {
        let changed = with(answered.clone(), "B").fresh();
        let changed = asked.into_iter().fold(changed, Facts::asking);
        let next = written(&changed, Change::Intent);
        let current = next.current.clone().unwrap();
        assert_eq!(
            current.rerun_token.as_deref(),
            asked.filter(|it| *it != "now")
        );
        assert_eq!(next.history[0].rerun_token.as_deref(), Some("now"));
        // A request that was answered two runs ago asks for nothing again.
        let later = written(
            &facts(made(&next), "C").fresh().asking("now"),
            Change::Intent,
        );
        let again = later.current.unwrap().rerun_token;
        assert_eq!(
            again.as_deref(),
            asked.filter(|it| *it == "then").map(|_| "now")
        );
    }
}

#[test]
fn a_request_whose_run_was_never_made_is_answered_by_the_next() {
    let asked = CurrentRun {
        rerun_token: Some("now".to_owned()),
        ..pending(2, "A")
    };
    let facts = with(asked.clone(), "B").fresh().asking("now");
    let absent = written(&facts.clone().reading_absent(&name(2)), Change::Intent);
    assert_eq!(absent.current.unwrap().rerun_token.as_deref(), Some("now"));
    let made = RunIdentity {
        rerun_token: Some("now".to_owned()),
        ..run(2, "A")
    };
    // Its create was in flight, and the request was taken away meanwhile.
    let withdrawn = with(asked, "B").fresh().reading_absent(&name(2));
    let withdrawn = written(&withdrawn, Change::Intent);
    assert_eq!(withdrawn.last_answered(), None);
    let landed = RunIdentity {
        created: Some(at(NOW)),
        ..made.clone()
    };
    assert_eq!(withdrawn.shown_up(&landed).last_answered(), Some("now"));
    let found = written(
        &facts.reading_found(&name(2), running(made)),
        Change::Intent,
    );
    assert_eq!(found.current.unwrap().rerun_token, None);
    assert_eq!(found.history[0].rerun_token.as_deref(), Some("now"));
}

#[test]
fn a_request_and_a_change_together_are_one_run() {
    let next = written(
        &with(created(1, "A"), "B").fresh().asking("now"),
        Change::Intent,
    )
    .current
    .unwrap();
    assert_eq!(
        (next.sequence, next.rerun_token.clone()),
        (2, Some("now".to_owned()))
    );
    let confirmed = CurrentRun {
        result: Some(RunResult::Failed),
        rerun_token: next.rerun_token,
        ..created(2, "B")
    };
    assert_eq!(
        decide(&with(confirmed, "B").fresh().asking("now")),
        Step::Settled
    );
}

#[test]
fn a_request_waits_until_the_pending_run_is_made() {
    assert_eq!(
        decide(&with(pending(1, "A"), "A").fresh().asking("now")),
        Step::Create
    );
}

#[test]
fn a_lost_run_runs_again_when_asked_and_not_before() {
    let lost = with(ended(1, "A", RunResult::Lost), "A").fresh();
    assert_eq!(decide(&lost), Step::Settled);
    assert_eq!(intended(&lost.asking("now")), (2, hash("A")));
}

pub(super) fn looping(runs: i64, last: i64) -> Facts {
    let mut facts = with(
        CurrentRun {
            intent_at: time(last),
            ..created(40, "A")
        },
        "B",
    )
    .fresh();
    let mut breaker = written(
        &new_runnable("A").fresh().listing(vec![], &[]),
        Change::Intent,
    )
    .breaker
    .unwrap();
    breaker.runs = runs;
    facts.ledger.breaker = Some(breaker);
    facts
}

#[test]
fn the_breaker_counts_runs_and_slows_the_one_above_the_limit() {
    let next = written(&looping(29, NOW - 1), Change::Intent);
    assert_eq!(next.breaker.unwrap().runs, 30);
    let error = stuck(&looping(30, NOW - 1), Category::RunawayDetected);
    assert_eq!(
        error.requeue,
        Requeue::After(std::time::Duration::from_secs(299))
    );
    let time_of_the_next = at(NOW + 299).to_string();
    assert!(
        error.message.contains(&time_of_the_next),
        "{}",
        error.message
    );
    assert_eq!(intended(&looping(30, NOW - 300)), (41, hash("B")));
}

#[test]
fn a_run_that_is_rendered_differently_at_each_look_is_stopped_as_a_loop() {
    let mut facts = with(ended(1, "0", RunResult::Succeeded), "0").fresh();
    let mut runs = 0;
    let stopped = loop {
        facts = facts.rendered_as(document(&runs.to_string())).fresh();
        match decide(&facts) {
            Step::Write(next, Change::Intent) => facts.ledger = made(&next),
            Step::Stuck(error) => break error,
            _ => {}
        }
        runs += 1;
        assert!(runs < 100, "nothing stops it");
    };
    assert_eq!(stopped.category, Category::RunawayDetected);
    // The first reconciliation found what was made already, and each further one made a run.
    assert_eq!(runs, 31);
}

/// The intended run is made and confirmed.
fn made(ledger: &Ledger) -> Ledger {
    let current = ledger.current.clone().unwrap();
    let made = RunIdentity {
        created: Some(at(NOW)),
        input_hash: Some(current.input_hash),
        ..run(current.sequence, "A")
    };
    ledger.confirm(&made).unwrap()
}

#[test]
fn a_change_of_the_runnable_ends_what_the_breaker_began() {
    let mut facts = looping(99, NOW - 1);
    if let Ok(rendering) = &mut facts.rendering {
        rendering.cause.generation = 2;
    }
    assert_eq!(written(&facts, Change::Intent).breaker.unwrap().runs, 1);
}

#[test]
fn the_breaker_slows_requests_and_repeated_runs_as_well() {
    let asked = looping(30, NOW - 1)
        .rendered_as(document("A"))
        .fresh()
        .asking("now");
    stuck(&asked, Category::RunawayDetected);
    let deleted = looping(30, NOW - 1)
        .rendered_as(document("A"))
        .fresh()
        .seeing(seen_to_go(&running(run(40, "A"))))
        .reading_absent(&name(40));
    stuck(&deleted, Category::RunawayDetected);
}

#[test]
fn a_ledger_full_of_unfinished_runs_takes_no_more_and_says_so() {
    let history = (1..=200)
        .map(|sequence| unfinished(sequence, "old"))
        .collect();
    let full = facts(ledger(created(201, "A"), history), "B").fresh();
    let error = stuck(&full, Category::UnknownError);
    assert!(
        error.message.contains(&MAX_HISTORY.to_string()),
        "{}",
        error.message
    );
}

#[test]
fn another_controller_on_the_status_stops_everything_until_it_is_quiet() {
    let mut facts = new_runnable("A").fresh().served_by_another();
    facts.ledger_state = LedgerState::Lost {
        ours: true,
        settled: false,
    };
    facts.ledger = Ledger::default();
    let told = stuck(&facts, Category::OtherController);
    assert_eq!(told.requeue, Requeue::OnChange);
    facts.ledger_state = LedgerState::Lost {
        ours: true,
        settled: true,
    };
    assert_eq!(decide(&facts), Step::ListRuns { every_kind: true });
}
