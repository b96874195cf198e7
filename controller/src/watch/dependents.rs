//! Which Runnables stem from which, and who is to look again when one changes: an index over the cache. Where no input comes
//! from a Runnable, and no output goes to an object, it is empty, and costs nothing.

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
use sinks::{NamedObjects, Objects};

/// Who reads whom.
#[derive(Default)]
pub struct Dependents(Mutex<Index>);

#[derive(Default)]
struct Index {
    /// The Runnables that each reads, be they there or not.
    reads: Links<RunnableKey>,
    /// The objects that each reads, and that have its outputs. Nothing before the first names any that it writes to.
    objects: Option<Objects>,
    /// Those whose reads do not count, since their account was not allowed to read.
    unread: HashSet<RunnableKey>,
    /// How each that is read was last seen.
    seen: HashMap<RunnableKey, Known>,
}

#[derive(Clone, PartialEq, Eq)]
struct Known {
    /// The revision of its outputs, and which have yet to be written.
    outputs: (Option<Revision>, BTreeSet<String>),
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
    /// objects to be run. If it reads or writes to others than before, also those that stem from it by way of objects: they may be
    /// on a cycle now, or on none any more.
    pub further: Vec<RunnableKey>,
}

impl RunnableKey {
    /// The Runnable that a source is, if it is one.
    #[must_use]
    pub fn of_source(key: &SourceKey) -> Option<Self> {
        let (namespace, name) = key.as_runnable()?;
        Some(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    /// It, as a source of others.
    #[must_use]
    pub fn as_source(&self) -> SourceKey {
        SourceKey::runnable(&self.namespace, &self.name)
    }
}

impl Dependents {
    /// A Runnable is there, as `seen` shows it. Who is to look again.
    pub fn applied(
        &self,
        key: &RunnableKey,
        runnable: &Runnable,
        seen: impl Fn() -> Arc<Seen>,
    ) -> Concerned {
        let mut index = lock(&self.0);
        let sources = runnable.spec.inputs_from.as_deref().unwrap_or_default();
        let objects = index.objects.as_mut();
        let objects = objects.map(|objects| objects.set(key, NamedObjects::of(runnable)));
        let names_the_same = objects.as_ref().is_some_and(|(is_new, _)| !is_new);
        let mut is_moved = false;
        if !sources.is_empty() || index.reads.has(key) {
            let seen = seen();
            let reads = seen.reads.keys().filter_map(RunnableKey::of_source);
            let reads: BTreeSet<RunnableKey> = reads.collect();
            is_moved = index.reads.set(key, reads.clone()) != reads;
            // An edit that leaves the sources as they are makes no claim of what was read.
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
            outputs_changed: news == Some(News { of_outputs: true }),
            further: index.further(key, written.as_ref()),
        }
    }

    /// A Runnable is gone. Who is to look again.
    pub fn deleted(&self, key: &RunnableKey) -> Concerned {
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

    /// All that stem from a Runnable, as far as any may be held back by it.
    #[must_use]
    pub fn below(&self, key: &RunnableKey) -> Vec<RunnableKey> {
        let index = lock(&self.0);
        let readers = index.reads.from(key).cloned();
        readers.chain(index.further(key, None)).collect()
    }

    /// Those that are not there any more are forgotten, as after a watch that began anew.
    pub fn sweep(&self, exists: impl Fn(&RunnableKey) -> bool) -> Vec<(RunnableKey, Concerned)> {
        let gone: BTreeSet<RunnableKey> = {
            let index = lock(&self.0);
            let naming = index.objects.iter().flat_map(Objects::naming);
            let all = index.reads.linked().chain(index.seen.keys()).chain(naming);
            let all = all.chain(&index.unread);
            all.filter(|key| !exists(key)).cloned().collect()
        };
        gone.into_iter()
            .map(|key| {
                let concerned = self.deleted(&key);
                (key, concerned)
            })
            .collect()
    }

    /// True if what a Runnable reads holds back others, too: its account was allowed to read that.
    #[must_use]
    pub fn has_read(&self, key: &RunnableKey) -> bool {
        !lock(&self.0).unread.contains(key)
    }

    /// Whether it is known which objects Runnables name.
    #[must_use]
    pub fn knows_objects(&self) -> bool {
        lock(&self.0).objects.is_some()
    }

    /// One is about to be the first that writes to an object: these are all others. From now on it is kept which objects each names.
    pub fn know_objects<'a>(&self, others: impl Iterator<Item = (RunnableKey, &'a Runnable)>) {
        let mut objects = Objects::default();
        for (key, other) in others {
            objects.set(&key, NamedObjects::of(other));
        }
        lock(&self.0).objects = Some(objects);
    }

    /// The Runnables whose outputs an object has.
    #[must_use]
    pub fn writers(&self, object: &SourceKey) -> Vec<RunnableKey> {
        let index = lock(&self.0);
        let objects = index.objects.iter();
        objects.flat_map(|it| it.writers(object)).cloned().collect()
    }
}

/// Something that those who read a Runnable decide by.
#[derive(Clone, Copy, PartialEq, Eq)]
struct News {
    /// What they have read of it may be old.
    of_outputs: bool,
}

impl Index {
    /// Takes down that what a Runnable reads counts, or does not. True if that is new.
    fn counts(&mut self, key: &RunnableKey, counts: bool) -> bool {
        if counts {
            self.unread.remove(key)
        } else {
            self.unread.insert(key.clone())
        }
    }

    /// What is new of a Runnable since it was seen last, if anybody reads it.
    fn news(&mut self, key: &RunnableKey, seen: impl Fn() -> Arc<Seen>) -> Option<News> {
        if !self.reads.leads_to(key) {
            self.seen.remove(key);
            return None;
        }
        let seen = seen();
        let now = Known {
            outputs: (seen.revision.clone(), seen.behind.clone()),
            bearing: digest(seen.bearing()),
        };
        let before = self.seen.insert(key.clone(), now.clone());
        let of_outputs = before.as_ref().map(|before| &before.outputs) != Some(&now.outputs);
        (before.as_ref() != Some(&now)).then_some(News { of_outputs })
    }

    /// Those that stem from those that read it; and those that stem from it by way of objects, if it has `written` to any of these.
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
