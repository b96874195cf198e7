//! An approval covers all that a run is made of, and is compared again before each create.

use std::sync::Arc;

use cartouche_crds::{ConcurrencyPolicy, CurrentRun, PinnedProfile, RunPhase, RunResult};
use cartouche_templating::Context;
use serde_json::json;

use super::{approving, manual, waits};
use crate::{
    category::Category,
    decide::{
        Step, decide,
        tests::{
            retry::{looked_at, retrying, waiting},
            scene::*,
        },
    },
    facts::{CreateOutcome, Facts},
    ledger::{Change, Ledger, tests::sample::*},
    profiles::KnownProfile,
    status,
};

/// A profile that puts an annotation of the Runnable into its runs.
fn reading() -> KnownProfile {
    let arg = "$(runnable.metadata.annotations.arg)$";
    let patch =
        json!({ "apiVersion": API_VERSION, "kind": KIND, "patch": { "spec": { "arg": arg } } });
    let spec = json!({ "rules": [{}], "patches": [patch] });
    KnownProfile {
        uid: "first".to_owned(),
        ..profile("a", 1, spec)
    }
}

/// The Runnable has the annotation that the profile reads, and its runs need approval.
fn saying(facts: Facts, arg: &str) -> Facts {
    let runnable = json!({ "metadata": { "annotations": { "arg": arg } }, "spec": {} });
    let mut facts = manual(facts).knowing([reading()]);
    let rendering = facts.rendering.as_mut().unwrap();
    rendering.context = Arc::new(Context::new(&runnable, None).unwrap());
    facts
}

/// The approval text in the status while the run waits.
fn asked(facts: &Facts, category: Category) -> String {
    let error = stuck(facts, category);
    let status = status::status(facts, &facts.ledger, Some(&error));
    status.pending.unwrap().approval.unwrap()
}

fn wanted(facts: &Facts) -> String {
    asked(facts, Category::ApprovalRequired)
}

/// A pending change, after an approval of something.
fn due(arg: &str) -> Facts {
    saying(with(ended(2, "A", RunResult::Succeeded), "B"), arg)
}

/// The ledger with the intent of run 3, approved with this annotation.
fn begun(arg: &str) -> Ledger {
    let due = due(arg);
    let text = wanted(&due);
    written(&approving(due, text), Change::Intent)
}

/// Facts for that entry in this later state.
fn entry(then: CurrentRun) -> Facts {
    let ledger = begun("good");
    let current = ledger.current.clone().unwrap();
    let current = CurrentRun {
        approved: current.approved,
        input_hash: current.input_hash,
        ..then
    };
    let pinned = ledger.profile.map(|pinned| *pinned).unwrap();
    with(current, "B").pinned_to(pinned)
}

#[test]
fn what_a_profile_reads_is_approved_with_the_rest() {
    let text = wanted(&due("good"));
    assert!(text.starts_with("3:m1:"), "{text}");
    let told = waits(&approving(due("EVIL"), text.clone()));
    assert!(
        told.contains("a value that these read has changed"),
        "{told}"
    );
    let current = begun("good").current.unwrap();
    assert_eq!(text, format!("3:{}", current.approved.unwrap()));
}

#[test]
fn what_was_approved_and_waits_for_its_turn_is_asked_about_anew_when_it_changes() {
    let behind = |arg| {
        let mut facts = saying(with(created(2, "A"), "B"), arg);
        facts.policy.concurrency = ConcurrencyPolicy::LatestOnly;
        facts
            .seeing(seen(&running(run(2, "A"))))
            .reading_found(&name(2), running(run(2, "A")))
    };
    let text = wanted(&behind("good"));
    stuck(
        &approving(behind("good"), text.clone()),
        Category::RunAtWork,
    );
    assert_ne!(wanted(&approving(behind("EVIL"), text.clone())), text);
}

#[test]
fn a_rerun_token_that_the_run_reads_is_approved_with_the_rest() {
    let read = "$(run.rerunToken)$";
    let asking = |token| manual(with(ended(2, read, RunResult::Succeeded), read)).asking(token);
    let text = wanted(&asking("good"));
    waits(&approving(asking("EVIL"), text.clone()));
    let intended = written(&approving(asking("good"), text), Change::Intent);
    let pending = facts(intended, read).asking("EVIL");
    assert_eq!(
        decide(&manual(pending)),
        Step::Create,
        "its token is in the ledger"
    );
}

#[test]
fn a_further_attempt_needs_another_yes_only_if_it_is_made_of_something_else() {
    let failed_run = |arg| {
        let facts = entry(CurrentRun {
            rules_hash: None,
            ..waiting(1, 99)
        });
        let mut facts = saying(facts, arg);
        let approval = facts.policy.approval;
        facts = retrying(facts);
        facts.policy.approval = approval;
        facts.reading_found(&name(2), failed(run(2, "B")))
    };
    let again = written(&failed_run("good"), Change::Intent);
    let current = again.current.unwrap();
    assert_eq!((current.sequence, current.attempt), (3, 2));
    assert_eq!(current.approved, begun("good").current.unwrap().approved);
    let text = wanted(&failed_run("EVIL"));
    assert!(text.starts_with("3:m1:"), "{text}");
    let ledger = written(&approving(failed_run("EVIL"), text.clone()), Change::Intent);
    let approved = ledger.current.unwrap().approved.unwrap();
    assert_eq!(text, format!("3:{approved}"));
}

#[test]
fn what_somebody_deleted_needs_another_yes_only_if_it_is_made_of_something_else() {
    let deleted = |arg| {
        let facts = saying(entry(created(2, "B")), arg);
        let gone = running(run(2, "B"));
        facts.seeing(seen_to_go(&gone)).reading_absent(&name(2))
    };
    assert_eq!(intended(&deleted("good")), (3, hash("B")));
    assert!(wanted(&deleted("EVIL")).starts_with("3:m1:"));
}

#[test]
fn name_and_number_of_an_attempt_are_its_own_and_need_no_other_yes() {
    let read = "$(run.name)$ $(run.sequence)$";
    let first = manual(with(ended(2, "A", RunResult::Succeeded), read));
    let text = wanted(&first);
    let current = written(&approving(first, text), Change::Intent).current;
    let failed_run = CurrentRun {
        approved: current.unwrap().approved,
        input_hash: hash(read),
        ..waiting(1, 99)
    };
    let facts = retrying(with(failed_run, read).fresh());
    let mut facts = looked_at(facts);
    facts.policy.approval = cartouche_crds::ApprovalPolicy::Manual;
    assert_eq!(intended(&facts), (3, hash(read)));
}

/// The entry is not sent yet, was refused, or was read from the ledger after a restart.
fn unsent() -> [CurrentRun; 3] {
    [
        pending(2, "B"),
        rejected(2, "B", false),
        rejected(2, "B", true),
    ]
}

#[test]
fn a_create_of_something_else_than_was_approved_is_not_sent() {
    for then in unsent() {
        let phase = then.phase;
        let sent = |facts: Facts| match decide(&facts) {
            Step::Create => true,
            Step::Write(_, Change::Attempt) => phase == RunPhase::Rejected,
            _ => false,
        };
        assert!(sent(saying(entry(then.clone()), "good")));
        let changed = saying(entry(then), "EVIL").reading_absent(&name(2));
        let text = wanted(&changed);
        assert!(text.starts_with("2:m1:"), "the number is given: {text}");
        let ledger = written(&approving(changed.clone(), text.clone()), Change::Approve);
        let approved = ledger.current.clone().unwrap().approved.unwrap();
        assert_eq!(text, format!("2:{approved}"));
        assert!(sent(Facts {
            ledger: ledger.clone(),
            ..changed.clone()
        }));
        // By then the annotation may have its first value again.
        let back = Facts {
            ledger,
            ..saying(changed, "good")
        };
        wanted(&back);
    }
}

#[test]
fn a_run_that_may_have_been_made_is_looked_for_before_a_person_is_asked_about_it() {
    let changed = saying(entry(pending(2, "B")), "EVIL");
    assert_eq!(decide(&changed), Step::ReadRun(run_name(&name(2))));
    let landed = changed.reading_found(&name(2), running(run(2, "B")));
    let confirmed = written(&landed, Change::Confirm).current.unwrap();
    assert_eq!(confirmed.uid.as_deref(), Some(&*uid(2)));
}

#[test]
fn another_number_for_the_same_needs_no_other_yes() {
    let stranger = other(owned_by_another(run(2, "B")));
    let mut facts = saying(entry(pending(2, "B")), "good")
        .after(CreateOutcome::AlreadyExists)
        .reading_found(&name(2), running(stranger.clone()));
    facts.unknown_runs.insert(stranger.uid);
    let ledger = written(&facts, Change::Renumber);
    let next = Facts {
        created: None,
        ledger,
        ..facts
    };
    assert_eq!(decide(&next), Step::Create);
}

#[test]
fn a_profile_is_approved_by_what_it_makes_and_one_that_was_made_anew_is_another() {
    let text = wanted(&due("good"));
    let with = |profile: KnownProfile| approving(due("good"), text.clone()).knowing([profile]);
    let edited = KnownProfile {
        version: profile("a", 7, json!({})).version,
        ..reading()
    };
    assert_eq!(intended(&with(edited)), (3, hash("B")));
    let anew = KnownProfile {
        uid: "second".to_owned(),
        ..reading()
    };
    assert_ne!(wanted(&with(anew)), text);
    let mut other = reading();
    other.version.name = "b".to_owned();
    assert_ne!(wanted(&with(other)), text);
}

#[test]
fn what_began_when_nobody_had_to_approve_it_is_asked_about_where_more_than_its_document_counts() {
    let pinned = || PinnedProfile {
        name: "a".to_owned(),
        ..PinnedProfile::default()
    };
    let before = with(pending(2, "B"), "B").pinned_to(pinned());
    let asked = saying(before, "good").reading_absent(&name(2));
    assert!(wanted(&asked).starts_with("2:m1:"));
}

#[test]
fn the_hash_of_what_is_made_of_a_selected_secret_takes_its_uid_to_guess() {
    let with_pin = |uid: &str| {
        let mut facts = due("good");
        let selected =
            json!({ "kind": "Secret", "metadata": { "uid": uid }, "data": { "pin": "1234" } });
        let runnable = json!({ "metadata": { "annotations": { "arg": "good" } }, "spec": {} });
        let context = Context::new(&runnable, Some(&selected)).unwrap();
        facts.rendering.as_mut().unwrap().context = Arc::new(context);
        wanted(&facts)
    };
    assert_ne!(with_pin("a"), with_pin("b"));
    assert_ne!(with_pin("a"), wanted(&due("good")));
}
