//! State of a run in the ledger, in one word.

use std::fmt;

use cartouche_crds::{CurrentRun, HistoryEntry, RunPhase, RunResult};

use super::Ledger;

/// Progress of a run of the ledger, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// The run ended with this result.
    Ended(RunResult),
    /// Its object was made, and no end of it was seen.
    Running,
    /// The run has done its work, but is not recorded as succeeded before its outputs can be read.
    OutputsUnread,
    /// The run is to be made.
    Pending,
    /// The API server refused to make it.
    Rejected,
    /// The run is no longer current, and it is not known yet if it was ever made.
    Unknown,
    /// A foreign object holds the name of the run, so that its number was given up.
    NameTaken,
}

impl RunState {
    /// Returns the word for the state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended(result) => result.as_str(),
            Self::Running => "Running",
            Self::OutputsUnread => "OutputsUnread",
            Self::Pending => "Pending",
            Self::Rejected => "Rejected",
            Self::Unknown => "Unknown",
            Self::NameTaken => "NameTaken",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&CurrentRun> for RunState {
    fn from(run: &CurrentRun) -> Self {
        match (run.result, run.phase) {
            (Some(result), _) => Self::Ended(result),
            (None, RunPhase::Created) => Self::Running,
            (None, RunPhase::Pending) => Self::Pending,
            (None, RunPhase::Rejected) => Self::Rejected,
        }
    }
}

impl From<&HistoryEntry> for RunState {
    fn from(entry: &HistoryEntry) -> Self {
        match (entry.result, &entry.uid, &entry.taken_by) {
            (Some(result), ..) => Self::Ended(result),
            // Once the object that held the name is gone, a create that was on its way may make the run.
            (None, Some(_), _) => Self::Running,
            (None, None, Some(_)) => Self::NameTaken,
            (None, None, None) => Self::Unknown,
        }
    }
}

impl Ledger {
    /// Returns true if the run with this uid is the current one.
    #[must_use]
    pub fn is_at(&self, uid: &str) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.uid.as_deref() == Some(uid))
    }
}
