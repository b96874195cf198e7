//! Ages from which on nothing that was sent before can come any more.

use std::time::Duration;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};

/// How long nothing may be written for a Runnable that another controller seems to serve still.
pub const CREATES_SETTLE_IN: Duration = Duration::from_secs(30);
/// No run younger than this, since its creation and since its end, is deleted: a create that was
/// delayed on its way must never find its name free again. Creates are given up by the API server
/// after 10 seconds and are sent at most 10 seconds after the ledger was read; the rest is margin
/// for clocks that differ.
pub const MINIMUM_AGE: SignedDuration = SignedDuration::from_mins(10);

/// Whether [`MINIMUM_AGE`] has passed since a time. What is missing is not old enough.
#[must_use]
pub fn old_enough(since: Option<&Time>, now: Option<Timestamp>) -> bool {
    remaining(since, now).is_some_and(|left| left.is_zero())
}

/// How long until [`MINIMUM_AGE`] has passed. `None`: that cannot be known.
pub(crate) fn remaining(since: Option<&Time>, now: Option<Timestamp>) -> Option<Duration> {
    let left = MINIMUM_AGE - now?.duration_since(since?.0);
    Some(if left.is_negative() {
        Duration::ZERO
    } else {
        left.unsigned_abs()
    })
}
