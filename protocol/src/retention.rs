//! Retention: finished runs to delete, and entries that leave the history. Pure.

use std::time::Duration;

use cartouche_crds::{HistoryEntry, RetentionPolicy};
use k8s_openapi::jiff::Timestamp;

use crate::ledger::{Ledger, counts_as_failed, old_enough, remaining};

/// Maximum number of runs that are deleted in one reconciliation.
const MAX_DELETES: usize = 10;

/// The plan of retention for now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Runs to delete, oldest first.
    pub delete: Vec<HistoryEntry>,
    /// Time until the next reconciliation, because an entry gets old enough then or more runs are
    /// left to delete.
    pub again: Option<Duration>,
}

/// Decides which runs are deleted. `exists` returns true if the object of an entry, with this uid,
/// is known to exist.
#[must_use]
pub fn retention(
    ledger: &Ledger,
    policy: RetentionPolicy,
    now: Option<Timestamp>,
    exists: impl Fn(&HistoryEntry, &str) -> bool,
) -> Retention {
    let mut plan = Retention::default();
    for entry in surplus(ledger, policy) {
        if !entry.uid.as_deref().is_some_and(|uid| exists(entry, uid)) {
            continue;
        }
        match remaining(entry.started_at.as_ref(), now)
            .zip(remaining(entry.finished_at.as_ref(), now))
        {
            Some((Duration::ZERO, Duration::ZERO)) if plan.delete.len() < MAX_DELETES => {
                plan.delete.push(entry.clone());
            }
            Some((Duration::ZERO, Duration::ZERO)) => plan.again = Some(Duration::from_secs(1)),
            Some((started, finished)) => {
                plan.again = plan.again.into_iter().chain([started.max(finished)]).min();
            }
            None => {}
        }
    }
    // An entry without a result or uid is looked at once it is old enough.
    for entry in ledger.history.iter().filter(|entry| entry.result.is_none()) {
        let left = remaining(entry.started_at.as_ref(), now).filter(|left| !left.is_zero());
        plan.again = plan.again.into_iter().chain(left).min();
    }
    plan
}

/// Removes surplus entries from the history whose objects are gone. `missing` returns true if the
/// watch of an entry's kind lacks its object. The object of a young entry may not have reached the
/// watch yet, whose first list can be older than the ledger: an entry forgotten here would never be
/// deleted.
#[must_use]
pub fn trim_history(
    ledger: Ledger,
    policy: RetentionPolicy,
    now: Option<Timestamp>,
    missing: impl Fn(&HistoryEntry, &str) -> bool,
) -> Ledger {
    let leaving: Vec<String> = surplus(&ledger, policy)
        .filter(|entry| old_enough(entry.started_at.as_ref(), now))
        .filter_map(|entry| entry.uid.clone().filter(|uid| missing(entry, uid)))
        .collect();
    ledger.forget(|entry| entry.uid.as_ref().is_some_and(|uid| leaving.contains(uid)))
}

/// Returns finished earlier runs beyond the counts of the policy, oldest first, but never the one
/// that the outputs came from. As in Cartographer, the current run counts among those that are
/// kept.
pub fn surplus(ledger: &Ledger, policy: RetentionPolicy) -> impl Iterator<Item = &HistoryEntry> {
    let below = ledger.current.as_ref().map_or(0, |run| run.sequence);
    let current = ledger.current.as_ref().and_then(|current| current.result);
    let source = ledger.outputs_from.as_ref().map(|from| from.sequence);
    let (mut failed, mut succeeded) = match current {
        Some(result) if counts_as_failed(result) => (1, 0),
        Some(_) => (0, 1),
        None => (0, 0),
    };
    let mut surplus: Vec<&HistoryEntry> = Vec::new();
    for entry in ledger.history.iter().rev() {
        let Some(result) = entry.result.filter(|_| entry.sequence < below) else {
            continue;
        };
        let (count, most) = if counts_as_failed(result) {
            (&mut failed, policy.max_failed_runs)
        } else {
            (&mut succeeded, policy.max_successful_runs)
        };
        *count += 1;
        if *count > most && Some(entry.sequence) != source {
            surplus.push(entry);
        }
    }
    surplus.into_iter().rev()
}

#[cfg(test)]
mod tests;
