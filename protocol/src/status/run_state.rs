//! State of a run of the ledger, in one word.

use std::fmt;

use cartouche_crds::{
    CurrentRun, HistoryEntry, RunPhase, RunResult, RunnableStatus,
    conditions::{RUN_TEMPLATE_READY, find},
};

use crate::{
    category::Category,
    messages::{diagnosis::outputs_unread, format::MessageParts},
};

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

    /// Refines the state of the run of this name, which comes from the ledger, by the rest of the status. The
    /// ledger records a success only together with the outputs, so that none are lost. Until then only a condition
    /// shows that the run has ended.
    #[must_use]
    pub fn as_said(self, status: &RunnableStatus, run: &str) -> Self {
        let is_unread = || {
            find(status, RUN_TEMPLATE_READY).is_some_and(|said| {
                let what = MessageParts::parse(&said.message).what;
                let reason = Category::OutputPathNotSatisfied.as_str();
                said.reason == reason && what.starts_with(&format!("{}: ", outputs_unread(run)))
            })
        };
        match self {
            Self::Running if is_unread() => Self::OutputsUnread,
            state => state,
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
