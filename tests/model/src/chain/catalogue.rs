//! The checked configurations of chains, and those that reveal each mistake.

use cartouche_protocol::sources::WaitFor;

use super::{
    mutant::Mutant,
    setup::{Left, Setup, Shape},
};

fn diamond() -> Setup {
    Setup::default()
}

fn pair() -> Setup {
    Setup {
        shape: Shape::Pair,
        inputs: vec![0, 1, 0],
        ..Setup::default()
    }
}

fn failures(count: u8) -> Left {
    Left {
        failures: count,
        ..Left::default()
    }
}

/// Returns all configurations of the unmodified code.
#[must_use]
pub fn configurations() -> Vec<Setup> {
    let mut all = pairs();
    all.extend(lines());
    all.extend(changes());
    all.extend(faults());
    all
}

fn pairs() -> Vec<Setup> {
    vec![
        Setup {
            name: "chain.pair",
            workers: 2,
            left: failures(1),
            ..pair()
        },
        Setup {
            name: "chain.pair.new",
            has_run: false,
            workers: 2,
            inputs: vec![0, 1],
            left: failures(1),
            ..pair()
        },
        Setup {
            name: "chain.pair.lost",
            workers: 2,
            inputs: vec![0, 1],
            left: Left {
                reruns: 1,
                losses: 1,
                ..Left::default()
            },
            ..pair()
        },
    ]
}

/// Returns chains of one behind the other.
fn lines() -> Vec<Setup> {
    vec![
        Setup {
            name: "chain.line",
            ..shaped(Shape::Line, &[0, 1, 2], failures(1))
        },
        Setup {
            name: "chain.line.two",
            workers: 2,
            ..shaped(Shape::Line, &[0, 1], Left::default())
        },
    ]
}

/// Returns diamonds with changes of the input only.
fn changes() -> Vec<Setup> {
    vec![
        Setup {
            name: "chain.diamond",
            ..diamond()
        },
        Setup {
            name: "chain.diamond.two",
            workers: 2,
            ..diamond()
        },
        Setup {
            name: "chain.diamond.requests",
            workers: 2,
            by_requests: true,
            ..diamond()
        },
        Setup {
            name: "chain.diamond.back",
            inputs: vec![0, 1, 0],
            ..diamond()
        },
        Setup {
            name: "chain.diamond.unaffected",
            inputs: vec![1, 2],
            workers: 2,
            ..diamond()
        },
        Setup {
            name: "chain.diamond.both",
            inputs: vec![0, 1, 2],
            ..diamond()
        },
    ]
}

/// Returns diamonds with further faults.
fn faults() -> Vec<Setup> {
    let with = |name, inputs: &[u8], left| Setup {
        name,
        inputs: inputs.to_vec(),
        left,
        ..diamond()
    };
    let left = failures(1);
    let nothing = Left::default();
    let everything = Left {
        failures: 0,
        reruns: 1,
        suspensions: 1,
        losses: 1,
        edits: 1,
    };
    let suspended = Left {
        suspensions: 1,
        ..left
    };
    vec![
        Setup {
            has_run: false,
            ..with("chain.diamond.new", &[0, 1], left)
        },
        with("chain.diamond.fails", &[0, 1], failures(2)),
        with("chain.diamond.fails.back", &[0, 1, 0], left),
        with("chain.diamond.fails.unaffected", &[1, 2], failures(2)),
        Setup {
            wait_for: WaitFor::Succeeded,
            ..with("chain.diamond.succeeded", &[0, 1], suspended)
        },
        with("chain.diamond.suspended", &[0, 1, 2], suspended),
        with("chain.diamond.rerun", &[0, 1], Left { reruns: 2, ..left }),
        with("chain.diamond.lost", &[0, 1, 0], Left { losses: 1, ..left }),
        with(
            "chain.diamond.cycle",
            &[0, 1],
            Left {
                edits: 2,
                ..nothing
            },
        ),
        Setup {
            workers: 2,
            ..with(
                "chain.diamond.cycle.two",
                &[0, 1],
                Left {
                    edits: 1,
                    ..nothing
                },
            )
        },
        with("chain.diamond.everything", &[0, 1], everything),
    ]
}

/// Returns one configuration for each mistake, and the property that it breaks.
#[must_use]
pub fn mutants() -> Vec<(Setup, &'static str)> {
    let all = of_readiness().into_iter().chain(of_provenance());
    let named = |(name, property, mutant, setup)| {
        let setup = Setup {
            name,
            mutant,
            ..setup
        };
        (setup, property)
    };
    all.map(named).collect()
}

/// A mistake: its name, the property that it breaks, the mutant, and the configuration that reveals it.
type Mistake = (&'static str, &'static str, Mutant, Setup);

fn shaped(shape: Shape, inputs: &[u8], left: Left) -> Setup {
    Setup {
        shape,
        inputs: inputs.to_vec(),
        left,
        ..Setup::default()
    }
}

/// Mistakes in readiness, which holds a run back.
fn of_readiness() -> Vec<Mistake> {
    let edited = Left {
        edits: 1,
        ..Left::default()
    };
    vec![
        (
            "coherence unchecked",
            "C1",
            Mutant::CoherenceUnchecked,
            shaped(Shape::Diamond, &[0, 1], failures(1)),
        ),
        (
            "a value out of a cache at the intent",
            "fresh",
            Mutant::CachedValue,
            Setup {
                workers: 2,
                ..shaped(Shape::Pair, &[0, 1], Left::default())
            },
        ),
        (
            "settled whatever the generation",
            "held",
            Mutant::GenerationUnread,
            pair(),
        ),
        (
            "what is missing read as empty",
            "C2",
            Mutant::MissingIsEmpty,
            Setup {
                has_run: false,
                ..shaped(Shape::Pair, &[0], failures(1))
            },
        ),
        (
            "no more than sources and theirs are waited for",
            "held",
            Mutant::NearOnly,
            shaped(Shape::Line, &[0, 1, 2], Left::default()),
        ),
        (
            "a cycle unchecked",
            "C3",
            Mutant::CycleUnchecked,
            shaped(Shape::Diamond, &[0], edited),
        ),
    ]
}

/// Mistakes in provenance.
fn of_provenance() -> Vec<Mistake> {
    let nothing = Left::default();
    let rerun = Left {
        reruns: 1,
        ..nothing
    };
    let lost = |left| Left { losses: 1, ..left };
    vec![
        (
            "a revision is a number",
            "still",
            Mutant::RevisionByNumber,
            shaped(Shape::Pair, &[0], rerun),
        ),
        (
            "sources that moved stay as they were",
            "C5",
            Mutant::NoMovingOn,
            shaped(Shape::Diamond, &[1, 2], nothing),
        ),
        (
            "sources are written where nothing moved",
            "comes to rest",
            Mutant::AlwaysMoves,
            Setup {
                has_run: false,
                ..shaped(Shape::Pair, &[0], nothing)
            },
        ),
        (
            "late outputs said to be of what is there now",
            "C4",
            Mutant::LateOfPresent,
            pair(),
        ),
        (
            "what is not known read as nothing",
            "C4",
            Mutant::UnknownIsNothing,
            shaped(Shape::Diamond, &[0, 1], lost(failures(1))),
        ),
        (
            "found outputs said to be of what is there now",
            "C4",
            Mutant::RebuiltOfPresent,
            shaped(Shape::Pair, &[0, 1], lost(nothing)),
        ),
    ]
}
