//! Configurations in which each run needs approval.

use cartouche_crds::ConcurrencyPolicy;

use super::{ab, faults, plain};
use crate::configuration::{Configuration, Left};

/// Returns approval alone, and with one addition each.
#[allow(clippy::too_many_lines)] // a table
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        approval(),
        Configuration {
            name: "two.approval",
            workers: 2,
            inputs: ab(),
            left: approved(faults(0, 1)),
            ..approval()
        },
        Configuration {
            name: "one.approval.requests",
            coarse: false,
            inputs: ab(),
            ..approval()
        },
        token(),
        Configuration {
            name: "one.approval.template",
            by_template: true,
            ..approval()
        },
        deleted(),
        Configuration {
            name: "one.approval.stranger",
            inputs: ab(),
            left: Left {
                strangers: 1,
                ..approved(faults(0, 1))
            },
            ..approval()
        },
        Configuration {
            name: "one.approval.wipe",
            inputs: ab(),
            left: Left {
                wipes: 1,
                ..approved(faults(0, 1))
            },
            ..approval()
        },
        Configuration {
            name: "one.approval.restore",
            inputs: ab(),
            left: Left {
                restores: 1,
                ..approved(faults(0, 1))
            },
            ..approval()
        },
        Configuration {
            name: "one.approval.rebirth",
            inputs: ab(),
            left: Left {
                rebirths: 1,
                ..approved(faults(0, 1))
            },
            ..approval()
        },
        Configuration {
            name: "one.approval.suspended",
            inputs: ab(),
            left: Left {
                suspensions: 1,
                ..approved(faults(0, 1))
            },
            ..approval()
        },
        Configuration {
            name: "one.approval.retry",
            inputs: ab(),
            fails: true,
            retries: 1,
            time: true,
            ..approval()
        },
        Configuration {
            name: "one.approval.latest",
            concurrency: ConcurrencyPolicy::LatestOnly,
            inputs: ab(),
            time: true,
            ..approval()
        },
        Configuration {
            name: "one.approval.replace",
            concurrency: ConcurrencyPolicy::Replace,
            fails: true,
            time: true,
            left: approved(faults(0, 1)),
            ..approval()
        },
    ]
}

fn approved(left: Left) -> Left {
    Left {
        approvals: 2,
        ..left
    }
}

/// Returns a configuration with the inputs A, B, A.
pub(super) fn approval() -> Configuration {
    Configuration {
        name: "one.approval",
        workers: 1,
        approval: true,
        left: approved(faults(1, 1)),
        ..plain()
    }
}

/// Returns one that runs the same again on request, which needs an approval of its own.
pub(super) fn token() -> Configuration {
    Configuration {
        name: "one.approval.token",
        inputs: vec![(0, 0), (0, 1), (1, 2)],
        ..approval()
    }
}

/// Returns one in which users delete runs.
pub(super) fn deleted() -> Configuration {
    Configuration {
        name: "one.approval.delete",
        inputs: ab(),
        left: Left {
            unfinished: 1,
            finished: 1,
            ..approved(faults(0, 1))
        },
        patient_users: true,
        ..approval()
    }
}
