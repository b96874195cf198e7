//! A bounded check of every configuration of chains, of sinks and of profiles, and of every mutant.

use cartouche_model::{
    chain::{self, Chain},
    explore::{Explored, Finding, Limits, explore},
    profile::{self, ProfileModel},
    sink::{self, SinkModel},
};

/// Number of states of each configuration; `just model` explores more.
const STATES: usize = 4_000;
/// The mutant that hides longest shows after 15,000 different ones.
const STATES_TO_A_MUTANT: usize = 100_000;

fn explored<M: Explored>(setup: M::Setup, states: usize) -> Finding<M> {
    explore(setup, Limits { states, threads: 1 })
}

fn assert_hold<M: Explored>(configurations: Vec<M::Setup>) {
    for setup in configurations {
        let found = explored::<M>(setup, STATES);
        assert!(
            found.broken.is_empty(),
            "{}: {:?} is broken",
            found.name,
            found.broken
        );
        assert!(found.states > 10, "{} hardly did anything", found.name);
    }
}

fn assert_found<M: Explored>(mutants: Vec<(M::Setup, &'static str)>) {
    for (setup, property) in mutants {
        let found = explored::<M>(setup, STATES_TO_A_MUTANT);
        let broken = &found.broken;
        assert!(
            broken.contains(&property),
            "{}: {broken:?} is broken, and {property} is not",
            found.name
        );
    }
}

fn assert_said(what: &str, configurations: usize, mutants: usize) {
    let page = include_str!("../../../docs/internals/testing.md");
    let said = [
        format!("{configurations} configurations of {what}"),
        format!("{mutants} mutants of {what}"),
    ];
    for said in said {
        assert!(page.contains(&said), "it lacks: {said}");
    }
}

#[test]
fn each_link_of_a_chain_runs_once_for_what_is_there_or_says_why_not() {
    assert_hold::<Chain>(chain::catalogue::configurations());
}

#[test]
fn every_mutant_of_a_chain_is_found() {
    assert_found::<Chain>(chain::catalogue::mutants());
}

#[test]
fn a_sink_never_goes_back_is_never_anothers_and_follows_in_the_end() {
    assert_hold::<SinkModel>(sink::catalogue::configurations());
}

#[test]
fn every_mutant_of_a_sink_is_found() {
    assert_found::<SinkModel>(sink::catalogue::mutants());
}

#[test]
fn a_profile_stays_until_somebody_asks_and_runs_are_made_with_the_one_that_was_written_down() {
    assert_hold::<ProfileModel>(profile::catalogue::configurations());
}

#[test]
fn every_mutant_of_a_profile_is_found() {
    assert_found::<ProfileModel>(profile::catalogue::mutants());
}

#[test]
fn the_page_on_testing_says_how_many_configurations_and_mutants_of_each_there_are() {
    use {chain::catalogue as chains, profile::catalogue as profiles, sink::catalogue as sinks};
    let (configurations, mutants) = (chains::configurations(), chains::mutants());
    assert_said("chains", configurations.len(), mutants.len());
    let (configurations, mutants) = (sinks::configurations(), sinks::mutants());
    assert_said("sinks", configurations.len(), mutants.len());
    let (configurations, mutants) = (profiles::configurations(), profiles::mutants());
    assert_said("profiles", configurations.len(), mutants.len());
}
