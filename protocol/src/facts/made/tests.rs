//! Documents that are sent, and their recognition in runs.

#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

use cartouche_crds::{CurrentRun, RunResult, Stop, StopMethod, StopReason};
use cartouche_engines::kinds::StopRequest;
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde_json::{Value, json};

use crate::{
    category::Category,
    decide::tests::scene::*,
    facts::Facts,
    ledger::{Change, Ledger, RunIdentity, UNKNOWN_HASH, tests::sample::*},
    profiles::KnownProfile,
};

/// A profile that sets the size of its runs and gives a value for `place`.
fn sizing(name: &str, generation: i64, size: &str) -> KnownProfile {
    let patch =
        json!({ "apiVersion": API_VERSION, "kind": KIND, "patch": { "spec": { "size": size } } });
    let spec = json!({ "rules": [{}], "patches": [patch], "values": { "place": name } });
    profile(name, generation, spec)
}

/// The document that is sent for the current entry.
fn made_for(facts: &Facts) -> Value {
    let rendering = facts.rendering.as_ref().unwrap();
    let current = facts.ledger.current.as_ref().unwrap();
    let made = facts.made_for(rendering, current).unwrap();
    made.document().clone()
}

/// The document that would be sent for the next number.
fn made_next(facts: &Facts) -> Value {
    let rendering = facts.rendering.as_ref().unwrap();
    let pinned = facts.ledger.profile.as_deref();
    let made = facts.made_next(rendering, &facts.ledger, pinned).unwrap();
    made.document().clone()
}

const OPEN: &str = "$(run.name)$ $(run.sequence)$ $(run.inputHash)$";

#[test]
fn what_has_no_open_tags_and_no_profile_is_sent_as_it_is_rendered() {
    let facts = with(pending(2, "A"), "A");
    assert_eq!(made_for(&facts), *document("A").document());
    assert_eq!(made_next(&facts), *document("A").document());
}

#[test]
fn open_tags_name_the_run_that_is_made() {
    let facts = with(pending(2, OPEN), OPEN);
    let named = |sequence| format!("{} {sequence} {}", name(sequence), hash(OPEN));
    assert_eq!(made_for(&facts)["spec"]["input"], named(2));
    assert_eq!(made_next(&facts)["spec"]["input"], named(3));
    // The name of a run may differ from that of its number.
    let renamed = CurrentRun {
        name: "other".to_owned(),
        ..pending(2, OPEN)
    };
    let input = made_for(&with(renamed, OPEN))["spec"]["input"].clone();
    assert_eq!(input, format!("other 2 {}", hash(OPEN)));
}

#[test]
fn open_tags_of_a_profile_name_the_run_too_and_a_template_reads_its_values() {
    let read = "$(profile.values.place)$";
    let facts = with(pending(2, read), read).pinned_to(pin("a", None));
    let facts = facts.knowing([sizing("a", 1, "$(run.sequence)$")]);
    let spec = |sequence: i64| json!({ "input": "a", "size": sequence });
    assert_eq!(made_for(&facts)["spec"], spec(2));
    assert_eq!(made_next(&facts)["spec"], spec(3));
}

/// The first run answers the request; the next does not ask for it again.
#[test]
fn the_request_in_an_open_tag_is_the_one_that_the_run_answers() {
    let read = "$(run.rerunToken)$";
    let asked = |facts: Facts| facts.fresh().asking("again");
    let due = asked(with(ended(2, read, RunResult::Succeeded), read));
    let next = written(&due, Change::Intent);
    let looked_ahead = made_next(&due);
    let intended = asked(facts(next, read));
    assert_eq!(looked_ahead["spec"]["input"], "again");
    assert_eq!(made_for(&intended), looked_ahead);
    let mut answered = intended;
    let current = answered.ledger.current.take().unwrap();
    answered.ledger.current = Some(CurrentRun {
        rerun_token: current.rerun_token,
        ..ended(3, read, RunResult::Succeeded)
    });
    let unanswered = |facts: &Facts| {
        let rendering = facts.rendering.as_ref().unwrap();
        let made = facts.made_next(rendering, &facts.ledger, None);
        made.unwrap_err().category
    };
    assert_eq!(unanswered(&answered), Category::TemplateStampFailure);
    let mut earlier = asked(with(ended(4, read, RunResult::Succeeded), read));
    earlier.ledger.answered_token = Some("again".to_owned());
    assert_eq!(unanswered(&earlier), Category::TemplateStampFailure);
    // A request that returns after another one asks once more.
    let other = CurrentRun {
        rerun_token: Some("other".to_owned()),
        ..ended(5, read, RunResult::Succeeded)
    };
    let mut back = asked(with(other, read));
    back.ledger.answered_token = Some("again".to_owned());
    let looked_ahead = made_next(&back);
    assert_eq!(looked_ahead["spec"]["input"], "again");
    let next = written(&back, Change::Intent);
    assert_eq!(made_for(&asked(facts(next, read))), looked_ahead);
}

#[test]
fn what_is_looked_at_before_a_number_is_given_is_what_is_sent_for_it() {
    for sequence in [1, 7] {
        let due = with(ended(sequence, "A", RunResult::Succeeded), OPEN).fresh();
        let due = due.knowing([sizing("a", 1, "$(run.name)$")]);
        let ledger = written(&due, Change::Intent);
        let looked_ahead = made_next(&Facts {
            ledger: Ledger {
                profile: ledger.profile.clone(),
                ..due.ledger.clone()
            },
            ..due.clone()
        });
        let sent = made_for(&Facts { ledger, ..due });
        assert_eq!(sent, looked_ahead);
        assert_eq!(sent["spec"]["size"], name(sequence + 1));
    }
}

#[test]
fn a_create_that_is_repeated_is_made_with_the_profile_of_its_entry_as_it_is_now() {
    let entry = || with(pending(2, "A"), "A").pinned_to(pin("a", None));
    let better = || profile("b", 1, json!({ "rules": [{ "templates": ["t"] }] }));
    let edited = entry().knowing([sizing("a", 2, "large"), better()]);
    assert_eq!(made_for(&edited)["spec"]["size"], "large");
    let asked = edited.asking_to_refresh("1");
    assert_eq!(made_for(&asked)["spec"]["size"], "large");
}

#[test]
fn a_profile_that_is_deleted_or_does_not_fit_any_more_holds_the_create_of_its_entry() {
    let pending = with(pending(2, "A"), "A").pinned_to(pin("a", None));
    let refused = |profiles: Vec<KnownProfile>| {
        let facts = pending.clone().knowing(profiles);
        let rendering = facts.rendering.as_ref().unwrap();
        let current = facts.ledger.current.as_ref().unwrap();
        facts.made_for(rendering, current).unwrap_err().category
    };
    assert_eq!(refused(vec![for_all("b")]), Category::ProfileNotFound);
    let misfit = sizing("a", 2, "$(runnable.spec.inputs.size)$");
    assert_eq!(refused(vec![misfit]), Category::ProfileDoesNotFit);
}

/// A ledger whose hash does not identify the document of the current run.
fn taken_over(profiles: impl IntoIterator<Item = KnownProfile>) -> Facts {
    let unknown = CurrentRun {
        input_hash: UNKNOWN_HASH.to_owned(),
        ..created(2, "A")
    };
    with(unknown, "A").knowing(profiles)
}

/// A run with this profile annotation and this `spec`.
fn found(profile: Option<&str>, spec: Value) -> (RunIdentity, Value) {
    let owner = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": "r", "uid": RUNNABLE, "controller": true,
    });
    let mut object = json!({
        "apiVersion": API_VERSION, "kind": KIND, "spec": spec,
        "metadata": {
            "name": name(2), "uid": uid(2), "ownerReferences": [owner],
            "labels": { "carto.run/runnable-name": "r", "carto.run/run-sequence": "2" },
        },
    });
    if let Some(profile) = profile {
        object["metadata"]["annotations"] = json!({ "carto.run/profile": profile });
    }
    (RunIdentity::from_object(&object).unwrap(), object)
}

fn contains(facts: &Facts, profile: Option<&str>, spec: Value) -> bool {
    let (run, object) = found(profile, spec);
    facts.contains_rendered(&run, &object)
}

#[test]
fn a_run_made_with_a_profile_contains_what_is_rendered_if_it_is_what_that_makes_of_it() {
    // The profile replaces the rendered input.
    let patch = json!({ "apiVersion": API_VERSION, "kind": KIND, "patch": { "spec": { "input": "$(run.sequence)$" } } });
    let facts = taken_over([profile("a", 3, json!({ "patches": [patch] }))]);
    assert!(contains(&facts, Some("a@3"), json!({ "input": 2 })));
    assert!(!contains(&facts, Some("a@3"), json!({ "input": 3 })));
    assert!(!contains(&facts, None, json!({ "input": 2 })));
}

#[test]
fn a_run_of_another_generation_of_its_profile_or_of_one_that_is_gone_counts_as_the_same() {
    for profiles in [vec![sizing("a", 3, "small")], vec![]] {
        let facts = taken_over(profiles);
        assert!(contains(&facts, Some("a@2"), json!({ "input": "B" })));
        assert!(!contains(&facts, None, json!({ "input": "B" })));
    }
}

#[test]
fn a_run_without_a_profile_is_compared_without_one_whatever_matches_today() {
    let facts = taken_over([sizing("a", 1, "small")]).pinned_to(pin("a", None));
    assert!(contains(&facts, None, json!({ "input": "A" })));
    assert!(!contains(
        &facts,
        None,
        json!({ "input": "B", "size": "small" })
    ));
}

#[test]
fn what_a_stop_has_changed_in_a_run_makes_it_no_other_one() {
    let patch = json!({ "input": "$(run.sequence)$", "play": "go" });
    let patch = json!({ "apiVersion": API_VERSION, "kind": KIND, "patch": { "spec": patch } });
    let mut facts = taken_over([profile("a", 3, json!({ "patches": [patch] }))]);
    let stop = |facts: &Facts, spec: Value| {
        let stop = StopMethod {
            merge_patch: Some(json!({ "spec": spec })),
            delete: None,
        };
        let mut facts = facts.clone();
        facts.policy.stop = Some(StopRequest::of_method(&stop).unwrap());
        facts
    };
    // The run looks stopped and never was.
    let at_work = stop(&facts, json!({ "input": "stopped" }));
    assert!(!contains(&at_work, None, json!({ "input": "stopped" })));
    let current = facts.ledger.current.as_mut().unwrap();
    current.stop = Some(Stop::new(StopReason::TimedOut, Time(Timestamp::UNIX_EPOCH)));
    let by_input = stop(&facts, json!({ "input": "stopped" }));
    assert!(contains(&by_input, None, json!({ "input": "stopped" })));
    assert!(!contains(&by_input, None, json!({ "input": "B" })));
    let by_play = stop(&facts, json!({ "play": "stop" }));
    let made = |sequence: i64| json!({ "input": sequence, "play": "stop" });
    assert!(contains(&by_play, Some("a@3"), made(2)));
    assert!(!contains(&by_play, Some("a@3"), made(3)));
    assert!(!contains(&by_play, None, json!({ "input": "stopped" })));
}

#[test]
fn nothing_is_compared_where_the_hash_says_it() {
    let facts = with(created(2, "A"), "A").knowing([]);
    assert!(!contains(&facts, None, json!({ "input": "A" })));
    assert!(!contains(&facts, Some("a@1"), json!({ "input": "A" })));
}
