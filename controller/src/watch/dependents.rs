//! Which Runnables stem from which, and who is to look again when one changes: an index over the cache. Where no input comes
//! from a Runnable, it is empty, and costs nothing.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use cartouche_protocol::sources::{Revision, Seen, SourceKey, trace::MOST_SOURCES};

use crate::{lock::lock, memory::digest, runnable_key::RunnableKey};

/// Who reads whom.
#[derive(Default)]
pub struct Dependents(Mutex<Index>);

#[derive(Default)]
struct Index {
    /// Those that read each Runnable, be it there or not.
    readers: HashMap<RunnableKey, BTreeSet<RunnableKey>>,
    /// Those that each Runnable reads.
    reads: HashMap<RunnableKey, BTreeSet<RunnableKey>>,
    /// How each that is read was last seen.
    seen: HashMap<RunnableKey, Known>,
}

#[derive(Clone, PartialEq, Eq)]
struct Known {
    outputs: Option<Revision>,
    /// Of all that its dependents decide by.
    bearing: u64,
}

/// Who is to look again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Concerned {
    /// Those that read it.
    pub readers: BTreeSet<RunnableKey>,
    /// Whether what they have read of it may be old.
    pub outputs_changed: bool,
    /// Those that stem from these in turn, and may be held back by it: no further away than any whose inputs stem from few enough
    /// objects to be run.
    pub further: Vec<RunnableKey>,
}

impl RunnableKey {
    fn of_source(key: &SourceKey) -> Option<Self> {
        let (namespace, name) = key.as_runnable()?;
        Some(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl Dependents {
    /// A Runnable is there, as `seen` shows it; whether it `has_sources` is known without that. Who is to look again.
    pub fn applied(
        &self,
        key: &RunnableKey,
        has_sources: bool,
        seen: impl Fn() -> Arc<Seen>,
    ) -> Concerned {
        let mut index = lock(&self.0);
        if has_sources || index.reads.contains_key(key) {
            let seen = seen();
            let reads = seen.reads.keys().filter_map(RunnableKey::of_source);
            index.link(key, reads.collect());
        }
        if !index.readers.contains_key(key) {
            index.seen.remove(key);
            return Concerned::default();
        }
        let seen = seen();
        let now = Known {
            outputs: seen.revision.clone(),
            bearing: digest(seen.bearing()),
        };
        let before = index.seen.insert(key.clone(), now.clone());
        if before.as_ref() == Some(&now) {
            return Concerned::default();
        }
        let outputs = before.map(|before| before.outputs);
        index.concerned(key, outputs != Some(now.outputs))
    }

    /// A Runnable is gone. Who is to look again.
    pub fn deleted(&self, key: &RunnableKey) -> Concerned {
        let mut index = lock(&self.0);
        index.link(key, BTreeSet::new());
        index.seen.remove(key);
        index.concerned(key, true)
    }

    /// Those that are not there any more are forgotten, as after a watch that began anew.
    pub fn sweep(&self, exists: impl Fn(&RunnableKey) -> bool) -> Vec<(RunnableKey, Concerned)> {
        let (readers, read) = {
            let index = lock(&self.0);
            let readers: Vec<RunnableKey> = index.reads.keys().cloned().collect();
            let read: Vec<RunnableKey> = index.seen.keys().cloned().collect();
            (readers, read)
        };
        let gone: BTreeSet<RunnableKey> = readers
            .into_iter()
            .chain(read)
            .filter(|key| !exists(key))
            .collect();
        gone.into_iter()
            .map(|key| {
                let concerned = self.deleted(&key);
                (key, concerned)
            })
            .collect()
    }
}

impl Index {
    fn link(&mut self, key: &RunnableKey, reads: BTreeSet<RunnableKey>) {
        let before = self.reads.remove(key).unwrap_or_default();
        for source in before.difference(&reads) {
            if let Some(readers) = self.readers.get_mut(source) {
                readers.remove(key);
                if readers.is_empty() {
                    self.readers.remove(source);
                    self.seen.remove(source);
                }
            }
        }
        for source in reads.difference(&before) {
            let readers = self.readers.entry(source.clone()).or_default();
            readers.insert(key.clone());
        }
        if !reads.is_empty() {
            self.reads.insert(key.clone(), reads);
        }
    }

    fn concerned(&self, key: &RunnableKey, outputs_changed: bool) -> Concerned {
        let readers = self.readers.get(key).cloned().unwrap_or_default();
        let mut met: HashSet<&RunnableKey> = readers.iter().collect();
        let mut level: Vec<&RunnableKey> = readers.iter().collect();
        let mut further = Vec::new();
        for _ in 0..MOST_SOURCES {
            let next = level
                .iter()
                .filter_map(|key| self.readers.get(*key))
                .flatten();
            level = next.filter(|key| met.insert(*key)).collect();
            further.extend(level.iter().copied().cloned());
        }
        Concerned {
            readers,
            outputs_changed,
            further,
        }
    }
}

#[cfg(test)]
mod tests;
