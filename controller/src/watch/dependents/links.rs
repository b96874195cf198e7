//! From whom to what, and back: both ways are there to ask at once.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use crate::runnable_key::RunnableKey;

/// Links of Runnables to something, of which none is kept that leads nowhere.
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
    /// A Runnable has exactly these links from now on. Those that it had before.
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

    /// Those with a link to this.
    pub(super) fn from<'a>(
        &'a self,
        end: &T,
    ) -> impl Iterator<Item = &'a RunnableKey> + use<'a, T> {
        self.from.get(end).into_iter().flatten()
    }

    /// Whether anything has a link to this.
    pub(super) fn leads_to(&self, end: &T) -> bool {
        self.from.contains_key(end)
    }

    /// What a Runnable has links to.
    pub(super) fn to<'a>(&'a self, key: &RunnableKey) -> impl Iterator<Item = &'a T> + use<'a, T> {
        self.to.get(key).into_iter().flatten()
    }

    /// Whether a Runnable has links.
    pub(super) fn has(&self, key: &RunnableKey) -> bool {
        self.to.contains_key(key)
    }

    /// The Runnables that have links.
    pub(super) fn linked(&self) -> impl Iterator<Item = &RunnableKey> {
        self.to.keys()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.to.is_empty() && self.from.is_empty()
    }
}
