//! Index of which Runnables derive from which, for the Runnables to enqueue when one changes. While no input comes from
//! a Runnable, and no output goes to an object, it is empty, and costs nothing.

mod links;
mod sinks;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use cartouche_crds::Runnable;
use cartouche_protocol::{
    sources::Seen,
    trace::{MOST_SOURCES, Revision, SourceKey},
};

use crate::{lock::lock, memory::digest, runnable_key::RunnableKey};
use links::Links;
use sinks::{NamedObjects, SinkObjects};

/// Index of Runnables and their sources.
#[derive(Default)]
pub struct Dependents(Mutex<Index>);

#[derive(Default)]
struct Index {
    /// Runnables that each reads, even if they do not exist.
    reads: Links<RunnableKey>,
    /// Objects that each reads, and objects that have its outputs. `None` before the first Runnable names an object to
    /// write to.
    objects: Option<SinkObjects>,
    /// Runnables whose reads do not count, since their account was not allowed to read.
    unread: HashSet<RunnableKey>,
    /// State in which each Runnable that is read was last seen.
    seen: HashMap<RunnableKey, SeenSource>,
}

#[derive(Clone, PartialEq, Eq)]
struct SeenSource {
    /// Revision of its outputs, and the names of the sensitive ones that are not written yet.
    outputs: (Option<Revision>, BTreeSet<String>),
    /// Digest of all that its dependents decide by.
    bearing: u64,
}

/// Runnables to enqueue after a change of one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Concerned {
    /// Runnables that read it.
    pub readers: BTreeSet<RunnableKey>,
    /// True if what they have read of it may be old.
    pub outputs_changed: bool,
    /// Runnables that derive from these in turn, and may be held back by it: as far away as a Runnable may be whose
    /// inputs derive from few enough objects to be run. If it reads or writes to others than before, also those that
    /// derive from it through objects: they may be on a cycle now, or on none any more.
    pub further: Vec<RunnableKey>,
}

impl RunnableKey {
    /// Returns the key of the Runnable that a source is, or `None` for other sources.
    #[must_use]
    pub fn of_source(key: &SourceKey) -> Option<Self> {
        let (namespace, name) = key.as_runnable()?;
        Some(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Returns the key as that of a source.
    #[must_use]
    pub fn as_source(&self) -> SourceKey {
        SourceKey::runnable(&self.namespace, &self.name)
    }
}

impl Dependents {
    /// Records a Runnable that exists, in the state `seen`. Returns the Runnables to enqueue.
    pub fn apply(
        &self,
        key: &RunnableKey,
        runnable: &Runnable,
        seen: impl Fn() -> Arc<Seen>,
    ) -> Concerned {
        let mut index = lock(&self.0);
        let sources = runnable.spec.inputs_from.as_deref().unwrap_or_default();
        let objects = index.objects.as_mut();
        let objects =
            objects.map(|objects| objects.set(key, NamedObjects::from_runnable(runnable)));
        let names_the_same = objects.as_ref().is_some_and(|(is_new, _)| !is_new);
        let mut is_moved = false;
        if !sources.is_empty() || index.reads.has(key) {
            let seen = seen();
            let reads = seen.reads.keys().filter_map(RunnableKey::of_source);
            let reads: BTreeSet<RunnableKey> = reads.collect();
            is_moved = index.reads.set(key, reads.clone()) != reads;
            // An edit that leaves the sources as they are does not change what was read.
            let is_as_read = names_the_same && !is_moved && !seen.is_observed();
            let counts =
                sources.is_empty() || seen.has_read() || is_as_read && !index.unread.contains(key);
            is_moved |= index.counts(key, counts);
        }
        let written = objects.and_then(|(is_new, written)| (is_new || is_moved).then_some(written));
        let news = index.news(key, seen);
        if news.is_none() && written.is_none() {
            return Concerned::default();
        }
        let readers = news.map(|_| index.reads.from(key).cloned().collect());
        Concerned {
            readers: readers.unwrap_or_default(),
            outputs_changed: news == Some(SourceNews { of_outputs: true }),
            further: index.further(key, written.as_ref()),
        }
    }

    /// Records that a Runnable was deleted. Returns the Runnables to enqueue.
    pub fn delete(&self, key: &RunnableKey) -> Concerned {
        let mut index = lock(&self.0);
        index.reads.set(key, BTreeSet::new());
        index.unread.remove(key);
        index.seen.remove(key);
        let objects = index.objects.as_mut();
        let written = objects.map(|objects| objects.set(key, NamedObjects::default()).1);
        Concerned {
            readers: index.reads.from(key).cloned().collect(),
            outputs_changed: true,
            further: index.further(key, written.as_ref()),
        }
    }

    /// Returns all Runnables that derive from a Runnable, as far as any may be held back by it.
    #[must_use]
    pub fn below(&self, key: &RunnableKey) -> Vec<RunnableKey> {
        let index = lock(&self.0);
        let readers = index.reads.from(key).cloned();
        readers.chain(index.further(key, None)).collect()
    }

    /// Forgets Runnables that do not exist any more, as after a watch that began anew. Returns the Runnables to enqueue
    /// for each.
    pub fn sweep(&self, exists: impl Fn(&RunnableKey) -> bool) -> Vec<(RunnableKey, Concerned)> {
        let gone: BTreeSet<RunnableKey> = {
            let index = lock(&self.0);
            let naming = index.objects.iter().flat_map(SinkObjects::naming);
            let all = index.reads.keys().chain(index.seen.keys()).chain(naming);
            let all = all.chain(&index.unread);
            all.filter(|key| !exists(key)).cloned().collect()
        };
        gone.into_iter()
            .map(|key| {
                let concerned = self.delete(&key);
                (key, concerned)
            })
            .collect()
    }

    /// Returns true if what a Runnable reads holds back others, too: its account was allowed to read that.
    #[must_use]
    pub fn has_read(&self, key: &RunnableKey) -> bool {
        !lock(&self.0).unread.contains(key)
    }

    /// Returns true if the index knows which objects Runnables name.
    #[must_use]
    pub fn knows_objects(&self) -> bool {
        lock(&self.0).objects.is_some()
    }

    /// Starts to index the objects that Runnables name, since one is about to be the first that writes to an object.
    /// `others` are all others.
    pub fn know_objects<'a>(&self, others: impl Iterator<Item = (RunnableKey, &'a Runnable)>) {
        let mut objects = SinkObjects::default();
        for (key, other) in others {
            objects.set(&key, NamedObjects::from_runnable(other));
        }
        lock(&self.0).objects = Some(objects);
    }

    /// Returns the Runnables whose outputs an object has.
    #[must_use]
    pub fn writers(&self, object: &SourceKey) -> Vec<RunnableKey> {
        let index = lock(&self.0);
        let objects = index.objects.iter();
        objects.flat_map(|it| it.writers(object)).cloned().collect()
    }
}

/// A change of something that the readers of a Runnable decide by.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SourceNews {
    /// True if what they have read of it may be old.
    of_outputs: bool,
}

impl Index {
    /// Records that what a Runnable reads counts, or does not. Returns true if that is new.
    fn counts(&mut self, key: &RunnableKey, counts: bool) -> bool {
        if counts {
            self.unread.remove(key)
        } else {
            self.unread.insert(key.clone())
        }
    }

    /// Returns the change of a Runnable since it was seen last, or `None` if there is none or no Runnable reads it.
    fn news(&mut self, key: &RunnableKey, seen: impl Fn() -> Arc<Seen>) -> Option<SourceNews> {
        if !self.reads.leads_to(key) {
            self.seen.remove(key);
            return None;
        }
        let seen = seen();
        let now = SeenSource {
            outputs: (seen.revision.clone(), seen.behind.clone()),
            bearing: digest(seen.bearing()),
        };
        let before = self.seen.insert(key.clone(), now.clone());
        let of_outputs = before.as_ref().map(|before| &before.outputs) != Some(&now.outputs);
        (before.as_ref() != Some(&now)).then_some(SourceNews { of_outputs })
    }

    /// Returns the Runnables that derive from its readers, and, if it has `written` to objects, those that derive from
    /// it through these.
    fn further(
        &self,
        key: &RunnableKey,
        written: Option<&BTreeSet<SourceKey>>,
    ) -> Vec<RunnableKey> {
        let objects = written.and(self.objects.as_ref());
        let below = |key| {
            let through = objects.into_iter().flat_map(move |it| it.below(key));
            self.reads.from(key).chain(through)
        };
        let mut level: Vec<&RunnableKey> = self.reads.from(key).collect();
        let mut met: HashSet<&RunnableKey> = level.iter().copied().collect();
        let of_object = |object| objects.into_iter().flat_map(move |it| it.readers(object));
        let through = written.into_iter().flatten().flat_map(of_object);
        let mut further: Vec<&RunnableKey> = through.filter(|key| met.insert(*key)).collect();
        level.extend(&further);
        for _ in 0..MOST_SOURCES {
            let next = level.into_iter().flat_map(below);
            level = next.filter(|key| met.insert(*key)).collect();
            further.extend(&level);
        }
        further.into_iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests;
