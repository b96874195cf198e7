//! Configurations with a debounce: the rendered object must stay the same for a while.

use super::{ab, approval, faults, plain};
use crate::configuration::{Configuration, Left};

/// Returns the debounce alone, and with one addition each.
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        debounce(),
        Configuration {
            name: "two.debounce",
            workers: 2,
            inputs: ab(),
            left: faults(0, 1),
            ..debounce()
        },
        Configuration {
            name: "one.debounce.token",
            inputs: vec![(0, 0), (0, 1), (1, 2)],
            ..debounce()
        },
        Configuration {
            name: "one.debounce.template",
            by_template: true,
            ..debounce()
        },
        Configuration {
            name: "one.debounce.delete",
            inputs: ab(),
            left: Left {
                unfinished: 1,
                ..faults(0, 1)
            },
            patient_users: true,
            ..debounce()
        },
        Configuration {
            name: "one.debounce.wipe",
            inputs: ab(),
            left: Left {
                wipes: 1,
                ..faults(0, 1)
            },
            ..debounce()
        },
        Configuration {
            name: "one.debounce.approval",
            inputs: ab(),
            debounce: true,
            ..approval::approval()
        },
    ]
}

/// Returns a configuration with the inputs A, B, A, each of which has to stay the same.
pub(super) fn debounce() -> Configuration {
    Configuration {
        name: "one.debounce",
        workers: 1,
        debounce: true,
        left: faults(1, 1),
        ..plain()
    }
}
