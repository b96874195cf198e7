//! The memory of a process, as a reconciliation begins with it.

use std::collections::BTreeSet;

use super::{CreateOutcome, LedgerState};

/// What a process knows of a status when it begins.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    /// See [`Facts::ledger_state`](super::Facts::ledger_state).
    pub ledger_state: LedgerState,
    /// The run of the pending entry, if it was made before and left to be confirmed.
    pub created: Option<CreateOutcome>,
    /// See [`Facts::reached_sequence`](super::Facts::reached_sequence).
    pub reached_sequence: i64,
    /// See [`Facts::other_writer`](super::Facts::other_writer).
    pub other_writer: bool,
    /// The uids of the unknown runs that are remembered.
    pub unknown_runs: BTreeSet<String>,
}
