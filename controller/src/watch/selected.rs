//! Objects that selectors pick, or that inputs name, watched by their metadata: a match or a change enqueues the Runnable.

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

/// Objects that change while a list is under way, of one Runnable, that are told apart at most.
const MAX_TOUCHED: usize = 16;

/// What Runnables select, by kind.
#[derive(Default)]
pub struct Selections {
    inner: Mutex<HashMap<Watched, HashMap<RunnableKey, Selection>>>,
}

/// What one Runnable selects.
#[derive(Debug, Default)]
struct Selection {
    /// The objects that inputs come from.
    sources: BTreeMap<SourceObject, Matches>,
    /// The names of the objects that outputs go to.
    sinks: BTreeSet<String>,
    /// The labels that an object must carry; none while nothing is picked by labels.
    labels: Option<BTreeMap<String, String>>,
    /// The uids of the objects that matched last, of two at most: that one of them is relabelled may be
    /// what the Runnable waits for, and its labels alone do not say so.
    uids: Vec<String>,
    /// The uids of what has changed since the list was asked for that is under way.
    touched: Option<BTreeSet<String>>,
}

/// What is known of an object that inputs come from and that labels find.
#[derive(Debug, Default)]
struct Matches {
    /// The uids of those that matched last, of two at most.
    uids: Vec<String>,
    /// It is asked just now: whatever happens to any object may be about one that nobody knows to match.
    is_asked: bool,
}

impl Selection {
    /// Whether an event about an object concerns what is picked by labels: it matches, or it has matched.
    fn concerns(&self, object: &ObjectMeta) -> bool {
        let Some(labels) = &self.labels else {
            return false;
        };
        carries(object, labels) || self.uids.iter().any(|uid| object.uid.as_ref() == Some(uid))
    }

    /// The objects that inputs come from, or outputs go to, of which this may be one.
    fn named(&self, own: &str, object: &ObjectMeta) -> Vec<SourceObject> {
        let is_it = |(source, matches): &(&SourceObject, &Matches)| {
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
        let sink = sink.map(|name| SourceObject::known(SourceKind::ConfigMap, name));
        sources.chain(sink).collect()
    }

    /// Puts an event down while a list is under way.
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
    /// A Runnable asks which objects have these labels.
    pub fn ask(&self, watched: &Watched, key: &RunnableKey, labels: &BTreeMap<String, String>) {
        self.selection(watched, key, true, |selection| {
            if selection.labels.as_ref() != Some(labels) {
                selection.labels = Some(labels.clone());
                selection.uids.clear();
            }
            selection.touched = Some(BTreeSet::new());
        });
    }

    /// Inputs of a Runnable come from these objects of this kind.
    pub fn name(&self, watched: &Watched, key: &RunnableKey, sources: BTreeSet<SourceObject>) {
        self.selection(watched, key, !sources.is_empty(), |selection| {
            let mut before = std::mem::take(&mut selection.sources);
            let known = |it: SourceObject| (it.clone(), before.remove(&it).unwrap_or_default());
            selection.sources = sources.into_iter().map(known).collect();
        });
    }

    /// It is asked which objects the labels of such a source find.
    pub fn find(&self, watched: &Watched, key: &RunnableKey, source: &SourceObject) {
        self.matches(watched, key, source, |matches| matches.is_asked = true);
    }

    /// The answer, or that there is none: the uids of what matches.
    pub fn found(
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
        change: impl FnOnce(&mut Matches),
    ) {
        self.selection(watched, key, false, |selection| {
            if let Some(matches) = selection.sources.get_mut(source) {
                change(matches);
            }
        });
    }

    /// Outputs of a Runnable go to the objects of these names.
    pub fn name_sinks(&self, watched: &Watched, key: &RunnableKey, names: BTreeSet<String>) {
        self.selection(watched, key, !names.is_empty(), |selection| {
            selection.sinks = names;
        });
    }

    /// A Runnable picks nothing of this kind by labels any more.
    pub fn unpick(&self, watched: &Watched, key: &RunnableKey) {
        self.selection(watched, key, false, |selection| {
            (selection.labels, selection.uids) = (None, Vec::new());
        });
    }

    /// Changes what a Runnable selects of this kind, if it selects something, or is to.
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

    /// All Runnables that select something of this kind.
    #[must_use]
    pub fn of(&self, watched: &Watched) -> Vec<RunnableKey> {
        let inner = lock(&self.inner);
        let kind = inner.get(watched);
        kind.map(|kind| kind.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// The answer: the uids of what matches. Whether it may be old, because one of them has changed
    /// since it was asked for; its event may have come when nobody knew that it matched.
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

    /// A Runnable selects nothing of this kind any more.
    pub fn remove(&self, watched: &Watched, key: &RunnableKey) {
        let mut inner = lock(&self.inner);
        if let Some(kind) = inner.get_mut(watched) {
            kind.remove(key);
            if kind.is_empty() {
                inner.remove(watched);
            }
        }
    }

    /// Those whom an event about an object concerns, whether it is picked, and which sources of inputs it may be.
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

    /// The objects of this kind that inputs of a Runnable come from.
    fn sources_of(&self, watched: &Watched, key: &RunnableKey) -> BTreeSet<SourceObject> {
        let inner = lock(&self.inner);
        let selection = inner.get(watched).and_then(|kind| kind.get(key));
        let sources = selection.map(|selection| selection.sources.keys().cloned().collect());
        sources.unwrap_or_default()
    }
}

/// What a watch of selected objects needs.
#[derive(Clone)]
pub struct SelectedWatch {
    /// What is selected.
    pub selections: Arc<Selections>,
    /// Where it is put down that a selected object may have changed.
    pub memories: Arc<Memories>,
    /// Whom to enqueue.
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
            // What happened before the list, or between two lists, is not known.
            watcher::Event::InitDone => {
                // One that has begun to read is no user before it has.
                let reading = self.selections.of(watched).into_iter();
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

    /// Something has `changed`, if that is news. What was refused for what is rendered waits on: this may well leave that as it is.
    ///
    /// Runnables that wait can feed each other: each write of one is a change for the other. All that such a change can bring, as
    /// a rule, is words. It is looked at now and then.
    fn enqueue(
        &self,
        watched: &Watched,
        key: &RunnableKey,
        changed: impl FnOnce(&mut Memory) -> bool,
    ) {
        let mut wait = None;
        if let Some(memory) = self.memories.known(key) {
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
