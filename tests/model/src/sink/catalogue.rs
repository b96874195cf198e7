//! The checked configurations of sinks, and those that reveal each mistake.

use super::{model::Setup, mutant::Mutant, world::Left};

fn setup(name: &'static str, left: Left) -> Setup {
    Setup {
        name,
        left,
        named: left.crashes == 0 && left.edits == 0,
        mutant: Mutant::None,
    }
}

fn runs(runs: u8) -> Left {
    Left {
        runs,
        ..Left::default()
    }
}

/// Returns all configurations of the unmodified code.
#[must_use]
pub fn configurations() -> Vec<Setup> {
    vec![
        setup("sink.runs", runs(2)),
        setup(
            "sink.crashes",
            Left {
                crashes: 1,
                ..runs(1)
            },
        ),
        setup(
            "sink.deleted",
            Left {
                deletions: 2,
                ..runs(1)
            },
        ),
        setup(
            "sink.another's",
            Left {
                deletions: 1,
                strangers: 1,
                ..runs(1)
            },
        ),
        setup(
            "sink.edited",
            Left {
                edits: 2,
                ..runs(1)
            },
        ),
        setup(
            "sink.put-back",
            Left {
                restores: 1,
                ..runs(1)
            },
        ),
        setup(
            "sink.forged",
            Left {
                forgeries: 1,
                ..runs(2)
            },
        ),
    ]
}

/// Returns one configuration for each mistake, and the property that it breaks.
#[must_use]
pub fn mutants() -> Vec<(Setup, &'static str)> {
    let mistake = |name, left, mutant, property| {
        let named = mutant != Mutant::Unnamed;
        let setup = Setup {
            name,
            left,
            named,
            mutant,
        };
        (setup, property)
    };
    let anothers = Left {
        strangers: 1,
        ..runs(0)
    };
    let put_back = Left {
        restores: 1,
        ..runs(1)
    };
    let forged = Left {
        forgeries: 1,
        ..runs(1)
    };
    let edited = Left {
        edits: 1,
        ..runs(0)
    };
    vec![
        mistake(
            "a sink made before the status names it",
            edited,
            Mutant::Unnamed,
            "follows",
        ),
        mistake("a sink forgotten at once", edited, Mutant::Hasty, "follows"),
        mistake(
            "a sink written without its resourceVersion",
            runs(2),
            Mutant::NoResourceVersion,
            "back",
        ),
        mistake(
            "a sink written whoever owns it",
            anothers,
            Mutant::OwnerUnread,
            "another's",
        ),
        mistake(
            "the status before the sink",
            runs(0),
            Mutant::StatusFirst,
            "told",
        ),
        mistake(
            "a sink written by an old ledger",
            runs(2),
            Mutant::LedgerUnread,
            "back",
        ),
        mistake(
            "newer outputs unheeded",
            runs(1),
            Mutant::NewerUnheeded,
            "back",
        ),
        mistake(
            "a number never given left in a sink",
            put_back,
            Mutant::NeverOverwritten,
            "follows",
        ),
        mistake(
            "a sink that is ahead waited for without end",
            forged,
            Mutant::AheadForEver,
            "follows",
        ),
        mistake(
            "a sink that is ahead put back at once",
            runs(1),
            Mutant::Impatient,
            "back",
        ),
    ]
}
