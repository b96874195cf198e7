//! Configurations in which a pass may end once its create was answered, and the next one confirms.

use super::{ab, faults, plain, retention};
use crate::configuration::{Configuration, Left};

/// Returns one with each sort of fault that can occur between a create and its confirmation.
pub(super) fn configurations() -> Vec<Configuration> {
    let puts_off = || Configuration {
        puts_off: true,
        ..plain()
    };
    vec![
        Configuration {
            name: "put-off.one",
            workers: 1,
            ..puts_off()
        },
        Configuration {
            name: "put-off.two",
            inputs: ab(),
            ..puts_off()
        },
        Configuration {
            name: "put-off.rerun",
            inputs: vec![(0, 0), (0, 1), (1, 1)],
            workers: 1,
            ..puts_off()
        },
        Configuration {
            name: "put-off.rights",
            inputs: ab(),
            workers: 1,
            left: Left {
                rights: 2,
                ..faults(1, 1)
            },
            ..puts_off()
        },
        Configuration {
            name: "put-off.watch",
            inputs: ab(),
            workers: 1,
            prompt_watch: false,
            patient_users: true,
            left: Left {
                gaps: 1,
                unfinished: 1,
                finished: 1,
                ..faults(1, 0)
            },
            ..puts_off()
        },
        Configuration {
            name: "put-off.retention",
            puts_off: true,
            ..retention()
        },
        Configuration {
            name: "put-off.template",
            inputs: ab(),
            workers: 1,
            by_template: true,
            template_goes_back: true,
            ..puts_off()
        },
        Configuration {
            name: "put-off.wiped",
            inputs: ab(),
            workers: 1,
            left: Left {
                wipes: 1,
                ..faults(1, 1)
            },
            ..puts_off()
        },
        Configuration {
            name: "put-off.suspended",
            inputs: ab(),
            workers: 1,
            left: Left {
                suspensions: 1,
                ..faults(1, 1)
            },
            ..puts_off()
        },
    ]
}
