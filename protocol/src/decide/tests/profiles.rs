//! The profile of a run is fixed before its number is given, and stays until a user asks for a new
//! choice.

use cartouche_crds::{ApprovalPolicy, PinnedProfile, RunResult};
use serde_json::json;

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, Waiting, decide, decide_without_rendering},
    facts::Facts,
    ledger::{Change, tests::sample::*},
    messages::reconcile_error::Requeue,
};

/// A pending change: the first run, and one after a change.
fn due() -> [Facts; 2] {
    let changed = with(ended(2, "A", RunResult::Succeeded), "B");
    [new_runnable("B").fresh(), changed.fresh()]
}

/// The run for what is rendered has ended, and was made with this profile.
fn done_with(name: &str) -> Facts {
    with(ended(2, "A", RunResult::Succeeded), "A").pinned_to(pin(name, None))
}

/// The same, and something else is rendered since.
fn due_with(name: &str) -> Facts {
    let facts = with(ended(2, "A", RunResult::Succeeded), "B");
    facts.fresh().pinned_to(pin(name, None))
}

fn pinned_by_intent(facts: &Facts) -> Option<PinnedProfile> {
    let ledger = written(facts, Change::Intent);
    ledger.profile.map(|pinned| *pinned)
}

#[test]
fn the_profile_that_matches_best_is_written_with_the_number() {
    for facts in due() {
        let facts = facts.knowing([for_all("a"), for_template("b"), for_none("c")]);
        let facts = facts.listing(vec![], &[]);
        assert_eq!(pinned_by_intent(&facts), Some(pin("b", None)));
        let asked = facts.asking_to_refresh("1");
        assert_eq!(pinned_by_intent(&asked), Some(pin("b", Some("1"))));
    }
}

#[test]
fn where_no_profile_is_for_it_a_run_is_made_without_one() {
    for facts in due() {
        let facts = facts.knowing([for_none("a")]).listing(vec![], &[]);
        assert_eq!(pinned_by_intent(&facts), None);
    }
}

#[test]
fn a_tie_holds_before_a_number_is_given_and_names_all() {
    for facts in due() {
        let tied = facts.clone().knowing([for_all("b"), for_all("a")]);
        let error = stuck(&tied, Category::ProfileAmbiguous);
        let told = "the profiles 'a', 'b' match with the same rank";
        assert!(error.message.starts_with(told), "{error:?}");
        assert_eq!(error.requeue, Requeue::OnChange);
        let mut settled = tied.listing(vec![], &[]);
        settled.runnable.profile_name = Some("b".to_owned());
        assert_eq!(pinned_by_intent(&settled), Some(pin("b", None)));
    }
}

#[test]
fn what_a_profile_does_not_fit_is_said_before_a_number_is_given() {
    let patch = |patch| json!({ "apiVersion": API_VERSION, "kind": KIND, "patch": patch });
    for patch in [
        patch(json!({ "spec": { "size": "$(runnable.spec.inputs.size)$" } })),
        patch(json!({ "metadata": { "name": "mine" } })),
    ] {
        let misfit = || profile("a", 1, json!({ "rules": [{}], "patches": [patch.clone()] }));
        for facts in due() {
            let error = stuck(&facts.knowing([misfit()]), Category::ProfileDoesNotFit);
            assert!(error.message.contains("\"a\" does not fit"), "{error:?}");
            assert_eq!(error.requeue, Requeue::OnChange);
        }
    }
}

#[test]
fn a_template_that_requires_a_profile_makes_no_run_without_one() {
    for mut facts in due() {
        if let Ok(rendering) = &mut facts.rendering {
            rendering.needs_profile = true;
        }
        let without = facts.clone().knowing([for_none("a")]);
        let error = stuck(&without, Category::ProfileNotFound);
        assert!(
            error.message.contains("the template requires one"),
            "{error:?}"
        );
        let facts = facts.knowing([for_all("a")]).listing(vec![], &[]);
        assert_eq!(pinned_by_intent(&facts), Some(pin("a", None)));
    }
}

#[test]
fn while_a_rule_selects_namespaces_a_first_choice_waits_for_the_labels_of_its_own() {
    let by_namespace = || profile("a", 1, json!({ "rules": [{ "namespaceSelector": {} }] }));
    let unknown = |facts: Facts| {
        let mut facts = facts.knowing([by_namespace(), for_all("b")]);
        facts.profiles.namespace_labels = None;
        facts
    };
    for facts in due() {
        assert_eq!(
            decide(&unknown(facts.clone())),
            Step::Wait(Waiting::FirstList)
        );
        let known = facts.knowing([by_namespace()]).listing(vec![], &[]);
        assert_eq!(pinned_by_intent(&known), Some(pin("a", None)));
    }
    let asked = unknown(done_with("b")).asking_to_refresh("1");
    assert_eq!(decide(&asked), Step::Wait(Waiting::FirstList));
    // A pin needs no choice; a name that only a run gives does.
    assert_eq!(
        pinned_by_intent(&unknown(due_with("b"))),
        Some(pin("b", None))
    );
    let from_run = PinnedProfile {
        from_run: true,
        ..pin("b", None)
    };
    let lost = unknown(due_with("b").pinned_to(from_run));
    assert_eq!(decide(&lost), Step::Wait(Waiting::FirstList));
}

#[test]
fn nothing_is_done_about_profiles_that_change_while_no_run_is_due() {
    let edited = profile("a", 7, json!({ "rules": [], "values": { "x": 1 } }));
    for profiles in [
        vec![for_all("a")],
        vec![edited],
        vec![for_none("a"), for_template("b")],
        vec![for_all("a"), for_all("b")],
        vec![],
    ] {
        let facts = done_with("a").knowing(profiles);
        assert_eq!(decide(&facts), Step::Settled);
    }
}

#[test]
fn the_next_run_is_made_with_the_profile_of_the_one_before_whatever_rules_say() {
    for profiles in [
        vec![for_none("a"), for_template("b")],
        vec![for_none("a"), for_all("b"), for_all("c")],
    ] {
        let facts = due_with("a").knowing(profiles);
        assert_eq!(pinned_by_intent(&facts), Some(pin("a", None)));
    }
}

#[test]
fn a_refresh_while_nothing_is_due_is_one_write_of_the_pin_and_no_run() {
    let asked = done_with("old").knowing([for_all("old"), for_template("new")]);
    let mut asked = asked.asking_to_refresh("1");
    let ledger = written(&asked, Change::Refresh);
    assert_eq!(ledger.profile.as_deref(), Some(&pin("new", Some("1"))));
    assert_eq!(ledger.current, asked.ledger.current);
    asked.ledger = ledger;
    assert_eq!(decide(&asked.stored_as_reported()), Step::Settled);
}

#[test]
fn a_refresh_waits_for_a_run_on_its_way_which_is_made_with_the_profile_of_its_entry() {
    let pending = with(pending(2, "A"), "A").pinned_to(pin("old", None));
    let pending = pending.knowing([for_all("old"), for_template("new")]);
    assert_eq!(decide(&pending.asking_to_refresh("1")), Step::Create);
}

#[test]
fn a_refresh_while_a_run_is_due_is_written_with_its_number() {
    let asked = due_with("old").knowing([for_all("old"), for_template("new")]);
    let asked = asked.asking_to_refresh("1");
    assert_eq!(pinned_by_intent(&asked), Some(pin("new", Some("1"))));
}

#[test]
fn a_refresh_that_cannot_be_followed_says_why_and_the_pin_stays() {
    for (others, why) in [
        (vec![], "none matches"),
        (
            vec![for_all("a"), for_all("b")],
            "the profiles 'a', 'b' match with the same rank",
        ),
    ] {
        let there = || others.iter().cloned().chain([for_none("old")]);
        let asked = done_with("old").knowing(there()).asking_to_refresh("1");
        let error = stuck(&asked, Category::ProfileNotRefreshed);
        let told = format!("no other profile can be chosen: {why}");
        assert!(error.message.starts_with(&told), "{error:?}");
        // It holds no run, and no run repeats it.
        let due = due_with("old").knowing(there()).asking_to_refresh("1");
        assert_eq!(pinned_by_intent(&due), Some(pin("old", None)));
    }
}

#[test]
fn a_profile_that_is_deleted_holds_new_runs_until_it_is_back_or_another_is_chosen() {
    let gone = due_with("a").knowing([for_all("b")]);
    let error = stuck(&gone, Category::ProfileNotFound);
    assert!(
        error.message.starts_with("its profile 'a' does not exist"),
        "{error:?}"
    );
    let asked = gone.clone().asking_to_refresh("1");
    assert_eq!(pinned_by_intent(&asked), Some(pin("b", Some("1"))));
    let back = gone.knowing([for_none("a"), for_all("b")]);
    assert_eq!(pinned_by_intent(&back), Some(pin("a", None)));
}

#[test]
fn a_run_that_was_made_is_confirmed_although_its_profile_is_gone_or_does_not_fit_any_more() {
    let misfit = || {
        let patch = json!({ "apiVersion": API_VERSION, "kind": KIND, "patch": { "metadata": { "name": "x" } } });
        profile("a", 2, json!({ "patches": [patch] }))
    };
    for profiles in [vec![], vec![misfit()]] {
        let unseen = with(pending(2, "A"), "A").pinned_to(pin("a", None));
        let unseen = unseen.knowing(profiles);
        assert_eq!(decide(&unseen), Step::Create, "which says why it fails");
        let seen = unseen.seeing(seen(&running(run(2, "A"))));
        for step in [decide, decide_without_rendering] {
            assert_eq!(step(&seen), Step::ReadRun(run_name(&name(2))));
            let read = seen.clone().reading_found(&name(2), running(run(2, "A")));
            let confirmed = step(&read);
            assert!(
                matches!(confirmed, Step::Write(_, Change::Confirm)),
                "{confirmed:?}"
            );
        }
    }
}

#[test]
fn what_only_a_run_says_counts_while_a_rule_matches_and_as_any_other_once_a_run_is_made_with_it() {
    let from_run = PinnedProfile {
        from_run: true,
        ..pin("a", Some("1"))
    };
    let lost = due_with("a").pinned_to(from_run);
    let matches = lost.clone().knowing([for_all("a"), for_template("b")]);
    assert_eq!(pinned_by_intent(&matches), Some(pin("a", Some("1"))));
    let none = lost.knowing([for_none("a"), for_template("b")]);
    let error = stuck(&none, Category::ProfileNotFound);
    assert!(
        error.message.starts_with("its status was lost"),
        "{error:?}"
    );
    let asked = none.asking_to_refresh("2");
    assert_eq!(pinned_by_intent(&asked), Some(pin("b", Some("2"))));
}

#[test]
fn nobody_is_asked_to_approve_what_no_profile_can_be_used_for() {
    let mut tied = due_with("a").knowing([]);
    tied.policy.approval = ApprovalPolicy::Manual;
    stuck(&tied, Category::ProfileNotFound);
    tied.runnable.suspended = true;
    stuck(&tied, Category::Suspended);
}
