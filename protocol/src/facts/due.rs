//! What is due, now that something is rendered.

use super::Facts;
use crate::ledger::{Due, Ledger};

impl Facts {
    /// What is due by this ledger; nothing is known of that while nothing can be rendered.
    #[must_use]
    pub fn due(&self, ledger: &Ledger) -> Option<Due> {
        let rendering = self.rendering.as_ref().ok()?;
        let token = self.runnable.rerun_token.as_deref();
        Some(ledger.due(rendering.document.hashes(), token))
    }

    /// Whether something else is to run than what the current run was made of, or is once more on request.
    #[must_use]
    pub fn is_another_due(&self) -> bool {
        matches!(self.due(&self.ledger), Some(Due::New(_)))
    }

    /// Whether a run of what is rendered may be intended: it is another than the current one, as far as their hashes tell.
    #[must_use]
    pub fn may_intend(&self) -> bool {
        let due = self.due(&self.ledger);
        due.is_some_and(|due| self.ledger.may_intend(due))
    }
}
