//! Objects that selectors name, watched by their metadata: a match or a change wakes the Runnable.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::{DynamicObject, ObjectMeta, PartialObjectMeta},
    runtime::watcher,
};

use super::{Progress, Wakes, Watched, Watches, config, run_object::api_resource};
use crate::memory::{Memories, RunnableKey, lock};

/// What Runnables select, by kind.
#[derive(Default)]
pub struct Selections {
    inner: Mutex<HashMap<Watched, HashMap<RunnableKey, Selection>>>,
}

/// What one Runnable selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The labels that an object must carry.
    pub labels: BTreeMap<String, String>,
    /// The uid of the object that it selected last.
    pub uid: Option<String>,
}

impl Selections {
    /// Puts down what a Runnable selects.
    pub fn put(&self, watched: &Watched, key: &RunnableKey, selection: Selection) {
        self.lock()
            .entry(watched.clone())
            .or_default()
            .insert(key.clone(), selection);
    }

    /// A Runnable selects nothing of this kind any more.
    pub fn remove(&self, watched: &Watched, key: &RunnableKey) {
        let mut inner = self.lock();
        if let Some(kind) = inner.get_mut(watched) {
            kind.remove(key);
            if kind.is_empty() {
                inner.remove(watched);
            }
        }
    }

    /// Those whom an event about an object concerns: it matches, or it is what they selected.
    fn concerned(&self, watched: &Watched, object: &ObjectMeta) -> Vec<RunnableKey> {
        let inner = self.lock();
        let Some(kind) = inner.get(watched) else {
            return Vec::new();
        };
        let carries = |labels: &BTreeMap<String, String>| {
            labels.iter().all(|(key, value)| {
                object.labels.as_ref().and_then(|labels| labels.get(key)) == Some(value)
            })
        };
        kind.iter()
            .filter(|(key, _)| {
                !watched.kind.namespaced || object.namespace.as_deref() == Some(&key.namespace)
            })
            .filter(|(_, selection)| {
                carries(&selection.labels)
                    || (selection.uid.is_some() && selection.uid == object.uid)
            })
            .map(|(key, _)| key.clone())
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Watched, HashMap<RunnableKey, Selection>>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a watch of selected objects needs.
#[derive(Clone)]
pub struct SelectedWatch {
    /// What is selected.
    pub selections: Arc<Selections>,
    /// Where it is put down that a selected object may have changed.
    pub memories: Arc<Memories>,
    /// Whom to wake.
    pub wakes: Wakes,
    /// The registry that this watch is in.
    pub watches: Arc<Watches>,
}

impl SelectedWatch {
    /// Watches the metadata of all objects of a kind until it is aborted.
    pub async fn watch(self, client: Client, watched: Watched, progress: Arc<Progress>) {
        let api: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(client, &api_resource(&watched.kind));
        let events = watcher(api, config()).boxed();
        let take = |event| self.take(&watched, event);
        let turned = || self.wake(self.watches.turned(&watched));
        let what = watched.kind.resource();
        progress.follow(&what, events, take, turned).await;
    }

    fn take(&self, watched: &Watched, event: watcher::Event<PartialObjectMeta<DynamicObject>>) {
        match event {
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
            // What happened before the list, or between two lists, is not known.
            watcher::Event::InitDone => self.wake(self.watches.users(watched)),
            watcher::Event::Apply(object) | watcher::Event::Delete(object) => {
                self.wake(self.selections.concerned(watched, &object.metadata));
            }
        }
    }

    fn wake(&self, keys: Vec<RunnableKey>) {
        for key in keys {
            if let Some(memory) = self.memories.known(&key) {
                let mut memory = lock(&memory);
                memory.picked = None;
                memory.changes += 1;
                memory.retry_now();
            }
            self.wakes.wake(&key);
        }
    }
}
