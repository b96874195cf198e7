//! The state of a run by the whole status: the ledger does not say all of it.

use cartouche_crds::RunnableStatus;

use crate::{
    category::Category,
    conditions::{RUN_TEMPLATE_READY, find},
    diagnosis::outputs_unread,
    ledger::RunState,
    told::Told,
};

impl RunState {
    /// The state of the run of this name, which is so by the ledger, with what else the status says of it. The ledger
    /// calls a run succeeded together with its outputs, so that none are lost; until then only a condition tells that it
    /// has ended.
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
