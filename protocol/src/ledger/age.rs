//! Ages after which no earlier request can arrive any more.

use std::time::Duration;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};

/// Time for which nothing may be written for a Runnable that another controller still seems to serve.
pub const CREATES_SETTLE_IN: Duration = Duration::from_secs(30);
/// Age below which no run is deleted, counted from its creation and from its end. A create that was delayed
/// on its way must never find its name free again. The API server gives up creates after 10 seconds, and
/// they are sent at most 10 seconds after the ledger was read; the rest is a margin for clocks that differ.
pub const MINIMUM_AGE: SignedDuration = SignedDuration::from_mins(10);

/// Returns true if [`MINIMUM_AGE`] has passed since a time. A missing time is not old enough.
#[must_use]
pub fn old_enough(since: Option<&Time>, now: Option<Timestamp>) -> bool {
    remaining(since, now).is_some_and(|left| left.is_zero())
}

/// Returns the time left until [`MINIMUM_AGE`] has passed, or `None` if it is unknown.
pub(crate) fn remaining(since: Option<&Time>, now: Option<Timestamp>) -> Option<Duration> {
    let left = MINIMUM_AGE - now?.duration_since(since?.0);
    Some(if left.is_negative() {
        Duration::ZERO
    } else {
        left.unsigned_abs()
    })
}
