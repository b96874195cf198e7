//! No ledger, or one of another version: takeover, lost status, a new release.

use cartouche_crds::{CurrentRun, RunResult};

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, Waiting, decide},
    facts::Facts,
    ledger::{Change, Ledger, RunIdentity, tests::sample::*},
};

fn takeover(input: &str) -> Facts {
    new_runnable(input).served_by_another().fresh()
}

/// A current run whose hash was made by another version.
pub(super) fn of_version(version: &str, current: CurrentRun) -> CurrentRun {
    CurrentRun {
        input_hash: format!("{version}:abc"),
        ..current
    }
}

fn old_run() -> crate::ledger::FetchedRun {
    succeeded(unlabelled("old", 5), "old")
}

/// After the takeover of one run that does not contain what is rendered.
fn adopted() -> Facts {
    let mut facts = takeover("A").listing(vec![old_run()], &[]);
    facts.ledger = written(&facts, Change::Rebuild);
    facts
}

#[test]
fn a_runnable_that_was_served_before_waits_until_no_create_can_be_on_its_way() {
    let mut facts = takeover("A");
    facts.ledger_state = LOST_JUST_NOW;
    assert_eq!(decide(&facts), Step::Wait(Waiting::CreatesSettle));
    facts.ledger_state = LOST;
    assert_eq!(decide(&facts), Step::ListRuns { every_kind: true });
}

#[test]
fn a_status_with_conditions_was_served_and_the_default_status_was_not() {
    use crate::facts::{LedgerState, served_before};
    let default = cartouche_crds::RunnableStatus {
        observed_generation: Some(-1),
        ..Default::default()
    };
    assert!(!served_before(&default));
    assert!(!served_before(&cartouche_crds::RunnableStatus::default()));
    assert!(served_before(&with(created(1, "A"), "A").stored));
    let mut fresh = takeover("A");
    fresh.ledger_state = LedgerState::NeverServed;
    assert_eq!(decide(&fresh), Step::ListRuns { every_kind: false });
}

#[test]
fn where_nothing_exists_a_served_runnable_gets_its_first_run() {
    assert_eq!(
        intended(&takeover("A").listing(vec![], &[])),
        (1, hash("A"))
    );
}

#[test]
fn a_run_of_cartographer_that_contains_what_is_rendered_is_the_current_run() {
    let facts = takeover("A").listing(vec![old_run()], &["uid-old"]);
    let ledger = written(&facts, Change::Rebuild);
    let current = ledger.current.clone().unwrap();
    assert_eq!(
        (current.sequence, current.uid.as_deref()),
        (1, Some("uid-old"))
    );
    assert_eq!(
        (current.input_hash, current.result),
        (hash("A"), Some(RunResult::Succeeded))
    );
    assert_eq!(
        (
            &ledger.outputs,
            ledger.outputs_from.as_ref().unwrap().sequence
        ),
        (&Some(values("old")), 1)
    );
    let after = Facts { ledger, ..facts }.stored_as_reported();
    assert_eq!(decide(&after), Step::Settled);
}

#[test]
fn of_the_runs_of_the_newest_second_the_one_that_matches_is_current() {
    let runs = ["a", "b", "c"]
        .map(|name| running(unlabelled(name, 5)))
        .to_vec();
    let ledger = written(&takeover("A").listing(runs, &["uid-b"]), Change::Rebuild);
    let current = ledger.current.unwrap();
    assert_eq!((current.name.as_str(), current.sequence), ("b", 3));
    assert_eq!(current.input_hash, hash("A"));
}

#[test]
fn where_containment_fails_the_server_is_asked() {
    let facts = adopted();
    assert_eq!(decide(&facts), Step::AskServer(run_name("old")));
    let agrees = Facts {
        server_agrees: Some(true),
        ..facts.clone()
    };
    let linked = written(&agrees, Change::MigrateHash);
    assert_eq!(linked.current.unwrap().input_hash, hash("A"));
    let differs = Facts {
        server_agrees: Some(false),
        ..facts
    };
    let next = written(&differs, Change::Intent);
    assert_eq!(
        (next.current.unwrap().sequence, next.history[0].result),
        (2, Some(RunResult::Succeeded))
    );
}

#[test]
fn a_run_of_another_kind_is_not_what_is_rendered() {
    let mut facts = adopted();
    facts.ledger.current.as_mut().unwrap().kind = "Task".to_owned();
    assert_eq!(intended(&facts), (2, hash("A")));
}

#[test]
fn a_lost_ledger_is_rebuilt_and_the_same_input_makes_no_run() {
    let facts = takeover("B").listing(vec![running(run(2, "A")), running(run(3, "B"))], &[]);
    let ledger = written(&facts, Change::Rebuild);
    assert_eq!(ledger.current, Some(found_again(created(3, "B"))));
    assert_eq!(ledger.history[0].uid, Some(uid(2)));
    let changed = Facts { ledger, ..facts }.rendered_as(document("C")).fresh();
    assert_eq!(intended(&changed), (4, hash("C")));
}

#[test]
fn outputs_that_are_left_of_a_lost_ledger_stay_and_bound_the_numbers() {
    let mut facts = takeover("A").listing(vec![], &[]);
    facts.ledger = Ledger {
        outputs: Some(values("left")),
        outputs_from: Some(outputs_from(7)),
        ..Ledger::default()
    };
    let next = written(&facts, Change::Intent);
    assert_eq!(next.current.unwrap().sequence, 8);
    assert_eq!(next.outputs, Some(values("left")));
}

#[test]
fn the_outputs_of_cartographer_stay_where_its_newest_success_lacks_one() {
    let runs = vec![
        succeeded(unlabelled("a", 1), "older"),
        lacking(unlabelled("b", 2)),
    ];
    let mut facts = takeover("A").listing(runs, &[]);
    facts.ledger.outputs = Some(values("stored"));
    assert_eq!(
        written(&facts, Change::Rebuild).outputs,
        Some(values("stored"))
    );
}

#[test]
fn a_request_present_at_the_takeover_counts_as_answered() {
    let facts = takeover("A")
        .asking("now")
        .listing(vec![old_run()], &["uid-old"]);
    let ledger = written(&facts, Change::Rebuild);
    assert_eq!(ledger.last_answered(), Some("now"));
    let current = ledger.current.as_ref().unwrap();
    assert_eq!(current.rerun_token, None, "it was made before");
    assert_eq!(
        decide(&Facts { ledger, ..facts }.stored_as_reported()),
        Step::Settled
    );
}

#[test]
fn a_hash_of_another_version_is_compared_by_content_after_a_fresh_rendering() {
    for version in ["v0", "v2", "v10"] {
        let facts = with(of_version(version, created(2, "A")), "A");
        assert_eq!(decide(&facts), Step::RenderAgain);
        let facts = facts.fresh();
        assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
        let found = facts
            .clone()
            .listing(vec![running(run(2, "A"))], &["uid-2"]);
        assert_eq!(
            written(&found, Change::MigrateHash).current,
            Some(created(2, "A"))
        );
    }
}

#[test]
fn a_new_release_makes_no_run_of_what_is_gone() {
    for result in [RunResult::Succeeded, RunResult::Failed] {
        let current = of_version("v0", ended(2, "A", result));
        let facts = with(current, "A").fresh().reading_absent(&name(2));
        let ledger = written(&facts, Change::MigrateHash);
        assert_eq!(ledger.current, Some(ended(2, "A", result)));
        assert_eq!(
            decide(&Facts { ledger, ..facts }.stored_as_reported()),
            Step::Settled
        );
    }
}

#[test]
fn a_new_release_finds_an_unfinished_run_lost_or_seen_to_go_as_ever() {
    let facts = with(of_version("v0", created(2, "A")), "A")
        .fresh()
        .reading_absent(&name(2));
    let linked = |facts: Facts| Facts {
        ledger: written(&facts, Change::MigrateHash),
        ..facts
    };
    let lost = written(&linked(facts.clone()), Change::Record);
    assert_eq!(lost.current.unwrap().result, Some(RunResult::Lost));
    let seen_to_end = linked(facts.seeing(seen_to_go(&failed(run(2, "A")))));
    assert_eq!(
        written(&seen_to_end, Change::Record)
            .current
            .unwrap()
            .result,
        Some(RunResult::Failed)
    );
}

#[test]
fn a_pending_run_of_another_version_is_looked_for_and_confirmed_if_it_is_ours() {
    let current = of_version("v0", pending(2, "A"));
    let made = |run: RunIdentity| RunIdentity {
        input_hash: Some("v0:abc".to_owned()),
        ..run
    };
    let facts = with(current, "A").fresh();
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let found = facts
        .clone()
        .reading_found(&name(2), running(made(run(2, "A"))));
    assert_eq!(
        written(&found, Change::Confirm).current.unwrap().uid,
        Some(uid(2))
    );
    let forged = made(owned_by_another(run(2, "A")));
    let facts = facts.reading_found(&name(2), running(forged));
    assert_eq!(written(&facts, Change::MakeWay).current.unwrap().uid, None);
}

#[test]
fn a_refused_run_of_another_version_is_superseded() {
    let facts = with(of_version("v0", rejected(2, "A", false)), "A")
        .fresh()
        .reading_absent(&name(2));
    let next = written(&facts, Change::Intent);
    assert_eq!((next.current.unwrap().sequence, next.history.len()), (3, 0));
}

#[test]
fn a_takeover_waits_for_a_rendering() {
    let mut facts = takeover("A");
    facts.rendering = Err(problem("no template"));
    stuck(&facts, Category::StampedObjectRejectedByAPIServer);
}
