//! Whose turn it is to be reconciled. Pure.
//!
//! A Runnable is reconciled by one task at a time. No namespace keeps the others waiting: how many of its
//! Runnables are reconciled at the same time depends on how many namespaces have work. Within a namespace
//! changes are begun before results are recorded, so that when many change at once the last run does not
//! begin after the first has been brought to its end. An edited template has many Runnables run again:
//! whatever else happens goes before that.
//!
//! Heavy Runnables have their turn one at a time, by namespaces and in order. What follows from a change of one takes long of the
//! controller and of the API server, so that its namespace rests from such changes afterwards. Results of heavy ones and all light ones
//! go on meanwhile.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use crate::runnable_key::RunnableKey;

/// After so many Runnables with a change comes one without, so that results always get through.
const CHANGES_IN_A_ROW: u32 = 3;
/// One of so many reconciliations is for the Runnables of edited templates, whatever else waits.
const FOR_TEMPLATES: u32 = 8;
/// How many times as long as it took its namespace rests after a change of a heavy Runnable: such changes take a twentieth of the time. A
/// status write of such a Runnable keeps one processor of the API server busy for as long as it takes.
const REST: u32 = 19;
/// The longest rest: an API server that hangs makes reconciliations long.
const LONGEST_REST: Duration = Duration::from_secs(30);

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

/// The turn of one Runnable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) key: RunnableKey,
    /// It needs the place for heavy ones.
    pub(super) is_heavy: bool,
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
    /// Namespaces in which a light Runnable waits; the next one first.
    order: VecDeque<String>,
    /// Namespaces in which a heavy Runnable waits, the same.
    heavy_order: VecDeque<String>,
    /// The heavy Runnable that is reconciled, and whether it has changed.
    heavy: Option<(RunnableKey, bool)>,
    /// The last turn was that of a heavy Runnable.
    was_heavy: bool,
    /// Namespaces that rest from changes of heavy Runnables, and until when.
    rests: HashMap<String, Duration>,
    /// The time at which it was last asked for the next one.
    asked_at: Duration,
}

#[derive(Default)]
struct Namespace {
    /// Those that are reconciled, and how urgently they are to be reconciled once more.
    reconciling: HashMap<String, Option<Priority>>,
    /// Light ones that wait, and the highest priority of each.
    waiting: HashMap<String, Priority>,
    /// Those that wait in their order, for each priority. One that has become more urgent is in two.
    changed: VecDeque<String>,
    of_templates: VecDeque<String>,
    others: VecDeque<String>,
    /// Heavy ones that wait, in their order.
    heavy: VecDeque<String>,
    /// The same, and whether each or its template has changed.
    heavy_waiting: HashMap<String, bool>,
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
            heavy_order: VecDeque::new(),
            heavy: None,
            was_heavy: false,
            rests: HashMap::new(),
            asked_at: Duration::ZERO,
        }
    }

    /// A Runnable is to be reconciled; if it is being reconciled, once more after that.
    pub(super) fn enqueue(&mut self, key: &RunnableKey, priority: Priority) {
        let namespace = self.namespaces.entry(key.namespace.clone()).or_default();
        let was_empty = namespace.waiting.is_empty();
        let waited = namespace.waiting.len();
        namespace.enqueue(&key.name, priority);
        self.waiting += namespace.waiting.len() - waited;
        if was_empty && !namespace.waiting.is_empty() {
            self.order.push_back(key.namespace.clone());
        }
    }

    /// How many wait for their turn. Those that are reconciled, and will be once more, do not.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Begins the next reconciliation, if one may begin. Each Runnable is asked when it is its turn whether it `is_heavy`.
    pub(super) fn get(
        &mut self,
        now: Duration,
        is_heavy: impl Fn(&RunnableKey) -> bool,
    ) -> Option<Turn> {
        self.asked_at = now;
        if self.running >= self.most {
            return None;
        }
        // Where there is one place, light ones get it as often as heavy ones.
        let first = if self.was_heavy {
            None
        } else {
            self.get_heavy(now)
        };
        let turn = first
            .or_else(|| self.get_light(is_heavy))
            .or_else(|| self.get_heavy(now))?;
        self.was_heavy = turn.is_heavy;
        self.begin(&turn.key);
        Some(turn)
    }

    /// When the next rest ends of a namespace in which a heavy Runnable waits: the next one has to be asked for then. One that has
    /// ended since the last time it was is among them.
    pub(super) fn rest_ends(&self) -> Option<Duration> {
        let ends = self
            .heavy_order
            .iter()
            .filter_map(|name| self.rests.get(name));
        ends.filter(|end| **end > self.asked_at).min().copied()
    }

    /// The next light Runnable. Those that are heavy by now, and come before it, wait with the heavy ones from here on.
    fn get_light(&mut self, is_heavy: impl Fn(&RunnableKey) -> bool) -> Option<Turn> {
        // At most as many namespaces as there are reconciliations have their share already.
        for _ in 0..self.order.len() {
            let name = self.order.pop_front()?;
            let has_room = self.has_room(&name);
            let namespace = self.namespaces.get_mut(&name)?;
            let had_heavy = !namespace.heavy.is_empty();
            let mut next = None;
            while has_room
                && next.is_none()
                && let Some((runnable, priority)) = namespace.get()
            {
                let key = RunnableKey {
                    namespace: name.clone(),
                    name: runnable,
                };
                if is_heavy(&key) {
                    namespace.wait_as_heavy(key.name, priority != Priority::Other);
                } else {
                    next = Some(key);
                }
            }
            if !had_heavy && !namespace.heavy.is_empty() {
                self.heavy_order.push_back(name.clone());
            }
            if !namespace.waiting.is_empty() {
                self.order.push_back(name);
            }
            if let Some(key) = next {
                return Some(Turn {
                    key,
                    is_heavy: false,
                });
            }
        }
        None
    }

    /// The next heavy Runnable. A namespace that may not have its turn yet keeps its place in the order.
    fn get_heavy(&mut self, now: Duration) -> Option<Turn> {
        if self.heavy.is_some() {
            return None;
        }
        let rests = |name: &String| self.rests.get(name).is_some_and(|end| *end > now);
        let (at, next) = self.heavy_order.iter().enumerate().find_map(|(at, name)| {
            let namespace = self.namespaces.get(name).filter(|_| self.has_room(name))?;
            Some((at, namespace.next_heavy(rests(name))?))
        })?;
        let name = self.heavy_order.remove(at)?;
        let namespace = self.namespaces.get_mut(&name)?;
        let runnable = namespace.heavy.remove(next)?;
        let has_changed = namespace.heavy_waiting.remove(&runnable)?;
        if !namespace.heavy.is_empty() {
            self.heavy_order.push_back(name.clone());
        }
        let key = RunnableKey {
            namespace: name,
            name: runnable,
        };
        self.heavy = Some((key.clone(), has_changed));
        Some(Turn {
            key,
            is_heavy: true,
        })
    }

    /// Whether one more of a namespace may be reconciled.
    fn has_room(&self, name: &str) -> bool {
        let namespace = self.namespaces.get(name);
        let reconciling = namespace.map_or(0, |it| it.reconciling.len());
        let idle = reconciling == 0;
        let sharing = self.busy + usize::from(idle);
        let share = (self.shared / sharing).max(1);
        (idle || self.running < self.shared) && reconciling < share
    }

    fn begin(&mut self, key: &RunnableKey) {
        if let Some(namespace) = self.namespaces.get_mut(&key.namespace) {
            self.waiting -= 1;
            self.running += 1;
            self.busy += usize::from(namespace.reconciling.is_empty());
            namespace.reconciling.insert(key.name.clone(), None);
        }
    }

    /// A reconciliation has ended that took so long. Whether the Runnable was enqueued meanwhile, and waits for the next.
    pub(super) fn done(&mut self, key: &RunnableKey, now: Duration, took: Duration) -> bool {
        if let Some((_, has_changed)) = self.heavy.take_if(|(heavy, _)| heavy == key) {
            self.rests.retain(|_, end| *end > now);
            let rest = took.saturating_mul(REST).min(LONGEST_REST);
            if has_changed {
                self.rests.insert(key.namespace.clone(), now + rest);
            }
        }
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
        } else if namespace.is_idle() {
            self.namespaces.remove(&key.namespace);
        }
        again.is_some()
    }
}

impl Namespace {
    fn is_idle(&self) -> bool {
        self.reconciling.is_empty() && self.waiting.is_empty() && self.heavy.is_empty()
    }

    fn enqueue(&mut self, name: &str, priority: Priority) {
        if let Some(again) = self.reconciling.get_mut(name) {
            *again = Some(again.map_or(priority, |again| again.min(priority)));
            return;
        }
        if let Some(has_changed) = self.heavy_waiting.get_mut(name) {
            *has_changed |= priority != Priority::Other;
            return;
        }
        let waits = self.waiting.get(name);
        if waits.is_some_and(|known| *known <= priority) {
            return;
        }
        self.waiting.insert(name.to_owned(), priority);
        self.queue(priority).push_back(name.to_owned());
    }

    /// It waits with the heavy ones from here on.
    fn wait_as_heavy(&mut self, name: String, has_changed: bool) {
        self.heavy_waiting.insert(name.clone(), has_changed);
        self.heavy.push_back(name);
    }

    /// The place of the next of the heavy ones. While the namespace `rests`, it is none that has changed.
    fn next_heavy(&self, rests: bool) -> Option<usize> {
        let may = |name: &String| !rests || self.heavy_waiting.get(name) == Some(&false);
        self.heavy.iter().position(may)
    }

    /// Takes the next of those that wait, with its priority.
    fn get(&mut self) -> Option<(String, Priority)> {
        let next = self.next()?;
        if self.waiting.is_empty() {
            self.changed.clear();
            self.of_templates.clear();
            self.others.clear();
        }
        Some(next)
    }

    fn next(&mut self) -> Option<(String, Priority)> {
        self.since_template = self.since_template.saturating_add(1);
        if self.since_template >= FOR_TEMPLATES
            && let Some(next) = self.take(Priority::Template)
        {
            self.since_template = 0;
            return Some(next);
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
    /// since: were they left, they would pile up where one always waits.
    fn take(&mut self, priority: Priority) -> Option<(String, Priority)> {
        loop {
            let name = self.queue(priority).pop_front()?;
            if self.waiting.get(&name) == Some(&priority) {
                self.waiting.remove(&name);
                return Some((name, priority));
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
