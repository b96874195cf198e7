//! Statuses that were emptied or restored by others (I3).

use cartouche_crds::{HistoryEntry, RunnableStatus};

use crate::history::Time;

/// A write of a status by an actor other than a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// Its time.
    pub(crate) at: Time,
    /// The lost part.
    pub(crate) lost: Lost,
}

/// Returns true if an edit of a status removes a part of its record of runs, or everything that shows that
/// the Runnable was ever served. Additions to the history, and changes of conditions and messages, lose
/// nothing.
#[must_use]
pub fn is_loss(old: &RunnableStatus, new: &RunnableStatus) -> bool {
    let unworded = |entry: &HistoryEntry| HistoryEntry {
        message: String::new(),
        ..entry.clone()
    };
    let kept: Vec<HistoryEntry> = new.history.iter().map(unworded).collect();
    let mut known = old.history.iter().map(unworded);
    old.current_run != new.current_run
        || known.any(|entry| !kept.contains(&entry))
        || old.outputs_from.is_some() && old.outputs_from != new.outputs_from
        || Lost::from(old) != Lost::Everything && Lost::from(new) == Lost::Everything
}

/// The missing part of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Nothing in it shows that the Runnable was ever served, so that a controller has no reason to wait or
    /// to look further than for a new one.
    Everything,
    /// Its whole record of runs.
    Runs,
    /// Everything since a copy of it was made.
    Since,
}

impl Lost {
    pub(crate) fn from(status: &RunnableStatus) -> Self {
        if status.current_run.is_some() {
            return Self::Since;
        }
        let silent = status
            .observed_generation
            .is_none_or(|generation| generation < 0);
        if silent && status.conditions.is_empty() {
            Self::Everything
        } else {
            Self::Runs
        }
    }
}
