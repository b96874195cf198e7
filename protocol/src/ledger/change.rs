//! Changes of a ledger.

/// Reason for a change of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new run is intended.
    Intent,
    /// The intended run gets another number, since an unknown run holds its name.
    Renumber,
    /// A further attempt follows a refusal.
    Attempt,
    /// The run of the given number is now made of something else, and a person has approved that.
    Approve,
    /// The run exists.
    Confirm,
    /// The run was refused.
    Reject,
    /// The ledger was rebuilt from the runs that exist.
    Rebuild,
    /// The hash was made by another version and is replaced.
    MigrateHash,
    /// A result, outputs, or a run that appeared or vanished.
    Record,
    /// The sources of the current run are recorded again, without a new run.
    MoveOn,
    /// The profile of later runs was chosen again on request, without a new run.
    Refresh,
    /// A run at work is about to be asked to stop.
    Stop,
    /// Runs make way for the pending change: those at work are about to be asked to stop, and one that was not seen
    /// yet is not made any more.
    MakeWay,
}
