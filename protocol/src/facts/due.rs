//! The pending change, given what is rendered now.

use super::Facts;
use crate::ledger::{Due, Ledger};

impl Facts {
    /// Compares what is rendered with this ledger. `None` while nothing can be rendered.
    #[must_use]
    pub fn due(&self, ledger: &Ledger) -> Option<Due> {
        let rendering = self.rendering.as_ref().ok()?;
        let token = self.runnable.rerun_token.as_deref();
        Some(ledger.due(rendering.document.hashes(), token))
    }

    /// Returns true if a new run is to be made: of another document than the current run's, or once more on
    /// request.
    #[must_use]
    pub fn is_another_due(&self) -> bool {
        matches!(self.due(&self.ledger), Some(Due::New(_)))
    }

    /// Returns true if a run of the rendered document may be intended: as far as the hashes show, it differs from
    /// the current one.
    #[must_use]
    pub fn may_intend(&self) -> bool {
        let due = self.due(&self.ledger);
        due.is_some_and(|due| self.ledger.may_intend(due))
    }
}
