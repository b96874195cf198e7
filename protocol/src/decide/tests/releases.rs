//! A ledger that another release has written, with hashes of another version.

use cartouche_crds::{
    ApprovalPolicy, CurrentRun, PendingRun, RunResult, RunnableStatus, StopReason, UnknownFields,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{adoption::of_version, scene::*};
use crate::{
    category::Category,
    decide::{Step, Waiting, decide},
    facts::{CreateOutcome, DryRun, Facts, NameRead},
    ledger::{Change, Due, FetchedRun, RunIdentity, tests::sample::*},
    messages::reconcile_error::Requeue,
    status,
};

/// An entry that an unknown release intended `ago` seconds ago, without a run.
fn unseen(ago: i64) -> Facts {
    let mut current = of_version("v7", pending(2, "A"));
    current.intent_at = time(NOW - ago);
    with(current, "A").fresh().reading_absent(&name(2))
}

fn later(facts: Facts, seconds: i64) -> Facts {
    Facts {
        now: Some(at(NOW + seconds)),
        ..facts
    }
}

#[test]
fn a_number_that_another_release_has_given_is_left_to_it_for_a_minute() {
    for (ago, left) in [(0, 60), (59, 1)] {
        let waiting = Waiting::OtherRelease(std::time::Duration::from_secs(left));
        assert_eq!(decide(&unseen(ago)), Step::Wait(waiting), "{ago}");
    }
    written(&unseen(60), Change::MakeWay);
    // A time from a fast clock is no reason to wait for ever.
    written(&unseen(-1_000), Change::MakeWay);
}

#[test]
fn it_is_withdrawn_and_looked_for_once_more_before_the_same_document_gets_another_number() {
    let facts = unseen(60);
    let withdrawn = written(&facts, Change::MakeWay);
    let stop = withdrawn.current.as_ref().unwrap().stop.clone().unwrap();
    assert_eq!(stop.reason, StopReason::Withdrawn);
    let facts = Facts {
        ledger: withdrawn,
        ..facts
    };
    let waiting = Waiting::OtherRelease(std::time::Duration::from_secs(1));
    assert_eq!(decide(&later(facts.clone(), 59)), Step::Wait(waiting));
    let facts = later(facts, 60);
    // That read was before the minute was over.
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    assert_eq!(intended(&facts.reading_absent(&name(2))), (3, hash("A")));
}

#[test]
fn a_run_of_it_that_turns_up_meanwhile_is_the_run() {
    let made = RunIdentity {
        input_hash: unseen(0).ledger.current.map(|it| it.input_hash),
        created: Some(at(NOW)),
        ..run(2, "A")
    };
    let withdrawn = |facts: Facts| Facts {
        ledger: written(&facts, Change::MakeWay),
        ..facts
    };
    for facts in [unseen(0), unseen(60), withdrawn(unseen(60))] {
        let facts = facts.reading_found(&name(2), running(made.clone()));
        let confirmed = written(&facts, Change::Confirm).current.unwrap();
        assert_eq!((confirmed.uid, confirmed.stop), (Some(uid(2)), None));
    }
}

#[test]
fn what_may_not_be_read_is_not_made_again_under_another_number() {
    let facts = unseen(60);
    let ledger = written(&facts, Change::MakeWay);
    let mut facts = later(Facts { ledger, ..facts }, 1_000);
    facts.reads.insert(run_name(&name(2)), NameRead::Denied);
    let waits = stuck(&facts, Category::RunAtWork);
    assert!(waits.to_string().contains("may not read"), "{waits}");
}

#[test]
fn without_a_time_of_the_intent_it_is_withdrawn_and_without_a_clock_that_is_waited_for() {
    let mut facts = unseen(0);
    facts.ledger.current.as_mut().unwrap().intent_at = None;
    written(&facts, Change::MakeWay);
    facts.now = None;
    let waits = stuck(&facts, Category::RunAtWork);
    assert_eq!(
        waits.requeue,
        Requeue::After(std::time::Duration::from_secs(1))
    );
}

#[test]
fn that_a_run_is_of_another_document_counts_in_whatever_version_it_is_said() {
    let mut done = ended(2, "A", RunResult::Succeeded);
    done.input_hash = "v7:another".to_owned();
    assert_eq!(intended(&with(done, "A").fresh()), (3, hash("A")));
}

#[test]
fn a_run_that_refers_to_a_secret_is_not_made_again_for_a_hash_that_is_not_known() {
    let current = of_version("v7", ended(2, "A", RunResult::Succeeded));
    let made = RunIdentity {
        input_hash: Some(current.input_hash.clone()),
        ..run(2, "A")
    };
    let facts = with(current, "A")
        .rendered_as(document_with_secret())
        .fresh();
    let own = document_with_secret().input_hash().to_owned();
    let read = |run: RunIdentity| facts.clone().reading_found(&name(2), running(run));
    let linked = written(&read(made), Change::MigrateHash);
    assert_eq!(linked.current.unwrap().input_hash, own);
    // This release has made it, and another one has written the ledger since.
    let bears = |hash: &str| RunIdentity {
        input_hash: Some(hash.to_owned()),
        ..run(2, "A")
    };
    let linked = written(&read(bears(&own)), Change::MigrateHash);
    assert_eq!(linked.current.unwrap().input_hash, own);
    assert_eq!(intended(&read(bears(&hash("A")))), (3, own.clone()));
    let of_unknown = decide(&read(bears("v7:other")));
    assert!(matches!(of_unknown, Step::AskServer(_)), "{of_unknown:?}");
    // One that says nothing of its document was made by Cartographer, or is a stranger's.
    let unsaid = RunIdentity {
        input_hash: None,
        ..run(2, "A")
    };
    assert!(matches!(decide(&read(unsaid)), Step::AskServer(_)));
}

/// The contents of a run say less: a field that was taken out of the document is still in the run.
#[test]
fn a_run_with_a_hash_that_is_known_is_of_that_document_whatever_it_contains() {
    let current = of_version("v7", ended(2, "A", RunResult::Succeeded));
    let read = |input: &str, matches: bool| {
        let found = FetchedRun {
            matches,
            ..running(run(2, "A"))
        };
        with(current.clone(), input)
            .fresh()
            .reading_found(&name(2), found)
    };
    for matches in [false, true] {
        let linked = written(&read("A", matches), Change::MigrateHash);
        assert_eq!(linked.current.unwrap().input_hash, hash("A"));
        assert_eq!(intended(&read("B", matches)), (3, hash("B")));
    }
}

/// Facts of the next release, with a ledger that this one wrote.
fn next(current: CurrentRun, input: &str) -> Facts {
    with(current, input)
        .rendered_as(document_of_next(input))
        .fresh()
}

#[test]
fn the_release_before_is_read_by_its_hash_and_nothing_is_written_for_that() {
    for result in [RunResult::Succeeded, RunResult::Failed] {
        let facts = next(ended(2, "A", result), "A").stored_as_reported();
        assert_eq!(decide(&facts), Step::Settled);
    }
    let changed = next(ended(2, "A", RunResult::Succeeded), "B");
    let own = document_of_next("B").input_hash().to_owned();
    assert!(own.starts_with("v2:"));
    assert_eq!(intended(&changed), (3, own));
}

#[test]
fn what_the_release_before_asks_a_person_is_asked_alike_and_its_answer_counts() {
    let mut facts = next(ended(2, "A", RunResult::Succeeded), "B");
    facts.policy.approval = ApprovalPolicy::Manual;
    facts.dry_run = Some(DryRun::Accepted);
    let own = document_of_next("B").input_hash().to_owned();
    let asked = |facts: &Facts| {
        let error = stuck(facts, Category::ApprovalRequired);
        let status = status::status(facts, &facts.ledger, Some(&error));
        let pending = status.pending.unwrap();
        (pending.input_hash, pending.approval.unwrap())
    };
    assert_eq!(asked(&facts), (own.clone(), format!("3:{own}")));
    let mut stored = RunnableStatus::clone(&facts.stored);
    stored.pending = Some(PendingRun {
        sequence: 3,
        input_hash: hash("B"),
        reason: Category::ApprovalRequired.as_str().to_owned(),
        since: Time(at(NOW)),
        approval: Some(format!("3:{}", hash("B"))),
        dry_run: None,
        unknown_fields: UnknownFields::default(),
    });
    facts.stored = stored.into();
    assert_eq!(asked(&facts), (hash("B"), format!("3:{}", hash("B"))));
    facts.runnable.approved = Some(format!("3:{}", hash("B")));
    let begun = written(&facts, Change::Intent);
    // It is given and stored as this release hashes it.
    let current = begun.current.unwrap();
    assert_eq!((current.input_hash, current.approved), (own, None));
}

#[test]
fn a_number_that_the_release_before_has_given_is_made_under_its_hash() {
    let facts = next(pending(2, "A"), "A");
    assert_eq!(facts.due(&facts.ledger), Some(Due::Pending(2)));
    assert_eq!(decide(&facts), Step::Create);
    let rendering = facts.rendering.as_ref().unwrap();
    assert_eq!(rendering.hash_like(&hash("A")), hash("A"));
    let made = CreateOutcome::Created(Box::new(running(run(2, "A"))));
    let confirmed = written(&facts.after(made), Change::Confirm)
        .current
        .unwrap();
    assert_eq!(
        (confirmed.uid, confirmed.input_hash),
        (Some(uid(2)), hash("A"))
    );
    // Another document is a change at once, as under one release.
    let changed = next(pending(2, "A"), "B").reading_absent(&name(2));
    assert_eq!(intended(&changed).0, 3);
}

#[test]
fn a_request_and_what_made_way_are_answered_as_under_one_release() {
    let done = ended(2, "A", RunResult::Succeeded);
    assert_eq!(intended(&next(done, "A").asking("again")).0, 3);
    let mut replaced = ended(2, "A", RunResult::Failed);
    replaced.stop = Some(cartouche_crds::Stop::new(
        StopReason::Replaced,
        Time(at(NOW)),
    ));
    assert_eq!(intended(&next(replaced, "A")).0, 3);
}
