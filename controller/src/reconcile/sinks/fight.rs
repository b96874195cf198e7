//! Sinks that another client changes after each write: the first change is reverted at once, and a fight costs few
//! writes.

use cartouche_crds::OutputsFrom;
use cartouche_protocol::{
    references::SourceObject,
    sinks::{SinkContent, SinkOwner, Sinks},
};

use super::SinkRead;
use crate::{
    clock::boot_time, lock::lock, memory::digest, reconcile::reconciliation::Reconciliation,
};

impl Reconciliation<'_> {
    /// Returns true if a sink is not as this process left it.
    pub(super) fn was_changed(&self, read: &SinkRead<'_>) -> bool {
        let found = read.found.as_ref();
        let has = digest(found.map(|found| (found.holder, &found.content)));
        lock(&self.memory).sinks.is_changed(&read.object, has)
    }

    /// Records the content that a sink has from now on, and whether another client had changed it.
    pub(super) fn leave_sink(
        &self,
        object: &SourceObject,
        sequence: i64,
        content: &SinkContent,
        was_changed: bool,
    ) {
        let has = digest(Some((SinkOwner::Ours(sequence), content)));
        let mut memory = lock(&self.memory);
        memory.sinks.leave(object, has, was_changed, boot_time());
    }

    /// Returns true if a change by another client is not reverted yet. Outputs of another run are written without
    /// delay.
    pub(super) fn is_held_off(
        &self,
        object: &SourceObject,
        from: &OutputsFrom,
        sinks: &Sinks,
    ) -> bool {
        sinks.has_those_of(object, from) && lock(&self.memory).sinks.holds_off(object, boot_time())
    }
}
