//! A state of the model: the API server, the workers, and the faults that are left.

use cartouche_protocol::facts::{LedgerState, LedgerWriter};

use crate::{
    configuration::{Left, Release},
    pool::{NameId, ProblemId, StatusId},
    process::Memory,
};

/// The uid of a run that was ever made.
pub type Uid = u16;

/// Owner of a foreign object under the name of a run.
pub const STRANGER: u8 = u8::MAX;

/// Properties of a run from its creation on.
#[allow(clippy::struct_excessive_bools)] // facts, each on its own
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Make {
    /// The incarnation of the Runnable that controls it, or [`STRANGER`].
    pub owner: u8,
    /// Its sequence; 0 for a run that the original controller made.
    pub number: u16,
    /// The document it was made of.
    pub document: u8,
    /// The re-run request on it; 0 is none.
    pub token: u8,
    /// Its kind and name.
    pub name: NameId,
    /// True if the server keeps other values than it was sent.
    pub rewritten: bool,
    /// True if its hash is of an earlier version.
    pub earlier_version: bool,
    /// True if its hash is of the next release's version.
    pub next_version: bool,
    /// True if it is older than the minimum age.
    pub old: bool,
    /// True if a user who may create the kind made it, with everything public: owner, number, hash, name.
    pub forged: bool,
    /// True if it existed long before the name was intended.
    pub early: bool,
    /// True if its forger gave it no status at first, as a run has none.
    pub bare: bool,
    /// True if a user has cancelled it, which its end shows.
    pub cancelled: bool,
    /// True if it was stopped.
    pub told: bool,
}

impl Make {
    /// Returns a make to fill in.
    #[must_use]
    pub fn of(owner: u8, number: u16, document: u8, name: NameId) -> Self {
        Self {
            owner,
            number,
            document,
            token: 0,
            name,
            rewritten: false,
            earlier_version: false,
            next_version: false,
            old: false,
            forged: false,
            early: false,
            bare: false,
            cancelled: false,
            told: false,
        }
    }
}

/// Presence of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Presence {
    /// It exists.
    There,
    /// The controller deleted it.
    Retired,
    /// Another client deleted it.
    Deleted,
}

/// A run as the API server has it, or had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// Its properties.
    pub make: Make,
    /// True if it succeeded; `None` while it runs.
    pub result: Option<bool>,
    /// Its presence.
    pub presence: Presence,
    /// Exception I1: a user deleted it before it was confirmed, or while a create of it was on its way.
    pub hasty: bool,
    /// True if the status was lost or restored since it was made.
    pub forgettable: bool,
    /// True if it had succeeded by then.
    pub had_succeeded: bool,
}

impl Run {
    /// Returns a run that was just made.
    #[must_use]
    pub fn new(make: Make) -> Self {
        Self {
            make,
            result: None,
            presence: Presence::There,
            hasty: false,
            forgettable: false,
            had_succeeded: false,
        }
    }

    /// Returns true if the object exists.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.presence == Presence::There
    }

    /// Returns true if it is gone and the status was lost since: nothing can know of it.
    #[must_use]
    pub fn is_forgotten(&self) -> bool {
        self.forgettable && !self.is_there()
    }
}

/// A run as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shown {
    /// Its uid.
    pub uid: Uid,
    /// Its properties.
    pub make: Make,
    /// Its result then.
    pub result: Option<bool>,
}

/// The Runnable as a cache has it.
#[allow(clippy::struct_excessive_bools)] // facts, each on its own
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cached {
    /// Its resourceVersion.
    pub version: u8,
    /// Index of its inputs.
    pub input: u8,
    /// Its incarnation.
    pub owner: u8,
    /// True if no run may be made.
    pub suspended: bool,
    /// True if it names no existing template.
    pub mistyped: bool,
    /// The run that a user has approved: its number and its document.
    pub approved: Option<(u16, u8)>,
    /// Its status.
    pub status: StatusId,
    /// True if another client wrote the ledger last, according to the API server.
    pub marked: bool,
    /// True if another client has written a part of the status since a controller last wrote it.
    pub noted: bool,
    /// Number of different seconds in which other clients have written the status: the API server notes the
    /// latest.
    pub writers: u8,
}

/// The outcome of a create, as its sender knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The object of the answer.
    Created(Shown),
    /// The object of the answer that an earlier pass had.
    MadeBefore(Shown),
    /// The name is taken.
    Exists,
    /// Refused for good.
    Refused,
    /// No answer.
    Unknown,
}

/// The knowledge that a pass decides by; the compact form of the controller's `Facts`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(clippy::struct_excessive_bools)] // facts, each on its own
pub struct Knowledge {
    /// The release of the worker.
    pub release: Release,
    /// The incarnation of the Runnable.
    pub owner: u8,
    /// True if the Runnable was suspended.
    pub suspended: bool,
    /// True if its template was not found.
    pub mistyped: bool,
    /// See [`Cached::approved`].
    pub approved: Option<(u16, u8)>,
    /// Index of the inputs when the Runnable was read.
    pub spec: u8,
    /// Index of the inputs that the rendering is of.
    pub input: u8,
    /// True if they were read consistently after the Runnable.
    pub consistent: bool,
    /// The status as it is stored.
    pub stored: StatusId,
    /// True if the watch of the current run's kind has delivered its first list.
    pub watched: bool,
    /// The runs that the watch showed, with true for a deletion.
    pub cached_runs: Vec<(Shown, bool)>,
    /// Kinds whose watch is complete, as bits, and runs that it knows to exist. Only where
    /// something is retired.
    pub complete: u8,
    /// See [`Knowledge::complete`].
    pub existing: Vec<Uid>,
    /// See `Facts`.
    pub ledger_state: LedgerState,
    /// See `Facts`.
    pub reached_sequence: i64,
    /// See `Facts`.
    pub unobserved_run: Option<Uid>,
    /// See `Facts`.
    pub grace_over: bool,
    /// See `Facts`.
    pub unknown_runs: Vec<Uid>,
    /// See `Facts`.
    pub other_writer: bool,
    /// See `Facts`.
    pub ledger_writer: Option<LedgerWriter>,
    /// True if the server was asked about the fate of an object like the run.
    pub probed: bool,
    /// See `Facts`.
    pub listed: Option<Vec<Shown>>,
    /// See `Facts`.
    pub listed_every_kind: bool,
    /// See `Facts`.
    pub reads: Vec<(NameId, Option<Shown>)>,
    /// See `Facts`.
    pub server_agrees: Option<bool>,
    /// See `Facts`.
    pub created: Option<Outcome>,
    /// See `Facts`.
    pub only_attempt: bool,
    /// The problem that the pass is stuck on, while it looks after the existing runs.
    pub stuck: Option<ProblemId>,
    /// True if the timeout of the runs has expired.
    pub overdue: bool,
    /// Runs that this process remembers to have stopped.
    pub told: Vec<Uid>,
    /// True if the pending change has stayed the same for long enough.
    pub settled: bool,
}

/// Stage of a pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The next step is to be decided.
    Deciding,
    /// A create was sent.
    Creating,
    /// Only these are left to delete.
    Retiring(Vec<Uid>),
}

/// One look of a worker at the Runnable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pass {
    /// The resourceVersion that a write must carry.
    pub version: u8,
    /// The knowledge that it decides by.
    pub knowledge: Knowledge,
    /// Its stage.
    pub stage: Stage,
    /// True if the ledger was read so recently that a create may be sent.
    pub prompt: bool,
    /// True if it has written the status, which proves that its cache was not stale.
    pub has_written: bool,
}

/// A watch's knowledge of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seen {
    /// The last state that the watch has shown.
    pub known: Known,
    /// The cached run, with its result at the time, and true for its deletion.
    pub cached_run: Option<(Option<bool>, bool)>,
}

/// A watch's knowledge of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// It exists, with this result.
    Exists(Option<bool>),
    /// It is gone.
    Gone,
}

/// One controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Worker {
    /// Its release.
    pub release: Release,
    /// The Runnable, as cached.
    pub cache: Option<Cached>,
    /// Index of the template, as cached.
    pub template: u8,
    /// The runs, as watched.
    pub seen: Vec<Seen>,
    /// Kinds whose first list is complete, as bits.
    pub complete: u8,
    /// Its memory.
    pub memory: Memory,
    /// True if something woke it.
    pub woken: bool,
    /// The look under way.
    pub pass: Option<Pass>,
}

/// A create on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    /// The worker that waits for the answer, if one still does.
    pub sender: Option<u8>,
    /// The run to create.
    pub make: Make,
    /// True if it has no deadline (only in one mutant).
    pub endless: bool,
}

/// State that only the properties read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// Broken properties, as bits of `judge`.
    pub broken: u8,
    /// The newest input that an intent was written for.
    pub newest_input: u8,
    /// True if a backup was restored, and nothing was made since.
    pub restored: bool,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The Runnable as stored: index of its inputs, incarnation, status and version.
    pub runnable: Cached,
    /// Every run ever made.
    pub runs: Vec<Run>,
    /// Creates on the wire.
    pub wire: Vec<Request>,
    /// The controllers.
    pub workers: Vec<Worker>,
    /// True if creates are forbidden.
    pub forbidden: bool,
    /// True if the timeout of the runs has expired.
    pub overdue: bool,
    /// A copy of the status.
    pub backup: Option<StatusId>,
    /// True if a write to the status now is in the second of the latest note of others.
    pub same_second: bool,
    /// Faults that are left.
    pub left: Left,
    /// State for the properties.
    pub ghost: Ghost,
}

impl World {
    /// Returns the live object that holds a name.
    #[must_use]
    pub fn holder(&self, name: NameId) -> Option<Shown> {
        self.shown().find(|shown| shown.make.name == name)
    }

    /// Returns all live objects.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        let numbered = (0..).zip(&self.runs);
        numbered
            .filter(|(_, run)| run.is_there())
            .map(|(uid, run)| Shown {
                uid,
                make: run.make,
                result: run.result,
            })
    }

    /// Gives the Runnable a new resourceVersion.
    pub fn touch(&mut self) {
        self.runnable.version += 1;
    }
}
