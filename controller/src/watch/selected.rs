//! Objects that selectors name, watched by their metadata: a match or a change enqueues the Runnable.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use futures::StreamExt;
use kube::{Api, Client, Resource, api::ObjectMeta, runtime::watcher};

use super::{Enqueuer, Progress, Watched, Watches, config, selected_object::SelectedObject};
use crate::runnable_key::RunnableKey;
use crate::{lock::lock, memory::Memories};

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
    /// The labels that an object must carry.
    labels: BTreeMap<String, String>,
    /// The uids of the objects that matched last, of two at most: that one of them is relabelled may be
    /// what the Runnable waits for, and its labels alone do not say so.
    uids: Vec<String>,
    /// The uids of what has changed since the list was asked for that is under way.
    touched: Option<BTreeSet<String>>,
}

impl Selection {
    /// Whether an event about an object concerns it: it matches, or it has matched.
    fn concerns(&self, object: &ObjectMeta) -> bool {
        let carries = self.labels.iter().all(|(key, value)| {
            object.labels.as_ref().and_then(|labels| labels.get(key)) == Some(value)
        });
        carries || self.uids.iter().any(|uid| object.uid.as_ref() == Some(uid))
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

impl Selections {
    /// A Runnable asks which objects have these labels.
    pub fn ask(&self, watched: &Watched, key: &RunnableKey, labels: &BTreeMap<String, String>) {
        let mut inner = lock(&self.inner);
        let kind = inner.entry(watched.clone()).or_default();
        let selection = kind.entry(key.clone()).or_default();
        if selection.labels != *labels {
            selection.labels.clone_from(labels);
            selection.uids.clear();
        }
        selection.touched = Some(BTreeSet::new());
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

    /// Those whom an event about an object concerns.
    fn concerned(&self, watched: &Watched, object: &ObjectMeta) -> Vec<RunnableKey> {
        let mut inner = lock(&self.inner);
        let Some(kind) = inner.get_mut(watched) else {
            return Vec::new();
        };
        let mut concerned = Vec::new();
        for (key, selection) in kind.iter_mut().filter(|(key, _)| {
            !watched.kind.namespaced || object.namespace.as_deref() == Some(&key.namespace)
        }) {
            selection.touch(object);
            if selection.concerns(object) {
                concerned.push(key.clone());
            }
        }
        concerned
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
        let on_change = || self.enqueue(self.watches.state_changed(&watched));
        let what = watched.kind.resource();
        progress.follow(&what, events, take, on_change).await;
    }

    fn take(&self, watched: &Watched, event: watcher::Event<SelectedObject>) {
        match event {
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
            // What happened before the list, or between two lists, is not known.
            watcher::Event::InitDone => self.enqueue(self.watches.users(watched)),
            watcher::Event::Apply(object) | watcher::Event::Delete(object) => {
                self.enqueue(self.selections.concerned(watched, object.meta()));
            }
        }
    }

    fn enqueue(&self, keys: Vec<RunnableKey>) {
        for key in keys {
            if let Some(memory) = self.memories.known(&key) {
                let mut memory = lock(&memory);
                memory.selection_changed();
                memory.retry_now();
            }
            self.enqueuer.enqueue(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use kube::api::ObjectMeta;

    use super::{MAX_TOUCHED, Selections};
    use crate::{
        discovery::Kind,
        runnable_key::RunnableKey,
        watch::{Purpose, Watched},
    };

    fn watched() -> Watched {
        let kind = Kind {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
        };
        Watched {
            purpose: Purpose::Selected,
            kind: Arc::new(kind),
        }
    }

    fn key() -> RunnableKey {
        RunnableKey {
            namespace: "ns".to_owned(),
            name: "app".to_owned(),
        }
    }

    fn labels() -> BTreeMap<String, String> {
        [("a".to_owned(), "b".to_owned())].into()
    }

    fn object(uid: &str, labels: BTreeMap<String, String>) -> ObjectMeta {
        ObjectMeta {
            uid: Some(uid.to_owned()),
            namespace: Some("ns".to_owned()),
            labels: Some(labels),
            ..ObjectMeta::default()
        }
    }

    fn answered(uids: &[&str]) -> Selections {
        let selections = Selections::default();
        selections.ask(&watched(), &key(), &labels());
        let uids = uids.iter().map(|&uid| uid.to_owned()).collect();
        assert!(!selections.answer(&watched(), &key(), uids));
        selections
    }

    #[test]
    fn each_of_several_matches_concerns_who_waits_for_one_to_be_left() {
        let selections = answered(&["one", "two"]);
        let concerned = |uid, labels| selections.concerned(&watched(), &object(uid, labels));
        assert_eq!(concerned("one", BTreeMap::new()), [key()]);
        assert_eq!(concerned("two", BTreeMap::new()), [key()]);
        assert_eq!(concerned("three", labels()), [key()]);
        assert!(concerned("three", BTreeMap::new()).is_empty());
    }

    #[test]
    fn what_matched_stays_known_while_it_is_asked_again() {
        let selections = answered(&["one"]);
        selections.ask(&watched(), &key(), &labels());
        let event = object("one", BTreeMap::new());
        assert_eq!(selections.concerned(&watched(), &event), [key()]);
    }

    #[test]
    fn an_answer_is_old_if_what_it_shows_has_changed_meanwhile() {
        let selections = answered(&[]);
        selections.ask(&watched(), &key(), &labels());
        let event = object("one", BTreeMap::new());
        assert!(selections.concerned(&watched(), &event).is_empty());
        assert!(selections.answer(&watched(), &key(), vec!["one".to_owned()]));
        selections.ask(&watched(), &key(), &labels());
        assert!(
            selections
                .concerned(&watched(), &object("x", BTreeMap::new()))
                .is_empty()
        );
        assert!(!selections.answer(&watched(), &key(), vec!["one".to_owned()]));
    }

    #[test]
    fn of_very_many_changes_one_counts_as_that_of_a_match() {
        let selections = answered(&[]);
        selections.ask(&watched(), &key(), &labels());
        for number in 0..10 * MAX_TOUCHED {
            let event = object(&number.to_string(), BTreeMap::new());
            selections.concerned(&watched(), &event);
        }
        assert!(selections.answer(&watched(), &key(), vec!["one".to_owned()]));
    }
}
