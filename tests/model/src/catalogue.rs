//! The checked configurations, by name.

mod approval;
mod debounce;
mod lost_status;
mod memory;
mod mistakes;
mod overlap;
mod put_off;
mod releases;
mod retries;
mod takeover;
mod timeouts;

use crate::configuration::{Before, Configuration, Left, OldRun};

pub use mistakes::mutants;

fn ab() -> Vec<(u8, u8)> {
    vec![(0, 0), (1, 0)]
}

fn abc() -> Vec<(u8, u8)> {
    vec![(0, 0), (1, 0), (2, 0)]
}

fn plain() -> Configuration {
    Configuration::default()
}

/// Returns a configuration with one worker that deletes old runs, while a request may be lost.
fn retention() -> Configuration {
    Configuration {
        inputs: abc(),
        workers: 1,
        retires: true,
        time: true,
        caches_keep_up: true,
        left: faults(0, 1),
        ..plain()
    }
}

fn faults(crashes: u8, losses: u8) -> Left {
    Left {
        crashes,
        losses,
        ..Left::default()
    }
}

/// Returns all configurations of the unmodified code.
#[must_use]
#[allow(clippy::too_many_lines)] // a table
pub fn configurations() -> Vec<Configuration> {
    let mut all = vec![
        Configuration {
            name: "one.plain",
            workers: 1,
            ..plain()
        },
        Configuration {
            name: "two.plain",
            ..plain()
        },
        Configuration {
            name: "one.requests",
            workers: 1,
            coarse: false,
            inputs: ab(),
            ..plain()
        },
        Configuration {
            name: "one.rights",
            workers: 1,
            left: Left {
                rights: 2,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.rights",
            inputs: ab(),
            left: Left {
                rights: 2,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.watch",
            workers: 1,
            inputs: ab(),
            prompt_watch: false,
            left: Left {
                gaps: 1,
                unfinished: 1,
                finished: 1,
                ..faults(1, 0)
            },
            patient_users: true,
            ..plain()
        },
        Configuration {
            name: "two.retention",
            inputs: abc(),
            retires: true,
            time: true,
            caches_keep_up: true,
            ..plain()
        },
        Configuration {
            name: "one.retention",
            workers: 1,
            inputs: abc(),
            retires: true,
            time: true,
            fails: true,
            caches_keep_up: true,
            ..plain()
        },
        Configuration {
            name: "two.time",
            inputs: ab(),
            time: true,
            ..plain()
        },
        Configuration {
            name: "one.template",
            workers: 1,
            by_template: true,
            template_goes_back: true,
            ..plain()
        },
        Configuration {
            name: "two.template",
            inputs: ab(),
            by_template: true,
            ..plain()
        },
        Configuration {
            name: "one.token",
            workers: 1,
            inputs: vec![(0, 0), (0, 1), (1, 2)],
            ..plain()
        },
        Configuration {
            name: "two.token",
            inputs: vec![(0, 0), (0, 1)],
            ..plain()
        },
        Configuration {
            name: "one.kinds",
            workers: 1,
            kinds: true,
            ..plain()
        },
        Configuration {
            name: "one.delete",
            workers: 1,
            inputs: ab(),
            left: Left {
                unfinished: 1,
                finished: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.delete",
            inputs: ab(),
            left: Left {
                unfinished: 1,
                finished: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.delete.patient",
            inputs: ab(),
            patient_users: true,
            left: Left {
                unfinished: 1,
                finished: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.rebirth",
            workers: 1,
            inputs: ab(),
            left: Left {
                rebirths: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.rebirth",
            inputs: ab(),
            left: Left {
                rebirths: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.stranger",
            workers: 1,
            left: Left {
                strangers: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.stranger",
            inputs: ab(),
            left: Left {
                strangers: 1,
                finished: 1,
                unfinished: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.forger",
            workers: 1,
            left: Left {
                forgeries: 2,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.forger.token",
            workers: 1,
            inputs: vec![(0, 0), (0, 1)],
            left: Left {
                forgeries: 2,
                rights: 1,
                ..faults(1, 0)
            },
            ..plain()
        },
        Configuration {
            name: "two.forger",
            inputs: ab(),
            left: Left {
                forgeries: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.fixed-name",
            workers: 1,
            inputs: ab(),
            fixed_name: true,
            left: Left {
                rebirths: 1,
                finished: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.fixed-name",
            inputs: ab(),
            fixed_name: true,
            left: Left {
                finished: 1,
                ..faults(0, 1)
            },
            ..plain()
        },
        Configuration {
            name: "one.suspended",
            workers: 1,
            left: Left {
                suspensions: 2,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.suspended",
            inputs: ab(),
            left: Left {
                suspensions: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "two.suspended.token",
            inputs: vec![(0, 0), (0, 1)],
            left: Left {
                suspensions: 1,
                unfinished: 1,
                ..faults(1, 0)
            },
            patient_users: true,
            ..plain()
        },
        Configuration {
            name: "one.polled",
            workers: 1,
            inputs: ab(),
            polled: true,
            left: Left {
                unfinished: 1,
                finished: 1,
                ..faults(1, 1)
            },
            patient_users: true,
            ..plain()
        },
        Configuration {
            name: "earlier-version",
            inputs: ab(),
            before: Before::EarlierVersion,
            old_runs: vec![OldRun {
                document: 0,
                number: 1,
                rewritten: false,
            }],
            left: Left {
                finished: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "earlier-version.suspended",
            inputs: ab(),
            workers: 1,
            before: Before::EarlierVersion,
            old_runs: vec![OldRun {
                document: 0,
                number: 1,
                rewritten: false,
            }],
            left: Left {
                finished: 1,
                suspensions: 1,
                ..faults(1, 0)
            },
            ..plain()
        },
        Configuration {
            name: "full-history",
            inputs: ab(),
            workers: 1,
            before: Before::FullHistory,
            old_runs: vec![OldRun {
                document: 0,
                number: 201,
                rewritten: false,
            }],
            ..plain()
        },
        Configuration {
            name: "runaway",
            inputs: vec![(0, 0), (1, 0), (2, 0)],
            workers: 1,
            time: true,
            runaway_runs: 1,
            ..plain()
        },
    ];
    all.extend(approval::configurations());
    all.extend(debounce::configurations());
    all.extend(lost_status::configurations());
    all.extend(memory::configurations());
    all.extend(overlap::configurations());
    all.extend(put_off::configurations());
    all.extend(releases::configurations());
    all.extend(retries::configurations());
    all.extend(takeover::configurations());
    all.extend(timeouts::configurations());
    all
}
