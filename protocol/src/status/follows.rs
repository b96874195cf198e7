//! Sources that are about to change while no run of the Runnable is pending. Pure.

use cartouche_crds::conditions::{SOURCE_CHANGING, TRUE};

use super::ConditionValue;
use crate::{
    category::Category,
    facts::Facts,
    messages::{
        diagnosis::{Busy, NotReady},
        reconcile_error::ReconcileError,
    },
};

/// Message, the same for every source: each further one would cost a write, and not every account may know its
/// name.
const ON_ITS_WAY: &str = "a Runnable upstream is about to change; `cartouche graph` shows which";

/// Returns `Reconciling` beside a `Ready` that is True, if a Runnable that this one follows is about to change.
/// Otherwise tools that wait for a whole chain (kstatus) would continue with the former outputs. A source that is
/// held up by a person or a missing permission may take weeks, and no change is on its way from it.
pub(super) fn upstream_change(
    facts: &Facts,
    error: Option<&ReconcileError>,
) -> Option<ConditionValue> {
    let is_still = facts.runnable.suspended || facts.runnable.deleting;
    let is_on_its_way = facts
        .dependencies
        .readiness
        .wait_reason()
        .is_some_and(ends_by_itself);
    (!is_still && error.is_none() && is_on_its_way).then(|| ConditionValue {
        status: TRUE,
        reason: SOURCE_CHANGING.to_owned(),
        message: ON_ITS_WAY.to_owned(),
    })
}

/// Returns true if the awaited source progresses without a person.
fn ends_by_itself(why: &NotReady) -> bool {
    match why {
        NotReady::Behind | NotReady::Busy(Busy::Changed | Busy::AtWork | Busy::TriedAgain) => true,
        NotReady::Busy(Busy::Waits(reason)) => {
            !Category::parse(reason).is_none_or(Category::waits_for_a_person)
        }
        _ => false,
    }
}
