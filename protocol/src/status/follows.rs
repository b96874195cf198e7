//! Sources that are about to change while no run of the Runnable is pending. Pure.

use cartouche_crds::RunnableStatus;

use super::{ConditionValue, READY, RECONCILING, TRUE, find};
use crate::{
    diagnosis::named,
    facts::Facts,
    reconcile_error::{Category, ReconcileError},
    sources::NotReady,
};

/// `Reconciling` beside a `Ready` that is True: a Runnable that this one follows is about to change. Tools that wait for a whole
/// chain (kstatus) would go on with the former outputs otherwise. Its words stay while it does, so that each change upstream
/// costs one write.
pub(super) fn upstream_change(
    facts: &Facts,
    error: Option<&ReconcileError>,
) -> Option<ConditionValue> {
    let is_still = facts.runnable.suspended || facts.runnable.deleting;
    let (source, why) = facts.dependencies.readiness.awaited()?;
    let is_on_its_way = matches!(
        why,
        NotReady::Busy(_) | NotReady::Behind | NotReady::Upstream
    );
    if is_still || error.is_some() || !is_on_its_way {
        return None;
    }
    let stored = find(&facts.stored, RECONCILING).filter(|_| follows_upstream(&facts.stored));
    let message = stored.map_or_else(
        || {
            format!(
                "a change is on its way from {}: this Runnable follows it",
                named(source)
            )
        },
        |stored| stored.message.clone(),
    );
    Some(ConditionValue {
        status: TRUE,
        reason: Category::DependencyNotReady.as_str().to_owned(),
        message,
    })
}

/// Whether a Runnable with a run that succeeded says that it follows a change upstream.
#[must_use]
pub fn follows_upstream(status: &RunnableStatus) -> bool {
    let holds = |name| find(status, name).filter(|it| it.status == TRUE);
    let reconciling = holds(RECONCILING).map(|it| it.reason.as_str());
    holds(READY).is_some() && reconciling == Some(Category::DependencyNotReady.as_str())
}
