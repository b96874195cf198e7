//! The changes of a ledger.

/// Why the ledger changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new run is intended.
    Intent,
    /// The intended run gets another number, since an unknown run holds its name.
    Renumber,
    /// A further attempt follows a refusal.
    Attempt,
    /// The number that was given is made into something else by now, and a person has approved that.
    Approve,
    /// The run exists.
    Confirm,
    /// The run was refused.
    Reject,
    /// The ledger was made out of the runs that exist.
    Rebuild,
    /// The hash was made by another version.
    MigrateHash,
    /// A result, outputs, or a run that came or went.
    Record,
    /// What the current run is made from is told anew: no run is made for that.
    MoveOn,
    /// The profile of the runs that follow was chosen anew, on request: no run is made for that.
    Refresh,
    /// A run at work is going to be told to stop.
    Stop,
    /// Runs make way for one that is due: those at work are going to be told to stop, and one that nobody has seen is
    /// not made any more.
    MakeWay,
}
