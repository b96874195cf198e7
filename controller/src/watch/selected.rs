//! Objects that selectors pick, or that inputs name, watched by their metadata: a match or a change enqueues the Runnable.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use futures::StreamExt;
use kube::{Api, Client, Resource, api::ObjectMeta, runtime::watcher};

use super::{Enqueuer, Progress, Watched, Watches, config, selected_object::SelectedObject};
use crate::runnable_key::RunnableKey;
use crate::{
    lock::lock,
    memory::{Memories, Memory},
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
    /// The names of the objects that inputs come from.
    names: BTreeSet<String>,
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

impl Selection {
    /// Whether an event about an object concerns what is picked by labels: it matches, or it has matched.
    fn concerns(&self, object: &ObjectMeta) -> bool {
        let Some(labels) = &self.labels else {
            return false;
        };
        let carries = labels.iter().all(|(key, value)| {
            object.labels.as_ref().and_then(|labels| labels.get(key)) == Some(value)
        });
        carries || self.uids.iter().any(|uid| object.uid.as_ref() == Some(uid))
    }

    /// Whether inputs come from an object, or outputs go to it.
    fn names(&self, object: &ObjectMeta) -> bool {
        let name = object.name.as_ref();
        name.is_some_and(|name| self.names.contains(name) || self.sinks.contains(name))
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
        if selection.labels.as_ref() != Some(labels) {
            selection.labels = Some(labels.clone());
            selection.uids.clear();
        }
        selection.touched = Some(BTreeSet::new());
    }

    /// Inputs of a Runnable come from the objects of these names.
    pub fn name(&self, watched: &Watched, key: &RunnableKey, names: BTreeSet<String>) {
        let mut inner = lock(&self.inner);
        if !names.is_empty() {
            let kind = inner.entry(watched.clone()).or_default();
            kind.entry(key.clone()).or_default().names = names;
        } else if let Some(kind) = inner.get_mut(watched)
            && let Some(selection) = kind.get_mut(key)
        {
            selection.names = names;
        }
    }

    /// Outputs of a Runnable go to the objects of these names.
    pub fn name_sinks(&self, watched: &Watched, key: &RunnableKey, names: BTreeSet<String>) {
        let mut inner = lock(&self.inner);
        if !names.is_empty() {
            let kind = inner.entry(watched.clone()).or_default();
            kind.entry(key.clone()).or_default().sinks = names;
        } else if let Some(kind) = inner.get_mut(watched)
            && let Some(selection) = kind.get_mut(key)
        {
            selection.sinks = names;
        }
    }

    /// A Runnable picks nothing of this kind by labels any more.
    pub fn unpick(&self, watched: &Watched, key: &RunnableKey) {
        let mut inner = lock(&self.inner);
        let kind = inner.get_mut(watched);
        if let Some(selection) = kind.and_then(|kind| kind.get_mut(key)) {
            (selection.labels, selection.uids) = (None, Vec::new());
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

    /// Those whom an event about an object concerns, and whether it is picked, and names an input.
    fn concerned(&self, watched: &Watched, object: &ObjectMeta) -> Vec<(RunnableKey, bool, bool)> {
        let mut inner = lock(&self.inner);
        let Some(kind) = inner.get_mut(watched) else {
            return Vec::new();
        };
        let mut concerned = Vec::new();
        for (key, selection) in kind.iter_mut().filter(|(key, _)| {
            !watched.kind.namespaced || object.namespace.as_deref() == Some(&key.namespace)
        }) {
            selection.touch(object);
            let (is_picked, is_named) = (selection.concerns(object), selection.names(object));
            if is_picked || is_named {
                concerned.push((key.clone(), is_picked, is_named));
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
                let name = object.meta().name.as_deref();
                for (key, is_picked, is_named) in self.selections.concerned(watched, object.meta())
                {
                    self.enqueue(&key, |memory| {
                        if is_picked {
                            memory.selection_changed();
                        }
                        if is_named {
                            memory.config_map_changed(name);
                        }
                    });
                }
            }
        }
    }

    fn enqueue_all(&self, watched: &Watched, keys: impl IntoIterator<Item = RunnableKey>) {
        let gives_inputs = *watched == Watched::config_maps();
        for key in keys {
            self.enqueue(&key, |memory| {
                memory.selection_changed();
                if gives_inputs {
                    memory.config_map_changed(None);
                }
            });
        }
    }

    fn enqueue(&self, key: &RunnableKey, changed: impl FnOnce(&mut Memory)) {
        if let Some(memory) = self.memories.known(key) {
            let mut memory = lock(&memory);
            changed(&mut memory);
            memory.retry_now();
        }
        self.enqueuer.enqueue(key);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        sync::Arc,
    };

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
        let picked = [(key(), true, false)];
        assert_eq!(concerned("one", BTreeMap::new()), picked);
        assert_eq!(concerned("two", BTreeMap::new()), picked);
        assert_eq!(concerned("three", labels()), picked);
        assert!(concerned("three", BTreeMap::new()).is_empty());
    }

    #[test]
    fn what_matched_stays_known_while_it_is_asked_again() {
        let selections = answered(&["one"]);
        selections.ask(&watched(), &key(), &labels());
        let event = object("one", BTreeMap::new());
        assert_eq!(
            selections.concerned(&watched(), &event),
            [(key(), true, false)]
        );
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
    fn an_object_that_only_names_an_input_picks_nothing_and_no_other_does() {
        let selections = Selections::default();
        selections.name(&watched(), &key(), ["sizes".to_owned()].into());
        let named = |name: &str| ObjectMeta {
            name: Some(name.to_owned()),
            ..object("one", labels())
        };
        let concerned = |name| selections.concerned(&watched(), &named(name));
        assert_eq!(concerned("sizes"), [(key(), false, true)]);
        assert!(concerned("others").is_empty());
        selections.ask(&watched(), &key(), &labels());
        assert_eq!(concerned("sizes"), [(key(), true, true)]);
        assert_eq!(concerned("others"), [(key(), true, false)]);
    }

    #[test]
    fn who_names_and_picks_nothing_leaves_nothing_behind() {
        let selections = Selections::default();
        selections.name(&watched(), &key(), BTreeSet::new());
        assert!(selections.of(&watched()).is_empty());
        selections.ask(&watched(), &key(), &labels());
        selections.name(&watched(), &key(), ["sizes".to_owned()].into());
        selections.unpick(&watched(), &key());
        let event = object("one", labels());
        assert!(selections.concerned(&watched(), &event).is_empty());
        selections.remove(&watched(), &key());
        assert!(selections.of(&watched()).is_empty());
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
