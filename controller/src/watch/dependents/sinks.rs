//! Objects that have outputs of Runnables, and the Runnables whose inputs come from these objects.

use std::collections::BTreeSet;

use cartouche_crds::Runnable;
use cartouche_protocol::{references, sinks, trace::SourceKey};

use super::links::Links;
use crate::runnable_key::RunnableKey;

/// Objects that a Runnable names, each as a whole.
#[derive(Default)]
pub(super) struct NamedObjects {
    /// Objects that its inputs come from.
    reads: BTreeSet<SourceKey>,
    /// Objects that have its outputs.
    writes: BTreeSet<SourceKey>,
}

impl NamedObjects {
    /// Collects the objects that the spec reads, and of the sinks in the spec those that the status says it has
    /// written.
    pub(super) fn from_runnable(runnable: &Runnable) -> Self {
        let (spec, namespace) = (&runnable.spec, runnable.metadata.namespace.as_deref());
        let namespace = namespace.unwrap_or_default();
        let sources = spec.inputs_from.as_deref().unwrap_or_default();
        let wanted = spec.write_outputs_to.as_deref().unwrap_or_default();
        let written = runnable.status.as_ref().map(|it| it.sinks.as_slice());
        Self {
            reads: references::sinks(namespace, sources),
            writes: sinks::held_by(namespace, wanted, written.unwrap_or_default()),
        }
    }
}

/// Objects that Runnables name.
#[derive(Default)]
pub(super) struct SinkObjects {
    readers: Links<SourceKey>,
    writers: Links<SourceKey>,
}

impl SinkObjects {
    /// Replaces the objects of a Runnable. Returns true if they are others than before, and all that have its outputs
    /// or had them.
    pub(super) fn set(
        &mut self,
        key: &RunnableKey,
        named: NamedObjects,
    ) -> (bool, BTreeSet<SourceKey>) {
        let NamedObjects { reads, writes } = named;
        let mut written = writes.clone();
        let has_read = self.readers.set(key, reads.clone());
        let has_written = self.writers.set(key, writes);
        let is_new = has_read != reads || has_written != written;
        written.extend(has_written);
        (is_new, written)
    }

    /// Returns the Runnables whose outputs an object has.
    pub(super) fn writers(&self, object: &SourceKey) -> impl Iterator<Item = &RunnableKey> {
        self.writers.from(object)
    }

    /// Returns the Runnables whose inputs come from an object.
    pub(super) fn readers(&self, object: &SourceKey) -> impl Iterator<Item = &RunnableKey> {
        self.readers.from(object)
    }

    /// Returns the Runnables whose inputs come from what this one writes to.
    pub(super) fn below<'a>(&'a self, key: &RunnableKey) -> impl Iterator<Item = &'a RunnableKey> {
        let written = self.writers.to(key);
        written.flat_map(|object| self.readers.from(object))
    }

    /// Returns the Runnables that name any objects.
    pub(super) fn naming(&self) -> impl Iterator<Item = &RunnableKey> {
        self.readers.keys().chain(self.writers.keys())
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.readers.is_empty() && self.writers.is_empty()
    }
}
