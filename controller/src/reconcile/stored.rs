//! A stored status that is not as this controller left it: who hears of that. I/O.

use std::hash::{DefaultHasher, Hash, Hasher};

use cartouche_crds::{HistoryEntry, RunnableStatus};

use super::reconciliation::Reconciliation;
use crate::lock::lock;

/// Of a line that cannot be read, so many characters are shown.
const SHOWN: usize = 80;

impl Reconciliation<'_> {
    /// Says, once while they are the same, that lines of the history cannot be read.
    pub(super) fn say_unreadable_history(&self) {
        let lines = &self.facts.stored.unreadable_history;
        let mut hasher = DefaultHasher::new();
        lines.hash(&mut hasher);
        let digest = Some(hasher.finish()).filter(|_| !lines.is_empty());
        let before = std::mem::replace(&mut lock(&self.memory).reported_history, digest);
        let Some(first) = lines.first().filter(|_| before != digest) else {
            return;
        };
        let why = first.parse::<HistoryEntry>().err();
        let why = why.map_or_else(String::new, |why| format!(" ({why})"));
        let shown: String = first.chars().take(SHOWN).collect();
        let message = format!(
            "{} of the lines in status.history cannot be read, and are kept as they are: {shown:?}{why}",
            lines.len()
        );
        self.publish_warning("HistoryUnreadable", message);
    }

    /// Says, once for each write of somebody else, that nothing is written while it is not known whether the ledger was
    /// put back, and what would have been.
    pub(super) fn say_put_back(&self, status: &RunnableStatus) {
        // Who wrote it could not be read, which is told where that is tried again.
        if self.facts.ledger_writer.is_none() {
            return;
        }
        let version = Some(self.resource_version.clone());
        if std::mem::replace(&mut lock(&self.memory).reported_put_back, version.clone()) == version
        {
            return;
        }
        let wrong = status.conditions.iter().find(|it| it.status == "False");
        let why = wrong.map_or("", |condition| &condition.message);
        let message = format!(
            "somebody else has written the status, and it cannot be compared with the runs that exist, so that nothing is written into it until it can: {why}"
        );
        self.publish_warning("StatusNotCompared", message);
    }
}
