//! A bounded check of every configuration of sinks, and of every mutant.

use cartouche_model::{
    explore::{Finding, Limits, explore},
    sink::{SinkModel, catalogue, model::Setup},
};

/// States of each configuration; `just model` explores more.
const STATES: usize = 30_000;

fn explored(setup: Setup) -> Finding<SinkModel> {
    let limits = Limits {
        states: STATES,
        threads: 1,
    };
    explore(setup, limits)
}

#[test]
fn a_sink_never_goes_back_is_never_anothers_and_follows_in_the_end() {
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
fn every_mutant_of_a_sink_is_found() {
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
fn the_page_on_reliability_says_how_many_configurations_and_mutants_of_sinks_there_are() {
    let page = include_str!("../../../docs/reliability.md");
    let said = [
        format!(
            "{} configurations of sinks",
            catalogue::configurations().len()
        ),
        format!("{} mutants of sinks", catalogue::mutants().len()),
    ];
    for said in said {
        assert!(page.contains(&said), "it lacks: {said}");
    }
}
