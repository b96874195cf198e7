//! A state of the model: the API server, the workers, and what is still to go wrong.

use cartouche_protocol::facts::{LedgerState, LedgerWriter};

use crate::{
    configuration::{Left, Release},
    pool::{NameId, ProblemId, StatusId},
    process::Memory,
};

/// A run that was ever made; its uid.
pub type Uid = u16;

/// Who controls an object that somebody else put under the name of a run.
pub const STRANGER: u8 = u8::MAX;

/// What a run is, from its creation on.
#[allow(clippy::struct_excessive_bools)] // facts, each on its own
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Make {
    /// Which incarnation of the Runnable controls it, or [`STRANGER`].
    pub owner: u8,
    /// Its sequence; 0 for a run that the original controller made.
    pub number: u16,
    /// The document it was made of.
    pub document: u8,
    /// The re-run request on it; 0 is none.
    pub token: u8,
    /// Its kind and name.
    pub name: NameId,
    /// The server keeps other values than it was sent.
    pub rewritten: bool,
    /// Its hash is of another version.
    pub earlier_version: bool,
    /// Its hash is of the next release's version.
    pub next_version: bool,
    /// Older than the minimum age.
    pub old: bool,
    /// Somebody who may create the kind made it, with all that is public: owner, number, hash, name.
    pub forged: bool,
    /// It was there long before the name was intended.
    pub early: bool,
    /// Whoever forged it gave it no status at first, as a run has none.
    pub bare: bool,
    /// Somebody has cancelled it, which its end shows.
    pub cancelled: bool,
    /// It was told to stop because of its timeout.
    pub told: bool,
}

impl Make {
    /// A make to fill in.
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

/// Whether an object is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Presence {
    /// It is.
    There,
    /// The controller deleted it.
    Retired,
    /// Somebody else deleted it.
    Deleted,
}

/// A run as the API server has, or had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// What it is.
    pub make: Make,
    /// Whether it succeeded; `None` while it runs.
    pub result: Option<bool>,
    /// Whether it is still there.
    pub presence: Presence,
    /// Exception I1: somebody deleted it before it was confirmed, or while a create of it was on its
    /// way.
    pub hasty: bool,
    /// The status was lost or restored since it was made.
    pub forgettable: bool,
    /// It had succeeded by then.
    pub had_succeeded: bool,
}

impl Run {
    /// A run that was just made.
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

    /// Whether the object exists.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.presence == Presence::There
    }

    /// Gone, and the status was lost since: nothing can know of it.
    #[must_use]
    pub fn is_forgotten(&self) -> bool {
        self.forgettable && !self.is_there()
    }
}

/// A run as somebody saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shown {
    /// Which.
    pub uid: Uid,
    /// What it is.
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
    /// How far its inputs had moved on.
    pub input: u8,
    /// Its incarnation.
    pub owner: u8,
    /// No run may be made.
    pub suspended: bool,
    /// It names no template that there is.
    pub mistyped: bool,
    /// The run that somebody has approved: its number and its document.
    pub approved: Option<(u16, u8)>,
    /// Its status.
    pub status: StatusId,
    /// Somebody else wrote the ledger last, as the API server notes it.
    pub marked: bool,
    /// Somebody else has written a part of the status since a controller last wrote it.
    pub noted: bool,
    /// In how many different seconds somebody else has written the status: the API server notes the latest.
    pub writers: u8,
}

/// What became of a create, as its sender knows.
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

/// Everything that a pass decides by; the compact form of the controller's `Facts`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(clippy::struct_excessive_bools)] // facts, each on its own
pub struct Knowledge {
    /// The release of the worker.
    pub release: Release,
    /// The incarnation of the Runnable.
    pub owner: u8,
    /// The Runnable was suspended.
    pub suspended: bool,
    /// Its template was not found.
    pub mistyped: bool,
    /// See [`Cached::approved`].
    pub approved: Option<(u16, u8)>,
    /// How far the inputs had moved on when the Runnable was read.
    pub spec: u8,
    /// How far the inputs had moved on that the rendering is of.
    pub input: u8,
    /// Whether they were read consistently after the Runnable.
    pub consistent: bool,
    /// The status as it is stored.
    pub stored: StatusId,
    /// Whether the watch of the current run's kind has delivered its first list.
    pub watched: bool,
    /// What the watch of runs showed, and whether it was their end.
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
    /// The server was asked what becomes of an object like the run.
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
    /// What the pass is stuck on, while it looks after the runs that exist.
    pub stuck: Option<ProblemId>,
    /// The time of the runs is over.
    pub overdue: bool,
    /// Runs that this process remembers to have told to stop.
    pub told: Vec<Uid>,
    /// What is due has stayed the same for long enough.
    pub settled: bool,
}

/// Where a pass stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The next step is to be decided.
    Deciding,
    /// A create was sent.
    Creating,
    /// Nothing is left but to delete these.
    Retiring(Vec<Uid>),
}

/// One look of a worker at the Runnable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pass {
    /// The resourceVersion that a write must carry.
    pub version: u8,
    /// What it decides by.
    pub knowledge: Knowledge,
    /// Where it stands.
    pub stage: Stage,
    /// The ledger was read so recently that a create may be sent.
    pub prompt: bool,
    /// It has written the status, so that what it read was no stale cache.
    pub has_written: bool,
}

/// What the watch of runs holds of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seen {
    /// What the watch has said of it so far.
    pub known: Known,
    /// The cached run that is kept, with the result at the time, and whether it was its end.
    pub cached_run: Option<(Option<bool>, bool)>,
}

/// What a watch has said of an object.
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
    /// The template, as cached: how far it had moved on.
    pub template: u8,
    /// The runs, as watched.
    pub seen: Vec<Seen>,
    /// Kinds whose first list is complete, as bits.
    pub complete: u8,
    /// What it remembers.
    pub memory: Memory,
    /// Something woke it.
    pub woken: bool,
    /// The look under way.
    pub pass: Option<Pass>,
}

/// A create on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    /// Who waits for the answer, if somebody still does.
    pub sender: Option<u8>,
    /// What is asked for.
    pub make: Make,
    /// Nobody keeps to any deadline with it (only in one mutant).
    pub endless: bool,
}

/// What only the properties read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// Properties that were broken, as bits of `judge`.
    pub broken: u8,
    /// The newest input that an intent was written for.
    pub newest_input: u8,
    /// A backup was restored, and nothing was made since.
    pub restored: bool,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The Runnable as stored: how far its inputs have moved on, incarnation, status and version.
    pub runnable: Cached,
    /// Every run ever made.
    pub runs: Vec<Run>,
    /// Creates on the wire.
    pub wire: Vec<Request>,
    /// The controllers.
    pub workers: Vec<Worker>,
    /// Creates are forbidden.
    pub forbidden: bool,
    /// The time of the runs is over.
    pub overdue: bool,
    /// A copy of the status.
    pub backup: Option<StatusId>,
    /// Who writes the status now does so in the second of the latest note of others.
    pub same_second: bool,
    /// Faults that are left.
    pub left: Left,
    /// For the properties.
    pub ghost: Ghost,
}

impl World {
    /// The live object that holds a name.
    #[must_use]
    pub fn holder(&self, name: NameId) -> Option<Shown> {
        self.shown().find(|shown| shown.make.name == name)
    }

    /// All live objects.
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

    /// A new resourceVersion of the Runnable.
    pub fn touch(&mut self) {
        self.runnable.version += 1;
    }
}
