//! Memory of a process at the start of a reconciliation.

use std::collections::BTreeSet;

use super::{CreateOutcome, LedgerState};

/// Facts that a process remembers about a status when a reconciliation starts.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    /// See [`Facts::ledger_state`](super::Facts::ledger_state).
    pub ledger_state: LedgerState,
    /// Run of the pending entry, if it was made before and its confirmation was left for later.
    pub created: Option<CreateOutcome>,
    /// See [`Facts::reached_sequence`](super::Facts::reached_sequence).
    pub reached_sequence: i64,
    /// See [`Facts::other_writer`](super::Facts::other_writer).
    pub other_writer: bool,
    /// Uids of the unknown runs that are remembered.
    pub unknown_runs: BTreeSet<String>,
}
