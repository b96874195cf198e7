//! Whose turn it is to be reconciled. Pure.
//!
//! A Runnable is reconciled by one task at a time. No namespace keeps the others waiting: how many of its
//! Runnables are reconciled at the same time depends on how many namespaces have work. Within a namespace
//! changes are begun before results are recorded, so that when many change at once the last run does not
//! begin after the first has been brought to its end. An edited template has many Runnables run again:
//! whatever else happens goes before that.

use std::collections::{HashMap, VecDeque};

use crate::runnable_key::RunnableKey;

/// After so many Runnables with a change comes one without, so that results always get through.
const CHANGES_IN_A_ROW: u32 = 3;
/// One of so many reconciliations is for the Runnables of edited templates, whatever else waits.
const FOR_TEMPLATES: u32 = 8;

/// How urgent it is to reconcile a Runnable, and why; the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    /// Its spec has changed.
    Changed,
    /// Its template has changed, and with it that of many others, perhaps.
    Template,
    /// A run has ended, or anything else.
    Other,
}

/// Who is reconciled, and who waits for it.
pub(super) struct FairQueue {
    /// Reconciliations at the same time at most.
    most: usize,
    /// Reconciliations that namespaces share by need. The others are for namespaces in which none goes on: one each, so that a
    /// namespace waits only for as many others as there are such places.
    shared: usize,
    /// Reconciliations that go on, and the namespaces that have any.
    running: usize,
    busy: usize,
    /// Runnables that wait, of all namespaces.
    waiting: usize,
    namespaces: HashMap<String, Namespace>,
    /// Namespaces in which somebody waits; the next one first.
    order: VecDeque<String>,
}

#[derive(Default)]
struct Namespace {
    /// Those that are reconciled, and how urgently they are to be reconciled once more.
    reconciling: HashMap<String, Option<Priority>>,
    /// Those that wait, and the highest priority of each.
    waiting: HashMap<String, Priority>,
    /// Those that wait in their order, for each priority. One that has become more urgent is in two.
    changed: VecDeque<String>,
    of_templates: VecDeque<String>,
    others: VecDeque<String>,
    /// How many with a change had their turn in a row.
    row: u32,
    /// How many had their turn since one of a template had.
    since_template: u32,
}

impl FairQueue {
    /// For so many reconciliations at the same time.
    pub(super) fn new(concurrency: u16) -> Self {
        let most = usize::from(concurrency);
        Self {
            most,
            shared: most - (most / 4).max(usize::from(most > 1)),
            running: 0,
            busy: 0,
            waiting: 0,
            namespaces: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// A Runnable is to be reconciled; if it is being reconciled, once more after that.
    pub(super) fn enqueue(&mut self, key: &RunnableKey, priority: Priority) {
        let namespace = self.namespaces.entry(key.namespace.clone()).or_default();
        let nobody_waited = namespace.waiting.is_empty();
        let waited = namespace.waiting.len();
        namespace.enqueue(&key.name, priority);
        self.waiting += namespace.waiting.len() - waited;
        if nobody_waited && !namespace.waiting.is_empty() {
            self.order.push_back(key.namespace.clone());
        }
    }

    /// How many wait for their turn. Those that are reconciled, and will be once more, do not.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Begins the next reconciliation, if one may begin.
    pub(super) fn get(&mut self) -> Option<RunnableKey> {
        if self.running >= self.most {
            return None;
        }
        // At most as many namespaces as there are reconciliations have their share already.
        for _ in 0..self.order.len() {
            let name = self.order.pop_front()?;
            let namespace = self.namespaces.get_mut(&name)?;
            let idle = namespace.reconciling.is_empty();
            let sharing = self.busy + usize::from(idle);
            let share = (self.shared / sharing).max(1);
            let has_room = idle || self.running < self.shared;
            let next = if has_room && namespace.reconciling.len() < share {
                namespace.get()
            } else {
                None
            };
            if !namespace.waiting.is_empty() {
                self.order.push_back(name.clone());
            }
            if let Some(runnable) = next {
                self.waiting -= 1;
                self.running += 1;
                self.busy += usize::from(idle);
                return Some(RunnableKey {
                    namespace: name,
                    name: runnable,
                });
            }
        }
        None
    }

    /// A reconciliation has ended. Whether the Runnable was enqueued meanwhile, and waits for the next.
    pub(super) fn done(&mut self, key: &RunnableKey) -> bool {
        let Some(namespace) = self.namespaces.get_mut(&key.namespace) else {
            return false;
        };
        let Some(again) = namespace.reconciling.remove(&key.name) else {
            return false;
        };
        self.running -= 1;
        self.busy -= usize::from(namespace.reconciling.is_empty());
        if let Some(priority) = again {
            self.enqueue(key, priority);
        } else if namespace.reconciling.is_empty() && namespace.waiting.is_empty() {
            self.namespaces.remove(&key.namespace);
        }
        again.is_some()
    }
}

impl Namespace {
    fn enqueue(&mut self, name: &str, priority: Priority) {
        if let Some(again) = self.reconciling.get_mut(name) {
            *again = Some(again.map_or(priority, |again| again.min(priority)));
            return;
        }
        if self
            .waiting
            .get(name)
            .is_some_and(|known| *known <= priority)
        {
            return;
        }
        self.waiting.insert(name.to_owned(), priority);
        self.queue(priority).push_back(name.to_owned());
    }

    /// Takes the next of those that wait.
    fn get(&mut self) -> Option<String> {
        let name = self.next()?;
        if self.waiting.is_empty() {
            self.changed.clear();
            self.of_templates.clear();
            self.others.clear();
        }
        self.reconciling.insert(name.clone(), None);
        Some(name)
    }

    fn next(&mut self) -> Option<String> {
        self.since_template = self.since_template.saturating_add(1);
        if self.since_template >= FOR_TEMPLATES
            && let Some(name) = self.take(Priority::Template)
        {
            self.since_template = 0;
            return Some(name);
        }
        if self.row >= CHANGES_IN_A_ROW
            && let Some(other) = self.take(Priority::Other)
        {
            self.row = 0;
            return Some(other);
        }
        let changed = self.take(Priority::Changed);
        if changed.is_some() {
            self.row = self.row.saturating_add(1);
        }
        changed
            .or_else(|| self.take(Priority::Other))
            .or_else(|| self.take(Priority::Template))
    }

    /// Takes the first that waits with this priority, and drops those before it that have become more urgent
    /// since: were they left, they would pile up where there is always somebody who waits.
    fn take(&mut self, priority: Priority) -> Option<String> {
        loop {
            let name = self.queue(priority).pop_front()?;
            if self.waiting.get(&name) == Some(&priority) {
                self.waiting.remove(&name);
                return Some(name);
            }
        }
    }

    fn queue(&mut self, priority: Priority) -> &mut VecDeque<String> {
        match priority {
            Priority::Changed => &mut self.changed,
            Priority::Template => &mut self.of_templates,
            Priority::Other => &mut self.others,
        }
    }
}

#[cfg(test)]
mod tests;
