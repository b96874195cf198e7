//! Mistakes in keeping runs from being at work at once.

use cartouche_crds::{ConcurrencyPolicy, CurrentRun, RunPhase, Stop, StopReason};
use cartouche_protocol::{decide::Step, facts::Facts, ledger::Change};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::SignedDuration};

use crate::cast::NOW;

/// Ignores unseen runs.
pub(super) fn forget_unseen(facts: &mut Facts) {
    let current = facts.ledger.current.as_ref();
    if current.is_some_and(|current| current.phase != RunPhase::Created) {
        facts.policy.concurrency = ConcurrencyPolicy::Allow;
    }
}

/// Counts unseen runs that are no longer wanted as given up long ago.
pub(super) fn give_up_unseen(facts: &mut Facts) {
    let Ok(rendering) = &facts.rendering else {
        return;
    };
    let wanted = rendering.document.input_hash();
    let current = facts.ledger.current.as_mut();
    let unseen = current.filter(|current| current.phase != RunPhase::Created);
    if let Some(current) = unseen.filter(|current| current.input_hash != wanted) {
        current.stop = Some(Stop {
            reason: StopReason::Withdrawn,
            at: Time(NOW - SignedDuration::from_hours(1)),
            unknown_fields: cartouche_crds::UnknownFields::default(),
        });
    }
}

/// Ignores runs that were stopped.
pub(super) fn forget_stopped(facts: &mut Facts) {
    if facts.ledger.at_work().all(|run| run.stop.is_some()) {
        facts.policy.concurrency = ConcurrencyPolicy::Allow;
    }
}

/// Counts a waiting change as the one at work.
pub(super) fn count_as_run(facts: &Facts) -> Step {
    let Ok(rendering) = &facts.rendering else {
        return Step::Settled;
    };
    let wanted = rendering.document.input_hash();
    let ledger = facts.ledger.clone().migrate_hash(wanted);
    if ledger == facts.ledger {
        return Step::Settled;
    }
    Step::Write(Box::new(ledger), Change::Record)
}

/// Returns true if another document is to run after a run that was seen to be deleted unfinished.
pub(super) fn follows_a_deletion(facts: &Facts) -> bool {
    let current = facts.ledger.current.as_ref();
    let at_work = current.filter(|current| current.result.is_none() && !is_wanted(facts, current));
    let uid = at_work.and_then(|current| current.uid.as_deref());
    uid.and_then(|uid| facts.cached_run(uid))
        .is_some_and(|run| run.deleted)
}

/// Returns true if a run that was replaced by another document is to run again.
pub(super) fn follows_what_made_way(facts: &Facts) -> bool {
    let current = facts.ledger.current.as_ref();
    let reason = |current: &CurrentRun| Some(current.stop.as_ref()?.reason.clone());
    current.is_some_and(|current| {
        is_wanted(facts, current) && reason(current) == Some(StopReason::Replaced)
    })
}

fn is_wanted(facts: &Facts, current: &CurrentRun) -> bool {
    let rendering = facts.rendering.as_ref();
    rendering.is_ok_and(|rendering| rendering.document.input_hash() == current.input_hash)
}
