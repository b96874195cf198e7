//! What the ledger says of a run, in one word.

use std::fmt;

use cartouche_crds::{CurrentRun, HistoryEntry, RunPhase, RunResult};

use super::Ledger;

/// How far a run of the ledger is known to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It ended with this result.
    Ended(RunResult),
    /// Its object was made, and no end of it was seen.
    Running,
    /// It has done its work, and is not recorded as succeeded before its outputs can be read.
    OutputsUnread,
    /// It is to be made.
    Pending,
    /// The API server refused to make it.
    Rejected,
    /// It is current no more, and whether it was ever made is not known yet.
    Unknown,
    /// An object that is somebody else's holds its name, so that its number was given up.
    NameTaken,
}

impl RunState {
    /// As it is written.
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
            // Once the object is gone that held the name, a create that was on its way may make the run.
            (None, Some(_), _) => Self::Running,
            (None, None, Some(_)) => Self::NameTaken,
            (None, None, None) => Self::Unknown,
        }
    }
}

impl Ledger {
    /// Whether the run with this uid is the current one.
    #[must_use]
    pub fn is_at(&self, uid: &str) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.uid.as_deref() == Some(uid))
    }
}
