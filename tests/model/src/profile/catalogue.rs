//! The checked configurations of profiles, and those that reveal each mistake.

use super::{
    model::Setup,
    mutant::Mutant,
    world::{Left, Rule},
};

/// One profile for every Runnable, and one that is for none yet.
const ONE: [Option<Rule>; 2] = [Some(Rule::Anybody), Some(Rule::Nobody)];

fn setup(name: &'static str, workers: usize, left: Left) -> Setup {
    Setup {
        name,
        rules: ONE,
        workers,
        left,
        approval: false,
        mutant: Mutant::None,
    }
}

/// Returns a configuration in which each run needs approval. The user approves at any moment what would be
/// made then.
fn guarded(name: &'static str, workers: usize, left: Left) -> Setup {
    Setup {
        approval: true,
        ..setup(name, workers, left)
    }
}

fn approved(approvals: u8, profiles: u8) -> Left {
    Left {
        approvals,
        ..changes(profiles)
    }
}

fn changes(profiles: u8) -> Left {
    Left {
        profiles,
        ..Left::default()
    }
}

/// Returns all configurations of the unmodified code.
#[must_use]
pub fn configurations() -> Vec<Setup> {
    let none = Setup {
        rules: [None, None],
        ..setup(
            "profile.none-at-first",
            1,
            Left {
                inputs: 1,
                requests: 1,
                ..changes(2)
            },
        )
    };
    let mut all = vec![
        setup("profile.two-workers", 2, changes(1)),
        setup(
            "profile.two-workers.refreshed",
            2,
            Left {
                requests: 1,
                ..changes(1)
            },
        ),
        setup(
            "profile.edited",
            1,
            Left {
                inputs: 1,
                ..changes(3)
            },
        ),
        setup(
            "profile.crashes",
            1,
            Left {
                crashes: 2,
                inputs: 1,
                ..changes(1)
            },
        ),
        setup(
            "profile.no-answer",
            2,
            Left {
                crashes: 1,
                ..changes(1)
            },
        ),
        setup(
            "profile.refreshed",
            1,
            Left {
                requests: 2,
                inputs: 1,
                ..changes(1)
            },
        ),
        setup(
            "profile.refreshed-in-a-crash",
            1,
            Left {
                requests: 1,
                crashes: 1,
                ..changes(2)
            },
        ),
        setup(
            "profile.status-lost",
            1,
            Left {
                wipes: 1,
                inputs: 1,
                ..changes(2)
            },
        ),
        setup(
            "profile.status-lost-in-a-crash",
            1,
            Left {
                wipes: 1,
                inputs: 1,
                crashes: 1,
                ..changes(1)
            },
        ),
        setup(
            "profile.status-lost-and-refreshed",
            1,
            Left {
                wipes: 1,
                inputs: 1,
                requests: 1,
                ..changes(1)
            },
        ),
        none,
    ];
    all.extend(of_approvals());
    all
}

/// Returns those in which a profile changes after an approval.
fn of_approvals() -> [Setup; 5] {
    [
        guarded("profile.approved", 1, approved(2, 2)),
        guarded(
            "profile.approved-and-changed",
            1,
            Left {
                inputs: 1,
                ..approved(2, 1)
            },
        ),
        guarded(
            "profile.approved-in-a-crash",
            1,
            Left {
                crashes: 2,
                ..approved(2, 2)
            },
        ),
        guarded("profile.approved.two-workers", 2, approved(1, 1)),
        guarded(
            "profile.approved-and-refreshed",
            1,
            Left {
                requests: 1,
                ..approved(2, 1)
            },
        ),
    ]
}

/// Returns one configuration for each mistake, and the property that it breaks.
#[must_use]
pub fn mutants() -> Vec<(Setup, &'static str)> {
    let mistake = |name, left, mutant, property| {
        let setup = Setup {
            mutant,
            ..setup(name, 1, left)
        };
        (setup, property)
    };
    let next = Left {
        inputs: 1,
        ..changes(1)
    };
    let crashed = Left {
        crashes: 1,
        ..changes(1)
    };
    let refreshed = Left {
        requests: 1,
        ..changes(1)
    };
    let lost = Left { wipes: 1, ..next };
    vec![
        mistake("a profile in the hash", changes(1), Mutant::InHash, "P1"),
        mistake(
            "a pin that is not written with the intent",
            changes(0),
            Mutant::Unwritten,
            "pinned",
        ),
        mistake("a pin that is not rebuilt", lost, Mutant::NotRebuilt, "P2"),
        mistake(
            "a profile chosen again for a create that is repeated",
            crashed,
            Mutant::ChosenAgain,
            "P3",
        ),
        mistake(
            "a run believed whose profile matches no more",
            lost,
            Mutant::Believed,
            "proof",
        ),
        mistake(
            "a request followed while a run is on its way",
            Left {
                crashes: 1,
                ..refreshed
            },
            Mutant::RefreshedWhilePending,
            "P3",
        ),
        mistake(
            "a request that is forgotten",
            refreshed,
            Mutant::TokenForgotten,
            "rests",
        ),
        mistake("a pin that follows the rules", next, Mutant::Followed, "P2"),
        mistake(
            "a run that is not looked for",
            crashed,
            Mutant::NotLookedFor,
            "rests",
        ),
        (
            Setup {
                mutant: Mutant::ComparedOnce,
                ..guarded(
                    "an approval that is compared only once",
                    1,
                    Left {
                        crashes: 1,
                        ..approved(1, 1)
                    },
                )
            },
            "approved",
        ),
        mistake(
            "the first of several that match",
            changes(1),
            Mutant::TieIgnored,
            "pinned",
        ),
    ]
}
