//! Entries whose run was not seen: a create may have made it after all.

use cartouche_crds::{CurrentRun, HistoryEntry, RunPhase, StopReason};

/// Returns true if a create for the current entry may have made its run, or may still do so. It cannot if its only
/// attempt was refused.
pub(crate) fn may_come(current: &CurrentRun) -> bool {
    let is_refused = current.phase == RunPhase::Rejected && !current.attempted;
    current.phase != RunPhase::Created && !is_refused
}

/// Returns true if a create for an earlier entry, whose run was not seen, may have made it after all, as far as is
/// known without a read.
pub(crate) fn past_may_come(entry: &HistoryEntry) -> bool {
    let stop = entry.stop.as_ref();
    let is_withdrawn = stop.is_some_and(|stop| stop.reason == StopReason::Withdrawn);
    let is_unread = entry.intent_at.is_some();
    let is_open = entry.uid.is_none() && entry.result.is_none();
    is_open && entry.started_at.is_some() && (is_unread || !is_withdrawn)
}
