//! A state of the model: the Runnable, its runs, the object, and the workers.

/// Runs of the Runnable at most.
pub const RUNS: usize = 4;

/// The Runnable as it is stored, or as a cache has it. Numbers of runs; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stored {
    /// Its resourceVersion.
    pub version: u8,
    /// Whether its spec names the sink.
    pub wants: bool,
    /// Its current run.
    pub current: u8,
    /// The run that its outputs are of.
    pub outputs: u8,
    /// Whether the status names the sink.
    pub named: bool,
    /// The run whose outputs the status says that the sink has.
    pub told: u8,
}

/// The object that has the name of the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Object {
    /// Which it is.
    pub uid: u8,
    /// Its resourceVersion.
    pub version: u8,
    /// Whether the Runnable owns it.
    pub is_ours: bool,
    /// The run whose outputs it has, by its annotation.
    pub sequence: u8,
    /// The same by its content.
    pub content: u8,
}

/// How far a look has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The sink is to be read.
    ReadSink,
    /// The Runnable is to be read again.
    ReadAgain,
    /// The sink is to be written.
    WriteSink,
    /// The status is to be written.
    WriteStatus,
}

/// A look under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pass {
    /// The Runnable as the look began.
    pub own: Stored,
    /// The same as it is to be written.
    pub next: Stored,
    /// The sink as it was read.
    pub found: Option<Object>,
    /// What comes next.
    pub stage: Stage,
}

/// One controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Worker {
    /// The Runnable, as cached.
    pub cache: Stored,
    /// The look under way.
    pub pass: Option<Pass>,
}

/// What may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// New runs.
    pub runs: u8,
    /// Crashes of a worker.
    pub crashes: u8,
    /// Deletions of the sink by hand.
    pub deletions: u8,
    /// Somebody else's objects in its place.
    pub strangers: u8,
    /// Edits of the spec.
    pub edits: u8,
    /// Ledgers that are put back to the first run.
    pub restores: u8,
    /// Times that somebody gives the sink the number of the current run.
    pub forgeries: u8,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The Runnable.
    pub stored: Stored,
    /// Which runs have succeeded, and are there.
    pub ended: [bool; RUNS + 1],
    /// The sink.
    pub object: Option<Object>,
    /// Counts objects and their versions.
    pub count: u8,
    /// The controllers.
    pub workers: Vec<Worker>,
    /// What may still happen.
    pub left: Left,
    /// Properties that were broken, as bits of `worker`.
    pub broken: u8,
    /// The highest number whose outputs were ever written to a sink.
    pub written: u8,
}
