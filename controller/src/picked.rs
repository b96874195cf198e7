//! Objects that selectors picked: each kept once, however many Runnables select it, and not more of them than fit.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use cartouche_crds::Selector;
use cartouche_language::weight::weight;
use serde_json::Value;

use crate::lock::lock;

/// Maximum bytes of memory of all objects that are kept, as estimated. A Runnable that selects another one lists it at
/// each reconciliation.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// An object that a selector picked.
#[derive(Clone, Debug)]
pub struct Picked {
    /// The selector.
    pub selector: Selector,
    /// The object.
    pub object: Arc<Kept>,
}

/// The objects that are kept. One is dropped with the last Runnable that selects it.
#[derive(Clone, Default)]
pub struct PickedObjects {
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Default)]
struct Shelf {
    /// Objects by uid. There may be several states of one for a moment, of which this is the latest.
    objects: HashMap<String, Weak<Kept>>,
    bytes: usize,
}

/// One object, as long as a Runnable selects it.
pub struct Kept {
    value: Arc<Value>,
    uid: String,
    bytes: usize,
    shelf: Arc<Mutex<Shelf>>,
}

impl PickedObjects {
    /// Keeps an object. An equal one, which the account of another Runnable has read before, serves for both. `None` if
    /// there is no room.
    #[must_use]
    pub fn keep(&self, value: &Arc<Value>) -> Option<Arc<Kept>> {
        let uid = value.pointer("/metadata/uid")?.as_str()?;
        let known = lock(&self.shelf).objects.get(uid).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| known.value == *value) {
            return Some(known);
        }
        let bytes = weight(value);
        let mut held = lock(&self.shelf);
        if held.bytes + bytes > MOST_BYTES {
            return None;
        }
        held.bytes += bytes;
        let kept = Arc::new(Kept {
            value: value.clone(),
            uid: uid.to_owned(),
            bytes,
            shelf: self.shelf.clone(),
        });
        held.objects.insert(uid.to_owned(), Arc::downgrade(&kept));
        Some(kept)
    }
}

impl Kept {
    /// Returns the object itself.
    #[must_use]
    pub fn value(&self) -> Arc<Value> {
        self.value.clone()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut held = lock(&self.shelf);
        held.bytes -= self.bytes;
        // A later state may have taken its place.
        let gone = |kept: &Weak<Self>| kept.strong_count() == 0;
        if held.objects.get(&self.uid).is_some_and(gone) {
            held.objects.remove(&self.uid);
        }
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("uid", &self.uid)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::{MOST_BYTES, PickedObjects, lock};

    fn object(uid: &str, data: &str) -> Arc<Value> {
        Arc::new(json!({ "metadata": { "uid": uid }, "data": data }))
    }

    fn held(objects: &PickedObjects) -> (usize, usize) {
        let shelf = lock(&objects.shelf);
        (shelf.objects.len(), shelf.bytes)
    }

    #[test]
    fn one_object_is_kept_once_and_leaves_with_the_last_who_selects_it() {
        let objects = PickedObjects::default();
        let kept = objects.keep(&object("a", "1")).unwrap();
        let once = held(&objects);
        let same = objects.keep(&object("a", "1")).unwrap();
        assert!(Arc::ptr_eq(&kept, &same));
        assert_eq!(held(&objects), once);
        drop(kept);
        assert_eq!(held(&objects), once);
        drop(same);
        assert_eq!(held(&objects), (0, 0));
    }

    #[test]
    fn two_states_of_an_object_are_two() {
        let objects = PickedObjects::default();
        let old = objects.keep(&object("a", "1")).unwrap();
        let new = objects.keep(&object("a", "2")).unwrap();
        assert_eq!(new.value()["data"], "2");
        drop(old);
        let again = objects.keep(&object("a", "2")).unwrap();
        assert!(Arc::ptr_eq(&new, &again));
        drop((new, again));
        assert_eq!(held(&objects), (0, 0));
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let objects = PickedObjects::default();
        let half = "x".repeat(MOST_BYTES / 2 + 1);
        let first = objects.keep(&object("a", &half));
        assert!(first.is_some());
        assert!(objects.keep(&object("b", &half)).is_none());
        drop(first);
        assert!(objects.keep(&object("b", &half)).is_some());
    }
}
