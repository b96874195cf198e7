//! Configurations with two releases at the same time that hash differently.

use super::{ab, faults, plain};
use crate::configuration::{Configuration, Left, Release};

/// Returns those in which the later release knows the hashes of the other one, and those in which it does
/// not.
pub(super) fn configurations() -> Vec<Configuration> {
    vec![
        beside(),
        Configuration {
            name: "two.releases.rights",
            inputs: vec![(0, 0)],
            left: Left {
                rights: 2,
                ..faults(0, 1)
            },
            ..beside()
        },
        Configuration {
            name: "two.releases.token",
            inputs: vec![(0, 0), (0, 1)],
            ..beside()
        },
        Configuration {
            name: "two.releases.latest",
            concurrency: cartouche_crds::ConcurrencyPolicy::LatestOnly,
            left: faults(0, 1),
            // Each reports its own hash of the waiting run.
            known: &["comes to rest"],
            ..beside()
        },
        Configuration {
            name: "two.releases.unknown",
            beside: Release::AfterNext,
            // Each writes its own hash of the run that the other has written: see `docs/how-to/upgrade-and-uninstall.md`.
            known: &["comes to rest"],
            ..beside()
        },
    ]
}

/// Returns a configuration with a release and the next one, which takes over.
pub(super) fn beside() -> Configuration {
    Configuration {
        name: "two.releases",
        inputs: ab(),
        beside: Release::Next,
        time: true,
        left: faults(1, 1),
        ..plain()
    }
}

/// Returns the same with a single change, whose create may be late.
pub(super) fn one_change() -> Configuration {
    Configuration {
        inputs: vec![(0, 0)],
        left: faults(0, 1),
        ..beside()
    }
}
