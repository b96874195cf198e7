//! The judge's verdict.

use std::collections::BTreeMap;

/// Something that must never happen, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property, by its name in `docs/concepts/exactly-once.md`.
    pub property: &'static str,
    /// The violation in words.
    pub what: String,
}

impl Violation {
    /// Returns a violation of a property.
    #[must_use]
    pub fn new(property: &'static str, what: String) -> Self {
        Self { property, what }
    }
}

/// A known limit of the protocol ("Where it ends") that excuses what would be a violation without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// I1: a user deleted the run before a ledger knew it, or while a create for it was on its way, and the
    /// same was made again under its number.
    DeletedUnrecorded,
    /// A create was under way while its Runnable, and with it the run that it made before, was deleted: the
    /// API server carries it out, and garbage collection removes the new run.
    OutlivedItsRunnable,
    /// I3: the run with this number was deleted, and the status that knew of it was lost.
    DeletedAndForgotten,
    /// I3: the whole status was lost while a create was on its way, and no controller had a reason to wait.
    LostWhileOnItsWay,
    /// I3: the unknown runs are of another kind, and the ledger was lost and no template renders that kind
    /// any more, or the whole status was emptied, or an old copy of it was restored.
    LostWithItsKind,
    /// I3: the ledger was lost, or an old one was restored, and a foreign object that looks like a run
    /// existed when the runs were listed: for that, or once more by a controller that had seen a higher
    /// number.
    ForgedAndLost,
    /// A foreign object appeared less than half a minute before the intent, and no watch had shown it yet: it
    /// counts as the run.
    QuickerThanTheCreate,
    /// A run of the original was deleted before it was compared with the rendering.
    DeletedUncompared,
    /// The original made two runs in one second, and the API server rewords their content: only one of them
    /// is compared with that.
    TiedAndReworded,
    /// The original made two runs in one second, and at the takeover the inputs were those of neither: the
    /// newer one cannot be determined.
    TiedAndChanged,
    /// The original made a run of a Runnable that had been taken over from it: no controller waits for that
    /// one.
    OriginalWentOn,
    /// I3: a status was lost, and the provenance of its restored outputs is unknown. Their readers may derive
    /// from several states.
    Untraced,
}

/// The judge's findings.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The violations.
    pub violations: Vec<Violation>,
    /// Number of uses of each excuse.
    pub excused: BTreeMap<Excuse, usize>,
}

impl Verdict {
    /// Adds a violation.
    pub fn broken(&mut self, property: &'static str, what: String) {
        self.violations.push(Violation::new(property, what));
    }

    /// Counts an excuse.
    pub fn excuse(&mut self, excuse: Excuse) {
        *self.excused.entry(excuse).or_default() += 1;
    }

    /// Adds the findings of another verdict.
    pub fn add(&mut self, other: Self) {
        self.violations.extend(other.violations);
        for (excuse, times) in other.excused {
            *self.excused.entry(excuse).or_default() += times;
        }
    }
}
