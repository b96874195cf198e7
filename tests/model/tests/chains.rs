//! A bounded check of every configuration of chains, and of every mutant.

use cartouche_model::{
    chain::{Chain, catalogue, setup::Setup},
    explore::{Finding, Limits, explore},
};

/// States of each configuration; `just model` explores more.
const STATES: usize = 30_000;

fn explored(setup: Setup) -> Finding<Chain> {
    let limits = Limits {
        states: STATES,
        threads: 1,
    };
    explore(setup, limits)
}

#[test]
fn each_link_of_a_chain_runs_once_for_what_is_there_or_says_why_not() {
    for setup in catalogue::configurations() {
        let found = explored(setup);
        assert!(
            found.broken.is_empty(),
            "{}: {:?} is broken",
            found.name,
            found.broken
        );
        assert!(found.states > 10, "{} hardly did anything", found.name);
    }
}

#[test]
fn every_mutant_of_a_chain_is_found() {
    for (setup, property) in catalogue::mutants() {
        let found = explored(setup);
        let broken = &found.broken;
        assert!(
            broken.contains(&property),
            "{}: {broken:?} is broken, and {property} is not",
            found.name
        );
    }
}

#[test]
fn the_page_on_reliability_says_how_many_configurations_and_mutants_of_chains_there_are() {
    let page = include_str!("../../../docs/reliability.md");
    let said = [
        format!(
            "{} configurations of chains",
            catalogue::configurations().len()
        ),
        format!("{} mutants of chains", catalogue::mutants().len()),
    ];
    for said in said {
        assert!(page.contains(&said), "it lacks: {said}");
    }
}
