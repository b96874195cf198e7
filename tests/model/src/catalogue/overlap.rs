//! Configurations in which no two runs may be at work at once.

use cartouche_crds::ConcurrencyPolicy;

use super::{ab, faults, plain};
use crate::configuration::{Configuration, Left};

/// Returns each policy alone, and with one addition each.
#[allow(clippy::too_many_lines)] // a table
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        latest(),
        Configuration {
            name: "two.latest",
            workers: 2,
            inputs: ab(),
            left: faults(0, 1),
            ..latest()
        },
        Configuration {
            name: "one.latest.requests",
            coarse: false,
            inputs: ab(),
            ..latest()
        },
        deleted(),
        Configuration {
            name: "one.latest.wipe",
            inputs: ab(),
            left: Left {
                wipes: 1,
                ..faults(0, 1)
            },
            ..latest()
        },
        Configuration {
            name: "one.latest.restore",
            inputs: ab(),
            left: Left {
                restores: 1,
                ..faults(0, 1)
            },
            ..latest()
        },
        Configuration {
            name: "one.latest.rights",
            left: Left {
                rights: 2,
                ..faults(0, 1)
            },
            ..latest()
        },
        Configuration {
            name: "one.latest.retry",
            retries: 1,
            inputs: ab(),
            ..latest()
        },
        Configuration {
            name: "one.latest.timeout",
            inputs: ab(),
            left: Left {
                timeouts: 1,
                ..faults(0, 1)
            },
            ..latest()
        },
        Configuration {
            name: "one.latest.put-off",
            puts_off: true,
            inputs: ab(),
            ..latest()
        },
        replace(),
        Configuration {
            name: "two.replace",
            workers: 2,
            inputs: ab(),
            left: faults(0, 1),
            ..replace()
        },
        Configuration {
            name: "one.replace.token",
            inputs: vec![(0, 0), (0, 1), (1, 2)],
            ..replace()
        },
        Configuration {
            name: "one.replace.deletes",
            stop_deletes: true,
            ..replace()
        },
        Configuration {
            name: "two.replace.delete",
            workers: 2,
            inputs: ab(),
            left: Left {
                unfinished: 1,
                ..faults(0, 0)
            },
            patient_users: true,
            ..replace()
        },
        Configuration {
            name: "one.replace.wipe",
            inputs: ab(),
            left: Left {
                wipes: 1,
                ..faults(0, 1)
            },
            ..replace()
        },
        Configuration {
            name: "one.replace.suspended",
            left: Left {
                suspensions: 1,
                ..faults(0, 1)
            },
            ..replace()
        },
        Configuration {
            name: "one.replace.cancel",
            left: Left {
                cancels: 1,
                ..faults(0, 1)
            },
            ..replace()
        },
    ]
}

/// Returns a configuration with the inputs A, B, A, of which only the last must run; runs may fail.
pub(super) fn latest() -> Configuration {
    Configuration {
        name: "one.latest",
        workers: 1,
        concurrency: ConcurrencyPolicy::LatestOnly,
        fails: true,
        time: true,
        left: faults(1, 1),
        ..plain()
    }
}

/// Returns one in which users delete runs, too.
pub(super) fn deleted() -> Configuration {
    Configuration {
        name: "one.latest.delete",
        left: Left {
            unfinished: 1,
            finished: 1,
            ..faults(0, 1)
        },
        patient_users: true,
        ..latest()
    }
}

/// Returns one without faults, in which a replaced document is wanted again.
pub(super) fn wanted_again() -> Configuration {
    Configuration {
        left: faults(0, 0),
        ..replace()
    }
}

/// Returns the same, with runs at work being stopped.
pub(super) fn replace() -> Configuration {
    Configuration {
        name: "one.replace",
        concurrency: ConcurrencyPolicy::Replace,
        ..latest()
    }
}
