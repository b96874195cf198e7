//! Objects that selectors pick, or that inputs name, watched by their metadata: a match or a change enqueues the
//! Runnable.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use cartouche_protocol::references::{SourceKind, SourceObject};
use futures::StreamExt;
use kube::{Api, Client, Resource, api::ObjectMeta, runtime::watcher};

use super::{Enqueuer, Progress, Watches, config, selected_object::SelectedObject};
use crate::{
    clock::boot_time,
    discovery::Kind,
    lock::lock,
    memory::{Memories, Memory},
    runnable_key::RunnableKey,
    watched_kind::Watched,
};

/// Maximum number of objects of one Runnable that are distinguished if they change while a list is in progress.
const MAX_TOUCHED: usize = 16;

/// Objects that Runnables select, by kind.
#[derive(Default)]
pub struct Selections {
    inner: Mutex<HashMap<Watched, HashMap<RunnableKey, Selection>>>,
}

/// Objects that one Runnable selects.
#[derive(Debug, Default)]
struct Selection {
    /// Objects that inputs come from.
    sources: BTreeMap<SourceObject, SelectedMatches>,
    /// Names of the objects that outputs go to.
    sinks: BTreeSet<String>,
    /// Labels that an object must carry; `None` while nothing is picked by labels.
    labels: Option<BTreeMap<String, String>>,
    /// Uids of the objects that matched last, two at most. The Runnable may wait for one of them to be relabelled, and
    /// the new labels alone do not show that.
    uids: Vec<String>,
    /// Uids of the objects that have changed since the current list was requested.
    touched: Option<BTreeSet<String>>,
}

/// Objects that the labels of an input find.
#[derive(Debug, Default)]
struct SelectedMatches {
    /// Uids of those that matched last, two at most.
    uids: Vec<String>,
    /// A read is in progress: an event of any object may be of one that is not known to match yet.
    is_asked: bool,
}

impl Selection {
    /// Returns true if an event of an object concerns what is picked by labels: it matches, or it matched before.
    fn concerns(&self, object: &ObjectMeta) -> bool {
        let Some(labels) = &self.labels else {
            return false;
        };
        carries(object, labels) || self.uids.iter().any(|uid| object.uid.as_ref() == Some(uid))
    }

    /// Returns the objects that inputs come from, or outputs go to, of which this may be one.
    fn named(&self, own: &str, object: &ObjectMeta) -> Vec<SourceObject> {
        let is_it = |(source, matches): &(&SourceObject, &SelectedMatches)| {
            let namespace = object.namespace.as_deref();
            if namespace.is_some_and(|it| it != source.namespace_in(own)) {
                return false;
            }
            match source.labels() {
                None => object.name.as_deref() == Some(&source.name),
                Some(labels) => {
                    let known = || {
                        matches
                            .uids
                            .iter()
                            .any(|uid| object.uid.as_ref() == Some(uid))
                    };
                    matches.is_asked || carries(object, labels) || known()
                }
            }
        };
        let concerned = self.sources.iter().filter(is_it);
        let sources = concerned.map(|(source, _)| source.clone());
        let is_near = object.namespace.as_deref() == Some(own);
        let sink = object
            .name
            .as_ref()
            .filter(|name| is_near && self.sinks.contains(*name));
        let sink = sink.map(|name| SourceObject::in_own_namespace(SourceKind::ConfigMap, name));
        sources.chain(sink).collect()
    }

    /// Records an event while a list is in progress.
    fn touch(&mut self, object: &ObjectMeta) {
        if let (Some(touched), Some(uid)) = (&mut self.touched, &object.uid)
            && touched.len() < MAX_TOUCHED
        {
            touched.insert(uid.clone());
        }
    }
}

fn carries(object: &ObjectMeta, labels: &BTreeMap<String, String>) -> bool {
    labels.iter().all(|(key, value)| {
        object.labels.as_ref().and_then(|labels| labels.get(key)) == Some(value)
    })
}

impl Selections {
    /// Records the labels that a Runnable is about to list by.
    pub fn ask(&self, watched: &Watched, key: &RunnableKey, labels: &BTreeMap<String, String>) {
        self.selection(watched, key, true, |selection| {
            if selection.labels.as_ref() != Some(labels) {
                selection.labels = Some(labels.clone());
                selection.uids.clear();
            }
            selection.touched = Some(BTreeSet::new());
        });
    }

    /// Sets the objects of this kind that inputs of a Runnable come from.
    pub fn name(&self, watched: &Watched, key: &RunnableKey, sources: BTreeSet<SourceObject>) {
        self.selection(watched, key, !sources.is_empty(), |selection| {
            let mut before = std::mem::take(&mut selection.sources);
            let known = |it: SourceObject| (it.clone(), before.remove(&it).unwrap_or_default());
            selection.sources = sources.into_iter().map(known).collect();
        });
    }

    /// Records that a read by the labels of such a source begins.
    pub fn find(&self, watched: &Watched, key: &RunnableKey, source: &SourceObject) {
        self.matches(watched, key, source, |matches| matches.is_asked = true);
    }

    /// Records the end of that read: the uids of what matches, empty if it failed.
    pub fn end_read(
        &self,
        watched: &Watched,
        key: &RunnableKey,
        source: &SourceObject,
        uids: Vec<String>,
    ) {
        self.matches(watched, key, source, |matches| {
            (matches.uids, matches.is_asked) = (uids, false);
        });
    }

    fn matches(
        &self,
        watched: &Watched,
        key: &RunnableKey,
        source: &SourceObject,
        change: impl FnOnce(&mut SelectedMatches),
    ) {
        self.selection(watched, key, false, |selection| {
            if let Some(matches) = selection.sources.get_mut(source) {
                change(matches);
            }
        });
    }

    /// Sets the names of the objects that outputs of a Runnable go to.
    pub fn name_sinks(&self, watched: &Watched, key: &RunnableKey, names: BTreeSet<String>) {
        self.selection(watched, key, !names.is_empty(), |selection| {
            selection.sinks = names;
        });
    }

    /// Forgets the labels by which a Runnable picked objects of this kind.
    pub fn unpick(&self, watched: &Watched, key: &RunnableKey) {
        self.selection(watched, key, false, |selection| {
            (selection.labels, selection.uids) = (None, Vec::new());
        });
    }

    /// Changes the selection of a Runnable of this kind, if it has one. `is_to` creates it.
    fn selection(
        &self,
        watched: &Watched,
        key: &RunnableKey,
        is_to: bool,
        change: impl FnOnce(&mut Selection),
    ) {
        let mut inner = lock(&self.inner);
        let selection = if is_to {
            let kind = inner.entry(watched.clone()).or_default();
            Some(kind.entry(key.clone()).or_default())
        } else {
            inner.get_mut(watched).and_then(|kind| kind.get_mut(key))
        };
        if let Some(selection) = selection {
            change(selection);
        }
    }

    /// Returns all Runnables that select something of this kind.
    #[must_use]
    pub fn list_selecting(&self, watched: &Watched) -> Vec<RunnableKey> {
        let inner = lock(&self.inner);
        let kind = inner.get(watched);
        kind.map(|kind| kind.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Records the answer to a list: the uids of what matches. Returns true if the answer may be old, because one of
    /// them has changed since the request: its event may have come before it was known to match.
    #[must_use]
    pub fn answer(&self, watched: &Watched, key: &RunnableKey, uids: Vec<String>) -> bool {
        let mut inner = lock(&self.inner);
        let kind = inner.get_mut(watched);
        let Some(selection) = kind.and_then(|kind| kind.get_mut(key)) else {
            return true;
        };
        let touched = selection.touched.take().unwrap_or_default();
        let is_old = touched.len() >= MAX_TOUCHED && !uids.is_empty()
            || uids.iter().any(|uid| touched.contains(uid));
        selection.uids = uids;
        is_old
    }

    /// Removes the selection of a Runnable of this kind.
    pub fn remove(&self, watched: &Watched, key: &RunnableKey) {
        let mut inner = lock(&self.inner);
        if let Some(kind) = inner.get_mut(watched) {
            kind.remove(key);
            if kind.is_empty() {
                inner.remove(watched);
            }
        }
    }

    /// Returns the Runnables that an event of an object concerns, each with true if the object is picked, and the
    /// sources of inputs that it may be.
    fn concerned(
        &self,
        watched: &Watched,
        object: &ObjectMeta,
    ) -> Vec<(RunnableKey, bool, Vec<SourceObject>)> {
        let mut inner = lock(&self.inner);
        let Some(kind) = inner.get_mut(watched) else {
            return Vec::new();
        };
        let mut concerned = Vec::new();
        for (key, selection) in &mut *kind {
            let is_near =
                !watched.kind.namespaced || object.namespace.as_deref() == Some(&key.namespace);
            if is_near {
                selection.touch(object);
            }
            let is_picked = is_near && selection.concerns(object);
            let named = selection.named(&key.namespace, object);
            if is_picked || !named.is_empty() {
                concerned.push((key.clone(), is_picked, named));
            }
        }
        concerned
    }

    /// Returns the objects of this kind that inputs of a Runnable come from.
    fn sources_of(&self, watched: &Watched, key: &RunnableKey) -> BTreeSet<SourceObject> {
        let inner = lock(&self.inner);
        let selection = inner.get(watched).and_then(|kind| kind.get(key));
        let sources = selection.map(|selection| selection.sources.keys().cloned().collect());
        sources.unwrap_or_default()
    }
}

/// Parts that a watch of selected objects needs.
#[derive(Clone)]
pub struct SelectedWatch {
    /// The selections of all Runnables.
    pub selections: Arc<Selections>,
    /// Memories in which a possible change of a selected object is recorded.
    pub memories: Arc<Memories>,
    /// Queue of Runnables to reconcile.
    pub enqueuer: Enqueuer,
    /// The registry that this watch is in.
    pub watches: Arc<Watches>,
}

impl SelectedWatch {
    /// Watches the metadata of all objects of a kind until it is aborted.
    pub async fn watch(self, client: Client, watched: Watched, progress: Arc<Progress>) {
        let api: Api<SelectedObject> = self.watches.api(client, &watched.kind);
        let events = watcher(api, config()).boxed();
        let take = |event| self.take(&watched, event);
        let on_change = || self.enqueue_all(&watched, self.watches.state_changed(&watched));
        let what = watched.kind.resource();
        progress.follow(&what, events, take, on_change).await;
    }

    fn take(&self, watched: &Watched, event: watcher::Event<SelectedObject>) {
        match event {
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
            // Changes before the list, or between two lists, are unknown.
            watcher::Event::InitDone => {
                // A Runnable that has begun to read is not among the users before it has finished.
                let reading = self.selections.list_selecting(watched).into_iter();
                let users: HashSet<RunnableKey> =
                    reading.chain(self.watches.users(watched)).collect();
                self.enqueue_all(watched, users);
            }
            watcher::Event::Apply(object) | watcher::Event::Delete(object) => {
                for (key, is_picked, named) in self.selections.concerned(watched, object.meta()) {
                    self.enqueue(watched, &key, |memory| {
                        if is_picked {
                            memory.selection_changed();
                        }
                        let is_news = named.is_empty()
                            || memory.sources_changed(|source| named.contains(source));
                        is_picked || is_news
                    });
                }
            }
        }
    }

    fn enqueue_all(&self, watched: &Watched, keys: impl IntoIterator<Item = RunnableKey>) {
        let takes_outputs = *watched == Watched::config_maps();
        for key in keys {
            let sources = self.selections.sources_of(watched, &key);
            self.enqueue(watched, &key, |memory| {
                memory.selection_changed();
                if takes_outputs {
                    memory.sinks.doubt();
                }
                if !sources.is_empty() {
                    memory.sources_changed(|source| sources.contains(source));
                }
                true
            });
        }
    }

    /// Enqueues a Runnable, if `changed` returns true for its memory. The wait after a refusal of the rendered object
    /// goes on: this change may well leave that as it is.
    ///
    /// Runnables that wait can feed each other: each write of one is a change for the other. As a rule such a change
    /// only brings other words, so it is looked at after a pause.
    fn enqueue(
        &self,
        watched: &Watched,
        key: &RunnableKey,
        changed: impl FnOnce(&mut Memory) -> bool,
    ) {
        let mut wait = None;
        if let Some(memory) = self.memories.get(key) {
            let mut memory = lock(&memory);
            if !changed(&mut memory) {
                return;
            }
            if *watched.kind == Kind::runnables() {
                wait = memory.inputs_after(boot_time());
            }
        }
        self.enqueuer.enqueue_in(key, wait);
    }
}

#[cfg(test)]
mod tests;
