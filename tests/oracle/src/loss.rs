//! Statuses that somebody emptied, or put back (I3).

use cartouche_crds::RunnableStatus;

use crate::history::Time;

/// A status that was written by somebody else than a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// When.
    pub(crate) at: Time,
    /// What was lost.
    pub(crate) lost: Lost,
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
