//! Entries whose run was not seen: a create for one may have made it after all.

use cartouche_crds::{CurrentRun, HistoryEntry, RunPhase, StopReason};

/// Whether a create for the current entry may have made its run, or may still do so: not if it was refused at its only
/// attempt.
pub(crate) fn may_come(current: &CurrentRun) -> bool {
    let is_refused = current.phase == RunPhase::Rejected && !current.attempted;
    current.phase != RunPhase::Created && !is_refused
}

/// Whether a create for an earlier entry that nobody has seen the run of may have made it after all, as far as it is known
/// without a look.
pub(crate) fn past_may_come(entry: &HistoryEntry) -> bool {
    let stop = entry.stop.as_ref();
    let is_withdrawn = stop.is_some_and(|stop| stop.reason == StopReason::Withdrawn);
    let is_unread = entry.intent_at.is_some();
    let is_open = entry.uid.is_none() && entry.result.is_none();
    is_open && entry.started_at.is_some() && (is_unread || !is_withdrawn)
}
