//! A bounded check of every configuration, and of every mutant.

use std::thread;

use cartouche_model::{
    catalogue,
    configuration::Configuration,
    explore::{Finding, Limits, explore},
};

/// Number of states of each configuration; `just model` explores more.
const STATES: usize = 4_000;
/// Number of configurations that are explored at once.
const THREADS: usize = 4;
/// The mutant that hides longest shows after 96,000 different ones.
const STATES_TO_A_MUTANT: usize = 400_000;

fn explored(setup: Configuration, states: usize) -> Finding {
    explore(setup, Limits { states, threads: 1 })
}

#[test]
fn nothing_is_made_twice_or_lost_in_any_order_of_faults() {
    for_each(&catalogue::configurations(), assert_holds);
}

/// Checks every setup, several at once. Neighbours take alike long, so each thread gets some of all.
fn for_each(setups: &[Configuration], check: fn(&Configuration)) {
    thread::scope(|scope| {
        for first in 0..THREADS {
            let share = setups.iter().skip(first).step_by(THREADS);
            scope.spawn(move || share.for_each(check));
        }
    });
}

fn assert_holds(setup: &Configuration) {
    let found = explored(setup.clone(), STATES);
    let is_unknown = |broken: &&&str| !setup.known.contains(*broken);
    let unknown: Vec<_> = found.broken.iter().filter(is_unknown).collect();
    assert!(unknown.is_empty(), "{}: {unknown:?} is broken", found.name);
    assert!(found.states > 100, "{} hardly did anything", found.name);
}

#[test]
fn the_page_on_testing_says_how_many_configurations_and_mutants_there_are() {
    let page = include_str!("../../../docs/internals/testing.md");
    let (configurations, mutants) = (catalogue::configurations(), catalogue::mutants());
    let said = [
        format!("{} configurations", configurations.len()),
        format!("{} mutants", mutants.len()),
    ];
    for said in said {
        assert!(page.contains(&said), "it lacks: {said}");
    }
}

#[test]
fn every_mutant_is_found() {
    for_each(&catalogue::mutants(), |setup| {
        let found = explored(setup.clone(), STATES_TO_A_MUTANT);
        assert!(!found.broken.is_empty(), "it is not found: {}", found.name);
    });
}
