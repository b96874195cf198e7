//! The question whether earlier runs are over, where it counts.

use cartouche_crds::{ConcurrencyPolicy, CurrentRun, RunPhase};

use super::Facts;
use crate::ledger::{Due, is_withdrawn, may_land};

/// Whether it counts if earlier runs are over: by the policy, or of an entry that was withdrawn under another one, or that may be
/// of the very document that is due.
pub(crate) fn is_asked(facts: &Facts) -> bool {
    let current = facts.ledger.current.as_ref();
    facts.policy.concurrency != ConcurrencyPolicy::Allow
        || current.is_some_and(|current| is_withdrawn(current) || may_be_due(facts, current))
}

/// Whether an entry may make a run of what is due: its create may still land, and its hash, of a version that is not known, does
/// not tell what it is of. A further number would be a second run for one change.
pub(crate) fn may_be_due(facts: &Facts, current: &CurrentRun) -> bool {
    current.phase != RunPhase::Created
        && may_land(current, facts.now)
        && matches!(facts.due(&facts.ledger), Some(Due::OtherHash(_)))
}
