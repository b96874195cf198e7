//! Which profile the runs of a Runnable are made with. Pure.
//!
//! A profile is [chosen](choose) by its rules when the first run is made, and [pinned](pin()) then: a Runnable stays with its
//! profile, whatever becomes of rules, labels and other profiles, until somebody asks to choose anew.

mod choice;
mod known;
mod miss;
mod pin;

use cartouche_crds::{PROFILE_REFRESH_ANNOTATION, Runnable};

pub use choice::{Candidate, Choice, Rank, Subject, choose, rank};
pub use known::{KnownProfile, Labels, Profiles};
pub use miss::{cure_of_miss, misses};
pub use pin::{Known, Pin, Settled, pin};

use crate::rerun;

/// The label that every namespace has from the API server: its name.
pub const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The request on a Runnable to choose its profile anew, if there is one.
#[must_use]
pub fn requested_refresh(runnable: &Runnable) -> Option<String> {
    rerun::request(runnable, PROFILE_REFRESH_ANNOTATION)
}

#[cfg(test)]
mod tests;
