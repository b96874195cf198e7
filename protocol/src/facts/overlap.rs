//! Conditions under which a new run depends on the end of earlier ones.

use cartouche_crds::{ConcurrencyPolicy, CurrentRun, RunPhase};

use super::Facts;
use crate::ledger::{Due, is_withdrawn, may_land};

/// Returns true if it matters whether earlier runs are over. Either the policy demands it, or the current entry was
/// withdrawn under another policy, or it may be of the pending document itself.
pub(crate) fn is_asked(facts: &Facts) -> bool {
    let current = facts.ledger.current.as_ref();
    facts.policy.concurrency != ConcurrencyPolicy::Allow
        || current.is_some_and(|current| is_withdrawn(current) || may_be_due(facts, current))
}

/// Returns true if an entry may make a run of the pending document: its create may still land, and its hash has an
/// unknown version, so that it does not identify the document. A further number would be a second run for one
/// change.
pub(crate) fn may_be_due(facts: &Facts, current: &CurrentRun) -> bool {
    current.phase != RunPhase::Created
        && may_land(current, facts.now)
        && matches!(facts.due(&facts.ledger), Some(Due::OtherHash(_)))
}
