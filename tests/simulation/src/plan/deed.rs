//! Deeds of users and nature.

use crate::{sinks::Sink, strangers::Sort};

/// A deed of users or of nature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The input of a Runnable changes.
    Input(usize),
    /// The inputs of all Runnables change at once.
    Everything,
    /// The template with this number changes.
    Template(usize),
    /// The template makes runs of the other kind from now on.
    Kind(usize),
    /// The object that a Runnable selects changes.
    Source(usize),
    /// A Runnable's run is requested again.
    Rerun(usize),
    /// The value that inputs come from changes, or its neighbour in the same `ConfigMap`.
    Size(usize),
    /// The first Runnable of a chain begins to read the last: all of them derive from themselves.
    Tie,
    /// The first Runnable no longer reads the last.
    Untie,
    /// A Runnable is suspended.
    Suspend(usize),
    /// It is resumed.
    Resume(usize),
    /// A user changes the content of an object that outputs are written to.
    SinkData(Sink),
    /// A user deletes it, whoever owns it.
    SinkGone(Sink),
    /// A user removes its owner, and keeps it.
    SinkKept(Sink),
    /// A user gives it the number of a future run.
    SinkNumber(Sink),
    /// A user makes an object of that name, if there is none.
    SinkTaken(Sink),
    /// The Runnable no longer names it.
    SinkOut(Sink),
    /// The Runnable names it again.
    SinkBack(Sink),
    /// A Runnable is deleted and created anew.
    Recreate(usize),
    /// A user cancels an unfinished run of a Runnable.
    Cancel(usize),
    /// The timeout of a Runnable's runs changes.
    Timeout(usize),
    /// A template stops its runs in the other way.
    WayToStop(usize),
    /// A user deletes a run of a Runnable that the ledger knows and for which nothing is on its way.
    DeleteRun(usize),
    /// A create that the original controller had sent for a Runnable arrives, after its end.
    Straggler(usize),
    /// A user empties the whole status of a Runnable.
    Wipe(usize),
    /// A user writes a Runnable's status without its record of runs, as the original would.
    ForgetRuns(usize),
    /// A copy of a Runnable's status is kept.
    BackUp(usize),
    /// The copy is restored.
    Restore(usize),
    /// An object of a stranger without a Runnable arrives, and claims to be a run of this one.
    Stranger(usize, Sort),
    /// A controller is killed.
    Kill(usize),
    /// It is started again.
    Start(usize),
    /// The API server's process ends; what it stored stays.
    StopServer,
    /// It starts again.
    StartServer,
    /// Nothing arrives between a controller and the API server.
    Partition(usize),
    /// It does again.
    Repair(usize),
    /// Messages between them wait.
    Hold(usize),
    /// They arrive.
    Release(usize),
    /// The account may no longer create runs.
    Forbid,
    /// It may again.
    Allow,
    /// Watches can no longer begin in the past.
    Compact,
    /// The API server's clock is set, by this number of seconds.
    Clock(i64),
    /// Faults stop from now on.
    Calm,
}
