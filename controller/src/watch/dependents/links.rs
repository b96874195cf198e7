//! Links in both directions, each of which can be looked up directly.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use crate::runnable_key::RunnableKey;

/// Links of Runnables to something. Empty sets are not kept.
pub(super) struct Links<T> {
    to: HashMap<RunnableKey, BTreeSet<T>>,
    from: HashMap<T, BTreeSet<RunnableKey>>,
}

impl<T> Default for Links<T> {
    fn default() -> Self {
        Self {
            to: HashMap::new(),
            from: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash + Ord> Links<T> {
    /// Replaces the links of a Runnable. Returns those that it had before.
    pub(super) fn set(&mut self, key: &RunnableKey, to: BTreeSet<T>) -> BTreeSet<T> {
        let before = self.to.remove(key).unwrap_or_default();
        for end in before.difference(&to) {
            if let Some(from) = self.from.get_mut(end) {
                from.remove(key);
                if from.is_empty() {
                    self.from.remove(end);
                }
            }
        }
        for end in to.difference(&before) {
            let from = self.from.entry(end.clone()).or_default();
            from.insert(key.clone());
        }
        if !to.is_empty() {
            self.to.insert(key.clone(), to);
        }
        before
    }

    /// Returns the Runnables with a link to this.
    pub(super) fn from<'a>(
        &'a self,
        end: &T,
    ) -> impl Iterator<Item = &'a RunnableKey> + use<'a, T> {
        self.from.get(end).into_iter().flatten()
    }

    /// Returns true if anything has a link to this.
    pub(super) fn leads_to(&self, end: &T) -> bool {
        self.from.contains_key(end)
    }

    /// Returns the ends of a Runnable's links.
    pub(super) fn to<'a>(&'a self, key: &RunnableKey) -> impl Iterator<Item = &'a T> + use<'a, T> {
        self.to.get(key).into_iter().flatten()
    }

    /// Returns true if a Runnable has links.
    pub(super) fn has(&self, key: &RunnableKey) -> bool {
        self.to.contains_key(key)
    }

    /// Returns the Runnables that have links.
    pub(super) fn keys(&self) -> impl Iterator<Item = &RunnableKey> {
        self.to.keys()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.to.is_empty() && self.from.is_empty()
    }
}
