//! What the judge says.

use std::collections::BTreeMap;

/// Something that must never happen, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property, by its name in `docs/exactly-once.md`.
    pub property: &'static str,
    /// What happened.
    pub what: String,
}

impl Violation {
    /// A violation of a property.
    #[must_use]
    pub fn new(property: &'static str, what: String) -> Self {
        Self { property, what }
    }
}

/// A known limit of the protocol ("Where it ends") that excuses what would be a violation without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// I1: somebody deleted the run before a ledger knew it, or while a create for it was on its way, and the
    /// same was made again under its number.
    DeletedUnrecorded,
    /// A create was under way while its Runnable, and with it the run that it made before, was deleted:
    /// the API server carries it out, and garbage collection takes what it made.
    OutlivedItsRunnable,
    /// I3: the run with this number was deleted, and the status that knew of it was lost.
    DeletedAndForgotten,
    /// I3: the whole status was lost while a create was on its way, and nobody had a reason to wait.
    LostWhileOnItsWay,
    /// I3: the runs that are not known are of another kind, and the ledger was lost and no template stands
    /// for that kind any more, or the whole status was emptied, or an old copy of it was put back.
    LostWithItsKind,
    /// I3: the ledger was lost, or an old one was put back, and somebody's object was there that looks like a
    /// run when the runs were listed: for that, or once more by a controller that had seen a higher number.
    ForgedAndLost,
    /// Somebody's object was there less than half a minute before the intent, and no watch had shown it
    /// yet: it is taken for the run.
    QuickerThanTheCreate,
    /// A run of the original was deleted before it was compared with what is rendered.
    DeletedUncompared,
    /// The original made two runs in one second, and the API server words what it is sent otherwise:
    /// only one of them is compared with that.
    TiedAndReworded,
    /// The original made two runs in one second, and when they were taken over the inputs were those of neither:
    /// which of them is newer nobody can tell.
    TiedAndChanged,
    /// The original made a run of a Runnable that had been taken over from it: nobody waits for that one.
    OriginalWentOn,
    /// I3: a status was lost, and nobody knows from what the outputs that it has again were made. What reads them is not kept
    /// from stemming from several states.
    Untraced,
}

/// What the judge found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What must not have happened.
    pub violations: Vec<Violation>,
    /// How often what excused it.
    pub excused: BTreeMap<Excuse, usize>,
}

impl Verdict {
    /// Something must not have happened.
    pub fn broken(&mut self, property: &'static str, what: String) {
        self.violations.push(Violation::new(property, what));
    }

    /// A known limit has shown.
    pub fn excuse(&mut self, excuse: Excuse) {
        *self.excused.entry(excuse).or_default() += 1;
    }

    /// What both found.
    pub fn add(&mut self, other: Self) {
        self.violations.extend(other.violations);
        for (excuse, times) in other.excused {
            *self.excused.entry(excuse).or_default() += times;
        }
    }
}
