//! A state of the model: the Runnable, its runs, the object, and the workers.

/// Maximum number of runs.
pub const RUNS: usize = 4;

/// The Runnable as it is stored, or as a cache has it. Numbers of runs; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stored {
    /// Its resourceVersion.
    pub version: u8,
    /// True if its spec names the sink.
    pub wants: bool,
    /// Its current run.
    pub current: u8,
    /// The run that its outputs are of.
    pub outputs: u8,
    /// True if the status names the sink.
    pub named: bool,
    /// The run whose outputs the sink has according to the status.
    pub told: u8,
}

/// The object that has the name of the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Object {
    /// Its identity.
    pub uid: u8,
    /// Its resourceVersion.
    pub version: u8,
    /// True if the Runnable owns it.
    pub is_ours: bool,
    /// The run whose outputs it has, by its annotation.
    pub sequence: u8,
    /// The same, by its content.
    pub content: u8,
}

/// Stage of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Reads the sink next.
    ReadSink,
    /// Reads the Runnable again next.
    ReadAgain,
    /// Writes the sink next.
    WriteSink,
    /// Writes the status next.
    WriteStatus,
}

/// A look under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pass {
    /// The Runnable as the look began.
    pub own: Stored,
    /// The Runnable as the look will write it.
    pub next: Stored,
    /// The sink as it was read.
    pub found: Option<Object>,
    /// The next step.
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

/// Events that may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// New runs.
    pub runs: u8,
    /// Crashes of a worker.
    pub crashes: u8,
    /// Deletions of the sink by hand.
    pub deletions: u8,
    /// Foreign objects in its place.
    pub strangers: u8,
    /// Edits of the spec.
    pub edits: u8,
    /// Restores of the ledger to the first run.
    pub restores: u8,
    /// Forgeries that give the sink the number of the current run.
    pub forgeries: u8,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The Runnable.
    pub stored: Stored,
    /// True for each run that has succeeded and exists.
    pub ended: [bool; RUNS + 1],
    /// The sink.
    pub object: Option<Object>,
    /// Counter of objects and their versions.
    pub count: u8,
    /// The controllers.
    pub workers: Vec<Worker>,
    /// Events that may still happen.
    pub left: Left,
    /// Broken properties, as bits of `worker`.
    pub broken: u8,
    /// The highest number whose outputs were ever written to a sink.
    pub written: u8,
}
