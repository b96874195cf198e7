//! Statuses that somebody emptied, or put back (I3).

use cartouche_crds::{HistoryEntry, RunnableStatus};

use crate::history::Time;

/// A status that was written by somebody else than a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// When.
    pub(crate) at: Time,
    /// What was lost.
    pub(crate) lost: Lost,
}

/// Whether an edit of a status takes away something that it said of runs, or all that shows that the Runnable was
/// ever served. What an edit adds to the history, and what it changes of conditions and messages, loses nothing.
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

/// What is missing from a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Nothing in it shows that anybody ever served the Runnable, so that nobody has a reason to wait
    /// or to look further than for a new one.
    Everything,
    /// All that is said of runs.
    Runs,
    /// What happened since a copy of it was made.
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
