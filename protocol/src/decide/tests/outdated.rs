//! Under definitions of an older release no run begins, and existing runs are followed.

use cartouche_crds::RunResult;
use serde_json::json;

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide, decide_without_rendering},
    facts::Facts,
    ledger::{Change, tests::sample::*},
    messages::reconcile_error::Requeue,
    newer_release,
};

fn outdated(mut facts: Facts) -> Facts {
    facts.definitions = Some(newer_release::outdated_error(
        "old",
        "apply",
        Requeue::OnChange,
    ));
    facts
}

#[test]
fn nothing_that_would_make_a_run_makes_one() {
    for facts in making_a_run() {
        is_about_to_make_a_run(&facts);
        stuck(&outdated(facts), Category::DefinitionsOutdated);
    }
}

#[test]
fn a_create_that_may_have_been_sent_before_is_looked_for_and_its_run_confirmed() {
    let mut entry = pending(2, "A");
    entry.attempted = true;
    let facts = outdated(with(entry, "A"));
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let found = facts.clone().reading_found(&name(2), running(run(2, "A")));
    assert!(matches!(decide(&found), Step::Write(_, Change::Confirm)));
    stuck(
        &facts.reading_absent(&name(2)),
        Category::DefinitionsOutdated,
    );
}

#[test]
fn what_has_run_is_settled_and_results_are_recorded() {
    let ended = outdated(with(ended(1, "A", RunResult::Succeeded), "A").fresh());
    assert_eq!(decide(&ended), Step::Settled);
    let facts = outdated(with(created(2, "A"), "B").fresh())
        .reading_found(&name(2), succeeded(run(2, "A"), "x"));
    stuck(&facts, Category::DefinitionsOutdated);
    assert!(matches!(
        decide_without_rendering(&facts),
        Step::Write(_, Change::Record)
    ));
}

#[test]
fn no_profile_with_a_field_of_a_newer_release_is_used_or_passed_over() {
    let newer = || profile("newer", 1, json!({ "rules": [{ "clusters": ["b"] }] }));
    let due = || new_runnable("A").fresh().listing(vec![], &[]);
    stuck(&due().knowing([newer()]), Category::NewerRelease);
    let both = [newer(), for_template("plain")];
    stuck(&due().knowing(both), Category::NewerRelease);
    let both = [newer(), for_template("plain")];
    let kept = due().pinned_to(pin("plain", None)).knowing(both);
    assert!(matches!(decide(&kept), Step::Write(_, Change::Intent)));
    let pinned = due().pinned_to(pin("newer", None)).knowing([newer()]);
    stuck(&pinned, Category::NewerRelease);
    let none = profile(
        "newer",
        1,
        json!({ "rules": [{ "templates": ["other"], "clusters": ["b"] }] }),
    );
    assert!(matches!(
        decide(&due().knowing([none])),
        Step::Write(_, Change::Intent)
    ));
}
