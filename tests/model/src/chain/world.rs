//! A state of the model: the Runnables, their runs, the workers, and the events that may still happen.

use std::{
    collections::HashMap,
    sync::{Arc, RwLock},
};

use cartouche_crds::RunnableStatus;
use cartouche_protocol::sources::Provenance;

use super::setup::Left;
use crate::pool::{Pool, StatusId, get, hashed, keep};

/// A Runnable: 0 is A.
pub type Who = usize;

/// The Runnable without sources, unless edited.
pub const A: Who = 0;
/// The Runnable whose status may be lost.
pub const B: Who = 1;
/// The Runnable that may be suspended.
pub const C: Who = 2;
/// The last Runnable.
pub const D: Who = 3;

/// Content of a run: the own input, and the values that were read. An unread value is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Document {
    /// The own input.
    pub own: u8,
    /// The values, in the order of the sources.
    pub read: [u8; 2],
}

/// Stands for a missing value, in a mutant.
pub const EMPTY: u8 = u8::MAX;

impl Document {
    /// Returns its hash.
    #[must_use]
    pub fn hash(self) -> String {
        let [one, other] = self.read;
        format!(
            "{}{:02x}{one:02x}{other:02x}",
            cartouche_language::HASH_VERSION,
            self.own
        )
    }
}

/// A run of a Runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// Its Runnable.
    pub of: Who,
    /// Its number.
    pub number: u8,
    /// Its content.
    pub document: Document,
    /// The re-run request on it.
    pub token: u8,
    /// True if it succeeded; `None` while it runs.
    pub result: Option<bool>,
}

/// A Runnable as it is stored, or as a cache has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stored {
    /// Its resourceVersion.
    pub version: u8,
    /// Its generation.
    pub generation: u8,
    /// Index of its present input.
    pub input: u8,
    /// The re-run request on it; 0 is none.
    pub token: u8,
    /// True if no run may be intended.
    pub suspended: bool,
    /// True if it reads the last one.
    pub looped: bool,
    /// Its status.
    pub status: StatusId,
    /// The provenance beside the ledger in the status.
    pub provenance: ProvenanceId,
    /// The word of its condition.
    pub word: WordId,
    /// Number of times that it has given other outputs than before. Only the properties read it.
    pub given: u8,
}

/// A provenance, by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProvenanceId(u64);

/// The word of a condition, by its hash; 0 for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WordId(u64);

/// A look that has begun to read and will write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pass {
    /// The Runnable.
    pub of: Who,
    /// The Runnable as the look began.
    pub own: Stored,
    /// Its sources, as far as they are read.
    pub read: Vec<Stored>,
}

/// One controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Worker {
    /// The Runnables, as cached.
    pub cache: Vec<Stored>,
    /// The look under way.
    pub pass: Option<Pass>,
}

/// State that only the properties read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// Broken properties, as bits of `judge`.
    pub broken: u8,
    /// Number of runs of each Runnable.
    pub intents: [u8; 4],
    /// Progress of each source that the last intent of each Runnable read.
    pub newest: [[u8; 2]; 4],
    /// Progress of A when its readers last wrote that they had seen it. `None` if they have forgotten.
    pub root: [Option<u8>; 4],
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The Runnables as stored.
    pub stored: Vec<Stored>,
    /// Their runs that still count, in order.
    pub runs: Vec<Run>,
    /// The controllers.
    pub workers: Vec<Worker>,
    /// Events that may still happen.
    pub left: Left,
    /// State for the properties.
    pub ghost: Ghost,
}

impl World {
    /// Removes unused version numbers: of two versions of one Runnable, only their equality matters.
    pub fn squeeze(&mut self) {
        for who in 0..self.stored.len() {
            let mut held: Vec<u8> = Vec::new();
            self.each_version(who, &mut |version| held.push(*version));
            held.sort_unstable();
            held.dedup();
            self.each_version(who, &mut |version| {
                let rank = held.iter().position(|it| it == version).unwrap_or_default();
                *version = u8::try_from(rank).unwrap_or(u8::MAX);
            });
        }
        // Workers are interchangeable.
        self.workers.sort_unstable();
    }

    /// Clears the state that only the properties of a step read.
    pub fn forget_the_past(&mut self) {
        self.ghost = Ghost::default();
        let workers = self.workers.iter_mut();
        let seen = workers.flat_map(|worker| {
            let pass = worker.pass.iter_mut();
            let read = pass.flat_map(|pass| pass.read.iter_mut().chain([&mut pass.own]));
            worker.cache.iter_mut().chain(read)
        });
        for stored in self.stored.iter_mut().chain(seen) {
            stored.given = 0;
        }
    }

    fn each_version(&mut self, who: Who, visit: &mut impl FnMut(&mut u8)) {
        visit(&mut self.stored[who].version);
        for worker in &mut self.workers {
            visit(&mut worker.cache[who].version);
            if let Some(pass) = worker.pass.as_mut().filter(|pass| pass.of == who) {
                visit(&mut pass.own.version);
            }
        }
    }
}

/// Values that a state only refers to, each kept once.
#[derive(Debug, Default)]
pub struct Kept {
    statuses: Pool,
    provenances: RwLock<HashMap<u64, Arc<Provenance>>>,
    words: RwLock<HashMap<u64, Arc<Word>>>,
}

/// The cause that holds a run back, as a condition reports it.
pub type Word = Option<Hold>;

/// A cause that holds a run back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The Runnable is suspended.
    Suspended,
    /// Its sources are not ready.
    Sources(Box<cartouche_protocol::sources::Readiness>),
}

impl Kept {
    /// Keeps a status.
    pub fn status(&self, status: &RunnableStatus) -> StatusId {
        self.statuses.status(status)
    }

    /// Returns the status with this number.
    pub fn stored(&self, id: StatusId) -> Arc<RunnableStatus> {
        self.statuses.stored(id)
    }

    /// Keeps a provenance.
    pub fn provenance(&self, provenance: &Provenance) -> ProvenanceId {
        let id = hashed(provenance);
        keep(&self.provenances, id, || provenance.clone());
        ProvenanceId(id)
    }

    /// Returns the provenance with this number.
    pub fn provenance_of(&self, id: ProvenanceId) -> Arc<Provenance> {
        get(&self.provenances, id.0).unwrap_or_default()
    }

    /// Keeps the word of a condition.
    pub fn word(&self, word: &Word) -> WordId {
        if word.is_none() {
            return WordId::default();
        }
        let id = hashed(&format!("{word:?}"));
        keep(&self.words, id, || word.clone());
        WordId(id)
    }

    /// Returns the word with this number.
    pub fn word_of(&self, id: WordId) -> Word {
        get(&self.words, id.0).and_then(|word| (*word).clone())
    }
}
