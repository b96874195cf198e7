//! Configurations in which the memory of a running worker matters.

use super::{ab, abc, faults, plain};
use crate::configuration::{Before, Configuration, Left, OldRun, Restored};

/// Returns one for each remembered fact.
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        restored_beside(),
        restored_unnoted(),
        // Without a note nothing reveals outputs that were given since under the same number.
        Configuration {
            name: "one.restore.unnoted.limits",
            inputs: abc(),
            left: Left {
                restores: 1,
                ..faults(0, 1)
            },
            known: &["S4"],
            ..restored_unnoted()
        },
        // A worker that has not seen their numbers does not recognise newer runs: they are not ours, and
        // their cause runs again.
        Configuration {
            name: "one.restore.unnoted.restart",
            left: Left {
                restores: 1,
                ..faults(1, 0)
            },
            known: &["L2"],
            ..restored_unnoted()
        },
        forged_before(),
        lost(),
        Configuration {
            name: "two.lost",
            workers: 2,
            ..lost()
        },
        unobserved(),
        events(),
    ]
}

/// Returns one that restores a backup, perhaps in the very second of an earlier note. The worker that did not
/// make the newer run does not watch its kind: only the note reveals the restore.
pub(super) fn restored_beside() -> Configuration {
    Configuration {
        name: "two.restore.beside",
        inputs: abc(),
        kinds: true,
        restored: Restored::Beside,
        before: Before::Copied,
        old_runs: vec![OldRun {
            document: 0,
            number: 1,
            rewritten: false,
        }],
        left: Left {
            restores: 1,
            ..faults(0, 0)
        },
        ..plain()
    }
}

/// Returns one that restores the backup without a note: only the number that the worker gave reveals it.
pub(super) fn restored_unnoted() -> Configuration {
    Configuration {
        name: "one.restore.unnoted",
        workers: 1,
        inputs: ab(),
        restored: Restored::Unnoted,
        left: Left {
            restores: 1,
            ..faults(0, 0)
        },
        ..plain()
    }
}

/// Returns one in which a user makes the object of the next number, as a controller would, and the watch
/// shows it before the number is given.
pub(super) fn forged_before() -> Configuration {
    Configuration {
        name: "one.forger.bare",
        workers: 1,
        bare_forgeries: true,
        left: Left {
            forgeries: 1,
            ..faults(0, 1)
        },
        ..plain()
    }
}

/// Returns one in which a run is gone, perhaps unseen.
pub(super) fn lost() -> Configuration {
    Configuration {
        name: "one.lost",
        workers: 1,
        inputs: ab(),
        grace: true,
        patient_users: true,
        left: Left {
            unfinished: 1,
            ..faults(1, 0)
        },
        ..plain()
    }
}

/// Returns one in which a run is gone before any watch has shown it.
pub(super) fn unobserved() -> Configuration {
    Configuration {
        name: "one.unobserved",
        workers: 1,
        inputs: ab(),
        prompt_watch: false,
        time: true,
        patient_users: true,
        left: Left {
            gaps: 1,
            unfinished: 1,
            ..faults(0, 0)
        },
        ..plain()
    }
}

/// Returns one in which only events wake the worker.
pub(super) fn events() -> Configuration {
    Configuration {
        name: "one.events",
        workers: 1,
        inputs: ab(),
        prompt_watch: false,
        puts_off: true,
        at_once: true,
        left: faults(0, 0),
        ..plain()
    }
}
