//! The profile of runs: written with an intent, and found again.

use cartouche_crds::{PinnedProfile, ProfileVersion, RunResult};

use super::sample::*;
use crate::ledger::{Fate, Intent, Ledger, ListedRun, RunIdentity, RunProfile, rebuild};

fn pin(name: &str, refresh_token: Option<&str>) -> PinnedProfile {
    PinnedProfile {
        name: name.to_owned(),
        refresh_token: refresh_token.map(str::to_owned),
        from_run: false,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    }
}

/// A run that says which profile it was made with.
fn made_with(sequence: i64, profile: &str, refresh_token: Option<&str>) -> RunIdentity {
    let profile = RunProfile {
        version: ProfileVersion::parse(profile).unwrap(),
        refresh_token: refresh_token.map(str::to_owned),
    };
    RunIdentity {
        profile: Some(Box::new(profile)),
        ..run(sequence, "A")
    }
}

fn rebuilt(ledger: &Ledger, runs: &[RunIdentity]) -> Option<PinnedProfile> {
    let listed = runs.iter().map(|run| ListedRun {
        run,
        matches: false,
    });
    let listed: Vec<ListedRun<'_>> = listed.collect();
    let next = rebuild(ledger, &listed, RUNNABLE, None, None).unwrap();
    next.profile.map(|pinned| *pinned)
}

fn pinned(ledger: Ledger) -> Option<PinnedProfile> {
    ledger.profile.map(|pinned| *pinned)
}

#[test]
fn a_ledger_that_was_lost_has_the_pin_of_its_newest_run_and_says_that_only_that_says_it() {
    let runs = [
        made_with(2, "b@7", Some("again")),
        made_with(1, "a@1", None),
    ];
    let from_run = PinnedProfile {
        from_run: true,
        ..pin("b", Some("again"))
    };
    assert_eq!(rebuilt(&Ledger::default(), &runs), Some(from_run));
}

#[test]
fn a_newest_run_without_a_profile_pins_nothing_whatever_older_ones_say() {
    let runs = [made_with(1, "a@1", None), run(2, "A")];
    assert_eq!(rebuilt(&Ledger::default(), &runs), None);
}

#[test]
fn another_runnables_run_pins_nothing() {
    let stranger = RunIdentity {
        owner_uid: Some("another".to_owned()),
        ..made_with(5, "b@1", None)
    };
    let runs = [stranger, made_with(1, "a@1", None)];
    let pinned = rebuilt(&Ledger::default(), &runs).unwrap();
    assert_eq!(pinned.name, "a");
}

#[test]
fn a_ledger_that_only_went_back_keeps_its_own_pin() {
    let restored = ledger(ended(1, "A", RunResult::Succeeded), vec![]);
    let newer = [made_with(2, "b@1", Some("again"))];
    let before = restored.clone().with_profile(Some(pin("a", None)));
    assert_eq!(rebuilt(&before, &newer), Some(pin("a", None)));
    let unpinned = rebuilt(&restored, &newer).unwrap();
    assert!(unpinned.from_run && unpinned.name == "b", "{unpinned:?}");
}

#[test]
fn the_pin_is_written_with_the_number_and_stays_when_that_is_given_up_or_the_run_is_made() {
    let before = ledger(ended(1, "A", RunResult::Succeeded), vec![]);
    let before = before.with_profile(Some(pin("a", None)));
    let intent = Intent {
        profile: Some(pin("b", Some("again"))),
        ..intent("B")
    };
    let next = before.intend(intent, name, &Fate::Known, "", Some(at(100)));
    let chosen = Some(pin("b", Some("again")));
    assert_eq!(pinned(next.clone()), chosen);
    let renumbered = next
        .clone()
        .renumber(name, "other".to_owned(), 0, Some(at(100)));
    assert_eq!(pinned(renumbered), chosen);
    assert_eq!(pinned(next.clone().reject(true).attempt()), chosen);
    let made = RunIdentity {
        created: Some(at(100)),
        ..run(2, "B")
    };
    assert_eq!(pinned(next.confirm(&made).unwrap()), chosen);
}

#[test]
fn a_refresh_changes_the_pin_and_nothing_else() {
    let before = ledger(ended(2, "A", RunResult::Failed), vec![unfinished(1, "B")]);
    let before = before.with_profile(Some(pin("a", None)));
    let next = before.clone().with_profile(Some(pin("b", Some("again"))));
    assert_eq!(pinned(next.clone()), Some(pin("b", Some("again"))));
    let back = next.with_profile(Some(pin("a", None)));
    assert_eq!(back, before);
}
