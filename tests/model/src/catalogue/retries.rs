//! Configurations with retries.

use super::{ab, faults, plain};
use crate::configuration::{Configuration, Left};

/// Returns retries alone, and with one addition each.
#[allow(clippy::too_many_lines)] // a table
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        Configuration {
            name: "one.retry",
            retries: 2,
            left: faults(1, 1),
            ..retry()
        },
        Configuration {
            name: "two.retry",
            workers: 2,
            left: faults(0, 1),
            ..retry()
        },
        Configuration {
            name: "one.retry.requests",
            coarse: false,
            left: faults(1, 1),
            ..retry()
        },
        Configuration {
            name: "one.retry.change",
            inputs: plain().inputs,
            left: faults(1, 0),
            ..retry()
        },
        Configuration {
            name: "two.retry.change",
            workers: 2,
            inputs: ab(),
            left: faults(0, 1),
            ..retry()
        },
        changed_at_once(),
        Configuration {
            name: "one.retry.token",
            inputs: vec![(0, 0), (0, 1)],
            left: faults(1, 1),
            ..retry()
        },
        // A TTL deletes a failed run before its retry, or a user deletes an unfinished one.
        Configuration {
            name: "one.retry.delete",
            left: Left {
                unfinished: 1,
                finished: 2,
                ..faults(1, 1)
            },
            ..retry()
        },
        Configuration {
            name: "two.retry.delete",
            workers: 2,
            patient_users: true,
            left: Left {
                unfinished: 1,
                finished: 1,
                ..faults(0, 0)
            },
            ..retry()
        },
        lost_status(),
        Configuration {
            name: "one.retry.restore",
            left: Left {
                restores: 1,
                ..faults(0, 1)
            },
            ..retry()
        },
        Configuration {
            name: "one.retry.suspended",
            left: Left {
                suspensions: 2,
                ..faults(1, 1)
            },
            ..retry()
        },
        cancelled(),
        Configuration {
            name: "one.retry.retention",
            inputs: ab(),
            retires: true,
            time: true,
            caches_keep_up: true,
            left: faults(0, 1),
            ..retry()
        },
    ]
}

/// Returns a configuration with one document, whose run may fail.
pub(super) fn retry() -> Configuration {
    Configuration {
        workers: 1,
        inputs: vec![(0, 0)],
        fails: true,
        retries: 1,
        left: faults(0, 0),
        ..plain()
    }
}

/// Returns one in which a change must take effect without waiting for the next attempt.
pub(super) fn changed_at_once() -> Configuration {
    Configuration {
        name: "one.retry.at-once",
        inputs: ab(),
        at_once: true,
        left: faults(1, 0),
        ..retry()
    }
}

/// Returns one in which a run that a rebuild found again is not retried.
pub(super) fn lost_status() -> Configuration {
    Configuration {
        name: "one.retry.wipe",
        left: Left {
            wipes: 1,
            ..faults(1, 1)
        },
        ..retry()
    }
}

/// Returns one in which a user cancels a run.
pub(super) fn cancelled() -> Configuration {
    Configuration {
        name: "one.retry.cancel",
        left: Left {
            cancels: 1,
            finished: 1,
            ..faults(1, 1)
        },
        ..retry()
    }
}
