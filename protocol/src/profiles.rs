//! Profiles of runs. Pure.
//!
//! A profile is [chosen](choose) by its rules when the first run is made, and then [pinned](pin()):
//! a Runnable keeps its profile, whatever happens to rules, labels and other profiles, until a user
//! asks for a new choice.

mod choice;
mod known;
mod miss;
mod pin;

use cartouche_crds::{PROFILE_REFRESH_ANNOTATION, Runnable};

pub use choice::{Candidate, Choice, Rank, Subject, choose, rank};
pub use known::{KnownProfile, Labels, Profiles};
pub use miss::{cure_of_miss, misses};
pub use pin::{Pin, PinOrigin, Settled, pin};

use crate::rerun;

/// Label with its name, which the API server gives every namespace.
pub const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Returns the request on a Runnable to choose its profile again, or `None` if there is none.
#[must_use]
pub fn requested_refresh(runnable: &Runnable) -> Option<String> {
    rerun::request(runnable, PROFILE_REFRESH_ANNOTATION)
}

#[cfg(test)]
mod tests;
