//! Configurations in which the original controller made the existing objects, or works beside this one.

use super::{ab, faults, plain};
use crate::configuration::{Before, Configuration, Left, OldRun};

/// Returns one configuration for each sort of object that it leaves behind.
#[allow(clippy::too_many_lines)] // a table
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        Configuration {
            name: "takeover.same",
            inputs: ab(),
            before: Before::Original,
            old_runs: old(&[1, 0]),
            ..plain()
        },
        Configuration {
            name: "takeover.changed",
            inputs: ab(),
            before: Before::Original,
            old_runs: old(&[0, 1]),
            ..plain()
        },
        Configuration {
            name: "takeover.same-second",
            inputs: ab(),
            before: Before::Original,
            same_second: true,
            old_runs: old(&[0, 1]),
            ..plain()
        },
        Configuration {
            name: "takeover.rewritten",
            inputs: ab(),
            before: Before::Original,
            old_runs: vec![OldRun {
                document: 0,
                number: 0,
                rewritten: true,
            }],
            ..plain()
        },
        Configuration {
            name: "takeover.late",
            inputs: ab(),
            before: Before::Original,
            old_runs: old(&[1]),
            original_on_its_way: true,
            ..plain()
        },
        Configuration {
            name: "takeover.kinds",
            inputs: ab(),
            kinds: true,
            before: Before::Original,
            old_runs: old(&[0, 1]),
            workers: 1,
            ..plain()
        },
        Configuration {
            name: "takeover.rollback",
            inputs: ab(),
            workers: 1,
            before: Before::Original,
            old_runs: vec![
                OldRun {
                    document: 1,
                    number: 1,
                    rewritten: false,
                },
                OldRun {
                    document: 0,
                    number: 0,
                    rewritten: false,
                },
            ],
            ..plain()
        },
        Configuration {
            name: "takeover.beside",
            inputs: ab(),
            workers: 1,
            left: Left {
                original_runs: 1,
                original_writes: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
    ]
}

fn old(documents: &[u8]) -> Vec<OldRun> {
    let old = |document: &u8| OldRun {
        document: *document,
        number: 0,
        rewritten: false,
    };
    documents.iter().map(old).collect()
}
