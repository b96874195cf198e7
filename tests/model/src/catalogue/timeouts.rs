//! Configurations with timeouts of runs.

use super::{ab, faults, plain};
use crate::configuration::{Configuration, Left};

/// Returns timeouts alone, and with one addition each.
#[allow(clippy::too_many_lines)] // a table
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        timeout(),
        Configuration {
            name: "two.timeout",
            workers: 2,
            left: overdue(0, 1),
            ..timeout()
        },
        Configuration {
            name: "one.timeout.requests",
            coarse: false,
            ..timeout()
        },
        Configuration {
            name: "one.timeout.change",
            inputs: ab(),
            left: overdue(1, 1),
            ..timeout()
        },
        Configuration {
            name: "two.timeout.change",
            workers: 2,
            inputs: ab(),
            left: overdue(0, 0),
            ..timeout()
        },
        deleted(),
        Configuration {
            name: "two.timeout.deletes",
            workers: 2,
            stop_deletes: true,
            time: true,
            left: overdue(0, 1),
            ..timeout()
        },
        Configuration {
            name: "one.timeout.deleted",
            left: Left {
                unfinished: 1,
                ..overdue(1, 1)
            },
            patient_users: true,
            ..timeout()
        },
        Configuration {
            name: "one.timeout.retry",
            retries: 1,
            left: overdue(1, 0),
            ..timeout()
        },
        Configuration {
            name: "one.timeout.retry.deletes",
            retries: 1,
            stop_deletes: true,
            time: true,
            left: overdue(1, 0),
            ..timeout()
        },
        Configuration {
            name: "one.timeout.wipe",
            left: Left {
                wipes: 1,
                ..overdue(0, 1)
            },
            ..timeout()
        },
        Configuration {
            name: "one.timeout.restore",
            left: Left {
                restores: 1,
                ..overdue(0, 1)
            },
            ..timeout()
        },
        Configuration {
            name: "one.timeout.cancel",
            retries: 1,
            left: Left {
                cancels: 1,
                finished: 1,
                ..overdue(1, 0)
            },
            ..timeout()
        },
        Configuration {
            name: "one.timeout.token",
            inputs: vec![(0, 0), (0, 1)],
            left: overdue(1, 1),
            ..timeout()
        },
        Configuration {
            name: "two.timeout.retry",
            workers: 2,
            retries: 1,
            left: overdue(0, 0),
            ..timeout()
        },
        Configuration {
            name: "one.timeout.rights",
            left: Left {
                rights: 2,
                ..overdue(1, 1)
            },
            ..timeout()
        },
        Configuration {
            name: "one.timeout.suspended",
            inputs: ab(),
            left: Left {
                suspensions: 1,
                ..overdue(0, 1)
            },
            ..timeout()
        },
        Configuration {
            name: "one.timeout.grace",
            grace: true,
            polled: true,
            stop_deletes: true,
            time: true,
            left: overdue(1, 0),
            ..timeout()
        },
    ]
}

/// Returns faults by which the timeout of runs expires at some moment.
fn overdue(crashes: u8, losses: u8) -> Left {
    Left {
        timeouts: 1,
        ..faults(crashes, losses)
    }
}

/// Returns a configuration with one document, whose run may fail and may be stopped.
pub(super) fn timeout() -> Configuration {
    Configuration {
        name: "one.timeout",
        workers: 1,
        inputs: vec![(0, 0)],
        fails: true,
        left: overdue(1, 1),
        ..plain()
    }
}

/// Returns one in which stopping a run deletes it.
pub(super) fn deleted() -> Configuration {
    Configuration {
        name: "one.timeout.deletes",
        stop_deletes: true,
        time: true,
        ..timeout()
    }
}
