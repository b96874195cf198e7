//! Changes upstream that are on their way.

use cartouche_crds::conditions::follows_upstream;

use super::*;
use crate::{
    facts::Dependencies,
    messages::diagnosis::{Busy, NotReady},
    sources::Readiness,
    trace::SourceKey,
};

/// Facts of a run that has succeeded, with these sources.
fn facts_of(why: NotReady) -> Facts {
    let mut facts = read(&succeeded(run(2, "A"), "1"));
    facts.dependencies = Dependencies {
        has_sources: true,
        readiness: Readiness::NotReady(SourceKey::runnable("shop", "build"), why),
        ..Dependencies::default()
    };
    facts
}

#[test]
fn a_runnable_at_rest_says_that_a_source_is_about_to_change() {
    for why in [
        NotReady::Busy(Busy::Changed),
        NotReady::Busy(Busy::AtWork),
        NotReady::Busy(Busy::TriedAgain),
        NotReady::Busy(Busy::Waits("DependencyNotReady".to_owned())),
        NotReady::Behind,
    ] {
        let status = report(&facts_of(why.clone()), None);
        let expected = [
            "RunTemplateReady=True/Ready",
            "StampedObjectCondition=True/SucceededCondition",
            "Ready=True/Ready",
            "Reconciling=True/SourceChanging",
        ];
        assert_eq!(told(&status), expected, "{why:?}");
        assert!(
            message(&status, RECONCILING).starts_with("a Runnable upstream is about to change")
        );
        assert!(follows_upstream(&status));
    }
}

#[test]
fn what_is_on_its_way_is_said_in_the_same_words_until_it_has_arrived() {
    let mut facts = facts_of(NotReady::Busy(Busy::Changed));
    facts.stored = Arc::new(report(&facts, None));
    facts.dependencies.readiness =
        Readiness::NotReady(SourceKey::runnable("shop", "scan"), NotReady::Behind);
    assert_eq!(report(&facts, None), *facts.stored);
    facts.dependencies.readiness = Readiness::Ready(None);
    assert!(!follows_upstream(&report(&facts, None)));
}

#[test]
fn a_runnable_that_follows_nothing_says_nothing() {
    let still = |change: fn(&mut Facts)| {
        let mut facts = facts_of(NotReady::Busy(Busy::AtWork));
        change(&mut facts);
        facts
    };
    for facts in [
        facts_of(NotReady::ObjectNotReady),
        facts_of(NotReady::Suspended),
        facts_of(NotReady::Upstream),
        facts_of(NotReady::Busy(Busy::Hindered("SourceError".to_owned()))),
        facts_of(NotReady::Busy(Busy::Waits("ApprovalRequired".to_owned()))),
        still(|facts| facts.runnable.suspended = true),
        still(|facts| facts.runnable.deleting = true),
    ] {
        assert!(!follows_upstream(&report(&facts, None)));
    }
}
