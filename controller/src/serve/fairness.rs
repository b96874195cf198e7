//! No namespace keeps the others waiting: how many of its Runnables are looked at at the same time
//! depends on how many namespaces have work. Within a namespace changes are begun before results are
//! recorded, so that when many change at once the last run does not begin after the first has been
//! brought to its end. An edited template has many Runnables run again: whatever else happens goes
//! before that.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{memory::RunnableKey, watch::Wakes};

/// Who was sent away comes again after this time at the latest; mostly it is called before.
pub(super) const AGAIN: Duration = Duration::from_secs(5);

/// After so many Runnables with a change comes one without, so that results always get through.
const CHANGES_IN_A_ROW: u32 = 3;
/// One of so many looks is for the Runnables of edited templates, whatever else waits.
const FOR_TEMPLATES: u32 = 8;

/// Why a Runnable is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Its spec has changed.
    Changed,
    /// Its template has changed, and with it that of many others, perhaps.
    Template,
    /// A run has ended, or anything else.
    Other,
}

/// Lets looks begin, or sends them away until it is their namespace's turn.
#[derive(Clone)]
pub(super) struct Fairness {
    inner: Arc<Mutex<Inner>>,
    wakes: Wakes,
}

struct Inner {
    /// Looks of all namespaces together. A quarter of what may go on at the same time stays free for
    /// namespaces that had no work until now.
    shared: usize,
    namespaces: HashMap<String, Namespace>,
}

#[derive(Default)]
struct Namespace {
    /// Looks that go on.
    busy: usize,
    /// Names of Runnables that were sent away, in their order, for each reason.
    changed: VecDeque<String>,
    others: VecDeque<String>,
    of_templates: VecDeque<String>,
    /// The most urgent reason of each.
    known: HashMap<String, Reason>,
    /// Those that were called and have not come yet.
    called: HashSet<String>,
    /// How many with a change were called in a row.
    row: u32,
    /// How many were called since one of a template was.
    since_template: u32,
}

impl Fairness {
    /// For so many looks at the same time.
    pub(super) fn new(concurrency: u16, wakes: Wakes) -> Self {
        let concurrency = usize::from(concurrency);
        let inner = Inner {
            shared: concurrency - concurrency / 4,
            namespaces: HashMap::new(),
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            wakes,
        }
    }

    /// A look may go on while the turn is kept. `None` if its namespace has its share already: then
    /// the Runnable is woken when one of them has ended.
    pub(super) fn turn(&self, key: &RunnableKey, reason: Reason) -> Option<Turn> {
        let mut inner = self.lock();
        let share = inner.share(&key.namespace);
        let namespace = inner.namespaces.entry(key.namespace.clone()).or_default();
        if namespace.begins(&key.name, reason, share) {
            return Some(Turn {
                fairness: self.clone(),
                namespace: key.namespace.clone(),
            });
        }
        None
    }

    fn end(&self, name: &str) {
        let mut inner = self.lock();
        let share = inner.share(name);
        let Some(namespace) = inner.namespaces.get_mut(name) else {
            return;
        };
        namespace.busy -= 1;
        let called = namespace.call(share.saturating_sub(namespace.busy));
        if namespace.busy == 0 && !namespace.begins_wait() && namespace.others.is_empty() {
            inner.namespaces.remove(name);
        }
        drop(inner);
        for called in called {
            self.wakes.wake(&RunnableKey {
                namespace: name.to_owned(),
                name: called,
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// How many looks a namespace may have, among those that have any.
    fn share(&self, name: &str) -> usize {
        let others = self
            .namespaces
            .iter()
            .filter(|(other, namespace)| namespace.busy > 0 && *other != name);
        (self.shared / (others.count() + 1)).max(1)
    }
}

impl Namespace {
    /// Whether a look begins now; if not, it waits.
    fn begins(&mut self, name: &str, reason: Reason, share: usize) -> bool {
        let called = self.called.remove(name);
        if self.busy < share {
            self.busy += 1;
            self.known.remove(name);
            return true;
        }
        if self.known.get(name).is_none_or(|known| reason < *known) {
            self.known.insert(name.to_owned(), reason);
            let queue = match reason {
                Reason::Changed => &mut self.changed,
                Reason::Template => &mut self.of_templates,
                Reason::Other => &mut self.others,
            };
            // Another was quicker: the place is kept.
            if called {
                queue.push_front(name.to_owned());
            } else {
                queue.push_back(name.to_owned());
            }
        }
        false
    }

    /// Takes the first who wait. Those that had their turn meanwhile do not wait any more.
    fn call(&mut self, most: usize) -> Vec<String> {
        let mut called = Vec::new();
        while called.len() < most
            && let Some(name) = self.next()
        {
            if self.known.remove(&name).is_some() {
                self.called.insert(name.clone());
                called.push(name);
            }
        }
        called
    }

    fn next(&mut self) -> Option<String> {
        self.since_template += 1;
        if self.since_template >= FOR_TEMPLATES
            && let Some(name) = self.of_templates.pop_front()
        {
            self.since_template = 0;
            return Some(name);
        }
        if self.row >= CHANGES_IN_A_ROW
            && let Some(other) = self.others.pop_front()
        {
            self.row = 0;
            return Some(other);
        }
        let changed = self.changed.pop_front();
        if changed.is_some() {
            self.row += 1;
        }
        changed
            .or_else(|| self.others.pop_front())
            .or_else(|| self.of_templates.pop_front())
    }

    /// Whether a Runnable for which a run may have to begin waits.
    fn begins_wait(&self) -> bool {
        !self.changed.is_empty() || !self.of_templates.is_empty()
    }
}

/// A look goes on.
pub(super) struct Turn {
    fairness: Fairness,
    namespace: String,
}

impl Turn {
    /// Whether other Runnables of the namespace wait with a change, or one of their template.
    pub(super) fn others_wait(&self) -> bool {
        let inner = self.fairness.lock();
        inner
            .namespaces
            .get(&self.namespace)
            .is_some_and(Namespace::begins_wait)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.fairness.end(&self.namespace);
    }
}

#[cfg(test)]
mod tests;
