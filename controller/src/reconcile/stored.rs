//! Reports a stored status that is not as this controller left it. I/O.

use cartouche_crds::{HistoryEntry, MAX_LINE, MAX_LINES, MAX_UNREADABLE, RunnableStatus};

use super::reconciliation::Reconciliation;
use crate::{events::WarningReason, lock::lock, memory::digest};

/// Maximum number of characters shown of an unreadable line.
const SHOWN: usize = 80;

impl Reconciliation<'_> {
    /// Reports unreadable lines of the history, once while they are the same. Reports dropped lines once for each
    /// version of the status.
    pub(super) fn say_unreadable_history(&self) {
        let stored = &self.facts.stored;
        let (lines, dropped) = (&stored.unreadable_history, stored.dropped_lines);
        // Dropped lines are left out, since the next write removes them: that is no news.
        let digest = Some(digest(lines)).filter(|_| !lines.is_empty() || dropped > 0);
        let dropped_of = Some(&self.resource_version)
            .filter(|_| dropped > 0)
            .cloned();
        let is_known = {
            let mut memory = lock(&self.memory);
            let before = std::mem::replace(&mut memory.reported_history, digest);
            let previous = std::mem::replace(&mut memory.reported_dropped, dropped_of.clone());
            before == digest && (dropped_of.is_none() || previous == dropped_of)
        };
        if digest.is_none() || is_known {
            return;
        }
        let mut found = Vec::new();
        if let Some(first) = lines.first() {
            let why = first.parse::<HistoryEntry>().err();
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            let shown: String = first.chars().take(SHOWN).collect();
            found.push(format!(
                "{} cannot be read and are kept as they are, first {shown:?}{why}",
                lines.len()
            ));
        }
        if dropped > 0 {
            found.push(format!(
                "{dropped} are dropped, because they have more than {MAX_LINE} bytes, or there are more than {MAX_LINES}, or more than {MAX_UNREADABLE} cannot be read"
            ));
        }
        let message = format!(
            "lines of status.history: {}. Only the controller should write there: find the other client, and remove its lines",
            found.join("; ")
        );
        self.publish_warning(WarningReason::HistoryUnreadable.as_str(), message);
    }

    /// Reports that nothing is written while it is unknown whether the ledger was put back, and the problem that would
    /// have been written. This happens once for each write of another client.
    pub(super) fn say_put_back(&self, status: &RunnableStatus) {
        // The writer could not be read, which is reported where that is retried.
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
            "another client has written the status, and the controller cannot compare it with the existing runs; it writes no status until it can: {why}"
        );
        self.publish_warning(WarningReason::StatusNotCompared.as_str(), message);
    }
}
