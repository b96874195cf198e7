//! Sources that are about to change while no run of the Runnable is pending. Pure.

use super::ConditionValue;
use crate::{
    category::Category,
    conditions::{SOURCE_CHANGING, TRUE},
    diagnosis::{Busy, NotReady},
    facts::Facts,
    reconcile_error::ReconcileError,
};

/// The words, the same for every source: each further one would cost a write, and not every account may know its name.
const ON_ITS_WAY: &str = "a change is on its way from a Runnable that the inputs come from; `cartouche graph` shows from which";

/// `Reconciling` beside a `Ready` that is True: a Runnable that this one follows is about to change. Tools that wait for a whole
/// chain (kstatus) would go on with the former outputs otherwise. A source that a person or a missing right holds up may take weeks,
/// and nothing is on its way from it.
pub(super) fn upstream_change(
    facts: &Facts,
    error: Option<&ReconcileError>,
) -> Option<ConditionValue> {
    let is_still = facts.runnable.suspended || facts.runnable.deleting;
    let is_on_its_way = facts
        .dependencies
        .readiness
        .awaited()
        .is_some_and(ends_by_itself);
    (!is_still && error.is_none() && is_on_its_way).then(|| ConditionValue {
        status: TRUE,
        reason: SOURCE_CHANGING.to_owned(),
        message: ON_ITS_WAY.to_owned(),
    })
}

/// True if what is waited for moves on without a person.
fn ends_by_itself(why: &NotReady) -> bool {
    match why {
        NotReady::Behind | NotReady::Busy(Busy::Changed | Busy::AtWork | Busy::TriedAgain) => true,
        NotReady::Busy(Busy::Waits(reason)) => {
            !Category::parse(reason).is_none_or(Category::waits_for_a_person)
        }
        _ => false,
    }
}
