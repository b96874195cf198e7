//! State of a run by the whole status: the ledger does not say all of it.

use cartouche_crds::RunnableStatus;

use crate::{
    category::Category,
    conditions::{RUN_TEMPLATE_READY, find},
    diagnosis::outputs_unread,
    ledger::RunState,
    told::Told,
};

impl RunState {
    /// Refines the state of the run of this name, which comes from the ledger, by the rest of the status. The
    /// ledger records a success only together with the outputs, so that none are lost. Until then only a condition
    /// shows that the run has ended.
    #[must_use]
    pub fn as_said(self, status: &RunnableStatus, run: &str) -> Self {
        let is_unread = || {
            find(status, RUN_TEMPLATE_READY).is_some_and(|said| {
                let what = Told::of(&said.message).what;
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
