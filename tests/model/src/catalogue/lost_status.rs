//! Configurations in which the status is lost, or restored from a backup.

use super::{ab, abc, faults, plain};
use crate::configuration::{Configuration, Left};

/// Returns those with one worker and with two.
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        Configuration {
            name: "one.wipe",
            workers: 1,
            left: Left {
                wipes: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.wipe",
            inputs: ab(),
            left: Left {
                wipes: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.wipe.kinds",
            workers: 1,
            kinds: true,
            left: Left {
                wipes: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.wipe.all",
            workers: 1,
            wipes_all: true,
            left: Left {
                wipes: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.restore",
            workers: 1,
            left: Left {
                restores: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.restore.mistyped",
            workers: 1,
            inputs: ab(),
            left: Left {
                restores: 1,
                mistypes: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        restored_kinds(),
        Configuration {
            name: "two.restore",
            inputs: abc(),
            left: Left {
                restores: 1,
                ..faults(0, 0)
            },
            ..plain()
        },
    ]
}

/// Returns one that restores a backup without the kind of the newer runs.
pub(super) fn restored_kinds() -> Configuration {
    Configuration {
        name: "one.restore.kinds",
        workers: 1,
        inputs: abc(),
        kinds: true,
        left: Left {
            restores: 1,
            ..faults(0, 1)
        },
        ..plain()
    }
}
