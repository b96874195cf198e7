//! What people and nature do.

use crate::{sinks::Sink, strangers::Sort};

/// Something that people or nature do, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The input of a Runnable changes.
    Input(usize),
    /// The inputs of all Runnables change at once.
    Everything,
    /// The template with this number changes.
    Template(usize),
    /// It makes runs of the other kind from now on.
    Kind(usize),
    /// What a Runnable selects changes.
    Source(usize),
    /// A Runnable's run is asked for again.
    Rerun(usize),
    /// The value that inputs come from changes, or its neighbour in the same `ConfigMap`.
    Size(usize),
    /// The first Runnable of a chain begins to read the last: all of them stem from themselves.
    Tie,
    /// It does not any more.
    Untie,
    /// A Runnable makes no runs any more.
    Suspend(usize),
    /// It does again.
    Resume(usize),
    /// Somebody changes what stands in an object that outputs are written to.
    SinkData(Sink),
    /// Somebody deletes it, whosever it is.
    SinkGone(Sink),
    /// Somebody takes it from its Runnable, and keeps it.
    SinkKept(Sink),
    /// Somebody gives it the number of a run that is still to come.
    SinkNumber(Sink),
    /// Somebody makes an object of that name, if there is none.
    SinkTaken(Sink),
    /// The Runnable does not name it any more.
    SinkOut(Sink),
    /// It does again.
    SinkBack(Sink),
    /// A Runnable is deleted and created anew.
    Recreate(usize),
    /// Somebody cancels a run of a Runnable that has not ended.
    Cancel(usize),
    /// The time that runs of a Runnable may take changes.
    Timeout(usize),
    /// A template has its runs stopped in the other way.
    WayToStop(usize),
    /// Somebody deletes a run of a Runnable that the ledger knows and for which nothing is on its way.
    DeleteRun(usize),
    /// A create that the original controller had sent for a Runnable lands, after its end.
    Straggler(usize),
    /// Somebody empties the whole status of a Runnable.
    Wipe(usize),
    /// Somebody writes a Runnable's status without what it says of runs, as the original would.
    ForgetRuns(usize),
    /// A copy of a Runnable's status is kept.
    BackUp(usize),
    /// That copy is put back.
    Restore(usize),
    /// An object comes that somebody made who has no Runnable, and claims to be a run of this one.
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
    /// Whatever is sent between them waits.
    Hold(usize),
    /// It arrives.
    Release(usize),
    /// The account may not create runs any more.
    Forbid,
    /// It may again.
    Allow,
    /// Watches cannot begin in the past any more.
    Compact,
    /// The API server's clock is set, by so many seconds.
    Clock(i64),
    /// Nothing goes wrong from now on.
    Calm,
}
